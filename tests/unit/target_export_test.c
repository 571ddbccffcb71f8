// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leases of an export, limits of hosts, addresses and exports, and what a kept arena keeps.
 *
 * Sources: target/export/export.c target/store/store_memory.c target/store/arena.c
 *	   target/export/quota.c target/base/value.c target/base/log.c target/wire/mac.c
 *	   target/base/meminfo.c
 * Libraries: libcrypto
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "../../target/base/meminfo.h"
#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/export/export.h"
#include "../../target/store/arena.h"
#include "../../target/export/quota.h"

static struct lease lease(unsigned int host, unsigned int boot,
			  unsigned int instance, unsigned int generation, bool writer)
{
	struct lease l = { .generation = generation, .writer = writer };

	l.host_id[0] = (uint8_t)host;
	l.boot_nonce[0] = (uint8_t)boot;
	l.instance_id[0] = (uint8_t)instance;
	return l;
}

/* While @held has a lease, @claim gets the answer @want, and @held gets @verdict. */
static void one(struct lease held, struct lease claim, bool shared, bool steal,
		unsigned int want, unsigned int verdict)
{
	struct lease_list list = LIST_HEAD_INITIALIZER(list);

	LIST_INSERT_HEAD(&list, &held, entry);
	assert_int_equal(export_admit(&list, &claim, shared, steal), want);
	assert_int_equal(held.verdict, verdict);
}

static void leases(void **state)
{
	struct lease w = lease(1, 1, 1, 5, true), r = lease(1, 1, 1, 5, false);

	(void)state;
	/* another host */
	one(w, lease(2, 1, 1, 1, true), false, false, RDMABLK_R_BUSY, 0);
	one(w, lease(2, 1, 1, 1, true), false, true, RDMABLK_R_FENCING, RDMABLK_R_STOLEN);
	one(w, lease(2, 1, 1, 1, true), true, false, RDMABLK_OK, 0);
	one(w, lease(2, 1, 1, 1, false), false, false, RDMABLK_OK, 0);
	one(r, lease(2, 1, 1, 1, true), false, false, RDMABLK_OK, 0);
	/* the same host, restarted */
	one(w, lease(1, 2, 9, 1, true), false, false, RDMABLK_R_FENCING, RDMABLK_R_REPLACED);
	one(w, lease(1, 2, 9, 1, false), true, false, RDMABLK_R_FENCING, RDMABLK_R_REPLACED);
	/* the same host, another device */
	one(w, lease(1, 1, 2, 1, true), false, false, RDMABLK_R_BUSY_INSTANCE, 0);
	one(w, lease(1, 1, 2, 1, true), false, true, RDMABLK_R_BUSY_INSTANCE, 0);
	one(w, lease(1, 1, 2, 1, true), true, false, RDMABLK_OK, 0);
	/* another machine with the key of the same host, at the same start or another one */
	for (unsigned int boot = 1; boot < 3; boot++) {
		struct lease clone = lease(1, boot, 1, 6, true);

		clone.said_id[0] = 1;
		one(w, clone, false, false, RDMABLK_R_BUSY, 0);
		one(w, clone, false, true, RDMABLK_R_FENCING, RDMABLK_R_STOLEN);
		one(w, clone, true, false, RDMABLK_OK, 0);
		one(r, clone, false, false, RDMABLK_OK, 0);
		assert_true(export_same_section(&w, &clone));
		clone.host_id[0] = 2;
		assert_false(export_same_section(&w, &clone));
	}
	assert_false(export_same_section(&w, &r));
	/* the same device */
	one(w, lease(1, 1, 1, 6, true), false, false, RDMABLK_R_FENCING, RDMABLK_R_REPLACED);
	one(w, lease(1, 1, 1, 5, true), false, false, RDMABLK_R_STATE, 0);
	one(w, lease(1, 1, 1, 4, true), true, true, RDMABLK_R_STATE, 0);
	/* the holder is being fenced: every claim has to come again */
	w.ending = true;
	one(w, lease(2, 1, 1, 1, true), false, false, RDMABLK_R_FENCING, 0);
	one(w, lease(1, 1, 1, 6, true), false, false, RDMABLK_R_FENCING, 0);
}

static void a_refusal_ends_nobody(void **state)
{
	struct lease_list list = LIST_HEAD_INITIALIZER(list);
	struct lease old = lease(1, 1, 1, 5, false), other = lease(2, 1, 1, 1, true);
	struct lease claim = lease(1, 1, 1, 6, true);

	(void)state;
	LIST_INSERT_HEAD(&list, &old, entry);
	LIST_INSERT_HEAD(&list, &other, entry);
	assert_int_equal(export_admit(&list, &claim, false, false), RDMABLK_R_BUSY);
	assert_int_equal(old.verdict, RDMABLK_OK);
	assert_int_equal(other.verdict, RDMABLK_OK);
}

