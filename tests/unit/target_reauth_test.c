// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keys of live sessions of version 2: when the key of a session ends, the initiator gets an
 * event, and the session goes on only if the initiator proves a key of the same host in time.
 * Each key epoch has keys of its own. The adapter, librdmacm and the clock are fakes.
 *
 * Sources: target/session/session_key.c target/session/session.c target/rdma/ctrl.c
 *	   target/wire/keying.c
 * Libraries: json-c liburing libcrypto
 */
#include "../../target/base/audit.h"
#include "target_login2.h"

static struct rdmablk_reauth make_reauth(struct peer *p, unsigned int key)
{
	struct rdmablk_reauth reauth = { .hdr = head(RDMABLK_MSG_REAUTH, sizeof(reauth)) };

	p->key = keys[key];
	memcpy(reauth.key_id, p->key->id, sizeof(reauth.key_id));
	memset(reauth.nonce, 3, sizeof(reauth.nonce));
	crypto_forget(&p->pair);
	assert_int_equal(crypto_generate(&p->pair, reauth.point), 0);
	assert_int_equal(rdmablk_keysched_reauth(schedule, p->th, &reauth, sizeof(reauth),
						 p->th), 0);
	return reauth;
}

static void say_reauth(struct peer *p, unsigned int key)
{
	struct rdmablk_reauth reauth = make_reauth(p, key);

	p->reauth.hdr.type = 0;
	say_sealed(p, &reauth, sizeof(reauth));
}

static struct rdmablk_reauth_proof make_reauth_proof(struct peer *p)
{
	struct rdmablk_reauth_proof out = { .hdr = head(RDMABLK_MSG_REAUTH_PROOF, sizeof(out)) };
	struct rdmablk_proof proof;

	assert_int_equal(le16toh(p->reauth.hdr.type), RDMABLK_MSG_REAUTH_CHALLENGE);
	assert_int_equal(rdmablk_keysched_th1(schedule, p->th, &p->reauth, sizeof(p->reauth),
					      p->th), 0);
	derive(p, p->reauth.point, &proof);
	memcpy(out.mac, proof.mac, sizeof(out.mac));
	return out;
}

/* Prepares the daemon's next key; the first frame of the new key epoch puts it in force. */
static void say_reauth_proof(struct peer *p)
{
	struct rdmablk_reauth_proof proof = make_reauth_proof(p);
	void *old = p->rx.key;

	p->done = false;
	assert_int_equal(rdmablk_sealed_prepare(&p->rx, crypto_cipher(p->keys.t2i, false)), 0);
	say_sealed(p, &proof, sizeof(proof));
	assert_true(p->done);
	assert_ptr_not_equal(p->rx.key, old);
	crypto_cipher_free(old);
}

/* The peer's frames are of the new key epoch from now on. */
static void turn_sender(struct peer *p)
{
	crypto_cipher_free(p->tx.key);
	assert_int_equal(rdmablk_sealed_rekey(&p->tx, crypto_cipher(p->keys.i2t, true)), 0);
}

static void prove_again(struct peer *p, unsigned int key)
{
	say_reauth(p, key);
	say_reauth_proof(p);
	turn_sender(p);
}

/*
 * Tests
 */

static void a_session_gets_new_keys_and_goes_on(void **state)
{
	struct peer *p = log_in(HOME_KEY);
	struct rdmablk_keysched_keys first = p->keys;
	struct session *s = session_of(p);

	(void)state;
	say_reauth(p, HOME_NEW);
	keep_alive(p);
	/* the answer is of the old epoch, as long as there is no REAUTH_DONE */
	assert_int_equal(p->rx.epoch, 0);
	assert_memory_equal(s->proof.key_id, keys[HOME_KEY]->id, RDMABLK_KEY_ID_LEN);
	say_reauth_proof(p);
	assert_int_equal(p->rx.epoch, 1);
	assert_memory_equal(s->proof.key_id, keys[HOME_NEW]->id, RDMABLK_KEY_ID_LEN);
	assert_memory_not_equal(&first, &p->keys, sizeof(first));
	assert_memory_equal(s->keying.join, p->keys.join, RDMABLK_MAC_LEN);
	/* a frame of the old key epoch that was under way when REAUTH_DONE came */
	keep_alive(p);
	turn_sender(p);
	keep_alive(p);
	for (unsigned int i = 2; i < 5; i++) {
		prove_again(p, HOME_KEY);
		assert_int_equal(p->rx.epoch, i);
		keep_alive(p);
	}
	assert_int_equal(s->joined, 2);
	assert_int_equal(s->state, SESSION_LIVE);
}

