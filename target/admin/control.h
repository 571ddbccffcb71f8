/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of the administrator: a line of JSON in, a line of JSON out.
 */
#ifndef RDMABLKD_CONTROL_H
#define RDMABLKD_CONTROL_H

#include <stdint.h>

/* How long a line may take to come, and an answer to be taken: */
extern int64_t control_idle_ms;
int control_open(const char *path);
void control_close(void);

#endif
