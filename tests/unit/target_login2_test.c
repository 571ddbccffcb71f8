// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The target's side of the login of version 2, from the connection request to LIVE: which
 * hosts get in, with what rights, and which messages end a session because they are not sealed
 * as they must be. The adapter, librdmacm and the clock are fakes.
 *
 * Sources: target/session/login.c target/session/session_event.c target/session/listener.c
 *	   target/session/session_open.c target/session/session.c target/rdma/ctrl.c
 *	   target/wire/keying.c target/wire/wire.c
 * Libraries: json-c liburing libcrypto
 */
#include "target_login2.h"

static void set_up_log(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
}

/*
 * Tests
 */

static void a_login_gets_what_it_is_granted(void **state)
{
	struct rdmablk_regions_get get = { .hdr = head(RDMABLK_MSG_REGIONS_GET, sizeof(get)) };
	struct rdmablk_command logout = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(logout)) };
	const struct rdmablk_challenge *c;
	struct peer *p = begin(HOME_KEY);
	struct session *s = session_of(p);

	(void)state;
	say_hello(p);
	c = &p->challenge.challenge;
	assert_int_equal(le16toh(c->version), 2);
	assert_int_equal(le32toh(c->auth_method), RDMABLK_AUTH_PSK);
	assert_int_equal(le16toh(p->challenge.group), RDMABLK_GROUP_P256);
	assert_int_equal(le16toh(p->challenge.suite), RDMABLK_SUITE_AES256_GCM);
	assert_memory_equal(p->challenge.target_id, cfg.target_id, RDMABLK_ID_LEN);
	assert_int_equal(le64toh(c->features), RDMABLK_F_COMMANDS);
	assert_string_equal(s->proof.name, "");
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type);
	assert_false(p->bare);
	assert_string_equal(s->proof.name, "home");
	assert_memory_equal(s->proof.key_id, keys[HOME_KEY]->id, sizeof(s->proof.key_id));
	assert_int_equal(le64toh(p->grant.session_id), s->id);
	assert_int_equal(le64toh(p->grant.size), MIB);
	say_sealed(p, &get, sizeof(get));
	assert_int_equal(le32toh(p->regions.count), 1);
	assert_int_equal(le64toh(p->regions.region[0].iova), s->regions.region[0].iova);
	say_head(p, RDMABLK_MSG_LIMITS_GET);
	assert_true(le32toh(p->limits.ops) & RDMABLK_OP_BIT(RDMABLK_OP_FENCE));
	join_queue(p, 1);
	join_queue(p, 2);
	say_head(p, RDMABLK_MSG_READY);
	assert_true(p->live);
	keep_alive(p);
	keep_alive(p);
	logout.op = htole16(RDMABLK_OP_LOGOUT);
	logout.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	logout.hdr.generation = htole32(9);
	say_sealed(p, &logout, sizeof(logout));
	WAIT_FOR(le32toh(p->answer.hdr.generation) == 9);
	assert_false(p->bare || p->close.hdr.type);
}

static struct peer *request(uint16_t min, uint16_t max)
{
	struct peer *p = peer_new(HOME);

	p->req.version_min = htole16(min);
	p->req.version_max = htole16(max);
	ask(p);
	return p;
}

/* The configuration decides the version, whatever the peer offers. */
static void a_daemon_speaks_one_version(void **state)
{
	struct peer *p;

	(void)state;
	assert_refused(request(1, 1), RDMABLK_R_AUTH_REQUIRED, 2);
	assert_refused(request(3, 4), RDMABLK_R_VERSION, 2);
	assert_refused(request(2, 1), RDMABLK_R_MALFORMED, 2);
	p = request(1, 3);
	assert_int_equal(p->refused, RDMABLK_OK);
	assert_int_equal(le16toh(p->accept.accept.version), 2);
	/* nor does HELLO choose another */
	p->key = keys[HOME_KEY];
	fill_hello(p);
	p->hello.hello.version_min = htole16(1);
	send_hello(p);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
	cfg.auth = AUTH_NONE;
	assert_refused(request(2, 2), RDMABLK_R_VERSION, 1);
	p = request(1, 2);
	cfg.auth = AUTH_PSK;
	assert_int_equal(p->refused, RDMABLK_OK);
	assert_int_equal(p->accept_len, sizeof(p->accept.accept));
	assert_int_equal(le16toh(p->accept.accept.version), 1);
}

