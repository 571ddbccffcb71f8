// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The dialogue on the control queue. One function per message; each returns
 * RDMABLK_OK or the reason for which the session ends.
 */
#include <errno.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "session/login.h"
#include "session/session_audit.h"
#include "session/visit.h"
#include "wire/mac.h"

/* K of RDMABLK_AUTH_NONE; see "Labels of the MACs" in the wire header */
static const uint8_t no_key[RDMABLK_MAC_LEN];

static struct {
	unsigned int reason;	/* RDMABLK_OK: logins go on */
	int64_t until;
} refused;

/**
 * login_refuse_all - refuse logins, because the daemon ends
 * @reason: enum rdmablk_reason, for logins before PROOF
 * @until: time at which sessions end that have not flushed, ms of loop_now()
 *
 * A device that comes back before @until and may have unflushed writes is admitted, and told
 * to flush, because these writes would be lost with this process. Granted sessions still get
 * their queues.
 */
void login_refuse_all(unsigned int reason, int64_t until)
{
	refused.reason = reason;
	refused.until = until;
}

/**
 * login_refuses - whether a login is refused before its first message
 *
 * While a device may come that has to flush, each login may say which device it is. When the
 * time to flush is over no login may begin: a device that comes again and again would delay
 * the end for ever.
 *
 * Return: RDMABLK_OK: no; else the reason.
 */
unsigned int login_refuses(void)
{
	return loop_now() < refused.until && session_expected() ? RDMABLK_OK :
	       refused.reason;
}

/**
 * login_version - the version that a daemon speaks
 * @cfg: its configuration
 *
 * A daemon speaks only one version, so that a peer cannot choose one without authentication.
 *
 * Return: RDMABLK_VERSION_PROVEN or RDMABLK_VERSION_OPEN.
 */
uint16_t login_version(const struct config *cfg)
{
	return cfg->auth == AUTH_PSK ? RDMABLK_VERSION_PROVEN : RDMABLK_VERSION_OPEN;
}

static unsigned int challenge(struct session *s, const void *hello, const uint8_t *nonce)
{
	memcpy(&s->login.hello, hello, sizeof(s->login.hello));
	wire_pack_challenge(&s->login.challenge, &s->hello, s->id, nonce);
	return session_send(s, &s->login.challenge, sizeof(s->login.challenge));
}

/*
 * Version 2. The key is looked for with PROOF, so CHALLENGE does not tell whether this target
 * knows it.
 */
static unsigned int challenge2(struct session *s, const void *hello, size_t len,
			       const uint8_t *nonce)
{
	struct rdmablk_challenge2 msg;
	struct keying *p = &s->keying;

	memcpy(&s->login.hello, hello, sizeof(s->login.hello));
	memcpy(s->proof.key_id, s->hello.key_id, sizeof(s->proof.key_id));
	wire_pack_challenge2(&msg, &s->hello, s->id, nonce, s->cfg->target_id);
	if (keying_hello(p, s->conn->qpn, s->conn->pair->qp_num, hello, len) ||
	    keying_generate(p, s->hello.point, msg.point) ||
	    keying_challenge(p, &msg, sizeof(msg)))
		return RDMABLK_R_INTERNAL;
	fault_flip(FAULT_FLIP_CHALLENGE, &msg, sizeof(msg));
	return session_send(s, &msg, sizeof(msg));
}

static unsigned int handle_hello(struct session *s, const void *msg, size_t len)
{
	uint8_t nonce[RDMABLK_NONCE_LEN];
	unsigned int reason = wire_check_hello(msg, len, s->version, &s->hello);

	if (reason)
		return reason;
	if (mac_random(nonce, sizeof(nonce)))
		return RDMABLK_R_INTERNAL;
	session_set_state(s, SESSION_PROOF);
	session_login_timer(s);
	return s->version == RDMABLK_VERSION_PROVEN ? challenge2(s, msg, len, nonce) :
						      challenge(s, msg, nonce);
}

/* Logs why PROOF has failed; the peer learns only that it has. */
static void log_refusal(const struct session *s, const uint8_t *key_id)
{
	char why[HOST_WHY];

	host_refusal(key_id, session_peer(s), why, sizeof(why));
	log_peer(session_peer(s), LOG_WARNING, "%s: refused: %s", session_text(s), why);
}

