/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --check asks the host.
 */
#ifndef RDMABLKD_CHECK_H
#define RDMABLKD_CHECK_H

#include "config/config.h"

int check_host(const struct config *cfg);

#endif
