// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions with an arena end at any moment of their commands, while the commands thread and
 * the store thread work. No thread touches a session that is idle. No command is answered
 * twice, or after the threads have let go of the queues. No granule of a good DIRTY is lost.
 *
 * Sources: target/session/cmdq.c target/staged/lane.c target/store/store_thread.c
 */
#include "target_cmdq.h"

#define GRANULE		4096U
#define GRANULES	256U
#define SIZE		((uint64_t)GRANULES * GRANULE)
#define QUEUES		2U
#define SESSIONS	3U	/* at once */
#define ROUNDS		3000U
#define SPIN_NS		30000U

static unsigned int seed = 1, store_seed = 2;	/* of the test's and of the store thread */
static uint64_t begun, done;	/* work items; only the store thread changes these */

/* A session */
static struct peer {
	struct cmdqs c;
	struct fake_qp qp[QUEUES];
	uint16_t op[QUEUES][CMDQ_DEPTH];	/* of the command of each tag */
	unsigned int first[QUEUES][CMDQ_DEPTH];	/* first of the two granules of a DIRTY */
	bool flushed[GRANULES];		/* the store thread's until the session is idle */
	bool stopped, idle;
} *peers[SESSIONS];

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not know the real function, and would see races after the join. */
int pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t id, const struct timespec *until)
{
	(void)id;
	(void)until;
	return pthread_join(thread, ret);
}
#endif

static void spin(unsigned int ns)
{
	struct timespec from, at;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		clock_gettime(CLOCK_MONOTONIC, &at);
	} while ((at.tv_sec - from.tv_sec) * 1000000000L + at.tv_nsec - from.tv_nsec < (long)ns);
}

/* A work item or a FLUSH takes a while, and fails now and then. */
static unsigned int fake_step(void)
{
	begun++;
	spin((unsigned int)rand_r(&store_seed) % SPIN_NS);
	done++;
	return rand_r(&store_seed) % 4 ? RDMABLK_OK : RDMABLK_R_STORE_IO;
}

static unsigned int fake_work(struct store *s, struct store_work *w, uint64_t offset,
			      uint64_t bytes)
{
	(void)s;
	(void)w;
	(void)offset;
	(void)bytes;
	return fake_step();
}

static void fake_flush(struct store *s, struct store_works *works)
{
	struct store_work *w;
	uint64_t first, count;

	(void)s;
	TAILQ_FOREACH(w, works, entry) {
		struct peer *p = container_of(w, struct peer, c.flush);

		w->status = fake_step();
		while (!w->status && bitmap_next(w->dirty, 0, &first, &count)) {
			memset(p->flushed + first, true, count);
			bitmap_clear(w->dirty, first, count);
		}
	}
}

static const struct store_ops fake_ops = {
	.type = "fake", .work = fake_work, .flush = fake_flush,
};

static void failed(void *owner, unsigned int reason)
{
	(void)owner;
	fail_msg("the session has failed: %u", reason);
}

static void stopped(void *owner)
{
	struct peer *p = owner;

	p->stopped = true;
	for (unsigned int q = 0; q < QUEUES; q++)
		p->qp[q].dead = true;
	loop_stop();
}

static void idle(void *owner)
{
	struct peer *p = owner;

	assert_true(p->stopped);
	p->idle = true;
	loop_stop();
}

static struct peer *peer_open(void)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct lanes *l = &p->c.lanes;
	struct conn_setup setup;

	l->threads = pool;
	l->scope = (struct wire_scope){ .size = SIZE, .logical_block = 512, .writer = true,
		.granule = GRANULE, .max_ranges = 4, .ops = UINT32_MAX, .max_discard = SIZE,
		.max_zeroes = SIZE, .cmd_depth = CMDQ_DEPTH };
	l->owner = p;
	l->failed = failed;
	l->stopped = stopped;
	l->idle = idle;
	p->c.store = &store;
	assert_int_equal(cmdq_open(&p->c, &dev, fake_pd(), QUEUES), 0);
	for (unsigned int q = 0; q < QUEUES; q++) {
		lane_setup(l, q, &setup);
		fake_qp_init(&p->qp[q], setup.cq);
		assert_int_equal(lane_join(l, q, &p->qp[q].qp), 0);
	}
	lane_live(l);
	return p;
}

