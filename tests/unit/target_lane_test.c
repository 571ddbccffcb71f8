// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions with a store without a cache, from the command that comes in to the answer
 * that goes out, and their end. Files, rings and threads are real; the adapter is
 * fake_verbs.h.
 *
 * Sources: target/lane.c target/lane_life.c target/staged_session.c target/iothread.c
 *	    target/store_none.c
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/lane.h"
#include "../../target/log.h"
#include "../../target/loop.h"
#include "../../target/memlock.h"
#include "../../target/store.h"
#include "../../target/store_none.h"
#include "../../target/util.h"
#include "fake_verbs.h"

#define SIZE	(16ULL << 20)
#define SLOT	(64U << 10)
#define QUEUES	3U
#define DEPTH	16U	/* of requests; commands have more */
#define TRAILER	4096U
#define PATIENCE_MS	30000

static char dir[64], path[96], rules[96];
static struct export_config config;
static struct store store;
static struct staged *session;
static struct staged_plan plan;
static struct fake_qp qp[QUEUES];
static uint8_t generation;
static atomic_uint ended;	/* why the session must end */
static atomic_bool stopped, idle;	/* how far its end is */

static int64_t now(void)
{
	return loop_now();
}

static void pause_1ms(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

static void failed(void *owner, unsigned int reason)
{
	assert_ptr_equal(owner, &plan);
	atomic_store(&ended, reason);
}

static void has_stopped(void *owner)
{
	assert_ptr_equal(owner, &plan);
	assert_false(atomic_exchange(&stopped, true));
}

static void is_idle(void *owner)
{
	assert_ptr_equal(owner, &plan);
	assert_true(atomic_load(&stopped));
	assert_false(atomic_exchange(&idle, true));
}

static void wait_for(const atomic_bool *what)
{
	int64_t until = now() + PATIENCE_MS;

	while (!atomic_load(what) && now() < until)
		pause_1ms();
	assert_true(atomic_load(what));
}

static void write_rules(const char *text)
{
	char temp[112];
	FILE *file;

	snprintf(temp, sizeof(temp), "%s.new", rules);
	file = fopen(temp, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(rename(temp, rules), 0);
}

static void open_store(bool faults)
{
	static unsigned int files;	/* a test that has failed keeps its own */
	int fd;

	snprintf(path, sizeof(path), "%s/file%u", dir, files++);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
	close(fd);
	write_rules("");
	config = (struct export_config){
		.name = "test", .type = "file", .file = path, .block = 512,
		.slot_bytes = SLOT, .slot_memory = 64ULL << 20,
		.fault = faults ? rules : NULL,
	};
	store = (struct store){ .ops = &store_none_ops };
	store_none_setup(2);
	assert_int_equal(store_none_ops.open(&store, &config), 0);
}

static void open_session(bool writer)
{
	const struct staged_ops *ops = store.ops->staged;

	atomic_store(&ended, RDMABLK_OK);
	atomic_store(&stopped, false);
	atomic_store(&idle, false);
	plan = (struct staged_plan){
		.verbs = fake_context(), .pd = fake_pd(), .max_mr_size = 1ULL << 40,
		.nr_queues = QUEUES, .logical_block = 512, .writer = writer,
		.size = SIZE, .owner = &plan, .failed = failed,
		.stopped = has_stopped, .idle = is_idle, .queue_depth = DEPTH,
	};
	assert_int_equal(ops->plan(&store, &plan), RDMABLK_OK);
	assert_int_equal(plan.queue_depth, DEPTH);
	assert_true(plan.cmd_depth > DEPTH);
	assert_int_equal(ops->open(&store, &plan, &session), 0);
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct ibv_cq *cq = NULL;
		uint32_t sends, recvs;

		ops->queue(session, i, &cq, &sends, &recvs);
		assert_int_equal(recvs, plan.cmd_depth);
		fake_qp_init(&qp[i], cq);
		assert_int_equal(ops->join(session, i, &qp[i].qp), 0);
		assert_int_equal(qp[i].nr_receives, plan.cmd_depth);
	}
	ops->live(session);
}

/* Nothing is posted to a queue pair when that has been said. */
static void stop_session(void)
{
	store.ops->staged->stop(session);
	wait_for(&stopped);
	for (unsigned int i = 0; i < QUEUES; i++)
		qp[i].dead = true;
	store.ops->staged->stop(session);
	assert_int_equal(store.ops->staged->close(session), 0);
	assert_int_equal(fake_objects(), 0);
}

static void free_session(void)
{
	wait_for(&idle);
	store.ops->staged->free(session);
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_false(qp[i].late);
		for (unsigned int n = 0; n < qp[i].nr_answers; n++)
			free(qp[i].answers[n].data);
	}
}

