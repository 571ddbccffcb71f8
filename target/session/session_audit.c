// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the audit log says about sessions, and how often. A session is in it when it is granted,
 * when its key ends or changes, and when nothing of it is left. From the grant on its initiator
 * has the keys of its memory.
 */
#include "base/audit.h"
#include "base/util.h"
#include "session/session_audit.h"

static struct session_audit_counts counts;

static void count(uint64_t *refused, unsigned int reason)
{
	if (reason < SESSION_AUDIT_REASONS)
		refused[reason]++;
}

/**
 * session_audit_counts - what has happened, whether there is an audit log or not
 *
 * Return: numbers that grow.
 */
const struct session_audit_counts *session_audit_counts(void)
{
	return &counts;
}

static void add_reason(struct json_object *line, unsigned int reason)
{
	audit_number(line, "reason", reason);
	audit_text(line, "reason_text", rdmablk_reason_text(reason));
}

static void add_host(struct json_object *line, const struct session *s)
{
	audit_text(line, "address", s->peer_text);
	audit_uuid(line, "host_id", s->hello.host_id);
	audit_text(line, "host", s->hello.host_name);
	audit_text(line, "auth_host", s->proof.name);
	audit_key(line, "key_id", s->proof.key_id);
}

static void add_session(struct json_object *line, const struct session *s)
{
	audit_id(line, "session_id", s->id);
	audit_text(line, "export", s->hello.export_name);
	add_host(line, s);
}

/**
 * session_audit_login - a session is granted
 * @s: session
 */
void session_audit_login(const struct session *s)
{
	struct json_object *line = audit_line("login");

	counts.logins++;
	add_session(line, s);
	audit_number(line, "queues", s->share.queues);
	audit_bool(line, "read_only", !s->lease.writer);
	audit_bool(line, "shared", s->grant_flags & RDMABLK_GRANT_SHARED);
	audit_bool(line, "steal", s->hello.flags & RDMABLK_HELLO_STEAL);
	audit_bool(line, "resume", s->hello.flags & RDMABLK_HELLO_RESUME);
	audit_write(line);
}

/**
 * session_audit_takeover - a login ends another host's session, or an earlier one of its own
 * @s: session of the login
 * @loser: session that ends
 * @reason: enum rdmablk_reason of the end
 */
void session_audit_takeover(const struct session *s, const struct session *loser,
			    unsigned int reason)
{
	struct json_object *line = audit_line("takeover");
	struct json_object *lost = line ? json_object_new_object() : NULL;

	counts.takeovers++;
	add_session(line, s);
	add_reason(line, reason);
	audit_id(lost, "session_id", loser->id);
	add_host(lost, loser);
	if (line)
		json_object_object_add(line, "loser", lost);
	audit_write(line);
}

/**
 * session_audit_revoke - the key of a session has ended, and its initiator is told
 * @s: session
 * @ms: time for the initiator to prove another key
 */
void session_audit_revoke(const struct session *s, uint64_t ms)
{
	struct json_object *line = audit_line("revoke");

	add_session(line, s);
	audit_number(line, "notice_ms", ms);
	audit_write(line);
}

/**
 * session_audit_reauth - a session goes on with another key
 * @s: session, with the key that its initiator has proven
 * @old_key_id: name of the key before
 */
void session_audit_reauth(const struct session *s, const uint8_t *old_key_id)
{
	struct json_object *line = audit_line("reauth");

	add_session(line, s);
	audit_key(line, "old_key_id", old_key_id);
	audit_write(line);
}

/**
 * session_audit_end - a session that was granted is gone
 * @s: session
 * @commands: done for it
 */