static void a_hello_of_version_2_is_checked(void **state)
{
	static const struct {
		size_t at;
		const char *bytes;
		size_t len;
		unsigned int reason;
	} wrong[] = {
#define AT(field)	offsetof(struct rdmablk_hello2, field)
		{ AT(hello.version_min), "\1\0\1\0", 4, RDMABLK_R_AUTH_REQUIRED },
		{ AT(hello.version_min), "\3\0\3\0", 4, RDMABLK_R_VERSION },
		{ AT(hello.version_min), "\2\0\3\0", 4, RDMABLK_R_MALFORMED },
		{ AT(hello.auth_methods), "\1", 1, RDMABLK_R_AUTH_REQUIRED },
		{ AT(hello.auth_methods), "\3", 1, RDMABLK_R_AUTH_REQUIRED },
		{ AT(hello.generation), "\0", 1, RDMABLK_R_MALFORMED },
		{ AT(hello.hdr.length), "\x18\1", 2, RDMABLK_R_MALFORMED },
		{ AT(group), "\2", 1, RDMABLK_R_FEATURE },
		{ AT(suite), "\2", 1, RDMABLK_R_FEATURE },
		{ AT(reserved), "\1", 1, RDMABLK_R_MALFORMED },
		{ AT(reserved) + 3, "\1", 1, RDMABLK_R_MALFORMED },
#undef AT
	};
	struct peer *p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		p = begin(HOME_KEY);
		fill_hello(p);
		memcpy((char *)&p->hello + wrong[i].at, wrong[i].bytes, wrong[i].len);
		send_hello(p);
		assert_closed(p, wrong[i].reason, false);
		assert_int_equal(p->messages, 1);
	}
	/* HELLO of version 1 */
	p = begin(HOME_KEY);
	fill_hello(p);
	p->hello.hello.hdr.length = htole16(sizeof(p->hello.hello));
	say(p, &p->hello, sizeof(p->hello.hello));
	assert_closed(p, RDMABLK_R_MALFORMED, false);
}

/* An initiator that is not let in gets a CHALLENGE as any other, and then only a bare CLOSE. */
static void assert_unknown(struct peer *p)
{
	unsigned int before;

	say_hello(p);
	before = agreements;
	say_proof(p);
	assert_int_equal(agreements, before + 1);	/* the peer's; the target did none */
	assert_closed(p, RDMABLK_R_AUTH_FAILED, false);
	assert_int_equal(p->messages, 2);
}

static void who_does_not_know_a_key_gets_a_challenge_and_no_more(void **state)
{
	struct rdmablk_proof proof;
	unsigned int before;
	struct peer *p;

	(void)state;
	assert_unknown(begin(STRANGER_KEY));
	/* the right key from the wrong address */
	p = begin_from(HOME + 1, HOME_KEY);
	assert_unknown(p);
	/* the key has ended */
	later = true;
	assert_unknown(begin(HOME_KEY));
	later = false;
	/* the id of a known key without the key */
	p = begin(STRANGER_KEY);
	fill_hello(p);
	memcpy(p->hello.key_id, keys[HOME_KEY]->id, sizeof(p->hello.key_id));
	send_hello(p);
	say_proof(p);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, false);
	/* every bit of the MAC counts, and no ECDH is done before it is right */
	for (unsigned int bit = 0; bit < 8 * sizeof(proof.mac); bit += 17) {
		p = begin(HOME_KEY);
		say_hello(p);
		proof = make_proof(p);
		proof.mac[bit / 8] ^= 1 << bit % 8;
		before = agreements;
		say(p, &proof, sizeof(proof));
		assert_int_equal(agreements, before);
		assert_closed(p, RDMABLK_R_AUTH_FAILED, false);
	}
}