static void close_session(void)
{
	stop_session();
	free_session();
}

static sem_t closed;

static void close_run(struct ring_note *note)
{
	(void)note;
	store_none_ops.close(&store);
	sem_post(&closed);
}

/* The store is the loop's to close. */
static void close_store(void)
{
	static struct ring_note note = { .run = close_run };

	iothreads_tell_loop(((struct store_none *)store.priv)->threads, &note);
	sem_wait(&closed);
	unlink(path);
	unlink(rules);
}

static void close_all(void)
{
	close_session();
	close_store();
}

/*
 * The initiator
 */

static void *slot(unsigned int queue, uint16_t tag)
{
	return fake_remote(plan.slot_iova + (queue * plan.cmd_depth + tag) * (uint64_t)SLOT,
			   plan.slot_rkey);
}

static void send_command(unsigned int queue, uint16_t tag, uint16_t op, uint16_t flags,
			 uint64_t offset, uint64_t bytes, const void *trailer,
			 uint32_t len)
{
	static char msg[2 * TRAILER + sizeof(struct rdmablk_command)];
	const struct rdmablk_command cmd = {
		.hdr = {
			.type = htole16(RDMABLK_MSG_COMMAND),
			.length = htole16((uint16_t)(sizeof(cmd) + len)),
			.tag = htole16(tag),
			.generation = htole32(generation),
		},
		.op = htole16(op),
		.flags = htole16(flags),
		.offset = htole64(offset),
		.bytes = htole64(bytes),
	};

	memcpy(msg, &cmd, sizeof(cmd));
	if (len)
		memcpy(msg + sizeof(cmd), trailer, len);
	assert_true(fake_send(&qp[queue], msg, (uint32_t)sizeof(cmd) + len));
}

/* Return: its status; @data: what came with it, @bytes of it */
static unsigned int answer(unsigned int queue, uint16_t tag, void *data, uint32_t bytes)
{
	struct fake_answer a;

	if (!fake_answer(&qp[queue], tag, &a))
		fail_msg("no answer to tag %u on queue %u, session ended with %u", tag,
			 queue, atomic_load(&ended));
	assert_int_equal(RDMABLK_IMM_GENERATION(a.imm), generation);
	assert_int_equal(a.len, bytes);
	if (bytes)
		memcpy(data, a.data, bytes);
	free(a.data);
	return RDMABLK_IMM_STATUS(a.imm);
}

static unsigned int command(unsigned int queue, uint16_t op, uint16_t flags,
			    uint64_t offset, uint64_t bytes)
{
	generation++;
	send_command(queue, 1, op, flags, offset, bytes, NULL, 0);
	return answer(queue, 1, NULL, 0);
}

static void pattern(void *buf, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)buf)[i] = (seed + i) * 0x9e3779b97f4a7c15;
}

static void in_file(const void *want, uint64_t offset, uint64_t bytes)
{
	int fd = open(path, O_RDONLY);
	char *have = malloc(bytes);

	assert_int_equal(pread(fd, have, bytes, (off_t)offset), bytes);
	assert_memory_equal(have, want, bytes);
	free(have);
	close(fd);
}

static unsigned int wait_ended(void)
{
	int64_t until = now() + PATIENCE_MS;

	while (!atomic_load(&ended) && now() < until)
		pause_1ms();
	return atomic_load(&ended);
}

