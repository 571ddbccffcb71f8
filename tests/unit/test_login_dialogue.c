// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that in kernel/login.c each wrong message ends the login with its reason, which both
 * sides learn; that a disk goes on only with at least what it was told before; that a target
 * that fences is asked again in time; and that nothing goes live too soon.
 */
#include "login_world.h"

/*
 * Messages and the reasons of a login
 */

static int teardown_and_setup(void **state)
{
	teardown(state);
	return setup(state);
}

static void wrong_type(void *msg)
{
	((struct rdmablk_hdr *)msg)->type ^= cpu_to_le16(1);
}

static void other_version(void *msg)
{
	((struct rdmablk_challenge *)msg)->version = cpu_to_le16(RDMABLK_VERSION_MAX + 1);
}

static void long_times(void *msg)
{
	((struct rdmablk_grant *)msg)->keep_alive_ms = cpu_to_le32(RDMABLK_MAX_KEEP_ALIVE_MS);
	((struct rdmablk_grant *)msg)->session_tmo_ms = cpu_to_le32(RDMABLK_MAX_SESSION_MS);
}

static void few_commands(void *msg)
{
	((struct rdmablk_limits *)msg)->cmd_depth = cpu_to_le16(RDMABLK_CMD_RESERVED);
}

static void test_hello(void **state)
{
	u8 none[RDMABLK_ID_LEN] = { }, uuid[RDMABLK_ID_LEN];

	(void)state;
	memset(uuid, 0x11, sizeof(uuid));
	session->opt.steal = true;
	memset(session->instance_id, 3, RDMABLK_ID_LEN);
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(le32_to_cpu(seen.hello.flags), RDMABLK_HELLO_STEAL);
	assert_int_equal(le32_to_cpu(seen.hello.generation), 1);
	assert_int_equal(le32_to_cpu(seen.hello.keep_alive_ms), 5000);
	assert_memory_equal(seen.hello.uuid, none, sizeof(none));
	assert_memory_equal(seen.hello.instance_id, session->instance_id, RDMABLK_ID_LEN);
	assert_memory_not_equal(seen.hello.nonce, none, sizeof(none));
	assert_string_equal(seen.hello.export_name, "disk0");
	/* A reconnect does not steal the export back from a thief. */
	assert_int_equal(again(), 0);
	assert_int_equal(le32_to_cpu(seen.hello.flags), RDMABLK_HELLO_RESUME);
	assert_int_equal(le32_to_cpu(seen.hello.generation), 2);
	assert_memory_equal(seen.hello.uuid, uuid, sizeof(uuid));
}

static void test_connection_request(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_null(seen.source);
	assert_int_equal(le16_to_cpu(seen.request.queue), 0);
	assert_int_equal(le64_to_cpu(seen.request.session_id), 0);
	assert_int_equal(session->ack_timeout, 14);
	assert_int_equal(session->login.offer.port, 1);
	session->opt.source.ss_family = AF_INET;
	assert_int_equal(again(), 0);
	assert_ptr_equal(seen.source, &session->opt.source);
}

/* Each step of the connection fails once, with its error and text. */
static void test_no_connection(void **state)
{
	(void)state;
	answers.mac = -ENOENT;
	assert_int_equal(rdmablk_login(session), -ENOENT);
	assert_string_equal(session->why, "the kernel has no hmac(sha256)");
	teardown_and_setup(state);
	answers.resolve = -EHOSTUNREACH;
	assert_int_equal(rdmablk_login(session), -EHOSTUNREACH);
	assert_string_equal(session->why, "no route to host");
	assert_null(session->pd);
	teardown_and_setup(state);
	answers.check = -EOPNOTSUPP;
	assert_int_equal(rdmablk_login(session), -EOPNOTSUPP);
	assert_string_equal(session->why, "iWARP devices are not supported");
	assert_null(session->pd);
	teardown_and_setup(state);
	answers.no_pd = true;
	assert_int_equal(rdmablk_login(session), -ENOMEM);
	assert_null(session->pd);
	assert_int_equal(seen.waits, 0);
	teardown_and_setup(state);
	answers.create = -EINVAL;
	assert_int_equal(rdmablk_login(session), -EINVAL);
	assert_string_equal(session->why, "cannot create the control queue");
	teardown_and_setup(state);
	answers.connect = -EPROTO;
	answers.refusal = RDMABLK_R_LIMIT_LOGINS;
	assert_int_equal(rdmablk_login(session), -EPROTO);
	assert_string_equal(session->why, "the target refuses");
	assert_int_equal(session->login.reason, RDMABLK_R_LIMIT_LOGINS);
	assert_int_equal(logins, 0);
	assert_int_equal(seen.keepalives, 0);
}

