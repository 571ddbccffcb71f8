/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the audit log says about sessions.
 */
#ifndef RDMABLKD_SESSION_AUDIT_H
#define RDMABLKD_SESSION_AUDIT_H

#include "session/session.h"
#include "wire/wire.h"

void session_audit_login(const struct session *s);
void session_audit_takeover(const struct session *s, const struct session *loser,
			    unsigned int reason);
void session_audit_end(const struct session *s, uint64_t commands);
void session_audit_refused(const struct session *s, unsigned int reason);
void session_audit_connection(const struct sockaddr *peer, const struct wire_request *req,
			      unsigned int reason);

#endif