/*
 * Tests
 */

static void data_goes_both_ways(void **state)
{
	static char data[SLOT], seen[SLOT];

	(void)state;
	open_store(false);
	open_session(true);
	for (unsigned int q = 0; q < QUEUES; q++) {
		uint64_t at = q * (1ULL << 20);

		generation += 7;
		/* through a slot */
		pattern(data, SLOT, q);
		memcpy(slot(q, 3), data, SLOT);
		send_command(q, 3, RDMABLK_OP_WRITE, 0, at, SLOT, NULL, 0);
		assert_int_equal(answer(q, 3, NULL, 0), RDMABLK_OK);
		in_file(data, at, SLOT);
		send_command(q, 4, RDMABLK_OP_READ, 0, at, SLOT, NULL, 0);
		assert_int_equal(answer(q, 4, NULL, 0), RDMABLK_OK);
		assert_memory_equal(slot(q, 4), data, SLOT);
		/* with the command, with the answer; FUA */
		for (uint32_t bytes = 512; bytes <= TRAILER; bytes *= 2) {
			pattern(data, bytes, 100 + q + bytes);
			send_command(q, 0, RDMABLK_OP_WRITE,
				     RDMABLK_IO_TRAILER | RDMABLK_IO_FUA,
				     at + SLOT, bytes, data, bytes);
			assert_int_equal(answer(q, 0, NULL, 0), RDMABLK_OK);
			in_file(data, at + SLOT, bytes);
			send_command(q, 2, RDMABLK_OP_READ, RDMABLK_IO_TRAILER,
				     at + SLOT, bytes, NULL, 0);
			assert_int_equal(answer(q, 2, seen, bytes), RDMABLK_OK);
			assert_memory_equal(seen, data, bytes);
		}
		assert_int_equal(command(q, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
		assert_int_equal(command(q, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	}
	assert_int_equal(command(0, RDMABLK_OP_WRITE_ZEROES, 0, 0, SLOT), RDMABLK_OK);
	memset(data, 0, SLOT);
	in_file(data, 0, SLOT);
	assert_int_equal(atomic_load(&ended), RDMABLK_OK);
	close_all();
}

static void what_cannot_be_done_is_answered(void **state)
{
	(void)state;
	open_store(false);
	open_session(false);
	assert_int_equal(command(0, RDMABLK_OP_WRITE, 0, 0, 512), RDMABLK_R_READ_ONLY);
	assert_int_equal(command(0, RDMABLK_OP_DISCARD, 0, 0, 512), RDMABLK_R_READ_ONLY);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, SIZE, 512), RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, SIZE - 512, 1024), RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, 100, 512), RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, 0, SLOT + 512), RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_READ, RDMABLK_IO_TRAILER, 0, TRAILER + 512),
			 RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_SECURE_ERASE, 0, 0, 512),
			 RDMABLK_R_UNSUPPORTED);
	assert_int_equal(command(0, 60, 0, 0, 0), RDMABLK_R_UNSUPPORTED);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, SIZE - 512, 512), RDMABLK_OK);
	/* grown */
	assert_int_equal(truncate(path, (off_t)SIZE + 4096), 0);
	store.ops->staged->resized(session, SIZE + 4096);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, SIZE, 4096), RDMABLK_OK);
	assert_int_equal(atomic_load(&ended), RDMABLK_OK);
	close_all();
}

static void tag_in_use(void)
{
	write_rules("read hang\n");
	send_command(1, 5, RDMABLK_OP_READ, 0, 0, 512, NULL, 0);
	send_command(1, 5, RDMABLK_OP_READ, 0, 0, 512, NULL, 0);
}

static void bad_tag(void)
{
	send_command(1, plan.cmd_depth, RDMABLK_OP_READ, 0, 0, 512, NULL, 0);
}

static void too_long(void)
{
	static const char zeroes[2 * TRAILER];

	send_command(1, 1, RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER, 0, 2 * TRAILER, zeroes,
		     2 * TRAILER);
}