/* Whether the proven key is good for the host id in HELLO. */
static unsigned int identify(struct session *s, const struct host *h)
{
	if (!h)		/* only if the MAC of a made-up key was guessed */
		return RDMABLK_R_AUTH_FAILED;
	snprintf(s->proof.name, sizeof(s->proof.name), "%s", host_name(h));
	if (host_is(h, s->hello.host_id))
		return RDMABLK_OK;
	log_peer(session_peer(s), LOG_WARNING,
		 "%s: refused: its host id is not that of host %s", session_text(s),
		 s->proof.name);
	return RDMABLK_R_AUTH_FAILED;
}

/*
 * A key that this target does not know, that is not for this address or that has ended fails
 * like a wrong MAC, and takes as long: a throw-away key takes the place of K.
 */
static unsigned int verify_proof2(struct session *s, const void *msg,
				  const struct host **host)
{
	const struct host *h = host_find(s->proof.key_id, session_peer(s));
	const struct rdmablk_proof *proof = msg;
	struct rdmablk_keysched_keys keys;
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];
	int ret = host_prk0(h, s->proof.key_id, prk0) ?:
		  keying_verify(&s->keying, prk0, proof->mac, &keys);

	if (!ret && s->hello.flags & RDMABLK_HELLO_RESUME)
		ret = keying_expect_resume(&s->keying, prk0, s->login.hello.nonce);
	mac_wipe(prk0, sizeof(prk0));
	ret = ret ?: ctrl_seal(&s->ctrl, &keys);
	mac_wipe(&keys, sizeof(keys));
	if (ret == -EACCES)
		log_refusal(s, s->proof.key_id);
	*host = h;
	return keying_reason(ret) ?: identify(s, h);
}

static unsigned int verify_proof(struct session *s, const void *msg)
{
	const struct rdmablk_proof *proof = msg;
	uint8_t mac[RDMABLK_MAC_LEN];

	if (mac_proof(no_key, &s->login.hello, &s->login.challenge, mac))
		return RDMABLK_R_INTERNAL;
	if (!mac_equal(mac, proof->mac))
		return RDMABLK_R_AUTH_FAILED;
	if (mac_session_key(no_key, &s->login.hello, &s->login.challenge, s->key))
		return RDMABLK_R_INTERNAL;
	return RDMABLK_OK;
}

static void fill_lease(struct session *s, const struct host *h)
{
	struct lease *lease = &s->lease;

	if (h)
		host_lease_id(h, lease->host_id);
	else
		memcpy(lease->host_id, s->hello.host_id, sizeof(lease->host_id));
	memcpy(lease->said_id, s->hello.host_id, sizeof(lease->said_id));
	memcpy(lease->boot_nonce, s->hello.boot_nonce, sizeof(lease->boot_nonce));
	memcpy(lease->instance_id, s->hello.instance_id,
	       sizeof(lease->instance_id));
	lease->generation = s->hello.generation;
	lease->writer = !(s->hello.flags & RDMABLK_HELLO_READ_ONLY);
}

/* Refuses an export that needs a feature that was not chosen. */
static unsigned int check_features(const struct session *s)
{
	uint64_t needed = 0;

	if (s->limits.flags & RDMABLK_GRANT_CACHE)
		needed |= RDMABLK_F_COMMANDS;
	if (s->limits.flags & RDMABLK_GRANT_STAGED)
		needed |= RDMABLK_F_COMMANDS | RDMABLK_F_STAGED;
	return needed & ~s->hello.features ? RDMABLK_R_FEATURE : RDMABLK_OK;
}

static unsigned int plan_regions(struct session *s, const struct export *e)
{
	uint64_t bytes = export_region_bytes(e, s->device->attr.max_mr_size);

	if (!bytes) {
		log_peer(session_peer(s), LOG_ERR, "%s: device %s cannot register so much",
			 session_text(s), s->device->name);
		return RDMABLK_R_NO_MEMORY;
	}
	s->regions.bytes = bytes;
	s->regions.size = e->store.size;
	s->regions.nr = (uint32_t)((e->store.size + bytes - 1) / bytes);
	return RDMABLK_OK;
}

