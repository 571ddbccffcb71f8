/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many logins an address may begin in a second. A login costs the daemon a queue pair and,
 * with version 2, a key for its CHALLENGE, before it knows who comes.
 */
#ifndef RDMABLKD_LOGIN_RATE_H
#define RDMABLKD_LOGIN_RATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config/config.h"

#define LOGIN_RATE_SECONDS	4	/* whose logins may come at once */

void login_rate_init(const struct config *cfg);
bool login_rate_take(const struct sockaddr *peer);
void login_rate_refuse(void);
uint64_t login_rate_refused(void);

#endif