static void regions_are_powers_of_two_that_the_device_takes(void **state)
{
	struct export_config ec = { .size = 40 << 20 };
	struct export e = { .cfg = &ec, .store.size = ec.size };

	(void)state;
	assert_int_equal(export_region_bytes(&e, UINT64_MAX), 64 << 20);
	assert_int_equal(export_region_bytes(&e, 40 << 20), 32 << 20);
	assert_int_equal(export_region_bytes(&e, 1000), 0);
	ec.region = 1 << 20;
	assert_int_equal(export_region_bytes(&e, UINT64_MAX), 1 << 20);
	e.store.size = 4097ULL << 20;
	assert_int_equal(export_region_bytes(&e, UINT64_MAX), 0);
	ec.region = 0;
	e.store.size = 1ULL << 50;
	assert_true(export_region_bytes(&e, UINT64_MAX) == 1ULL << 40);
}

static struct sockaddr *address(uint32_t n)
{
	static struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_addr.s_addr = htonl(n);
	return (struct sockaddr *)&in;
}

static struct quota_export accounts;

/* An export without limits of its own */
#define ANY_EXPORT	.export = &accounts, .caps = { UINT32_MAX, UINT32_MAX, 0 }

static void limits_hold_and_are_given_back(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET }, b = a;
	struct config cfg = { .max_logins = 3, .max_logins_addr = 2,
			      .max_sessions = 2, .max_queues = 5, .max_pinned = 100,
			      .max_sessions_addr = 9, .max_sessions_all = 99,
			      .max_queues_addr = 9, .max_queues_all = 99 };
	struct quota_share s[3] = { 0 };
	uint8_t host_id[RDMABLK_ID_LEN] = { 1 }, other_id[RDMABLK_ID_LEN] = { 2 };
	const struct quota_who host = { host_id, (struct sockaddr *)&a, true, ANY_EXPORT };
	const struct quota_who other = { other_id, (struct sockaddr *)&b, true, ANY_EXPORT };
	struct quota_freed freed;

	(void)state;
	a.sin_addr.s_addr = htonl(1);
	b.sin_addr.s_addr = htonl(2);
	quota_init(&cfg);
	assert_int_equal(quota_login_get((struct sockaddr *)&a), RDMABLK_OK);
	assert_int_equal(quota_login_get((struct sockaddr *)&a), RDMABLK_OK);
	assert_int_equal(quota_login_get((struct sockaddr *)&a), RDMABLK_R_LIMIT_LOGINS);
	assert_int_equal(quota_login_get((struct sockaddr *)&b), RDMABLK_OK);
	assert_int_equal(quota_login_get((struct sockaddr *)&b), RDMABLK_R_LIMIT_LOGINS);
	quota_login_put((struct sockaddr *)&a);
	quota_login_put((struct sockaddr *)&a);
	quota_login_put((struct sockaddr *)&b);

	assert_int_equal(quota_session_get(&s[0], &host, 4, 101), RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(quota_session_get(&s[0], &host, 3, 60), RDMABLK_OK);
	assert_int_equal(quota_session_get(&s[1], &host, 4, 41), RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(quota_session_get(&s[1], &host, 4, 40), RDMABLK_OK);
	assert_int_equal(s[1].queues, 2);
	assert_int_equal(quota_session_queues(&host, 4, NULL), 1);
	assert_int_equal(quota_session_get(&s[2], &host, 1, 0), RDMABLK_R_LIMIT_SESSIONS);
	/* what another session could get if the first one ended for it */
	freed = (struct quota_freed){ 0 };
	quota_freed_add(&freed, &host, &s[0]);
	assert_int_equal(quota_session_queues(&host, 9, &freed), 3);
	assert_int_equal(quota_session_check(&host, 60, &freed), RDMABLK_OK);
	assert_int_equal(quota_session_check(&host, 61, &freed), RDMABLK_R_LIMIT_MEMORY);
	freed.host.sessions = 0;
	assert_int_equal(quota_session_check(&host, 60, &freed), RDMABLK_R_LIMIT_SESSIONS);
	freed = (struct quota_freed){ 0 };
	quota_freed_add(&freed, &host, &s[1]);
	freed.host.bytes = 0;
	assert_int_equal(quota_session_check(&host, 1, &freed), RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(quota_session_check(&other, 100, &freed), RDMABLK_OK);
	assert_int_equal(quota_session_check(&other, 101, &freed), RDMABLK_R_LIMIT_MEMORY);
	quota_session_put(&s[0]);
	quota_session_put(&s[0]);
	assert_int_equal(quota_session_queues(&host, 9, NULL), 3);
	assert_int_equal(quota_session_queues(&host, 2, NULL), 2);
	assert_int_equal(quota_session_get(&s[2], &host, 9, 0), RDMABLK_OK);
	assert_int_equal(s[2].queues, 3);
	/* a reload may lower max_queues below the number that is taken */
	cfg.max_queues = 2;
	assert_int_equal(quota_session_queues(&host, 9, NULL), 1);
	cfg.max_queues = 5;
	quota_session_put(&s[1]);
	quota_session_put(&s[2]);
}

/* Against a host that makes up an identity for each session, and against too many readers */
static void limits_of_an_address_and_of_all_hold(void **state)
{
	struct config cfg = {
		.max_logins = 8, .max_logins_addr = 8, .max_sessions = 100, .max_queues = 100,
		.max_sessions_addr = 3, .max_sessions_all = 8, .max_queues_addr = 6,
		.max_queues_all = 16, .max_pinned_all = 400,
	};
	struct sockaddr_in in[4] = { 0 };
	struct quota_share s[8] = { 0 };
	uint8_t id[8][RDMABLK_ID_LEN];
	const struct quota_account one = { 1, 2, 10 };
	struct quota_freed freed = { .all = one, .host = one };

	(void)state;
	quota_init(&cfg);
	for (uint8_t i = 0; i < 8; i++)
		memset(id[i], i + 1, sizeof(id[i]));
	for (unsigned int i = 0; i < 4; i++)
		in[i] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = i };
#define WHO(i, a, w) (&(struct quota_who){ id[i], (struct sockaddr *)&in[a], w, \
				     ANY_EXPORT })
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(quota_session_get(&s[i], WHO(i, 0, false), 2, 10), RDMABLK_OK);
	assert_int_equal(quota_session_get(&s[3], WHO(3, 0, true), 2, 10),
			 RDMABLK_R_LIMIT_SESSIONS);
	/* an ending session of the same address makes room, one of another address does not */
	assert_int_equal(quota_session_check(WHO(3, 0, true), 10, &freed),
			 RDMABLK_R_LIMIT_SESSIONS);
	freed.addr.sessions = 1;
	assert_int_equal(quota_session_check(WHO(3, 0, true), 10, &freed),
			 RDMABLK_R_LIMIT_QUEUES);
	freed.addr.queues = 2;
	assert_int_equal(quota_session_check(WHO(3, 0, true), 10, &freed), RDMABLK_OK);
	/* the queues of an address */
	assert_int_equal(quota_session_queues(WHO(3, 1, true), 9, NULL), 6);
	assert_int_equal(quota_session_queues(WHO(3, 1, false), 9, NULL), 6);
	for (unsigned int i = 3; i < 6; i++)
		assert_int_equal(quota_session_get(&s[i], WHO(i, 1, false), 2, 10), RDMABLK_OK);
	/* readers may have 6 of 8 sessions and 12 of 16 queues */
	assert_int_equal(quota_session_get(&s[6], WHO(6, 2, false), 1, 10),
			 RDMABLK_R_LIMIT_SESSIONS);
	cfg.max_sessions_all = 16;
	assert_int_equal(quota_session_get(&s[6], WHO(6, 2, false), 1, 10),
			 RDMABLK_R_LIMIT_QUEUES);
	cfg.max_sessions_all = 8;
	assert_int_equal(quota_session_queues(WHO(6, 2, true), 9, NULL), 4);
	/* three sessions at the address, each of another host, have registered 30 bytes */
	cfg.max_sessions_addr = 9;
	cfg.max_queues_addr = 9;
	cfg.max_pinned_addr = 40;
	assert_int_equal(quota_session_get(&s[6], WHO(6, 1, true), 1, 11),
			 RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(quota_session_check(WHO(6, 1, true), 10, NULL), RDMABLK_OK);
	assert_int_equal(quota_session_check(WHO(6, 2, true), 40, NULL), RDMABLK_OK);
	freed = (struct quota_freed){ 0 };
	quota_freed_add(&freed, WHO(6, 1, true), &s[3]);
	assert_int_equal(quota_session_check(WHO(6, 1, true), 20, &freed), RDMABLK_OK);
	assert_int_equal(quota_session_check(WHO(6, 1, true), 21, &freed),
			 RDMABLK_R_LIMIT_MEMORY);
	cfg.max_sessions_addr = 3;
	cfg.max_queues_addr = 6;
	cfg.max_pinned_addr = 0;
	assert_int_equal(quota_session_get(&s[6], WHO(6, 2, true), 1, 341),
			 RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(quota_session_get(&s[6], WHO(6, 2, true), 1, 340), RDMABLK_OK);
	assert_int_equal(quota_session_get(&s[7], WHO(7, 3, true), 1, 0), RDMABLK_OK);
	assert_int_equal(quota_session_get(&s[7], WHO(7, 3, true), 1, 0),
			 RDMABLK_R_LIMIT_SESSIONS);
	for (unsigned int i = 0; i < 8; i++)
		quota_session_put(&s[i]);
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(quota_session_get(&s[i], WHO(i, i % 4, true), 2, 10),
				 RDMABLK_OK);
		assert_int_equal(s[i].queues, 2);
	}
	for (unsigned int i = 0; i < 6; i++)
		quota_session_put(&s[i]);
#undef WHO
}