static unsigned int plan_staged(struct session *s, struct export *e,
				unsigned int queues)
{
	s->plan = (struct staged_plan){
		.max_mr_size = s->device->attr.max_mr_size,
		.max_cqe = (unsigned int)s->device->attr.max_cqe,
		.nr_queues = queues,
		.logical_block = (uint32_t)e->cfg->block,
		.writer = s->lease.writer,
		.lists = s->hello.features & RDMABLK_F_LISTS,
		.implied = s->hello.features & RDMABLK_F_IMPLIED,
		.size = e->store.size,
		.queue_depth = s->hello.queue_depth,
	};
	return e->store.ops->staged->plan(&e->store, &s->plan);
}

static struct quota_who accounts_of(const struct session *s, struct export *e)
{
	return (struct quota_who){
		.host_id = s->lease.host_id,
		.peer = session_peer(s),
		.writer = s->lease.writer,
		.export = &e->limits,
		.caps = export_caps(e),
		.read_only = e->cfg->read_only,
	};
}

/* Logs which limit refuses a session; the peer learns only the reason. */
static unsigned int refuse(const struct session *s, const struct quota_who *who,
			   uint64_t bytes, const struct quota_freed *freed,
			   unsigned int reason)
{
	char why[QUOTA_WHY];

	if (!reason)
		return RDMABLK_OK;
	quota_session_why(who, bytes, freed, why, sizeof(why));
	if (*why)
		log_peer(session_peer(s), LOG_WARNING, "%s: refused by %s",
			 session_text(s), why);
	return reason;
}

/*
 * Plans how the session's data moves, and takes what it needs from the limits. Fewer queues may
 * be deeper, and need more memory. So the memory is planned for the number that is granted.
 */
static unsigned int plan(struct session *s, struct export *e)
{
	bool staged = s->limits.flags & RDMABLK_GRANT_STAGED;
	const struct quota_who who = accounts_of(s, e);
	unsigned int queues = quota_session_queues(&who, s->hello.nr_queues, NULL);
	unsigned int reason;
	uint64_t bytes;

	reason = staged ? plan_staged(s, e, queues) : plan_regions(s, e);
	if (reason)
		return reason;
	if (staged)
		queues = s->plan.nr_queues;
	bytes = staged ? s->plan.pinned : e->store.size;
	reason = quota_session_get(&s->share, &who, queues, bytes);
	return refuse(s, &who, bytes, NULL, reason);
}

/* What sessions give back that are ending, or have to end for this one */
static struct quota_freed freed_for(const struct quota_who *who, const struct export *e)
{
	struct quota_freed freed = { 0 };
	struct lease *held;

	LIST_FOREACH(held, &e->leases, entry)
		if (held->verdict || held->ending)
			quota_freed_add(&freed, who,
					&container_of(held, struct session, lease)->share);
	return freed;
}

/*
 * Whether the session would be refused even when the sessions that have to end for it are
 * gone. No session ends for a login that is refused anyway.
 */
static unsigned int check_room(struct session *s, struct export *e)
{
	bool staged = s->limits.flags & RDMABLK_GRANT_STAGED;
	const struct quota_who who = accounts_of(s, e);
	const struct quota_freed freed = freed_for(&who, e);
	unsigned int queues = quota_session_queues(&who, s->hello.nr_queues, &freed);
	unsigned int reason;
	uint64_t bytes;

	reason = staged ? plan_staged(s, e, queues) : plan_regions(s, e);
	if (reason)
		return reason;
	bytes = staged ? s->plan.pinned : e->store.size;
	reason = quota_session_check(&who, bytes, &freed);
	return refuse(s, &who, bytes, &freed, reason);
}

static bool has_victims(const struct export *e)
{
	const struct lease *held;

	LIST_FOREACH(held, &e->leases, entry)
		if (held->verdict)
			return true;
	return false;
}

/* Warns of two machines with one key: one of them needs a key of its own. */
static void log_clones(const struct session *s, const struct export *e)
{
	const struct lease *held;

	LIST_FOREACH(held, &e->leases, entry)
		if (export_same_section(held, &s->lease))
			break;
	if (held)
		log_peer(session_peer(s), LOG_WARNING,
			 "%s: two hosts use the key of host %s, the other one from %s",
			 session_text(s), s->proof.name,
			 container_of(held, struct session, lease)->peer_text);
}