/* Only PROOF needs the key: one that ends after HELLO fails like a wrong one. */
static void a_key_counts_when_it_is_proven(void **state)
{
	struct peer *p = begin(HOME_KEY);

	(void)state;
	say_hello(p);
	later = true;
	say_proof(p);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, false);
	p = begin(HOME_KEY);
	say_hello(p);
	later = false;
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type);
}

/* Whether a session has what is as good as the key, or the key */
static bool has_key(const struct session *s, unsigned int key)
{
	const uint8_t *secret = keys[key]->secret;
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];

	assert_int_equal(rdmablk_keysched_prk0(schedule, secret, prk0), 0);
	return memmem(s, sizeof(*s), prk0, sizeof(prk0)) ||
	       memmem(s, sizeof(*s), secret, KEY_FILE_SECRET_LEN);
}

/* A relay may forward CHALLENGE and HELLO unchanged, but it has queue pairs of its own. */
static void a_login_is_bound_to_its_queue_pairs(void **state)
{
	struct peer *p = begin(HOME_KEY);

	(void)state;
	say_hello(p);
	p->qpn++;
	say_proof(p);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, false);
}

static void a_host_is_who_its_section_says(void **state)
{
	struct peer *p = begin(NAMED_KEY);
	struct session *s;

	(void)state;
	fill_hello(p);
	p->hello.hello.host_id[0] = 8;
	send_hello(p);
	say_proof(p);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	s = session_of(granted(NAMED_KEY));
	assert_memory_not_equal(s->lease.host_id, s->hello.host_id, sizeof(s->hello.host_id));
}

/* A host that knows K sends a point that is not on the curve. */
static void a_public_key_that_is_none_ends_the_login(void **state)
{
	struct peer *p = begin(HOME_KEY);

	(void)state;
	fill_hello(p);
	p->hello.point[RDMABLK_POINT_LEN - 1] ^= 1;
	send_hello(p);
	say_proof(p);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
}

static void no_message_comes_before_its_time(void **state)
{
	const struct rdmablk_ready ready = { .hdr = head(RDMABLK_MSG_READY, sizeof(ready)) };
	struct peer *p = begin(HOME_KEY);
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };

	(void)state;
	say(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_STATE, false);
	p = begin(HOME_KEY);
	say_hello(p);
	say(p, &ready, sizeof(ready));
	assert_closed(p, RDMABLK_R_STATE, false);
	p = begin(HOME_KEY);
	say_hello(p);
	send_hello(p);
	assert_closed(p, RDMABLK_R_STATE, false);
	/* sealed before there are keys */
	p = begin(HOME_KEY);
	rdmablk_sealed_init(&p->tx, &crypto_sealed, crypto_cipher(p->keys.i2t, true));
	say_head(p, RDMABLK_MSG_READY);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
	/* sealed in sealed */
	p = granted(HOME_KEY);
	say_head(p, RDMABLK_MSG_SEALED);
	assert_closed(p, RDMABLK_R_MALFORMED, true);
}

/*
 * After PROOF
 */

static void what_is_not_sealed_ends_the_session(void **state)
{
	struct rdmablk_regions_get get = { .hdr = head(RDMABLK_MSG_REGIONS_GET, sizeof(get)) };
	struct rdmablk_close close = { .hdr = head(RDMABLK_MSG_CLOSE, sizeof(close)),
				       .reason = htole16(RDMABLK_R_LOGOUT) };
	struct peer *p = granted(HOME_KEY);
	unsigned int before;
	struct session *s;

	(void)state;
	say(p, &get, sizeof(get));
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	assert_int_equal(p->regions.hdr.type, 0);
	p = log_in(HOME_KEY);
	say(p, &get, 0);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	/* anybody can send a bare CLOSE, so it counts as a lost connection and no more */
	p = log_in(HOME_KEY);
	s = session_of(p);
	before = p->messages;
	say(p, &close, sizeof(close));
	assert_int_equal(s->end.reason, RDMABLK_R_CONNECTION);
	assert_int_equal(s->login.refused, RDMABLK_OK);
	WAIT_FOR(atomic_load(&p->gone));
	assert_int_equal(p->messages, before);
	/* a sealed CLOSE is the initiator's, so its reason counts */
	p = granted(HOME_KEY);
	s = session_of(p);
	say_sealed(p, &close, sizeof(close));
	assert_int_equal(s->end.reason, RDMABLK_R_CONNECTION);
	assert_int_equal(s->login.refused, RDMABLK_R_LOGOUT);
}

