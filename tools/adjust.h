/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ADJUST_H
#define RDMABLK_TOOLS_ADJUST_H

#include "device.h"
#include "nl.h"
#include "settings.h"

int adjust_disk(const struct device *device, const struct settings *wanted,
		struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_ADJUST_H */
