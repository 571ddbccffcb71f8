/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the audit log says about sessions.
 */
#ifndef RDMABLKD_SESSION_AUDIT_H
#define RDMABLKD_SESSION_AUDIT_H

#include "session/session.h"
#include "wire/wire.h"

/* Reasons are below this number. */
#define SESSION_AUDIT_REASONS	128

/**
 * struct session_audit_counts - what has happened since the daemon began; it only grows
 * @logins: sessions granted
 * @takeovers: sessions that ended because of a login
 * @ended: sessions that were granted and are gone
 * @visits: logins without an export that were let in
 * @logins_refused: by reason, logins that ended without a session
 * @connections_refused: by reason, connections that were not let in
 */
struct session_audit_counts {
	uint64_t logins;
	uint64_t takeovers;
	uint64_t ended;
	uint64_t visits;
	uint64_t logins_refused[SESSION_AUDIT_REASONS];
	uint64_t connections_refused[SESSION_AUDIT_REASONS];
};

const struct session_audit_counts *session_audit_counts(void);
void session_audit_login(const struct session *s);
void session_audit_takeover(const struct session *s, const struct session *loser,
			    unsigned int reason);
void session_audit_revoke(const struct session *s, uint64_t ms);
void session_audit_reauth(const struct session *s, const uint8_t *old_key_id);
void session_audit_end(const struct session *s, uint64_t commands);
void session_audit_visit_begins(void);
void session_audit_visit(const struct session *s, unsigned int reason);
void session_audit_refused(const struct session *s, unsigned int reason);
void session_audit_connection(const struct sockaddr *peer, const struct wire_request *req,
			      unsigned int reason, const char *detail);

#endif