static void the_old_keys_end_with_the_first_new_frame(void **state)
{
	const struct rdmablk_command cmd = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)) };
	struct peer *p = log_in(HOME_KEY);
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_sealed old;
	size_t len;

	(void)state;
	say_reauth(p, HOME_KEY);
	say_reauth_proof(p);
	old = p->tx;
	old.seq++;
	len = (size_t)rdmablk_sealed_seal(&old, &cmd, sizeof(cmd), frame, sizeof(frame));
	turn_sender(p);
	keep_alive(p);
	say(p, frame, len);
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
}

static void only_a_key_of_the_host_will_do(void **state)
{
	static const unsigned int wrong[] = { NAMED_KEY, STRANGER_KEY };
	struct rdmablk_reauth_proof proof;
	struct peer *p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		p = log_in(HOME_KEY);
		say_reauth(p, wrong[i]);
		assert_closed(p, RDMABLK_R_AUTH_KEY, true);
		assert_int_equal(p->reauth.hdr.type, 0);
		assert_int_equal(all_forget(state), 0);
	}
	/* the id of a known key without the key */
	p = log_in(HOME_KEY);
	say_reauth(p, HOME_KEY);
	p->key = keys[STRANGER_KEY];
	proof = make_reauth_proof(p);
	say_sealed(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
	assert_int_equal(all_forget(state), 0);
	/* the key has ended since REAUTH */
	p = log_in(HOME_KEY);
	say_reauth(p, HOME_KEY);
	proof = make_reauth_proof(p);
	later = true;
	say_sealed(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
	assert_false(p->done);
}

static void a_reauthentication_follows_its_login(void **state)
{
	struct peer *p = log_in(HOME_KEY);
	struct rdmablk_reauth_proof proof;

	(void)state;
	p->th[0] ^= 1;
	say_reauth(p, HOME_KEY);
	proof = make_reauth_proof(p);
	say_sealed(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_AUTH_FAILED, true);
}

static void messages_come_in_their_order(void **state)
{
	struct rdmablk_reauth_proof proof = { .hdr = head(RDMABLK_MSG_REAUTH_PROOF,
							  sizeof(proof)) };
	struct rdmablk_reauth reauth;
	struct peer *p = granted(HOME_KEY);

	(void)state;
	say_reauth(p, HOME_KEY);
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_int_equal(all_forget(state), 0);
	p = log_in(HOME_KEY);
	say_sealed(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_int_equal(all_forget(state), 0);
	p = log_in(HOME_KEY);
	say_reauth(p, HOME_KEY);
	reauth = make_reauth(p, HOME_KEY);
	say_sealed(p, &reauth, sizeof(reauth));
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_int_equal(all_forget(state), 0);
	/* the keys of the epoch before were never used */
	p = log_in(HOME_KEY);
	say_reauth(p, HOME_KEY);
	say_reauth_proof(p);
	say_reauth(p, HOME_KEY);
	proof = make_reauth_proof(p);
	p->done = false;
	say_sealed(p, &proof, sizeof(proof));
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_false(p->done);
}

static void a_key_that_ends_ends_its_sessions(void **state)
{
	struct peer *p = granted(HOME_KEY);
	struct session *s;

	(void)state;
	session_key_ends(session_of(p), 30000);
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
	assert_int_equal(p->event.hdr.type, 0);
	p = log_in(HOME_KEY);
	session_key_ends(session_of(p), 0);
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
	p = log_in(HOME_KEY);
	later = true;
	session_key_ends(session_of(p), 4000);
	assert_int_equal(le16toh(p->event.event), RDMABLK_EVENT_REAUTH);
	assert_true(le64toh(p->event.value) <= 4000 && le64toh(p->event.value) > 3000);
	advance(3000);
	assert_int_equal(p->close.hdr.type, 0);
	/* a second notice does not extend the time of the first */
	s = session_of(p);
	session_key_ends(s, 4000);
	advance(1000);
	assert_true(s->state >= SESSION_CLOSING);
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
}

static void a_session_with_a_new_key_outlives_the_old_one(void **state)
{
	struct peer *p = log_in(HOME_KEY);
	struct session *s = session_of(p);

	(void)state;
	session_key_ends(s, 4000);
	prove_again(p, HOME_NEW);
	assert_false(s->key_ends.armed);
	later = true;		/* a timer that still runs would find no key */
	advance(4500);
	later = false;
	keep_alive(p);
	assert_int_equal(s->state, SESSION_LIVE);
	/* an event that still waits is not sent after a new key was proven */
	s->ctrl.events = ~0U;
	session_key_ends(s, 4000);
	assert_true(s->events.due & 1U << RDMABLK_EVENT_REAUTH);
	prove_again(p, HOME_KEY);
	assert_false(s->events.due & 1U << RDMABLK_EVENT_REAUTH);
	s->ctrl.events = 0;
}

static void a_key_that_is_in_force_again_ends_nothing(void **state)
{
	struct peer *p = log_in(HOME_KEY);
	struct session *s = session_of(p);

	(void)state;
	session_key_ends(s, 1000);
	advance(1000);
	assert_int_equal(s->state, SESSION_LIVE);
	keep_alive(p);
	session_key_ends(s, 1000);
	later = true;
	advance(1000);
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
}

/* Return: one line of the audit log for each event that is about a key. */
static const char *audited(void)
{
	static const char *const keys_of[] = { "auth_host", "old_key_id", "key_id", "notice_ms" };
	static char text[1000];
	char line[2048];
	FILE *f = fopen(files_path("audit"), "re");

	assert_non_null(f);
	text[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		struct json_object *o = json_tokener_parse(line), *v;
		const char *event;

		assert_non_null(o);
		event = json_object_get_string(json_object_object_get(o, "event"));
		if (!strcmp(event, "revoke") || !strcmp(event, "reauth")) {
			strcat(text, event);
			for (size_t i = 0; i < ARRAY_SIZE(keys_of); i++)
				if (json_object_object_get_ex(o, keys_of[i], &v))
					sprintf(text + strlen(text), " %s",
						json_object_get_string(v));
			strcat(text, "\n");
		}
		json_object_put(o);
	}
	fclose(f);
	return text;
}

static const char *key_text(unsigned int key, char *text)
{
	for (unsigned int i = 0; i < RDMABLK_KEY_ID_LEN; i++)
		sprintf(text + 2 * i, "%02x", keys[key]->id[i]);
	return text;
}

/* The audit log has one line for the end of a key, and one for the key that replaces it. */
static void the_audit_log_has_the_keys_of_a_session(void **state)
{
	char want[300], old[17], new[17];
	struct peer *p;

	(void)state;
	assert_int_equal(audit_open(files_path("audit")), 0);
	assert_int_equal(audit_start(), 0);
	p = log_in(HOME_KEY);
	session_key_ends(session_of(p), 4000);
	session_key_ends(session_of(p), 4000);
	prove_again(p, HOME_NEW);
	prove_again(p, HOME_NEW);
	session_key_ends(session_of(p), 0);	/* no notice, so only the session's end is logged */
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
	audit_stop(0, -1);
	snprintf(want, sizeof(want), "revoke home %s 4000\nreauth home %s %s\n",
		 key_text(HOME_KEY, old), old, key_text(HOME_NEW, new));
	assert_string_equal(audited(), want);
}

static void secrets_of_the_old_epoch_are_wiped(void **state)
{
	static const struct keying nothing;
	struct peer *p = log_in(HOME_KEY);
	struct session *s = session_of(p);

	(void)state;
	say_reauth(p, HOME_KEY);
	assert_memory_not_equal(&s->rekeying, &nothing, sizeof(nothing));
	say_reauth_proof(p);
	turn_sender(p);
	assert_memory_equal(&s->rekeying, &nothing, sizeof(nothing));
	say_reauth(p, HOME_KEY);
	session_end(s, RDMABLK_R_SHUTDOWN);
	assert_memory_equal(&s->rekeying, &nothing, sizeof(nothing));
	assert_memory_equal(&s->keying, &nothing, sizeof(nothing));
	assert_closed(p, RDMABLK_R_SHUTDOWN, true);
}

#define TEST(name) cmocka_unit_test_teardown(name, all_forget)

static const struct CMUnitTest tests[] = {
	TEST(a_session_gets_new_keys_and_goes_on),
	TEST(the_old_keys_end_with_the_first_new_frame),
	TEST(only_a_key_of_the_host_will_do),
	TEST(a_reauthentication_follows_its_login),
	TEST(messages_come_in_their_order),
	TEST(a_key_that_ends_ends_its_sessions),
	TEST(a_session_with_a_new_key_outlives_the_old_one),
	TEST(a_key_that_is_in_force_again_ends_nothing),
	TEST(the_audit_log_has_the_keys_of_a_session),
	TEST(secrets_of_the_old_epoch_are_wiped),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("reauth", tests, start_all, finish_all);
}
