/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line.
 */
#ifndef RDMABLKD_OPTIONS_H
#define RDMABLKD_OPTIONS_H

#include "config/config.h"

#ifndef RDMABLKD_VERSION	/* for programs that only analyse the sources */
#define RDMABLKD_VERSION "unknown"
#endif

#define OPTIONS_RUN	(-1)	/* the daemon shall serve */
#define OPTIONS_CHECK	(-2)	/* --check, and the configuration has no mistakes */

int options_parse(struct config *cfg, int argc, char **argv);
int options_again(struct config *cfg);

#endif
