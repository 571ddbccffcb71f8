/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals to a daemon whose loop has ended.
 */
#ifndef RDMABLKD_LATE_SIGNALS_H
#define RDMABLKD_LATE_SIGNALS_H

#include <stdbool.h>

int late_signals_start(bool asked, void (*at_end)(void));

#endif
