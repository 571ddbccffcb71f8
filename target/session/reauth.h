/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live session of version 2 proves a key again, and both sides get new keys.
 */
#ifndef RDMABLKD_REAUTH_H
#define RDMABLKD_REAUTH_H

#include "session/session.h"

unsigned int reauth_begin(struct session *s, const void *msg, size_t len);
unsigned int reauth_prove(struct session *s, const void *msg, size_t len);

#endif
