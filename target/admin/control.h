/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of the administrator: a line of JSON in, a line of JSON out.
 */
#ifndef RDMABLKD_CONTROL_H
#define RDMABLKD_CONTROL_H

#include <stdint.h>

/* Time for a client to send a whole line, and to take an answer, ms */
extern int64_t control_idle_ms;
int control_open(const char *path);
void control_close(void);

#endif