/* Return: a session of host and address number @host */
static struct quota_who user(struct export *e, uint8_t host, bool writer)
{
	static uint8_t id[RDMABLK_ID_LEN];

	id[0] = host;
	return (struct quota_who){ id, address(host), writer, &e->limits, export_caps(e),
				    e->cfg->read_only };
}

static unsigned int take(struct quota_share *s, struct export *e, uint8_t host,
			 bool writer, uint32_t queues, uint64_t bytes)
{
	const struct quota_who who = user(e, host, writer);

	return quota_session_get(s, &who, queues, bytes);
}

#define NEW_HOST	99

/* Return: which limit refuses a session of a host that has none, or "" */
static const char *refusal(struct export *e, bool writer, uint64_t bytes,
			   const struct quota_freed *freed)
{
	static const struct quota_freed none;
	const struct quota_who who = user(e, NEW_HOST, writer);
	static char text[QUOTA_WHY];

	quota_session_why(&who, bytes, freed, text, sizeof(text));
	assert_int_equal(!*text, !quota_session_check(&who, bytes, freed ?: &none));
	return text;
}

static void ends(struct quota_freed *freed, struct export *e, const struct quota_share *s)
{
	const struct quota_who who = user(e, NEW_HOST, true);

	quota_freed_add(freed, &who, s);
}

