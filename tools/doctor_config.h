/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_CONFIG_H
#define RDMABLK_TOOLS_DOCTOR_CONFIG_H

#include "exam.h"

#define DOCTOR_CONFIG_TOOL	"etc/rdmablk/rdmablk.conf"
#define DOCTOR_CONFIG_DAEMON	"etc/rdmablk/rdmablkd.conf"

bool doctor_config_has(const struct exam *d, const char *file, const char *const *kinds,
		       const char *key);

#endif /* RDMABLK_TOOLS_DOCTOR_CONFIG_H */