/* The target and the administrator both learn the reason. */
static void test_bad_messages(void **state)
{
	static const struct {
		u16 at;
		void (*change)(void *msg);
		const char *label;
		int ret;
		u16 reason;
	} c[] = {
		{ RDMABLK_MSG_CHALLENGE, wrong_type, NULL, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_CHALLENGE, other_version, NULL, -EPROTONOSUPPORT,
		  RDMABLK_R_VERSION },
		{ RDMABLK_MSG_GRANT, wrong_type, NULL, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_LIMITS, wrong_type, NULL, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_REGIONS, wrong_type, NULL, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_LIVE, wrong_type, NULL, -EPROTO, RDMABLK_R_MALFORMED },
		{ 0, NULL, RDMABLK_LABEL_GRANT, -EACCES, RDMABLK_R_AUTH_FAILED },
		{ 0, NULL, RDMABLK_LABEL_LIMITS, -EACCES, RDMABLK_R_AUTH_FAILED },
		{ 0, NULL, RDMABLK_LABEL_REGIONS, -EACCES, RDMABLK_R_AUTH_FAILED },
		{ RDMABLK_MSG_GRANT, long_times, NULL, -ERANGE, RDMABLK_R_MALFORMED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		teardown_and_setup(state);
		fault.at = c[i].at;
		fault.times = 1;
		fault.change = c[i].change;
		fault.label = c[i].label;
		assert_int_equal(rdmablk_login(session), c[i].ret);
		assert_int_equal(session->login.reason, c[i].reason);
		assert_int_equal(seen.closes, 1);
		assert_int_equal(seen.closed, c[i].reason);
		assert_int_equal(logins, 1);
		assert_false(seen.was_live || seen.keys);
		assert_int_equal(seen.keepalives, 0);
	}
	/* Another version than the one that the connection was accepted with */
	teardown_and_setup(state);
	session->ctrl.queue.version = 2;
	assert_int_equal(rdmablk_login(session), -EPROTO);
	teardown_and_setup(state);
	fault.at = RDMABLK_MSG_LIMITS;
	fault.times = 1;
	fault.change = few_commands;
	assert_int_equal(rdmablk_login(session), -EOPNOTSUPP);
}

/* The connection is lost because of the bad message, which stays the reason. */
static void test_a_bad_message_is_the_reason(void **state)
{
	(void)state;
	fault.at = RDMABLK_MSG_GRANT;
	fault.times = 1;
	fault.change = wrong_type;
	fault.reason = RDMABLK_R_CONNECTION;
	assert_int_equal(rdmablk_login(session), -EPROTO);
	assert_string_equal(session->why, "the target sent a bad GRANT");
	assert_int_equal(session->login.reason, RDMABLK_R_MALFORMED);
}

/* What can come in place of an answer */
static void test_no_answer(void **state)
{
	static const struct {
		int ret, want;
		u16 reason;
		const char *why;
	} c[] = {
		{ -ETIMEDOUT, -ETIMEDOUT, 0, "the target does not answer the login" },
		{ -ECANCELED, -ECANCELED, 0, "the connect was given up" },
		{ -ECANCELED, -ECANCELED, RDMABLK_R_CONNECTION, "the connect was given up" },
		{ -ECONNRESET, -ECONNRESET, 0, "connection lost during the login" },
		{ -ECONNRESET, 0, RDMABLK_R_NO_EXPORT, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		const char *why = c[i].why ?: rdmablk_reason_text(c[i].reason);

		teardown_and_setup(state);
		fault.at = RDMABLK_MSG_GRANT;
		fault.times = 1;
		fault.ret = c[i].ret;
		fault.reason = c[i].reason;
		assert_int_equal(rdmablk_login(session),
				 c[i].want ?: rdmablk_wire_errno(c[i].reason));
		assert_string_equal(session->why, why);
		assert_int_equal(seen.closes, 0);
		assert_int_equal(logins, 1);
	}
	/* The connection is lost between two questions: the login asks no more. */
	teardown_and_setup(state);
	answers.dies = true;
	assert_int_equal(rdmablk_login(session), rdmablk_wire_errno(RDMABLK_R_CONNECTION));
	assert_string_equal(session->why, rdmablk_reason_text(RDMABLK_R_CONNECTION));
	assert_false(seen.was_live);
	teardown_and_setup(state);
	answers.disk = -EINVAL;
	assert_int_equal(rdmablk_login(session), -EINVAL);
	assert_string_equal(session->why, "cannot allocate the disk");
	assert_false(seen.keys);
}

/* At the last step an error may have come, or the administrator may have given up. */
static void test_going_live(void **state)
{
	(void)state;
	tells = true;
	session->login.leaving = true;
	session->login.resized = 1;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(seen.resized, 2 * MSG_SIZE);
	assert_int_equal(seen.drain, RDMABLK_R_SHUTDOWN);
	assert_int_equal(session->agreed.read_depth, 9);
	teardown_and_setup(state);
	answers.lost = true;
	assert_int_equal(rdmablk_login(session), -ECANCELED);
	assert_string_equal(session->why, "the connect was given up");
	assert_int_equal(seen.keepalives, 1);
	assert_int_equal(seen.drain, 0);
}

static void test_path(void **state)
{
	const struct rdmablk_path *path = &session->path;

	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(path->size, MSG_SIZE);
	assert_int_equal(path->lkey, 0x77);
	assert_ptr_equal(path->dev, &device);
	assert_int_equal(path->block_shift, 9);
	assert_int_equal(path->region_shift, 22);
	assert_int_equal(path->region_mask, MSG_REGION - 1);
	assert_true(path->cache && path->commands && path->more);
	assert_false(path->read_only || path->staged || path->ordered);
	assert_int_equal(path->max_segment, 1U << 20);
	/* All regions, from two messages */
	assert_int_equal(session->nr_regions, MSG_REGIONS);
	for (u32 i = 0; i < MSG_REGIONS; i++)
		assert_int_equal(path->region[i].rkey, 0x1000 + i);
	assert_int_equal(seen.resets, 2 * QUEUES);
	/* The device may do more by now, but the block layer does not know that. */
	answers.segment = 1U << 21;
	assert_int_equal(again(), 0);
	assert_int_equal(path->max_segment, 1U << 20);
	assert_int_equal(seen.resets, 2 * QUEUES);
}

/*
 * What a disk that was live before needs to go on
 */

static void other_uuid(void *msg)
{
	((struct rdmablk_grant *)msg)->uuid[3] ^= 1;
}

static void larger_blocks(void *msg)
{
	((struct rdmablk_grant *)msg)->logical_block = cpu_to_le32(4096);
}

static void shared(void *msg)
{
	((struct rdmablk_grant *)msg)->flags |= cpu_to_le32(RDMABLK_GRANT_SHARED);
}

static void read_only(void *msg)
{
	((struct rdmablk_grant *)msg)->flags |= cpu_to_le32(RDMABLK_GRANT_READ_ONLY);
}

static void no_cache(void *msg)
{
	((struct rdmablk_grant *)msg)->flags = 0;
}

static void smaller(void *msg)
{
	((struct rdmablk_grant *)msg)->size = cpu_to_le64(MSG_SIZE - 512);
}

static void larger(void *msg)
{
	((struct rdmablk_grant *)msg)->size = cpu_to_le64(MSG_SIZE + 4096);
}

static void smaller_regions(void *msg)
{
	((struct rdmablk_grant *)msg)->region_bytes = cpu_to_le64(MSG_REGION / 2);
	((struct rdmablk_grant *)msg)->nr_regions = cpu_to_le32(2 * MSG_REGIONS - 1);
}

static void other_epoch(void *msg)
{
	((struct rdmablk_grant *)msg)->epoch[0] ^= 1;
}

static void less_discard(void *msg)
{
	((struct rdmablk_limits *)msg)->max_discard = cpu_to_le64((1ULL << 40) - 512);
}

static void less_zeroes(void *msg)
{
	((struct rdmablk_limits *)msg)->max_zeroes = cpu_to_le64((1ULL << 30) - 512);
}

static void less_erase(void *msg)
{
	((struct rdmablk_limits *)msg)->max_erase = cpu_to_le64((1ULL << 31) - 512);
}

static void other_granule(void *msg)
{
	((struct rdmablk_limits *)msg)->granule = cpu_to_le32(65536);
}

/* Logs in, and again with @change made to message @at */
static int changed(void **state, u16 at, void (*change)(void *msg))
{
	teardown_and_setup(state);
	assert_int_equal(rdmablk_login(session), 0);
	fault.at = at;
	fault.times = 1;
	fault.change = change;
	return again();
}

static void test_another_export(void **state)
{
	static const struct {
		u16 at;
		void (*change)(void *msg);
		u16 reason;
		bool fenced;
	} c[] = {
		/* This target knows nothing of the disk's writes, so it cannot fence them. */
		{ RDMABLK_MSG_GRANT, other_uuid, RDMABLK_R_IDENTITY, false },
		{ RDMABLK_MSG_GRANT, larger_blocks, RDMABLK_R_IDENTITY, true },
		{ RDMABLK_MSG_GRANT, shared, RDMABLK_R_IDENTITY, true },
		{ RDMABLK_MSG_GRANT, read_only, RDMABLK_R_IDENTITY, true },
		{ RDMABLK_MSG_GRANT, no_cache, RDMABLK_R_IDENTITY, true },
		{ RDMABLK_MSG_GRANT, smaller, RDMABLK_R_SHRUNK, true },
		{ RDMABLK_MSG_GRANT, smaller_regions, RDMABLK_R_SHRUNK, true },
		{ RDMABLK_MSG_LIMITS, less_discard, RDMABLK_R_SHRUNK, true },
		{ RDMABLK_MSG_LIMITS, less_zeroes, RDMABLK_R_SHRUNK, true },
		{ RDMABLK_MSG_LIMITS, less_erase, RDMABLK_R_SHRUNK, true },
		{ RDMABLK_MSG_LIMITS, other_granule, RDMABLK_R_SHRUNK, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		assert_int_equal(changed(state, c[i].at, c[i].change), -ESTALE);
		assert_int_equal(session->login.reason, c[i].reason);
		assert_string_equal(session->why, rdmablk_reason_text(c[i].reason));
		assert_int_equal(seen.closed, c[i].reason);
		assert_int_equal(session->outage.fenced, c[i].fenced);
		assert_false(seen.was_live || seen.keys);
	}
	assert_int_equal(changed(state, RDMABLK_MSG_GRANT, larger), 0);
	assert_int_equal(session->path.size, MSG_SIZE + 4096);
	assert_int_equal(session->promised.grant.size, MSG_SIZE);
}

/* The block layer splits requests only where it was told to. */
static void test_regions_that_were_one(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	session->promised.grant.nr_regions = 1;
	assert_int_equal(again(), -ESTALE);
	assert_int_equal(session->login.reason, RDMABLK_R_SHRUNK);
}

/* The address leads to another adapter by now. */
static void test_a_smaller_adapter(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	answers.segment = 1U << 19;
	assert_int_equal(again(), -ESTALE);
	assert_int_equal(session->login.reason, RDMABLK_R_SHRUNK);
	answers.segment = 1U << 20;
	assert_int_equal(again(), 0);
	world[logins].sends = 1;
	session->promised.limits.max_segments = 200;
	session->promised.limits.max_io_bytes = 1 << 30;
	assert_int_equal(again(), -ESTALE);
}

static void tiny_discard(void *msg)
{
	((struct rdmablk_limits *)msg)->max_discard = cpu_to_le64(4096);
}

/* What the target takes is less than its granularity: the first login does without DISCARD. */
static void test_useless_discard(void **state)
{
	(void)state;
	fault.at = RDMABLK_MSG_LIMITS;
	fault.times = 1;
	fault.change = tiny_discard;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(session->login.offer.cmds.max_discard, 0);
	assert_true(session->login.offer.cmds.unusable);
	/* A disk that has DISCARD must keep it. */
	assert_int_equal(changed(state, RDMABLK_MSG_LIMITS, tiny_discard), -ESTALE);
}

/* Lost contents are an error only if something was written that no medium has. */
static void test_lost_contents(void **state)
{
	(void)state;
	assert_int_equal(changed(state, RDMABLK_MSG_GRANT, other_epoch), 0);
	for (unsigned int i = 0; i < 3; i++) {
		teardown_and_setup(state);
		assert_int_equal(rdmablk_login(session), 0);
		session->path.unflushed = true;
		session->accept_loss = i == 1;
		session->opt.on_data_loss = i == 2 ? RDMABLK_DATA_LOSS_CONTINUE : 0;
		fault.at = RDMABLK_MSG_GRANT;
		fault.times = 1;
		fault.change = other_epoch;
		assert_int_equal(again(), i ? 0 : -ENODATA);
		assert_int_equal(session->login.reason, i ? 0 : RDMABLK_R_DATA_LOST);
		assert_true(session->outage.fenced);
	}
	/* A memory store has no medium: written data is lost, flushed or not. */
	teardown_and_setup(state);
	fault.at = RDMABLK_MSG_GRANT;
	fault.times = 1;
	fault.change = no_cache;
	assert_int_equal(rdmablk_login(session), 0);
	session->agreed.grant.epoch[0] ^= 1;
	fault.times = 1;
	assert_int_equal(again(), -ENODATA);
}

/* The number of tags of the block layer stays, and limits the queue depth. */
static void test_queue_depth(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	session->tag_set.queue_depth = 17;
	assert_int_equal(again(), 0);
	assert_int_equal(session->agreed.grant.queue_depth, 17);
}

/*
 * With a key
 */

static void with_key(void)
{
	strscpy(session->opt.key_name, "web1", sizeof(session->opt.key_name));
}

static void bad_point(void *msg)
{
	((struct rdmablk_challenge2 *)msg)->point[63] ^= 1;
}

static void other_group(void *msg)
{
	((struct rdmablk_challenge2 *)msg)->group = cpu_to_le16(2);
}

static void other_version2(void *msg)
{
	((struct rdmablk_challenge *)msg)->version = cpu_to_le16(1);
}

/* No secret of a login stays after it, and none of a connection when that is gone. */
static void nothing_stays(int secrets)
{
	static const struct rdmablk_auth_secret none;

	assert_memory_equal(&session->auth.secret, &none, sizeof(none));
	/* The last message of a login that succeeds is LIVE, which has no secret. */
	if (!seen.was_live)
		assert_false(crypt_is_secret(session->ctrl.msg, sizeof(session->ctrl.msg)));
	assert_int_equal(crypt_world.secrets, secrets);
	rdmablk_session_destroy_queues(session);
	assert_int_equal(crypt_world.secrets, 0);
}

static void test_login_with_a_key(void **state)
{
	u8 id[RDMABLK_KEY_ID_LEN], key[RDMABLK_KEYSCHED_LEN];

	(void)state;
	with_key();
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(le16_to_cpu(seen.request.version_min), 2);
	assert_int_equal(le16_to_cpu(seen.request.version_max), 2);
	assert_int_equal(v2.version, 2);
	assert_int_equal(le16_to_cpu(seen.hello.version_min), 2);
	assert_int_equal(le32_to_cpu(seen.hello.auth_methods), RDMABLK_AUTH_PSK);
	rdmablk_keysched_id(&crypto_keysched, target.key, id);
	assert_memory_equal(session->login.hello.key_id, id, sizeof(id));
	assert_true(v2.proof && seen.was_live);
	assert_int_equal(v2.seals, 1);
	assert_int_equal(seen.reauths, 1);
	assert_int_equal(session->agreed.grant.version, 2);
	assert_true(session->agreed.proven);
	for (u32 i = 0; i < MSG_REGIONS; i++)
		assert_int_equal(session->path.region[i].rkey, 0x1000 + i);
	nothing_stays(2);
	/* The next login uses the same algorithms, and names its export by a MAC. */
	assert_int_equal(again(), 0);
	assert_memory_not_equal(seen.hello.uuid, session->agreed.grant.uuid, RDMABLK_ID_LEN);
	rdmablk_keysched_resume_key(&crypto_keysched, target.prk0, seen.hello.nonce, key);
	assert_int_equal(rdmablk_keysched_check_resume(&crypto_keysched, key,
						       session->agreed.grant.uuid,
						       seen.hello.uuid), 0);
	assert_int_equal(v2.seals, 2);
	assert_int_equal(crypt_world.objects, 5);
	nothing_stays(2);
}

/* Neither side falls back: a login without a key is version 1, without cryptography. */
static void test_login_without_a_key(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(le16_to_cpu(seen.request.version_min), 1);
	assert_int_equal(le16_to_cpu(seen.request.version_max), 1);
	assert_int_equal(le16_to_cpu(seen.hello.version_max), 1);
	assert_int_equal(v2.version, 1);
	assert_int_equal(v2.opens + v2.seals, 0);
	assert_int_equal(crypt_world.objects, 0);
	assert_false(session->agreed.proven);
	/* A key that is set later counts from the next login on. */
	with_key();
	assert_int_equal(again(), 0);
	assert_int_equal(v2.version, 2);
	nothing_stays(2);
	teardown_and_setup(state);
	fault.at = RDMABLK_MSG_CHALLENGE;
	fault.times = 1;
	fault.ret = -ECONNRESET;
	fault.reason = RDMABLK_R_AUTH_REQUIRED;
	assert_int_equal(rdmablk_login(session), -EACCES);
	assert_string_equal(session->why, "the target demands a key: connect with --key NAME");
}

static void test_no_key(void **state)
{
	(void)state;
	with_key();
	v2.take = -EKEYREVOKED;
	assert_int_equal(rdmablk_login(session), -EKEYREVOKED);
	assert_string_equal(session->why, "no key can be used");
	assert_int_equal(logins, 0);
	assert_int_equal(session->login.trusted, 0);
}

static void test_no_algorithm(void **state)
{
	static const char *const why[] = {
		"the kernel lacks an algorithm of logins with a key",
		"cannot prepare the cryptography",
	};

	for (int i = 0; i < 2; i++) {
		teardown_and_setup(state);
		with_key();
		crypt_world.left = 4;
		crypt_world.ret = i ? -ENOMEM : -ENOENT;
		assert_int_equal(rdmablk_login(session), i ? -ENOMEM : -ENOENT);
		assert_string_equal(session->why, why[i]);
		assert_int_equal(crypt_world.objects, 0);
		/* The next try may find more. */
		assert_int_equal(rdmablk_login(session), 0);
	}
}

/* A message before GRANT may be from anybody, so it is no reason to give a disk up. */
static void test_bad_messages_with_a_key(void **state)
{
	static const struct {
		u16 at;
		void (*change)(void *msg);
		int ret;
		u16 reason;
	} c[] = {
		{ RDMABLK_MSG_CHALLENGE, wrong_type, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_CHALLENGE, other_version2, -EPROTONOSUPPORT, RDMABLK_R_VERSION },
		{ RDMABLK_MSG_CHALLENGE, other_group, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_CHALLENGE, bad_point, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_GRANT, wrong_type, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_LIMITS, wrong_type, -EPROTO, RDMABLK_R_MALFORMED },
		{ RDMABLK_MSG_REGIONS, wrong_type, -EPROTO, RDMABLK_R_MALFORMED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		teardown_and_setup(state);
		with_key();
		fault.at = c[i].at;
		fault.times = 1;
		fault.change = c[i].change;
		assert_int_equal(rdmablk_login(session), c[i].ret);
		assert_int_equal(session->login.reason, c[i].reason);
		assert_int_equal(session->login.trusted, 0);
		assert_int_equal(seen.closed, c[i].reason);
		assert_false(seen.was_live);
		nothing_stays(c[i].at == RDMABLK_MSG_CHALLENGE ? 0 : 2);
	}
	/* What this side concludes from a sealed GRANT is such a reason. */
	teardown_and_setup(state);
	with_key();
	assert_int_equal(rdmablk_login(session), 0);
	session->path.unflushed = true;
	fault.at = RDMABLK_MSG_GRANT;
	fault.times = 1;
	fault.change = other_epoch;
	assert_int_equal(again(), -ENODATA);
	assert_int_equal(session->login.trusted, RDMABLK_R_DATA_LOST);
	assert_true(session->outage.fenced);
	/* The next attempt begins without that reason. */
	assert_int_equal(again(), 0);
	assert_int_equal(session->login.trusted, 0);
}

/* A target that fences says so after PROOF, so each attempt has its own keys. */
static void test_fencing_with_a_key(void **state)
{
	(void)state;
	with_key();
	fault.at = RDMABLK_MSG_GRANT;
	fault.times = 3;
	fault.ret = -ECONNRESET;
	fault.reason = RDMABLK_R_FENCING;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 4);
	assert_int_equal(v2.seals, 4);
	nothing_stays(2);
}

/* A CLOSE without a seal cannot make a disk do with fewer queues. */
static void test_no_room_with_a_key(void **state)
{
	for (int sealed = 0; sealed < 2; sealed++) {
		teardown_and_setup(state);
		with_key();
		fault.at = RDMABLK_MSG_GRANT;
		fault.times = 1;
		fault.ret = -ECONNRESET;
		fault.reason = RDMABLK_R_DEVICE_FULL;
		fault.sealed = sealed;
		assert_int_equal(rdmablk_login(session),
				 sealed ? 0 : rdmablk_wire_errno(RDMABLK_R_DEVICE_FULL));
		assert_int_equal(logins, sealed ? 2 : 1);
	}
}

/* Each call of the crypto layer fails once, in the first login and in the next. */
static void test_each_failure_of_the_crypto_layer(void **state)
{
	int failures = 0, ret;

	(void)state;
	with_key();
	assert_int_equal(rdmablk_login(session), 0);
	do {
		logins = 0;
		v2.opens = 0;
		v2.seals = 0;
		rdmablk_session_destroy_queues(session);
		crypt_world.left = failures;
		memset(&seen, 0, sizeof(seen));
		session->login.reason = 0;
		ret = rdmablk_login(session);
		crypt_world.left = -1;
		if (!ret)
			break;
		assert_int_equal(ret, -ENOMEM);
		assert_string_equal(session->why, "cannot compute a key");
		assert_int_equal(session->login.trusted, 0);
		nothing_stays(crypt_world.secrets);
		failures++;
	} while (failures < 100);
	assert_in_range(failures, 15, 99);
}

/*
 * A target that is busy with an earlier session, or whose network was away
 */

static void fences(unsigned int times, u32 pause)
{
	fault.at = RDMABLK_MSG_GRANT;
	fault.times = times;
	fault.ret = -ECONNRESET;
	fault.reason = RDMABLK_R_FENCING;
	session->ctrl.queue.retry_after_ms = pause;
}

static void test_target_fences(void **state)
{
	(void)state;
	fences(3, 100);
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(logins, 4);
	assert_int_equal(jiffies, 1300);
	assert_int_equal(seen.stops, 3);
	assert_int_equal(seen.destroys, 3);
	assert_int_equal(session->login.reason, 0);
	/* There is a pause between attempts in any case, and none is longer than 1 s. */
	teardown_and_setup(state);
	fences(3, 0);
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(jiffies, 1000 + 3 * 10);
	teardown_and_setup(state);
	fences(3, 1 << 30);
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(jiffies, 1000 + 3 * 1000);
	/* The attempts end when the login has made no progress for connect_tmo. */
	teardown_and_setup(state);
	session->opt.connect_tmo = 3;
	fences(100, 600);
	assert_int_equal(rdmablk_login(session), rdmablk_wire_errno(RDMABLK_R_FENCING));
	assert_int_equal(session->login.reason, RDMABLK_R_FENCING);
	assert_int_equal(logins, 5);
	teardown_and_setup(state);
	fences(100, 600);
	fault.cancels = true;
	assert_int_equal(rdmablk_login(session), rdmablk_wire_errno(RDMABLK_R_FENCING));
	assert_int_equal(logins, 1);
}

/* A connection request that was lost is sent again when a probe was answered. */
static void test_answered_probe(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_login(session), 0);
	assert_int_equal(seen.waits, 1);
	assert_int_equal(seen.probes, 0);
	session->outage.attempts = 2;
	answers.probe = -ERESTART;
	assert_int_equal(again(), 0);
	assert_int_equal(seen.probes, 3);
	assert_int_equal(seen.waits, 0);
	assert_int_equal(jiffies, 1000);
	answers.probe = -ETIMEDOUT;
	assert_int_equal(again(), -ETIMEDOUT);
	/* No time is left for the connection request. */
	answers.probe = -ERESTART;
	answers.probe_time = 60 * HZ;
	assert_int_equal(again(), -ETIMEDOUT);
	assert_int_equal(seen.probes, 1);
}

/* A login that is given up does not ask for fewer queues. */
static void test_given_up(void **state)
{
	(void)state;
	world[0].early = 2;
	session->waiter.cancelled = true;
	assert_int_equal(rdmablk_login(session), rdmablk_wire_errno(RDMABLK_R_DEVICE_FULL));
	assert_int_equal(logins, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hello),
		TEST(test_connection_request),
		TEST(test_no_connection),
		TEST(test_bad_messages),
		TEST(test_a_bad_message_is_the_reason),
		TEST(test_no_answer),
		TEST(test_going_live),
		TEST(test_path),
		TEST(test_another_export),
		TEST(test_useless_discard),
		TEST(test_regions_that_were_one),
		TEST(test_a_smaller_adapter),
		TEST(test_lost_contents),
		TEST(test_queue_depth),
		TEST(test_login_with_a_key),
		TEST(test_login_without_a_key),
		TEST(test_no_key),
		TEST(test_no_algorithm),
		TEST(test_bad_messages_with_a_key),
		TEST(test_fencing_with_a_key),
		TEST(test_no_room_with_a_key),
		TEST(test_each_failure_of_the_crypto_layer),
		TEST(test_target_fences),
		TEST(test_answered_probe),
		TEST(test_given_up),
	};

	return cmocka_run_group_tests_name("login_dialogue", tests, NULL, NULL);
}