static void frames_come_in_their_order_and_once(void **state)
{
	const struct rdmablk_command cmd = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)) };
	uint8_t first[RDMABLK_CTRL_MSG_MAX], second[RDMABLK_CTRL_MSG_MAX];
	struct peer *p = log_in(HOME_KEY);
	size_t len;

	(void)state;
	len = seal(p, &cmd, sizeof(cmd), first);
	say(p, first, len);
	assert_int_equal(le16toh(p->answer.hdr.type), RDMABLK_MSG_ANSWER);
	say(p, first, len);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	p = log_in(HOME_KEY);
	seal(p, &cmd, sizeof(cmd), first);
	len = seal(p, &cmd, sizeof(cmd), second);
	say(p, second, len);
	assert_int_equal(p->answer.hdr.type, 0);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	/* a frame that is sealed as the target's own */
	p = log_in(HOME_KEY);
	crypto_cipher_free(p->tx.key);
	p->tx.key = crypto_cipher(p->keys.t2i, true);
	len = seal(p, &cmd, sizeof(cmd), first);
	say(p, first, len);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
}

static void every_bit_of_a_frame_counts(void **state)
{
	const struct rdmablk_command cmd = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)) };
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];
	size_t len = sizeof(cmd) + RDMABLK_SEALED_EXTRA;
	struct peer *p;

	(void)state;
	for (size_t bit = 0; bit < 8 * len; bit += 13) {
		p = granted(HOME_KEY);
		assert_int_equal(seal(p, &cmd, sizeof(cmd), frame), len);
		frame[bit / 8] ^= 1 << bit % 8;
		say(p, frame, len);
		assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
		assert_int_equal(p->answer.hdr.type, 0);
		assert_int_equal(all_forget(state), 0);
	}
	/* one byte less, one more */
	for (int more = -1; more < 2; more += 2) {
		p = granted(HOME_KEY);
		seal(p, &cmd, sizeof(cmd), frame);
		say(p, frame, len + (size_t)more);
		assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
		assert_int_equal(all_forget(state), 0);
	}
}

/*
 * Joins
 */

static void a_join_is_the_initiators_own(void **state)
{
	struct peer *p = granted(HOME_KEY), *data = join_new(p, 1), *stranger;
	struct session *s = session_of(p);

	(void)state;
	/* not signed, and then changed in each part */
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_MAC, 2);
	for (size_t i = 0; i < RDMABLK_MAC_LEN; i += 5) {
		data = join_new(p, 1);
		join_sign(p, data);
		data->req.mac[i] ^= 0x10;
		ask(data);
		assert_refused(data, RDMABLK_R_JOIN_MAC, 2);
	}
	data = join_new(p, 1);
	join_sign(p, data);
	data->req.queue = htole16(3);
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_MAC, 2);
	/* a request that was overheard, sent from another queue pair */
	data = join_new(p, 1);
	join_sign(p, data);
	data->qpn++;
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_MAC, 2);
	/* from another address */
	data = join_new(p, 1);
	join_sign(p, data);
	stranger = peer_new(HOME + 1);
	stranger->req = data->req;
	stranger->qpn = data->qpn;
	ask(stranger);
	assert_refused(stranger, RDMABLK_R_JOIN_DEVICE, 2);
	/* with the generation of another login */
	data = join_new(p, 1);
	data->req.generation = htole32(2);
	join_sign(p, data);
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_SESSION, 2);
	/* with the key that version 1 would use */
	data = join_new(p, 1);
	assert_int_equal(mac_message(s->key, RDMABLK_LABEL_JOIN, &data->req,
				     offsetof(struct rdmablk_cm_request, mac), data->req.mac), 0);
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_MAC, 2);
	assert_int_equal(s->joined, 0);
	join_queue(p, 1);
	/* each queue joins once */
	data = join_new(p, 1);
	join_sign(p, data);
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_TWICE, 2);
	join_queue(p, 2);
	assert_int_equal(s->joined, 2);
	assert_int_equal(s->state, SESSION_GRANTED);
}