/* Whether HELLO resumes this export. In version 2 it has a MAC in the place of the UUID. */
static bool resumes_this(struct session *s, const struct export *e)
{
	if (s->version == RDMABLK_VERSION_PROVEN)
		return keying_resumes(&s->keying, e->store.uuid, s->hello.uuid);
	return !memcmp(s->hello.uuid, e->store.uuid, sizeof(s->hello.uuid));
}

/*
 * Ends the sessions whose leases have a verdict. A loser with nothing to fence, such as one
 * that waits for its turn to register, gives its lease back at once.
 */
static void end_losers(struct session *s, struct export *e)
{
	struct lease *held, *next;

	for (held = LIST_FIRST(&e->leases); held; held = next) {
		struct session *loser = container_of(held, struct session, lease);

		next = LIST_NEXT(held, entry);
		if (!held->verdict)
			continue;
		session_audit_takeover(s, loser, held->verdict);
		session_end(loser, held->verdict);
	}
}

static unsigned int admit(struct session *s, struct export *e)
{
	bool resume = s->hello.flags & RDMABLK_HELLO_RESUME;
	unsigned int reason;

	/*
	 * Check the identity before the last writer: a device that had another export cannot be
	 * the last writer here.
	 */
	if (resume && !resumes_this(s, e))
		return RDMABLK_R_IDENTITY;
	if (e->cfg->read_only && s->lease.writer)
		return RDMABLK_R_READ_ONLY;
	if (resume && !export_resumable(e, &s->lease))
		return RDMABLK_R_STOLEN;
	log_clones(s, e);
	reason = export_admit(&e->leases, &s->lease, e->cfg->shared,
			      s->hello.flags & RDMABLK_HELLO_STEAL);
	if (reason != RDMABLK_R_FENCING)
		return reason;
	reason = has_victims(e) ? check_room(s, e) : RDMABLK_OK;
	if (reason)
		return reason;
	end_losers(s, e);
	return fault(FAULT_GRANT_EARLY) ? RDMABLK_OK : RDMABLK_R_FENCING;
}

static void fill_scope(struct session *s)
{
	struct wire_scope *scope = &s->scope;

	scope->size = s->export->store.size;
	scope->logical_block = (uint32_t)s->export->cfg->block;
	scope->writer = s->lease.writer;
	cmdq_scope(scope, &s->limits);
	if (!(s->limits.flags & RDMABLK_GRANT_STAGED))
		return;
	scope->cmd_depth = s->plan.cmd_depth;
	scope->trailer_bytes = s->plan.trailer_bytes;
	scope->slot_bytes = s->plan.slot_bytes;
}

/* Longest session timeout that an initiator accepts, ms */
static uint64_t session_max(uint64_t keep_alive_ms)
{
	uint64_t ms = keep_alive_ms * RDMABLK_SESSION_FACTOR;

	if (ms < RDMABLK_SESSION_ANY_MS)
		ms = RDMABLK_SESSION_ANY_MS;
	return min_u64(ms, RDMABLK_MAX_SESSION_MS);
}

static void grant_times(struct session *s)
{
	uint64_t ms = s->hello.keep_alive_ms;

	if (ms < s->cfg->keep_alive_min)
		ms = s->cfg->keep_alive_min;
	if (ms > s->cfg->keep_alive_max)
		ms = s->cfg->keep_alive_max;
	s->heard.keep_alive_ms = (uint32_t)ms;
	s->heard.silence_ms = (uint32_t)min_u64(ms * s->cfg->session_factor, session_max(ms));
}

static unsigned int grant_flags(const struct session *s)
{
	return (s->lease.writer ? 0 : RDMABLK_GRANT_READ_ONLY) |
	       (s->export->cfg->shared ? RDMABLK_GRANT_SHARED : 0) |
	       s->limits.flags;
}

