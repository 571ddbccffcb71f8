// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A login whose initiator lacks a feature that the store needs is refused with a reason. And a
 * host is charged only for the queues and the memory that its session gets. The adapter is a
 * fake.
 *
 * Sources: target/session/login.c target/export/quota.c target/store/store_full.c
 *	   target/staged/store_none.c
 * Libraries: json-c liburing
 */
#include "../../target/session/login.h"
#include "../../target/wire/mac.h"
#include "target_admin.h"

static struct ibv_context context;
static struct device adapter = { .verbs = &context, .users = 1,
				 .attr = { .max_mr_size = 64 * MIB, .max_cqe = 1 << 20 } };

/*
 * An adapter that does nothing. The login must not query it: the answer may take long, and the
 * loop would wait for it.
 */

static unsigned int queries;

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	queries++;
	*attr = adapter.attr;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
	(void)verbs;
	errno = ENOMEM;
	return NULL;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

/* Return: a session in the login, which waits for PROOF. */
static struct session *login(const struct export *e, uint64_t features)
{
	struct session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->cfg = &cfg;
	s->device = &adapter;
	s->state = SESSION_PROOF;
	s->hello.features = features;
	snprintf(s->hello.export_name, sizeof(s->hello.export_name), "%s", e->cfg->name);
	session_add(s);
	return s;
}

/* Sends a good PROOF. Return: RDMABLK_OK, or the reason of the refusal. */
static unsigned int prove(struct session *s)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct rdmablk_proof proof = { .hdr = { .type = htole16(RDMABLK_MSG_PROOF),
						.length = htole16(sizeof(proof)) } };

	assert_int_equal(mac_proof(no_key, &s->login.hello, &s->login.challenge, proof.mac), 0);
	return login_receive(s, &proof, sizeof(proof));
}

/* As prove(), for a session that resumes another export: at the latest IDENTITY ends the login. */
static unsigned int prove_another(const struct export *e, uint64_t features)
{
	struct session *s = login(e, features);
	unsigned int reason;

	s->hello.uuid[0] = (uint8_t)~e->store.uuid[0];
	s->hello.flags = RDMABLK_HELLO_RESUME;
	reason = prove(s);
	session_remove(s);
	return reason;
}

/* An uncached file needs staged commands. A cached file needs FLUSH, unless it is read-only. */

static void a_store_wants_its_features(void **state)
{
	static const uint64_t commands = RDMABLK_F_COMMANDS,
			      staged = RDMABLK_F_COMMANDS | RDMABLK_F_STAGED;
	const char *path = files_new("disk", 4 * MIB);
	const struct {
		const char *words;
		uint64_t features;
		unsigned int reason;	/* IDENTITY: no feature is missing */
	} logins[] = {
		{ "", 0, RDMABLK_R_FEATURE },
		{ "", commands, RDMABLK_R_FEATURE },
		{ "", staged, RDMABLK_R_IDENTITY },
		{ ",ro", commands, RDMABLK_R_FEATURE },
		{ ",ro", staged, RDMABLK_R_IDENTITY },
		{ ",cache=full", 0, RDMABLK_R_FEATURE },
		{ ",cache=full", commands, RDMABLK_R_IDENTITY },
		{ ",cache=full,ro", 0, RDMABLK_R_IDENTITY },
	};
	char spec[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(logins); i++) {
		snprintf(spec, sizeof(spec), "disk,file=%s%s", path, logins[i].words);
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		assert_int_equal(prove_another(export_find("disk"), logins[i].features),
				 logins[i].reason);
		assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
	}
	assert_int_equal(prove_another(export_find("first"), 0), RDMABLK_R_IDENTITY);
	/* the admin guide and the protocol quote this text */
	assert_string_equal(rdmablk_reason_text(RDMABLK_R_FEATURE),
			    "a required feature is missing");
}

static void stop(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

#define SLOTS	444U	/* 6 for each of 74 queues: 3 for READs and WRITEs, and 3 */

/* Memory is planned and charged for the granted queues only. */
static void memory_of_fewer_queues_is_charged(void **state)
{
	static struct loop_timer timer = { .expired = stop };
	uint32_t max = cfg.max_queues;
	struct rdma_cm_id *id = calloc(1, sizeof(*id));
	struct ibv_pd pd = { .context = &context };
	struct session *s;
	char spec[300];

	(void)state;
	snprintf(spec, sizeof(spec), "disk,file=%s,slot-bytes=4096,slot-memory=%u",
		 files_new("slots", 4 * MIB), SLOTS * 4096);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	s = login(export_find("disk"), RDMABLK_F_COMMANDS | RDMABLK_F_STAGED);
	adapter.users++;
	s->conn = conn_create(id, s, 0, session_conn_event);
	s->pd = &pd;
	s->quiet = true;
	s->hello.flags = RDMABLK_HELLO_READ_ONLY;
	s->hello.nr_queues = 74;
	s->hello.queue_depth = 3;	/* slot-memory would allow fewer of deeper queues */
	cfg.max_queues = 73;
	assert_int_equal(prove(s), RDMABLK_OK);
	assert_int_equal(s->share.queues, 73);
	assert_int_equal(s->plan.nr_queues, 73);
	assert_int_equal(s->plan.cmd_depth, 6);
	assert_int_equal(s->share.bytes, s->plan.pinned);
	assert_int_equal(queries, 0);
	cfg.max_queues = max;
	while (session_any()) {
		loop_timer_start(&timer, 10);
		assert_int_equal(loop_run(), 0);
	}
	assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
	free(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_wants_its_features),
		cmocka_unit_test(memory_of_fewer_queues_is_charged),
	};

	return cmocka_run_group_tests_name("features", tests, setup, teardown);
}