/* Before GRANT, and when it ends, a session has no key that could verify a join. */
static void nobody_joins_before_grant(void **state)
{
	struct peer *p = begin(HOME_KEY), *data;

	(void)state;
	say_hello(p);
	p->grant.session_id = p->challenge.challenge.session_id;
	data = join_new(p, 1);
	join_sign(p, data);	/* with zeroes, which is what the target has, too */
	ask(data);
	assert_refused(data, RDMABLK_R_JOIN_SESSION, 2);
}

/*
 * Rights
 */

static struct peer *asked(unsigned int key, const char *export, uint32_t flags)
{
	struct peer *p = begin(key);

	fill_hello(p);
	memset(p->hello.hello.export_name, 0, sizeof(p->hello.hello.export_name));
	memcpy(p->hello.hello.export_name, export, strlen(export));
	p->hello.hello.flags = htole32(flags);
	send_hello(p);
	say_proof(p);
	return p;
}

/* An export that a host may not use cannot be told from one that is not there. */
static void an_export_that_is_not_allowed_does_not_exist(void **state)
{
	struct peer *none, *hidden;
	char *allow;

	(void)state;
	none = asked(HOME_KEY, "nothing", 0);
	assert_closed(none, RDMABLK_R_NO_EXPORT, true);
	allow = export_find("first")->cfg->allow;
	export_find("first")->cfg->allow = strdup("named, reader:ro");
	hidden = asked(HOME_KEY, "first", 0);
	assert_closed(hidden, RDMABLK_R_NO_EXPORT, true);
	free(export_find("first")->cfg->allow);
	export_find("first")->cfg->allow = NULL;
	assert_closed(asked(HOME_KEY, "first", 0), RDMABLK_R_NO_EXPORT, true);
	export_find("first")->cfg->allow = allow;
	assert_memory_equal(&none->close, &hidden->close, sizeof(none->close));
	assert_int_equal(none->messages, hidden->messages);
	/* a host that has not proven a key learns nothing about exports */
	assert_unknown(begin(STRANGER_KEY));
}

static void rights_are_those_of_the_list(void **state)
{
	struct peer *p = asked(READER_KEY, "first", 0), *writer;

	(void)state;
	assert_closed(p, RDMABLK_R_READ_ONLY, true);
	p = asked(READER_KEY, "first", RDMABLK_HELLO_READ_ONLY);
	WAIT_FOR(p->grant.hdr.type);
	assert_true(le32toh(p->grant.flags) & RDMABLK_GRANT_READ_ONLY);
	writer = log_in(HOME_KEY);
	/* a request to steal does not count without the right to */
	p = asked(NAMED_KEY, "first", RDMABLK_HELLO_STEAL);
	assert_closed(p, RDMABLK_R_BUSY, true);
	keep_alive(writer);
	p = asked(THIEF_KEY, "first", 0);
	assert_closed(p, RDMABLK_R_BUSY, true);
	p = asked(THIEF_KEY, "first", RDMABLK_HELLO_STEAL);
	assert_closed(writer, RDMABLK_R_STOLEN, true);
	assert_closed(p, RDMABLK_R_FENCING, true);
}