static unsigned int send_grant(struct session *s)
{
	const struct wire_grant in = {
		.session_id = s->id,
		.features = s->hello.features,
		.uuid = s->export->store.uuid,
		.epoch = s->export->store.epoch,
		.size = s->scope.size,
		.region_bytes = s->regions.bytes,
		.nr_regions = s->regions.nr,
		.flags = s->grant_flags,
		.logical_block = (uint32_t)s->export->cfg->block,
		.physical_block = s->export->store.physical_block,
		.io_min = s->limits.io_min,
		.io_opt = s->limits.io_opt,
		.max_io = s->limits.max_io,
		.nr_queues = (uint16_t)s->share.queues,
		.queue_depth = session_queue_depth(s),
		.read_depth = device_read_depth(s->device),
		.keep_alive_ms = s->heard.keep_alive_ms,
		.session_tmo_ms = s->heard.silence_ms,
		.target_name = s->cfg->name,
	};
	struct rdmablk_grant grant;

	wire_pack_grant(&grant, &in, s->version);
	if (s->version == RDMABLK_VERSION_PROVEN) {
		s->ctrl.tx.seq += !!fault(FAULT_CORRUPT_GRANT);
		return session_send(s, &grant, wire_length(RDMABLK_MSG_GRANT, s->version));
	}
	if (mac_message(s->key, RDMABLK_LABEL_GRANT, &grant,
			offsetof(struct rdmablk_grant, mac), grant.mac))
		return RDMABLK_R_INTERNAL;
	if (fault(FAULT_CORRUPT_GRANT))
		grant.uuid[0] ^= 1;
	return session_send(s, &grant, sizeof(grant));
}

static void register_done(struct job *job)
{
	struct session *s = container_of(job, struct session, job);
	unsigned int reason;

	if (!session_registered(s))
		return;
	session_set_state(s, SESSION_GRANTED);
	s->granted = true;
	session_audit_login(s);
	session_login_timer(s);
	reason = send_grant(s);
	if (reason) {
		session_end(s, reason);
		return;
	}
	session_tell_size(s);	/* it may have grown since PROOF */
	session_tell_due(s);
}

static unsigned int check_refused(const struct session *s)
{
	if (s->hello.flags & RDMABLK_HELLO_RESUME && s->lease.writer &&
	    s->limits.flags & RDMABLK_GRANT_CACHE && loop_now() < refused.until)
		return RDMABLK_OK;
	return refused.reason;
}

/* The initiator gets the same answer as for an export that does not exist. */
static bool may_use(const struct session *s, const struct export *e)
{
	const char *networks = e->cfg->allow_address;

	if (!networks || value_in_networks(networks, session_peer(s)))
		return true;
	log_peer(session_peer(s), LOG_WARNING,
		 "%s: refused: its address is not in allow-address of export %s",
		 session_text(s), e->cfg->name);
	return false;
}

/*
 * Applies the rights of a host of version 2. An export that the host may not use counts as
 * missing; without the right to steal, a request to steal does not count.
 */
static unsigned int check_rights(struct session *s, const struct host *h,
				 const struct export *e)
{
	unsigned int rights = host_may(h, e);

	if (!rights) {
		log_peer(session_peer(s), LOG_WARNING,
			 "%s: refused: host %s is not in allow of export %s", session_text(s),
			 s->proof.name, e->cfg->name);
		return RDMABLK_R_NO_EXPORT;
	}
	if (!(rights & ALLOW_WRITE) && !(s->hello.flags & RDMABLK_HELLO_READ_ONLY))
		return RDMABLK_R_READ_ONLY;
	if (rights & ALLOW_STEAL || !(s->hello.flags & RDMABLK_HELLO_STEAL))
		return RDMABLK_OK;
	s->hello.flags &= ~RDMABLK_HELLO_STEAL;
	s->proof.no_steal = true;
	log_peer(session_peer(s), LOG_WARNING,
		 "%s: does not steal: host %s has no rw+steal in allow of export %s",
		 session_text(s), s->proof.name, e->cfg->name);
	return RDMABLK_OK;
}