static void other_length(void)
{
	static const char zeroes[TRAILER];

	send_command(1, 1, RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER, 0, 1024, zeroes, 512);
}

static void no_command(void)
{
	const struct ibv_wc wc = { .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
				   .wc_flags = IBV_WC_WITH_IMM };

	fake_complete(&qp[2], &wc);
}

static void flushed(void)
{
	const struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };

	fake_complete(&qp[2], &wc);
}

static void the_peer_must_keep_to_the_protocol(void **state)
{
	static const struct {
		void (*sin)(void);
		unsigned int reason;
	} sins[] = {
		{ tag_in_use, RDMABLK_R_STATE },
		{ bad_tag, RDMABLK_R_MALFORMED },
		{ too_long, RDMABLK_R_MALFORMED },
		{ other_length, RDMABLK_R_MALFORMED },
		{ no_command, RDMABLK_R_MALFORMED },
		{ flushed, RDMABLK_R_ACCESS },
	};

	(void)state;
	open_store(true);
	for (size_t i = 0; i < ARRAY_SIZE(sins); i++) {
		open_session(true);
		assert_int_equal(command(1, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
		sins[i].sin();
		assert_int_equal(wait_ended(), sins[i].reason);
		write_rules("");
		close_session();
	}
	open_session(true);
	close_all();
}

static void not_before_it_is_live(void **state)
{
	(void)state;
	open_store(false);
	open_session(true);
	atomic_store(&session->live, false);
	send_command(0, 0, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	assert_int_equal(wait_ended(), RDMABLK_R_STATE);
	close_all();
}

/* As many as there may be on every queue, again and again. */
static void a_full_house(void **state)
{
	static char data[TRAILER], seen[TRAILER];

	(void)state;
	open_store(false);
	open_session(true);
	for (unsigned int round = 0; round < 60; round++) {
		generation++;
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++) {
			uint16_t tag = (uint16_t)(n / QUEUES);

			pattern(data, TRAILER, n * 1000 + round);
			send_command(n % QUEUES, tag, RDMABLK_OP_WRITE, RDMABLK_IO_TRAILER,
				     n * TRAILER, TRAILER, data, TRAILER);
		}
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++)
			assert_int_equal(answer(n % QUEUES, (uint16_t)(n / QUEUES), NULL, 0),
					 RDMABLK_OK);
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++)
			send_command(n % QUEUES, (uint16_t)(n / QUEUES), RDMABLK_OP_READ,
				     RDMABLK_IO_TRAILER, n * TRAILER, TRAILER, NULL, 0);
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++) {
			assert_int_equal(answer(n % QUEUES, (uint16_t)(n / QUEUES), seen,
						TRAILER), RDMABLK_OK);
			pattern(data, TRAILER, n * 1000 + round);
			assert_memory_equal(seen, data, TRAILER);
		}
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_int_equal(qp[i].nr_receives, plan.cmd_depth);
	assert_int_equal(atomic_load(&ended), RDMABLK_OK);
	close_all();
}