/* The host may get the export all the same; the log says that it cannot take it. */
static void a_wish_without_the_right_is_logged(void **state)
{
	FILE *file = tmpfile();
	int stderr_fd = dup(STDERR_FILENO);
	char said[400] = "";
	struct peer *p;

	(void)state;
	assert_non_null(file);
	assert_true(stderr_fd >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	log_setup(LOG_WARNING);
	p = asked(NAMED_KEY, "first", RDMABLK_HELLO_STEAL);
	WAIT_FOR(p->grant.hdr.type);
	set_up_log();
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	rewind(file);
	assert_true(fread(said, 1, sizeof(said) - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(said, ": does not steal: host named has no rw+steal in allow of"));
	assert_non_null(strstr(said, " export first\n"));
	assert_true(session_of(p)->proof.no_steal);
}

static void a_wish_with_the_right_is_not(void **state)
{
	struct peer *p = asked(THIEF_KEY, "first", RDMABLK_HELLO_STEAL);

	(void)state;
	WAIT_FOR(p->grant.hdr.type);
	assert_false(session_of(p)->proof.no_steal);
}

/* A host that sends the host id of another one does not take over its session. */
static void a_host_cannot_claim_the_sessions_of_another(void **state)
{
	struct peer *writer = log_in(HOME_KEY), *p = begin(THIEF_KEY);

	(void)state;
	fill_hello(p);
	memcpy(p->hello.hello.host_id, writer->hello.hello.host_id, RDMABLK_ID_LEN);
	memset(p->hello.hello.boot_nonce, 9, RDMABLK_ID_LEN);
	send_hello(p);
	say_proof(p);
	assert_closed(p, RDMABLK_R_BUSY, true);
	keep_alive(writer);
	/* with its own key a host that was started again gets its export back */
	p = begin(HOME_KEY);
	say_hello(p);
	say_proof(p);
	assert_closed(writer, RDMABLK_R_REPLACED, true);
	assert_closed(p, RDMABLK_R_FENCING, true);
}

/* Logs in as machine @id with a key that other machines may have, too. */
static struct peer *machine(unsigned int key, uint8_t id, uint32_t flags)
{
	struct peer *p = begin(key);

	fill_hello(p);
	p->hello.hello.host_id[0] = id;
	p->hello.hello.flags = htole32(flags);
	send_hello(p);
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type || p->close.hdr.type);
	return p;
}

/* Warnings go to this file until the next call. */
static void catch_warnings(FILE *to)
{
	static int was = -1;

	if (to) {
		was = dup(STDERR_FILENO);
		assert_true(dup2(fileno(to), STDERR_FILENO) >= 0);
		log_set_level(LOG_WARNING);
		return;
	}
	log_set_level(-1);
	assert_true(dup2(was, STDERR_FILENO) >= 0);
	close(was);
}

/* The second machine is a clone of the first, or has a copy of its key file. */
static void two_machines_with_one_key_do_not_end_each_other(void **state)
{
	struct peer *writer = machine(HOME_KEY, 7, 0), *p, *reader;
	FILE *warnings = tmpfile();
	char line[512];

	(void)state;
	assert_non_null(warnings);
	assert_int_equal(le16toh(writer->close.reason), RDMABLK_OK);
	catch_warnings(warnings);
	p = machine(HOME_KEY, 8, 0);
	catch_warnings(NULL);
	assert_closed(p, RDMABLK_R_BUSY, true);
	rewind(warnings);
	assert_non_null(fgets(line, sizeof(line), warnings));
	assert_non_null(strstr(line, "two hosts use the key of host home, the other one from"));
	fclose(warnings);
	assert_int_equal(writer->close.hdr.type, 0);
	/* both may read */
	reader = machine(READER_KEY, 7, RDMABLK_HELLO_READ_ONLY);
	p = machine(READER_KEY, 8, RDMABLK_HELLO_READ_ONLY);
	assert_true(reader->grant.hdr.type && p->grant.hdr.type);
	assert_false(reader->close.hdr.type || p->close.hdr.type);
	/* one of them has started again: it is replaced, and the other is not */
	reader = machine(READER_KEY, 8, RDMABLK_HELLO_READ_ONLY);
	assert_closed(p, RDMABLK_R_REPLACED, true);
	assert_closed(reader, RDMABLK_R_FENCING, true);
}

/*
 * The end
 */

static bool is_zero(const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		if (*p++)
			return false;
	return true;
}

/*
 * Logs a device in again that goes on with the export @uuid; @clear: the UUID is sent in the
 * clear. Return: the reason of the CLOSE; RDMABLK_OK: GRANT has come
 */
static unsigned int resume(const struct peer *was, const uint8_t *uuid, unsigned int key,
			   bool clear)
{
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], resume[RDMABLK_KEYSCHED_LEN];
	struct peer *p = begin(HOME_KEY);
	struct rdmablk_hello *h = &p->hello.hello;
	struct session *s = session_of(p);

	fill_hello(p);
	memcpy(h->boot_nonce, was->hello.hello.boot_nonce, sizeof(h->boot_nonce));
	memcpy(h->instance_id, was->hello.hello.instance_id, sizeof(h->instance_id));
	h->generation = htole32(2);
	h->flags = htole32(RDMABLK_HELLO_RESUME);
	h->nonce[31] = 0x17;
	rdmablk_keysched_prk0(schedule, keys[key]->secret, prk0);
	rdmablk_keysched_resume_key(schedule, prk0, h->nonce, resume);
	rdmablk_keysched_resume(schedule, resume, uuid, h->uuid);
	if (clear)
		memcpy(h->uuid, uuid, sizeof(h->uuid));
	send_hello(p);
	assert_true(is_zero(s->keying.resume, sizeof(s->keying.resume)));
	say_proof(p);
	assert_true(is_zero(s->keying.resume, sizeof(s->keying.resume)));
	WAIT_FOR(p->grant.hdr.type || p->close.hdr.type);
	assert_false(p->bare);
	return le16toh(p->close.reason);
}