static unsigned int handle_proof(struct session *s, const void *msg, size_t len)
{
	bool proven = s->version == RDMABLK_VERSION_PROVEN;
	const struct host *h = NULL;
	unsigned int reason = proven ? verify_proof2(s, msg, &h) : verify_proof(s, msg);
	struct export *e;

	(void)len;
	if (reason)
		return reason;
	if (s->hello.flags & RDMABLK_HELLO_VISIT)
		return refused.reason ?: visit_begin(s, h);
	e = export_find(s->hello.export_name);
	if (!e || !may_use(s, e))
		return refused.reason ?: RDMABLK_R_NO_EXPORT;
	reason = proven ? check_rights(s, h, e) : RDMABLK_OK;
	if (reason)
		return refused.reason ?: reason;
	if (e->broken)
		return RDMABLK_R_STORE_FAILED;
	fill_lease(s, h);
	if (e->store.ops->limits)
		e->store.ops->limits(&e->store, &s->limits);
	reason = check_refused(s) ?: check_features(s) ?: admit(s, e) ?: plan(s, e);
	if (reason)
		return reason;
	s->export = e;
	export_lease(e, &s->lease);
	s->leased = true;
	fill_scope(s);
	s->grant_flags = grant_flags(s);
	grant_times(s);
	session_set_state(s, SESSION_REGISTER);
	if (refused.reason)
		session_tell(s, RDMABLK_EVENT_DRAIN, (uint64_t)refused.until);
	return session_register(s, register_done);
}

static unsigned int handle_regions_get(struct session *s, const void *msg,
				       size_t len)
{
	struct rdmablk_regions regions;
	unsigned int reason;
	uint32_t first, count;

	reason = wire_check_regions_get(msg, len, s->regions.nr, &first);
	if (reason)
		return reason;
	count = (uint32_t)min_u64(s->regions.nr - first, RDMABLK_REGIONS_PER_MSG);
	wire_pack_regions(&regions, first, count, s->version);
	for (uint32_t i = 0; i < count; i++) {
		const struct region *region = &s->regions.region[first + i];

		wire_pack_region(&regions.region[i], region->iova,
				 region->mr->rkey);
	}
	if (s->version == RDMABLK_VERSION_PROVEN)
		return session_send(s, &regions,
				    wire_length(RDMABLK_MSG_REGIONS, s->version));
	if (mac_message(s->key, RDMABLK_LABEL_REGIONS, &regions,
			offsetof(struct rdmablk_regions, mac), regions.mac))
		return RDMABLK_R_INTERNAL;
	return session_send(s, &regions, sizeof(regions));
}

static unsigned int handle_limits_get(struct session *s, const void *msg,
				      size_t len)
{
	struct rdmablk_limits limits;

	(void)msg;
	(void)len;
	if (!(s->hello.features & RDMABLK_F_COMMANDS))
		return RDMABLK_R_STATE;
	wire_pack_limits(&limits, &s->scope, s->version);
	if (s->version == RDMABLK_VERSION_PROVEN)
		return session_send(s, &limits, wire_length(RDMABLK_MSG_LIMITS, s->version));
	if (mac_message(s->key, RDMABLK_LABEL_LIMITS, &limits,
			offsetof(struct rdmablk_limits, mac), limits.mac))
		return RDMABLK_R_INTERNAL;
	return session_send(s, &limits, sizeof(limits));
}

static unsigned int handle_ready(struct session *s, const void *msg, size_t len)
{
	struct rdmablk_live live;

	(void)msg;
	(void)len;
	if (s->joined != s->nr_data)
		return RDMABLK_R_JOIN_MISSING;
	session_live(s);
	wire_pack_live(&live);
	return session_send(s, &live, sizeof(live));
}

static unsigned int send_unsealed(struct session *s, const void *msg, size_t len)
{
	unsigned int reason;

	s->ctrl.sealed = false;
	reason = session_send(s, msg, len);
	s->ctrl.sealed = true;
	return reason;
}

/* With a fault: sends what a peer without the key could put into the connection. */
static unsigned int send_forged(struct session *s)
{
	struct rdmablk_event_msg resize;
	struct rdmablk_close close;
	uint64_t value;

	if (!s->ctrl.sealed || s->state != SESSION_LIVE)
		return RDMABLK_OK;
	value = fault_once(FAULT_UNSEALED_CLOSE);
	if (value) {
		wire_pack_close(&close, (unsigned int)value, s->version);
		return send_unsealed(s, &close, sizeof(close));
	}
	value = fault_once(FAULT_UNSEALED_RESIZE);
	if (!value)
		return RDMABLK_OK;
	wire_pack_event(&resize, RDMABLK_EVENT_RESIZE, value);
	return send_unsealed(s, &resize, sizeof(resize));
}