static void send_command(struct peer *p, unsigned int q, uint16_t tag)
{
	static const uint16_t ops[] = {
		RDMABLK_OP_DIRTY, RDMABLK_OP_DIRTY, RDMABLK_OP_FLUSH, RDMABLK_OP_DISCARD,
		RDMABLK_OP_WRITE_ZEROES, RDMABLK_OP_FENCE,
	};
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range;
	} msg = { .range.bytes = htole64(2 * GRANULE) };
	unsigned int first = (unsigned int)rand_r(&seed) % (GRANULES - 1);
	uint16_t op = ops[(size_t)rand_r(&seed) % ARRAY_SIZE(ops)];
	size_t len = op == RDMABLK_OP_DIRTY ? sizeof(msg) : sizeof(msg.cmd);

	p->op[q][tag] = op;
	p->first[q][tag] = first;
	msg.range.offset = htole64((uint64_t)first * GRANULE);
	msg.cmd.hdr.type = htole16(RDMABLK_MSG_COMMAND);
	msg.cmd.hdr.length = htole16((uint16_t)len);
	msg.cmd.hdr.tag = htole16(tag);
	msg.cmd.op = htole16(op);
	if (op == RDMABLK_OP_DISCARD || op == RDMABLK_OP_WRITE_ZEROES)
		msg.cmd.bytes = htole64(GRANULE);
	assert_true(fake_send(&p->qp[q], &msg, (uint32_t)len));
}

static bool is_dirty(const struct peer *p, unsigned int granule)
{
	uint64_t first, count;

	return bitmap_next(&p->c.dirty, granule, &first, &count) && first == granule;
}

/* The answers that the peer of an idle session has got on one queue */
static void check_answers(const struct peer *p, unsigned int q)
{
	const struct fake_qp *qp = &p->qp[q];
	bool seen[CMDQ_DEPTH] = { false };

	assert_false(qp->late);
	for (unsigned int i = 0; i < qp->nr_answers; i++) {
		uint32_t imm = qp->answers[i].imm;
		unsigned int tag = RDMABLK_IMM_TAG(imm), first;

		assert_true(tag < CMDQ_DEPTH);
		assert_false(seen[tag]);
		seen[tag] = true;
		if (p->op[q][tag] != RDMABLK_OP_DIRTY)
			continue;
		assert_int_equal(RDMABLK_IMM_STATUS(imm), RDMABLK_OK);
		first = p->first[q][tag];
		for (unsigned int granule = first; granule < first + 2; granule++)
			assert_true(p->flushed[granule] || is_dirty(p, granule));
	}
}

static void peer_close(struct peer *p)
{
	lane_detach_all(&p->c.lanes);
	hear_of(&p->idle);
	assert_false(cmdq_busy(&p->c));
	assert_false(bitmap_any(&p->c.flushing));
	for (unsigned int q = 0; q < QUEUES; q++)
		check_answers(p, q);
	assert_int_equal(lane_close_all(&p->c.lanes), 0);
	cmdq_free(&p->c);
	free(p);
}

/* Meanwhile other sessions begin and end on the same two threads. */
static void a_session_ends_at_any_moment(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct peer **p = &peers[(unsigned int)rand_r(&seed) % SESSIONS];
		unsigned int nr = (unsigned int)rand_r(&seed) % (QUEUES * CMDQ_DEPTH + 1);

		if (*p)
			peer_close(*p);
		*p = peer_open();
		for (unsigned int i = 0; i < nr; i++) {
			send_command(*p, i % QUEUES, (uint16_t)(i / QUEUES));
			if (!(rand_r(&seed) % 4))
				spin((unsigned int)rand_r(&seed) % SPIN_NS);
		}
		spin((unsigned int)rand_r(&seed) % SPIN_NS);
	}
	for (unsigned int i = 0; i < SESSIONS; i++)
		if (peers[i])
			peer_close(peers[i]);
}

static int begin(void **state)
{
	(void)state;
	return export_start(&fake_ops);
}

/* Return: an error also if the store thread had no work, or did not finish it */
static int end(void **state)
{
	(void)state;
	return export_stop() || !begun || begun != done ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_ends_at_any_moment),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
