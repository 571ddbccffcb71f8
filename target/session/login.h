/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dialogue on the control queue: what a message does to a session.
 */
#ifndef RDMABLKD_LOGIN_H
#define RDMABLKD_LOGIN_H

#include "session/session.h"

uint16_t login_version(const struct config *cfg);
void login_refuse_all(unsigned int reason, int64_t until);
unsigned int login_refuses(void);
unsigned int login_receive(struct session *s, const void *msg, size_t len);

#endif