static unsigned int handle_command(struct session *s, const void *msg, size_t len)
{
	unsigned int reason, status = RDMABLK_OK;
	struct rdmablk_answer answer;
	struct wire_command cmd;

	reason = wire_check_command(msg, len, &cmd);
	if (reason)
		return reason;
	switch (cmd.op) {
	case RDMABLK_OP_KEEPALIVE:
		if (fault(FAULT_NO_KEEPALIVE_ANSWER))
			return RDMABLK_OK;
		s->heard.keepalives++;
		reason = send_forged(s);
		if (reason)
			return reason;
		break;
	case RDMABLK_OP_LOGOUT:
		if (cmd.flags && !(s->hello.features & RDMABLK_F_COMMANDS))
			return RDMABLK_R_MALFORMED;
		s->end.clean = cmd.flags & RDMABLK_LOGOUT_CLEAN;
		s->end.logout = cmd;
		return RDMABLK_R_LOGOUT;
	default:
		status = RDMABLK_R_UNSUPPORTED;
		break;
	}
	if (s->state == SESSION_VISIT)
		session_login_timer(s);
	wire_pack_answer(&answer, &cmd, status);
	return session_send(s, &answer, sizeof(answer));
}

static unsigned int handle_close(struct session *s, const void *msg, size_t len)
{
	unsigned int theirs;
	unsigned int reason = wire_check_close(msg, len, &theirs);

	if (reason)
		return reason;
	log_peer(session_peer(s), LOG_INFO, "%s: the initiator closes: %s", session_text(s),
		 rdmablk_reason_text(theirs));
	s->quiet = true;
	/* A login that the initiator itself refuses would be refused the next time, too. */
	if (s->state < SESSION_LIVE)
		s->login.refused = theirs;
	return RDMABLK_R_CONNECTION;
}

#define STATE(state)	(1U << SESSION_##state)

static const struct {
	unsigned int states;	/* states in which the message may come, a bit each */
	unsigned int (*handle)(struct session *s, const void *msg, size_t len);
} messages[] = {
	[RDMABLK_MSG_HELLO]	= { STATE(HELLO), handle_hello },
	[RDMABLK_MSG_PROOF]	= { STATE(PROOF), handle_proof },
	[RDMABLK_MSG_REGIONS_GET] = { STATE(GRANTED), handle_regions_get },
	[RDMABLK_MSG_LIMITS_GET] = { STATE(GRANTED), handle_limits_get },
	[RDMABLK_MSG_READY]	= { STATE(GRANTED), handle_ready },
	[RDMABLK_MSG_COMMAND]	= { STATE(VISIT) | STATE(GRANTED) | STATE(LIVE),
				    handle_command },
	[RDMABLK_MSG_LIST_GET]	= { STATE(VISIT), visit_list },
	[RDMABLK_MSG_SCRATCH_GET] = { STATE(VISIT), visit_scratch },
	[RDMABLK_MSG_REAUTH]	= { STATE(LIVE), session_reauth_begin },
	[RDMABLK_MSG_REAUTH_PROOF] = { STATE(LIVE), session_reauth_prove },
	[RDMABLK_MSG_CLOSE]	= { STATE(HELLO) | STATE(PROOF) | STATE(VISIT) |
				    STATE(REGISTER) | STATE(GRANTED) | STATE(LIVE),
				    handle_close },
};

/**
 * login_receive - handle a message
 * @s: not yet ending
 * @msg: as received; nothing of it is checked
 * @len: bytes received
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int login_receive(struct session *s, const void *msg, size_t len)
{
	unsigned int reason;
	uint16_t type;

	reason = wire_check_head(msg, len, s->version, &type);
	if (reason)
		return reason;
	if (type >= ARRAY_SIZE(messages) || !messages[type].handle ||
	    !(messages[type].states & 1U << s->state))
		return RDMABLK_R_STATE;
	return messages[type].handle(s, msg, len);
}