/* No message before PROOF has the UUID in the clear; a MAC of another UUID is refused. */
static void an_export_is_resumed_by_its_mac(void **state)
{
	struct peer *was = log_in(HOME_KEY);
	uint8_t uuid[RDMABLK_ID_LEN];

	(void)state;
	memcpy(uuid, was->grant.uuid, sizeof(uuid));
	assert_false(is_zero(uuid, sizeof(uuid)));
	assert_int_equal(resume(was, uuid, HOME_KEY, true), RDMABLK_R_IDENTITY);
	assert_int_equal(resume(was, uuid, NAMED_KEY, false), RDMABLK_R_IDENTITY);
	uuid[15] ^= 1;
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_IDENTITY);
	uuid[15] ^= 1;
	keep_alive(was);
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_FENCING);
	assert_closed(was, RDMABLK_R_REPLACED, true);
	WAIT_FOR(atomic_load(&was->gone));
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_OK);
}

/*
 * A device that was away when its export was stolen learns of it at its next login. The refusal
 * waits for no fence: it says FENCING as long as the fence of the device's old session lasts,
 * and STOLEN from then on. So the initiator, whose patience is limited, gets an answer however
 * long a fence takes.
 */
static void a_stolen_device_hears_of_it_when_it_returns(void **state)
{
	struct peer *was = log_in(HOME_KEY), *thief;
	uint8_t uuid[RDMABLK_ID_LEN];
	static sem_t fence;

	(void)state;
	memcpy(uuid, was->grant.uuid, sizeof(uuid));
	sem_init(&fence, 0, 0);
	hold = &fence;
	thief = asked(THIEF_KEY, "first", RDMABLK_HELLO_STEAL);
	assert_closed(thief, RDMABLK_R_FENCING, true);
	event(was, RDMA_CM_EVENT_DISCONNECTED);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_FENCING);
		WAIT_FOR(session_of(was)->state == SESSION_FENCING);
	}
	hold = NULL;
	for (unsigned int i = 0; i < 64; i++)
		sem_post(&fence);
	WAIT_FOR(atomic_load(&was->gone));
	assert_int_equal(was->close.hdr.type, 0);
	thief = asked(THIEF_KEY, "first", RDMABLK_HELLO_STEAL);
	WAIT_FOR(thief->grant.hdr.type);
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_STOLEN);
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_STOLEN);
	hang_up(thief);
	assert_int_equal(resume(was, uuid, HOME_KEY, false), RDMABLK_R_STOLEN);
}