static void put_all(struct quota_share *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		quota_session_put(&s[i]);
}

#define NO_CONFIG	{ .max_sessions = 999, .max_sessions_addr = 999,	\
			  .max_sessions_all = 999, .max_queues = 999,		\
			  .max_queues_addr = 999, .max_queues_all = 999 }

/* Readers leave room for a writer, however many they are. A writer does not count as a reader. */
static void limits_of_an_export_hold(void **state)
{
	struct config cfg = NO_CONFIG;
	struct export_config ec = { .name = "e", .max_sessions = 4, .max_queues = 8,
				    .max_pinned = 100 };
	struct export e = { .cfg = &ec, .daemon = &cfg };
	struct quota_freed freed = { 0 };
	struct quota_share s[5] = { 0 };

	(void)state;
	quota_init(&cfg);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(take(&s[i], &e, i, false, 1, 10), RDMABLK_OK);
	assert_int_equal(take(&s[3], &e, 3, false, 1, 10), RDMABLK_R_LIMIT_SESSIONS);
	assert_string_equal(refusal(&e, false, 10, NULL),
			    "max-sessions=4 of the export, 3 for those that may not write: 3 taken, 1 needed");
	assert_int_equal(take(&s[3], &e, 3, true, 9, 10), RDMABLK_OK);
	assert_int_equal(s[3].queues, 5);
	assert_int_equal(take(&s[4], &e, 4, true, 1, 10), RDMABLK_R_LIMIT_SESSIONS);
	assert_string_equal(refusal(&e, true, 10, NULL),
			    "max-sessions=4 of the export: 4 taken, 1 needed");
	/* a steal: the session of another host ends and frees a place of the export only */
	ends(&freed, &e, &s[3]);
	assert_int_equal(freed.all.sessions, 1);
	assert_int_equal(freed.readers.sessions, 0);
	assert_int_equal(freed.host.sessions, 0);
	assert_int_equal(freed.addr.sessions, 0);
	assert_string_equal(refusal(&e, true, 10, &freed), "");
	assert_string_equal(refusal(&e, false, 10, &freed),
			    "max-sessions=4 of the export, 3 for those that may not write: 3 taken, 1 needed");
	ends(&freed, &e, &s[0]);
	assert_string_equal(refusal(&e, false, 10, &freed), "");
	put_all(s, ARRAY_SIZE(s));
	assert_int_equal(e.limits.taken.sessions, 0);
	assert_int_equal(e.limits.readers.queues, 0);

	/* readers may have 6 of 8 queues, and leave at least one to a writer */
	assert_int_equal(take(&s[0], &e, 0, false, 9, 10), RDMABLK_OK);
	assert_int_equal(s[0].queues, 6);
	quota_session_put(&s[0]);
	assert_int_equal(take(&s[0], &e, 0, true, 2, 10), RDMABLK_OK);
	assert_int_equal(take(&s[1], &e, 1, false, 9, 10), RDMABLK_OK);
	assert_int_equal(s[1].queues, 6);
	assert_int_equal(take(&s[2], &e, 2, false, 1, 10), RDMABLK_R_LIMIT_QUEUES);
	assert_string_equal(refusal(&e, false, 10, NULL),
			    "max-queues=8 of the export: 8 taken, 1 needed");
	quota_session_put(&s[0]);
	assert_string_equal(refusal(&e, false, 10, NULL),
			    "max-queues=8 of the export, 6 for those that may not write: 6 taken, 1 needed");
	assert_int_equal(take(&s[0], &e, 0, true, 9, 10), RDMABLK_OK);
	assert_int_equal(s[0].queues, 2);
	put_all(s, ARRAY_SIZE(s));
	ec.max_queues = 1;
	assert_int_equal(take(&s[0], &e, 0, false, 1, 10), RDMABLK_R_LIMIT_QUEUES);
	assert_int_equal(take(&s[0], &e, 0, true, 1, 10), RDMABLK_OK);
	put_all(s, ARRAY_SIZE(s));

	/* readers leave a writer a quarter of the memory, or that of one session if it is more */
	ec.max_queues = 99;
	assert_int_equal(take(&s[0], &e, 0, false, 1, 40), RDMABLK_OK);
	assert_int_equal(take(&s[1], &e, 1, false, 1, 40), RDMABLK_R_LIMIT_MEMORY);
	assert_string_equal(refusal(&e, false, 40, NULL),
			    "max-pinned=100 of the export, 60 for those that may not write: 40 taken, 40 needed");
	assert_int_equal(take(&s[1], &e, 1, true, 1, 61), RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(take(&s[1], &e, 1, true, 1, 60), RDMABLK_OK);
	quota_session_put(&s[0]);
	assert_int_equal(take(&s[2], &e, 2, true, 1, 41), RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(take(&s[2], &e, 2, true, 1, 40), RDMABLK_OK);
	put_all(s, ARRAY_SIZE(s));

	/* readers may take everything of a read-only export */
	ec.read_only = true;
	ec.max_sessions = 1;
	assert_int_equal(take(&s[0], &e, 0, false, 200, 100), RDMABLK_OK);
	assert_int_equal(s[0].queues, 99);
	assert_int_equal(take(&s[1], &e, 1, false, 1, 0), RDMABLK_R_LIMIT_SESSIONS);
	put_all(s, ARRAY_SIZE(s));
}

/* By default one export cannot take all sessions of the target, unless it is the only one. */
static void an_export_leaves_room_for_others(void **state)
{
	struct config cfg = NO_CONFIG;
	struct quota_share s[8] = { 0 };
	struct export *a, *b;

	(void)state;
	cfg.max_sessions_all = 6;
	cfg.max_queues_all = 1;
	quota_init(&cfg);
	a = export_new(&cfg, calloc(1, sizeof(struct export_config)));
	assert_non_null(a);
	assert_int_equal(export_caps(a).sessions, 6);
	assert_int_equal(export_caps(a).queues, 1);
	b = export_new(&cfg, calloc(1, sizeof(struct export_config)));
	assert_non_null(b);
	assert_int_equal(export_caps(a).sessions, 3);
	assert_int_equal(export_caps(a).queues, 1);
	assert_int_equal(export_caps(b).bytes, 0);
	cfg.max_queues_all = 99;
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(take(&s[i], a, i, true, 1, 10), RDMABLK_OK);
	assert_int_equal(take(&s[3], a, 3, true, 1, 10), RDMABLK_R_LIMIT_SESSIONS);
	assert_string_equal(refusal(a, true, 10, NULL),
			    "max-sessions=3 of the export: 3 taken, 1 needed");
	for (uint8_t i = 3; i < 6; i++)
		assert_int_equal(take(&s[i], b, i, true, 1, 10), RDMABLK_OK);
	put_all(s, ARRAY_SIZE(s));
	a->cfg->max_sessions = 6;
	for (uint8_t i = 0; i < 6; i++)
		assert_int_equal(take(&s[i], a, i, true, 1, 10), RDMABLK_OK);
	assert_string_equal(refusal(b, true, 10, NULL),
			    "max-sessions=6 of the target: 6 taken, 1 needed");
	put_all(s, ARRAY_SIZE(s));
	export_free(b);
	assert_int_equal(export_caps(a).queues, 99);
	export_free(a);
}

/* Connections that never become sessions leave some places of logins to known addresses. */
static void places_are_kept_for_known_addresses(void **state)
{
	struct config cfg = { .max_logins = 8, .max_logins_addr = 8 };

	(void)state;
	quota_init(&cfg);
	quota_live_get(address(1));
	quota_live_get(address(2));
	quota_live_put(address(2));
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(quota_login_get(address(100 + i)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(106)), RDMABLK_R_LIMIT_LOGINS);
	assert_int_equal(quota_login_get(address(1)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(2)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(1)), RDMABLK_R_LIMIT_LOGINS);
	quota_login_put(address(2));
	quota_login_put(address(1));
	/* an address whose login ends without a session stays unknown */
	quota_login_put(address(100));
	assert_int_equal(quota_login_get(address(100)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(100)), RDMABLK_R_LIMIT_LOGINS);
	for (uint32_t i = 0; i < 6; i++)
		quota_login_put(address(100 + i));

	/* 1024 addresses of former sessions are remembered, and all that have a session now. */
	for (uint32_t i = 0; i < 1024; i++) {
		quota_live_get(address(1000 + i));
		quota_live_put(address(1000 + i));
	}
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(quota_login_get(address(100 + i)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(2)), RDMABLK_R_LIMIT_LOGINS);
	assert_int_equal(quota_login_get(address(1000)), RDMABLK_OK);
	assert_int_equal(quota_login_get(address(1)), RDMABLK_OK);
	quota_login_put(address(1000));
	quota_login_put(address(1));
	for (uint32_t i = 0; i < 6; i++)
		quota_login_put(address(100 + i));
	quota_live_put(address(1));
}

/*
 * Arenas
 */

#define ARENA_SIZE	(1 << 20)

static char arena_path[64];

static struct export_config arena_config(void)
{
	return (struct export_config){ .name = "t", .size = ARENA_SIZE,
				       .arena = arena_path };
}

static int arena_remove(void **state)
{
	(void)state;
	snprintf(arena_path, sizeof(arena_path), "/dev/shm/rdmablk-test.%d", getpid());
	unlink(arena_path);
	return 0;
}

/* A child opens the arena, writes to it and exits without closing it. */
static void arena_write_and_die(struct store *before)
{
	const struct export_config ec = arena_config();
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct store s = { .uuid = { 7 } };

		if (store_memory_ops.open(&s, &ec) || store_memory_ops.publish(&s))
			_exit(1);
		memset(s.base, 0x5a, s.size);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	*before = (struct store){ 0 };
}

static void kept_arena_keeps_contents_epoch_and_identity(void **state)
{
	const struct export_config ec = arena_config();
	struct store a = { .uuid = { 7 } }, b = { 0 }, c = { .uuid = { 8 } };
	uint8_t epoch[RDMABLK_ID_LEN];

	(void)state;
	assert_int_equal(store_memory_ops.open(&a, &ec), 0);
	assert_int_equal(((char *)a.base)[ARENA_SIZE - 1], 0);
	/* a second open fails meanwhile */
	assert_int_not_equal(store_memory_ops.open(&b, &ec), 0);
	assert_int_equal(store_memory_ops.publish(&a), 0);
	memset(a.base, 0x5a, a.size);
	memcpy(epoch, a.epoch, sizeof(epoch));
	store_memory_ops.close(&a);
	/*
	 * The trailer names this process. The next open would wait for its end,
	 * so another process publishes the arena that is opened then.
	 */
	unlink(arena_path);
	arena_write_and_die(&b);
	assert_int_equal(store_memory_ops.open(&b, &ec), 0);
	assert_int_equal(((char *)b.base)[ARENA_SIZE - 1], 0x5a);
	assert_int_equal(b.uuid[0], 7);
	assert_memory_not_equal(b.epoch, epoch, sizeof(epoch));
	store_memory_ops.close(&b);
	/* the arena is that of an export with another UUID */
	assert_int_not_equal(store_memory_ops.open(&c, &ec), 0);
}

/* The process lives for as long as the other end of the pipe is open. */
static void *last_thread(void *fd)
{
	char c;

	while (read(*(int *)fd, &c, 1) > 0)
		;
	_exit(0);
}

/* Serves the arena, and then ends the first thread of the process; another thread goes on. */
static void lose_the_first_thread(const struct export_config *ec, int fds[2])
{
	struct store s = { .uuid = { 7 } };
	pthread_t thread;

	close(fds[1]);
	if (store_memory_ops.open(&s, ec) || store_memory_ops.publish(&s))
		_exit(1);
	flock(s.fd, LOCK_UN);	/* a process that is killed may lose it early */
	if (pthread_create(&thread, NULL, last_thread, &fds[0]))
		_exit(1);
	pthread_exit(NULL);
}

/* Reads the log until the open waits for the former process, and then ends that by @lifeline. */
static void end_who_is_waited_for(int log, int lifeline)
{
	char text[4096];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(text) - 1 &&
	       (n = read(log, text + have, sizeof(text) - 1 - have)) > 0) {
		have += (size_t)n;
		text[have] = '\0';
		if (strstr(text, "waiting for its former process"))
			break;
	}
	close(lifeline);
	_exit(0);
}

static bool is_zombie(pid_t pid)
{
	char path[32], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	return strstr(text, ") Z ");
}

/* Opens @s with the log in a pipe. The pipe's reader ends the process that the open waits for. */
static int open_with_an_ender(struct store *s, const struct export_config *ec,
			      int lifeline)
{
	int log[2], to = dup(STDERR_FILENO), ret;
	pid_t ender;

	assert_int_equal(pipe(log), 0);
	ender = fork();
	if (!ender) {
		close(log[1]);
		end_who_is_waited_for(log[0], lifeline);
	}
	close(lifeline);
	dup2(log[1], STDERR_FILENO);
	ret = store_memory_ops.open(s, ec);
	dup2(to, STDERR_FILENO);
	close(to);
	close(log[0]);
	close(log[1]);
	return ret;
}

/*
 * Serves the arena, gives its lock back and says so. Is killed when the other end of the socket
 * pair is closed.
 */
static void serve_until_killed(const struct export_config *ec, const int fds[2])
{
	struct store s = { .uuid = { 7 } };
	char c = 0;

	close(fds[1]);
	if (store_memory_ops.open(&s, ec) || store_memory_ops.publish(&s))
		_exit(1);
	flock(s.fd, LOCK_UN);	/* a process that is killed may lose it early */
	if (write(fds[0], &c, 1) != 1)
		_exit(1);
	while (read(fds[0], &c, 1) > 0)
		;
	raise(SIGKILL);
	_exit(1);
}

/* The lock is free, but the process that wrote the arena still lives. */
static void arena_waits_for_its_former_process(void **state)
{
	const struct export_config ec = arena_config();
	struct store s = { .uuid = { 7 } };
	int fds[2], status, ret;
	pid_t former;
	char c;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	former = fork();
	if (!former)
		serve_until_killed(&ec, fds);
	close(fds[0]);
	assert_int_equal(read(fds[1], &c, 1), 1);
	ret = open_with_an_ender(&s, &ec, fds[1]);
	assert_int_equal(ret, 0);
	/* the open has waited until the signal ended the former process */
	assert_int_equal(waitpid(former, &status, WNOHANG), former);
	assert_true(WIFSIGNALED(status));
	wait(&status);
	store_memory_ops.close(&s);
}

/*
 * A process whose first thread has ended looks like a zombie, but its other
 * threads may still have queue pairs.
 */
static void arena_waits_for_every_thread_of_its_former_process(void **state)
{
	const struct export_config ec = arena_config();
	struct store s = { .uuid = { 7 } };
	int lifeline[2], status, ret;
	pid_t former;

	(void)state;
	assert_int_equal(pipe(lifeline), 0);
	former = fork();
	if (!former)
		lose_the_first_thread(&ec, lifeline);
	close(lifeline[0]);
	while (!is_zombie(former))
		usleep(1000);
	assert_int_equal(waitpid(former, &status, WNOHANG), 0);
	ret = open_with_an_ender(&s, &ec, lifeline[1]);
	assert_int_equal(ret, 0);
	/* The former process is gone, because the open has waited for it. */
	assert_int_equal(waitpid(former, &status, WNOHANG), former);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	wait(&status);
	store_memory_ops.close(&s);
}

/* The first process of a new PID namespace serves the arena, and exits with or without a close. */
static void serve_elsewhere(const struct export_config *ec, bool closes)
{
	struct store s = { .uuid = { 7 } };
	int status;
	pid_t first;

	if (unshare(CLONE_NEWPID))
		_exit(77);
	first = fork();
	if (!first) {
		int ret = store_memory_ops.open(&s, ec) ?: store_memory_ops.publish(&s);

		if (closes)
			store_memory_ops.close(&s);
		_exit(ret ? 1 : 0);
	}
	waitpid(first, &status, 0);
	_exit(WEXITSTATUS(status));
}

static int served_elsewhere(const struct export_config *ec, bool closes)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		serve_elsewhere(ec, closes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/*
 * Whether a process of another PID namespace still lives cannot be seen: here its pid names
 * another process, or none. If it has closed the arena, that does not matter.
 */
static void arena_of_another_pid_namespace_is_refused(void **state)
{
	const struct export_config ec = arena_config();
	struct store s = { .uuid = { 7 } };
	int ret = served_elsewhere(&ec, true);

	(void)state;
	if (ret == 77)	/* this process may not make a namespace */
		skip();
	assert_int_equal(ret, 0);
	assert_int_equal(store_memory_ops.open(&s, &ec), 0);
	assert_int_equal(store_memory_ops.publish(&s), 0);
	/* The arena is this process's. In the other namespace its pid may name another process. */
	arena_wait_ms = 20;
	assert_int_not_equal(served_elsewhere(&ec, true), 0);
	arena_wait_ms = 10000;
	store_memory_ops.close(&s);
	assert_int_equal(served_elsewhere(&ec, false), 0);
	s = (struct store){ .uuid = { 7 } };
	assert_int_equal(store_memory_ops.open(&s, &ec), -EBUSY);
	store_memory_ops.close(&s);
	/* The refused open does not change the trailer. */
	assert_int_equal(store_memory_ops.open(&s, &ec), -EBUSY);
	store_memory_ops.close(&s);
	unlink(arena_path);
}

static void incomplete_arena_starts_with_zeroes(void **state)
{
	const struct export_config ec = arena_config();
	struct store a = { .uuid = { 7 } }, b = { .uuid = { 7 } };

	(void)state;
	assert_int_equal(store_memory_ops.open(&a, &ec), 0);
	memset(a.base, 0x5a, a.size);
	store_memory_ops.close(&a);	/* never published */
	assert_int_equal(store_memory_ops.open(&b, &ec), 0);
	assert_int_equal(((char *)b.base)[ARENA_SIZE - 1], 0);
	assert_int_equal(((char *)b.base)[0], 0);
	assert_memory_not_equal(a.epoch, b.epoch, sizeof(a.epoch));
	store_memory_ops.close(&b);
}

static void foreign_files_are_no_arenas(void **state)
{
	struct export_config ec = arena_config();
	struct store s = { 0 };
	FILE *f;

	(void)state;
	f = fopen(arena_path, "w");
	for (int i = 0; i < ARENA_SIZE + 4096; i++)
		fputc('x', f);
	fclose(f);
	assert_int_not_equal(store_memory_ops.open(&s, &ec), 0);
	ec.arena = (char *)"/proc/self/exe";
	assert_int_not_equal(store_memory_ops.open(&s, &ec), 0);
	unlink(arena_path);
}

static void anonymous_arena_is_zero_and_its_epoch_new(void **state)
{
	const struct export_config ec = { .name = "t", .size = ARENA_SIZE,
					  .huge_pages = HUGE_NO };
	struct store a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(store_memory_ops.open(&a, &ec), 0);
	assert_int_equal(store_memory_ops.open(&b, &ec), 0);
	for (int i = 0; i < ARENA_SIZE; i++)
		assert_int_equal(((char *)a.base)[i], 0);
	assert_memory_not_equal(a.epoch, b.epoch, sizeof(a.epoch));
	store_memory_ops.close(&a);
	store_memory_ops.close(&b);
}

/* In a child that may lock 1 MiB of memory. */
static void locked_memory_is_compared(void **state)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capset, &head, none))
			_exit(1);
		_exit(meminfo_check_locked("test", 1 << 20) &&
		      !meminfo_check_locked("test", (1 << 20) + 1) ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locked_memory_is_compared),
		cmocka_unit_test(leases),
		cmocka_unit_test(a_refusal_ends_nobody),
		cmocka_unit_test(regions_are_powers_of_two_that_the_device_takes),
		cmocka_unit_test(limits_hold_and_are_given_back),
		cmocka_unit_test(limits_of_an_address_and_of_all_hold),
		cmocka_unit_test(limits_of_an_export_hold),
		cmocka_unit_test(an_export_leaves_room_for_others),
		cmocka_unit_test(places_are_kept_for_known_addresses),
		cmocka_unit_test_setup_teardown(kept_arena_keeps_contents_epoch_and_identity,
						arena_remove, arena_remove),
		cmocka_unit_test_setup_teardown(arena_waits_for_its_former_process,
						arena_remove, arena_remove),
		cmocka_unit_test_setup_teardown(arena_waits_for_every_thread_of_its_former_process,
						arena_remove, arena_remove),
		cmocka_unit_test_setup_teardown(arena_of_another_pid_namespace_is_refused,
						arena_remove, arena_remove),
		cmocka_unit_test_setup_teardown(incomplete_arena_starts_with_zeroes,
						arena_remove, arena_remove),
		cmocka_unit_test_setup_teardown(foreign_files_are_no_arenas,
						arena_remove, arena_remove),
		cmocka_unit_test(anonymous_arena_is_zero_and_its_epoch_new),
	};

	log_setup(LOG_DEBUG);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