/* The peer knows of answers of which we do not know yet that they are done. */
static void sends_are_counted(void **state)
{
	unsigned int nr = 0, max;

	(void)state;
	open_store(false);
	open_session(true);
	max = session->max_sends;
	qp[0].hold = true;
	for (; nr < max; nr++) {
		send_command(0, (uint16_t)(nr % plan.cmd_depth), RDMABLK_OP_FENCE, 0, 0, 0,
			     NULL, 0);
		assert_int_equal(answer(0, (uint16_t)(nr % plan.cmd_depth), NULL, 0),
				 RDMABLK_OK);
	}
	for (unsigned int i = 0; i < plan.cmd_depth; i++, nr++)
		send_command(0, (uint16_t)(nr % plan.cmd_depth), RDMABLK_OP_FENCE, 0, 0, 0,
			     NULL, 0);
	/* another queue of the same thread goes on */
	for (int i = 0; i < 100; i++)
		assert_int_equal(command(2, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	assert_int_equal(qp[0].nr_answers, 0);
	fake_release(&qp[0]);
	for (nr = max; nr < max + plan.cmd_depth; nr++) {
		struct fake_answer a;

		assert_true(fake_answer(&qp[0], (uint16_t)(nr % plan.cmd_depth), &a));
		assert_int_equal(RDMABLK_IMM_STATUS(a.imm), RDMABLK_OK);
	}
	assert_int_equal(qp[0].most, max);
	close_all();
}

/*
 * The end
 */

/*
 * A write that has begun is over before the session is; what waits behind is dropped.
 * But nobody waits for it: the queue pairs can be destroyed and all that is of verbs,
 * and other sessions end and begin.
 */
static void the_end_waits_for_what_has_begun(void **state)
{
	static char data[SLOT];
	int64_t until;

	(void)state;
	open_store(true);
	open_session(true);
	write_rules("write hang\n");
	pattern(data, SLOT, 77);
	for (uint16_t tag = 0; tag < 4; tag++) {
		memcpy(slot(1, tag), data, SLOT);
		send_command(1, tag, RDMABLK_OP_WRITE, 0, tag * SLOT, SLOT, NULL, 0);
	}
	/* what came behind them has been answered */
	send_command(1, 9, RDMABLK_OP_FLUSH, 0, 0, 0, NULL, 0);
	assert_int_equal(answer(1, 9, NULL, 0), RDMABLK_OK);
	stop_session();
	until = now() + 300;
	while (now() < until) {
		assert_false(atomic_load(&idle));
		pause_1ms();
	}
	write_rules("");
	free_session();
	for (uint16_t tag = 0; tag < 4; tag++)
		in_file(data, tag * SLOT, SLOT);
	close_store();
}

static void a_hung_session_is_alone(void **state)
{
	struct staged *hung;

	(void)state;
	open_store(true);
	open_session(true);
	write_rules("write hang\n");
	send_command(1, 0, RDMABLK_OP_WRITE, 0, 0, SLOT, NULL, 0);
	send_command(1, 9, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	assert_int_equal(answer(1, 9, NULL, 0), RDMABLK_OK);
	stop_session();
	assert_false(atomic_load(&idle));
	hung = session;
	for (unsigned int round = 0; round < 20; round++) {
		/* a reader's, in the same threads */
		open_session(false);
		assert_int_equal(command(2, RDMABLK_OP_READ, 0, 0, SLOT), RDMABLK_OK);
		close_session();
	}
	atomic_store(&idle, false);
	write_rules("");
	wait_for(&idle);
	store.ops->staged->free(hung);
	close_store();
}

/*
 * A thread that hangs in its file takes no session. That is an error after a while, and
 * when it goes on the session comes to its end.
 */
static struct hang {
	struct ring_note note;
	atomic_bool on;
} hang;

static void hang_run(struct ring_note *note)
{
	(void)note;
	while (atomic_load(&hang.on))
		pause_1ms();
}

static void a_thread_that_hangs_takes_no_session(void **state)
{
	const struct staged_ops *ops = store_none_ops.staged;
	struct iothreads *threads;

	(void)state;
	open_store(false);
	open_session(true);
	close_session();
	threads = ((struct store_none *)store.priv)->threads;
	atomic_store(&hang.on, true);
	hang.note.run = hang_run;
	ring_tell(&threads->thread[1].engine.ring, &hang.note);
	atomic_store(&stopped, false);
	atomic_store(&idle, false);
	session = NULL;
	assert_int_equal(ops->open(&store, &plan, &session), -ETIMEDOUT);
	assert_non_null(session);
	ops->stop(session);
	assert_false(atomic_load(&stopped));
	atomic_store(&hang.on, false);
	wait_for(&idle);
	assert_int_equal(ops->close(session), 0);
	ops->free(session);
	assert_int_equal(fake_objects(), 0);
	close_store();
}

/* With traffic at full speed; what is posted after stop() is noticed. */
static void sessions_come_and_go(void **state)
{
	static char data[TRAILER];

	(void)state;
	open_store(false);
	for (unsigned int round = 0; round < 100; round++) {
		open_session(true);
		for (unsigned int n = 0; n < QUEUES * plan.cmd_depth; n++)
			send_command(n % QUEUES, (uint16_t)(n / QUEUES),
				     n & 1 ? RDMABLK_OP_WRITE : RDMABLK_OP_READ,
				     RDMABLK_IO_TRAILER, n * TRAILER, TRAILER, data,
				     n & 1 ? TRAILER : 0);
		if (round & 1)
			flushed();
		close_session();
	}
	open_session(true);
	close_all();
}

static void memory_is_planned(void **state)
{
	struct staged_plan p = { .verbs = fake_context(), .max_mr_size = 1ULL << 40,
				 .queue_depth = 128, .nr_queues = 64 };

	(void)state;
	open_store(false);
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.cmd_depth, (64 << 20) / SLOT / 64);
	assert_true(p.queue_depth < p.cmd_depth);
	assert_true(p.pinned >= 64ULL << 20);
	/* two threads have a completion queue each */
	p.nr_queues = 2;
	p.queue_depth = 1000;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.cmd_depth, (64 << 20) / SLOT / 2);
	((struct store_none *)store.priv)->slot_memory = 1ULL << 40;
	p.nr_queues = 64;
	p.queue_depth = 1000;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.cmd_depth, 8 * FAKE_DEPTH / 32 / 3);
	((struct store_none *)store.priv)->slot_memory = 64ULL << 20;
	p.nr_queues = 256;
	p.queue_depth = 128;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_true(p.queue_depth >= 1);
	assert_int_equal(p.nr_queues, 256);
	/* fewer queues, rather than none */
	p.nr_queues = 512;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.nr_queues, 256);
	assert_int_equal(p.cmd_depth, 4);
	assert_int_equal(p.queue_depth, 1);
	((struct store_none *)store.priv)->slot_memory = 4 * SLOT;
	p.nr_queues = 8;
	p.queue_depth = 128;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_OK);
	assert_int_equal(p.nr_queues, 1);
	assert_int_equal(p.queue_depth, 1);
	/* an adapter that cannot */
	p.max_mr_size = 3 * SLOT;
	assert_int_equal(store.ops->staged->plan(&store, &p), RDMABLK_R_LIMIT_MEMORY);
	((struct store_none *)store.priv)->slot_memory = 64ULL << 20;
	open_session(true);
	close_all();
}