static void secrets_go_when_they_have_served(void **state)
{
	struct peer *p = begin(HOME_KEY);
	struct session *s = session_of(p);

	(void)state;
	say_hello(p);
	assert_false(has_key(s, HOME_KEY));
	assert_non_null(s->keying.pair.pkey);
	say_proof(p);
	assert_false(has_key(s, HOME_KEY));
	assert_null(s->keying.pair.pkey);
	assert_false(is_zero(s->keying.join, sizeof(s->keying.join)));
	WAIT_FOR(p->grant.hdr.type);
	session_end(s, RDMABLK_R_SHUTDOWN);
	assert_true(is_zero(&s->keying, sizeof(s->keying)));
	assert_closed(p, RDMABLK_R_SHUTDOWN, true);
	/* a login that fails keeps nothing, either */
	p = begin(STRANGER_KEY);
	s = session_of(p);
	say_hello(p);
	say_proof(p);
	assert_true(is_zero(&s->keying, sizeof(s->keying)));
}

#define LOGINS	10

/* The loop handles HELLO and PROOF in one turn each, and may spend 10 ms on all of a turn. */
static void the_loop_has_time_for_logins(void **state)
{
	struct timespec from, to;
	double hello = 0, proof = 0;

	(void)state;
	for (unsigned int i = 0; i < LOGINS; i++) {
		struct peer *p = begin(HOME_KEY);
		struct rdmablk_proof msg;

		fill_hello(p);
		clock_gettime(CLOCK_MONOTONIC, &from);
		send_hello(p);
		clock_gettime(CLOCK_MONOTONIC, &to);
		hello += (double)(to.tv_sec - from.tv_sec) * 1e6 +
			 (double)(to.tv_nsec - from.tv_nsec) / 1e3;
		msg = make_proof(p);
		clock_gettime(CLOCK_MONOTONIC, &from);
		say(p, &msg, sizeof(msg));
		clock_gettime(CLOCK_MONOTONIC, &to);
		proof += (double)(to.tv_sec - from.tv_sec) * 1e6 +
			 (double)(to.tv_nsec - from.tv_nsec) / 1e3;
		assert_int_equal(all_forget(state), 0);
	}
	print_message("HELLO takes %.0f us, PROOF %.0f us\n", hello / LOGINS, proof / LOGINS);
}

#define TEST(name) cmocka_unit_test_teardown(name, all_forget)

static const struct CMUnitTest tests[] = {
	TEST(a_login_gets_what_it_is_granted),
	TEST(a_daemon_speaks_one_version),
	TEST(a_hello_of_version_2_is_checked),
	TEST(who_does_not_know_a_key_gets_a_challenge_and_no_more),
	TEST(a_key_counts_when_it_is_proven),
	TEST(a_login_is_bound_to_its_queue_pairs),
	TEST(a_host_is_who_its_section_says),
	TEST(a_public_key_that_is_none_ends_the_login),
	TEST(no_message_comes_before_its_time),
	TEST(what_is_not_sealed_ends_the_session),
	TEST(frames_come_in_their_order_and_once),
	TEST(every_bit_of_a_frame_counts),
	TEST(a_join_is_the_initiators_own),
	TEST(nobody_joins_before_grant),
	TEST(an_export_that_is_not_allowed_does_not_exist),
	TEST(rights_are_those_of_the_list),
	TEST(a_wish_without_the_right_is_logged),
	TEST(a_wish_with_the_right_is_not),
	TEST(a_host_cannot_claim_the_sessions_of_another),
	TEST(two_machines_with_one_key_do_not_end_each_other),
	TEST(a_stolen_device_hears_of_it_when_it_returns),
	TEST(secrets_go_when_they_have_served),
	TEST(an_export_is_resumed_by_its_mac),
	TEST(the_loop_has_time_for_logins),
};

int main(void)
{
	set_up_log();
	return cmocka_run_group_tests_name("login2", tests, start_all, finish_all);
}