void session_audit_end(const struct session *s, uint64_t commands)
{
	struct json_object *line = audit_line("end");

	counts.ended++;
	add_session(line, s);
	add_reason(line, s->end.reason);
	audit_number(line, "duration_ms", (uint64_t)(loop_now() - s->born));
	audit_number(line, "messages", s->heard.messages);
	audit_number(line, "keepalives", s->heard.keepalives);
	audit_number(line, "refused_joins", s->refused_joins);
	audit_number(line, "commands", commands);
	audit_number(line, "flushes",
		     s->counts.done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE]);
	audit_write(line);
}

/**
 * session_audit_visit_begins - a host without an export has proven who it is
 */
void session_audit_visit_begins(void)
{
	counts.visits++;
}

/**
 * session_audit_visit - a visit is over
 * @s: its session
 * @reason: enum rdmablk_reason
 */
void session_audit_visit(const struct session *s, unsigned int reason)
{
	struct json_object *line = audit_line("visit");

	audit_id(line, "session_id", s->id);
	add_host(line, s);
	add_reason(line, reason);
	audit_number(line, "messages", s->heard.messages);
	audit_number(line, "scratch", s->scratch.bytes);
	audit_write(line);
}

/*
 * Once the key was proven, only a host id, or a message between PROOF and GRANT, can be wrong.
 *
 * Return: why authentication has failed, or NULL.
 */
static const char *failure_of(const struct session *s, char *why)
{
	static const uint8_t none[RDMABLK_KEYSCHED_ID_LEN];

	if (s->proof.name[0])
		return s->export ? "a message that is not sealed" : "host-id of the host";
	if (!memcmp(s->proof.key_id, none, sizeof(none)))
		return NULL;
	host_refusal(s->proof.key_id, session_peer(s), why, HOST_WHY);
	return why;
}

/* The initiator is told less. */
static const char *detail_of(const struct session *s, unsigned int reason, char *why)
{
	const struct export *e = export_find(s->hello.export_name);

	switch (reason) {
	case RDMABLK_R_AUTH_FAILED:
		return failure_of(s, why);
	case RDMABLK_R_NO_EXPORT:
		if (!e)
			return NULL;
		return e->cfg->allow_address &&
		       !value_in_networks(e->cfg->allow_address, session_peer(s)) ?
		       "allow-address of the export" : "allow of the export";
	case RDMABLK_R_READ_ONLY:
		return e && !e->cfg->read_only ? "allow of the export" : NULL;
	case RDMABLK_R_BUSY:
		return s->proof.no_steal ? "no rw+steal in allow of the export" : NULL;
	default:
		return NULL;
	}
}

/**
 * session_audit_refused - a login ends that was not granted
 * @s: its session
 * @reason: enum rdmablk_reason
 */
void session_audit_refused(const struct session *s, unsigned int reason)
{
	struct json_object *line = audit_refusal(session_peer(s));
	char why[HOST_WHY];

	count(counts.logins_refused, reason);
	audit_text(line, "what", "login");
	add_session(line, s);
	add_reason(line, reason);
	audit_text(line, "detail", detail_of(s, reason, why));
	audit_write(line);
}

/**
 * session_audit_connection - a connection is refused
 * @peer: address of the initiator
 * @req: what it asks for, as far as that is known
 * @reason: enum rdmablk_reason
 * @detail: which setting refuses it; NULL: the reason says enough
 */
void session_audit_connection(const struct sockaddr *peer, const struct wire_request *req,
			      unsigned int reason, const char *detail)
{
	struct json_object *line = audit_refusal(peer);
	char text[ADDR_TEXT];

	count(counts.connections_refused, reason);
	value_address_text(peer, text, false);
	audit_text(line, "what", req->session_id ? "queue" : "connection");
	audit_id(line, "session_id", req->session_id);
	audit_text(line, "export", NULL);
	audit_text(line, "address", text);
	audit_uuid(line, "host_id", NULL);
	audit_text(line, "host", NULL);
	audit_text(line, "auth_host", NULL);
	audit_key(line, "key_id", NULL);
	add_reason(line, reason);
	audit_text(line, "detail", detail);
	audit_write(line);
}