/* In a process of its own, which may lock nothing. */
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
		_exit(memlock_check("test", 1 << 20) &&
		      !memlock_check("test", (1 << 20) + 1) ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void *loop_main(void *arg)
{
	(void)arg;
	loop_run();
	return NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_goes_both_ways),
		cmocka_unit_test(what_cannot_be_done_is_answered),
		cmocka_unit_test(the_peer_must_keep_to_the_protocol),
		cmocka_unit_test(not_before_it_is_live),
		cmocka_unit_test(a_full_house),
		cmocka_unit_test(sends_are_counted),
		cmocka_unit_test(the_end_waits_for_what_has_begun),
		cmocka_unit_test(a_hung_session_is_alone),
		cmocka_unit_test(a_thread_that_hangs_takes_no_session),
		cmocka_unit_test(sessions_come_and_go),
		cmocka_unit_test(memory_is_planned),
		cmocka_unit_test(locked_memory_is_compared),
	};
	const char *tmp = getenv("TMPDIR");
	pthread_t thread;
	int ret;

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	snprintf(dir, sizeof(dir), "%s/lane.XXXXXX", tmp ?: "/tmp");
	if (!mkdtemp(dir) || loop_init())
		return 1;
	snprintf(rules, sizeof(rules), "%s/rules", dir);
	sem_init(&closed, 0, 0);
	if (pthread_create(&thread, NULL, loop_main, NULL))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return ret;
}
