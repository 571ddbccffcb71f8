/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions with an uncached file, for the tests of their write queues. Files, rings and threads
 * are real; the adapter is fake_verbs.h.
 */
#ifndef TARGET_LANE_H
#define TARGET_LANE_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/staged/lane.h"
#include "../../target/staged/store_none.h"
#include "../../target/store/store.h"
#include "fake_verbs.h"

#define SIZE	(16ULL << 20)
#define SLOT	(64U << 10)
#define QUEUES	3U
#define DEPTH	16U	/* requests; there are more commands */
#define TRAILER	4096U
#define PATIENCE_MS	30000

static char dir[64], path[96], rules[96];
static struct export_config config;
static struct store store;
static struct staged *session;
static struct staged_plan plan;
static struct fake_qp qp[QUEUES];
static uint16_t depth = DEPTH;	/* of the next sessions */
static bool lists;	/* the next sessions may combine answers */
static bool implied;	/* the next sessions may have WRITEs without a command */
static uint8_t generation;
static atomic_uint ended;	/* reason why the session must end */
static atomic_bool stopped, idle;	/* how far that end has come */

static inline int64_t now(void)
{
	return loop_now();
}

/* After an open READs must not find what the page cache has of the file: the disk may lack it. */
static uint64_t dropped;

int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
	(void)fd;
	assert_int_equal((uint64_t)offset, dropped);
	assert_int_equal(advice, POSIX_FADV_DONTNEED);
	dropped += (uint64_t)len;
	return 0;
}

static inline void pause_1ms(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

static inline void failed(void *owner, unsigned int reason)
{
	assert_ptr_equal(owner, &plan);
	atomic_store(&ended, reason);
}

static inline void has_stopped(void *owner)
{
	assert_ptr_equal(owner, &plan);
	assert_false(atomic_exchange(&stopped, true));
}

static inline void is_idle(void *owner)
{
	assert_ptr_equal(owner, &plan);
	assert_true(atomic_load(&stopped));
	assert_false(atomic_exchange(&idle, true));
}

static inline void wait_for(const atomic_bool *what)
{
	int64_t until = now() + PATIENCE_MS;

	while (!atomic_load(what) && now() < until)
		pause_1ms();
	assert_true(atomic_load(what));
}

static inline void write_rules(const char *text)
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

/* The loop calls @call for the test, which waits for it. */
static struct {
	struct loop_source source;
	void (*call)(void);
	sem_t done;
} calls;

static inline void calls_ready(struct loop_source *source)
{
	eventfd_t n;

	eventfd_read(source->fd, &n);
	calls.call();
	sem_post(&calls.done);
}

static inline int calls_init(void)
{
	sem_init(&calls.done, 0, 0);
	calls.source.ready = calls_ready;
	calls.source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return calls.source.fd < 0 ? -1 : loop_add(&calls.source);
}

static inline void in_loop(void (*call)(void))
{
	calls.call = call;
	assert_int_equal(eventfd_write(calls.source.fd, 1), 0);
	sem_wait(&calls.done);
}

static inline void attach_store(void)
{
	store_none_ops.attach(&store);
}

static inline void open_unattached_store(bool faults)
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
	dropped = 0;
	assert_int_equal(store_none_ops.open(&store, &config), 0);
	assert_int_equal(dropped, store.size);
}

static inline void open_store(bool faults)
{
	open_unattached_store(faults);
	in_loop(attach_store);
}

static inline void open_session(bool writer)
{
	const struct staged_ops *ops = store.ops->staged;

	atomic_store(&ended, RDMABLK_OK);
	atomic_store(&stopped, false);
	atomic_store(&idle, false);
	plan = (struct staged_plan){
		.pd = fake_pd(), .max_mr_size = 1ULL << 40,
		.max_cqe = FAKE_CQES,
		.nr_queues = QUEUES, .logical_block = 512, .writer = writer,
		.lists = lists, .implied = implied,
		.size = SIZE, .owner = &plan, .failed = failed,
		.stopped = has_stopped, .idle = is_idle, .queue_depth = depth,
	};
	assert_int_equal(ops->plan(&store, &plan), RDMABLK_OK);
	assert_int_equal(plan.queue_depth, depth);
	assert_true(plan.cmd_depth > depth);
	assert_int_equal(ops->open(&store, &plan, &session), 0);
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct conn_setup setup = { .cq = NULL };

		lane_setup(&session->lanes, i, &setup);
		assert_int_equal(setup.caps.recvs, plan.cmd_depth);
		fake_qp_init(&qp[i], setup.cq);
		assert_int_equal(lane_join(&session->lanes, i, &qp[i].qp), 0);
		assert_int_equal(qp[i].nr_receives, plan.cmd_depth);
	}
	lane_live(&session->lanes);
}

/* After it has stopped, the session posts nothing to its queue pairs. */
static inline void stop_session(void)
{
	lane_detach_all(&session->lanes);
	wait_for(&stopped);
	for (unsigned int i = 0; i < QUEUES; i++)
		qp[i].dead = true;
	lane_detach_all(&session->lanes);
	assert_int_equal(store.ops->staged->close(session), 0);
	assert_int_equal(fake_objects(), 0);
}

static inline void free_session(void)
{
	wait_for(&idle);
	store.ops->staged->free(session);
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_false(qp[i].late);
		for (unsigned int n = 0; n < qp[i].nr_answers; n++)
			free(qp[i].answers[n].data);
	}
}

static inline void close_session(void)
{
	stop_session();
	free_session();
}

static inline void close_run(void)
{
	store_none_ops.detach(&store);
	store_none_ops.close(&store);
}

static inline void close_store(void)
{
	in_loop(close_run);
	unlink(path);
	unlink(rules);
}

static inline void close_all(void)
{
	close_session();
	close_store();
}

/*
 * The initiator
 */

static inline void *slot(unsigned int queue, uint16_t tag)
{
	return fake_remote(plan.slot_iova + (queue * plan.cmd_depth + tag) * (uint64_t)SLOT,
			   plan.slot_rkey);
}

static inline void send_command(unsigned int queue, uint16_t tag, uint16_t op,
				uint16_t flags, uint64_t offset, uint64_t bytes,
				const void *trailer, uint32_t len)
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

/* Return: status of the answer; @data: its payload of @bytes */
static inline unsigned int answer(unsigned int queue, uint16_t tag, void *data, uint32_t bytes)
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

static inline unsigned int command(unsigned int queue, uint16_t op, uint16_t flags,
				   uint64_t offset, uint64_t bytes)
{
	generation++;
	send_command(queue, 1, op, flags, offset, bytes, NULL, 0);
	return answer(queue, 1, NULL, 0);
}

static inline void pattern(void *buf, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)buf)[i] = (seed + i) * 0x9e3779b97f4a7c15;
}

static inline void in_file(const void *want, uint64_t offset, uint64_t bytes)
{
	int fd = open(path, O_RDONLY);
	char *have = malloc(bytes);

	assert_int_equal(pread(fd, have, bytes, (off_t)offset), bytes);
	assert_memory_equal(have, want, bytes);
	free(have);
	close(fd);
}

static inline unsigned int wait_ended(void)
{
	int64_t until = now() + PATIENCE_MS;

	while (!atomic_load(&ended) && now() < until)
		pause_1ms();
	return atomic_load(&ended);
}

/* The device completes a refused work request with an error. */
static inline void flushed(void)
{
	const struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };

	fake_complete(&qp[2], &wc);
}

static inline void *loop_main(void *arg)
{
	(void)arg;
	loop_run();
	return NULL;
}

/* Runs the tests beside a loop, without which no session ends. */
static inline int lane_run(const struct CMUnitTest *tests, size_t nr)
{
	const char *tmp = getenv("TMPDIR");
	pthread_t thread;
	int ret;

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	snprintf(dir, sizeof(dir), "%s/lane.XXXXXX", tmp ?: "/tmp");
	if (!mkdtemp(dir) || loop_init() || calls_init())
		return 1;
	snprintf(rules, sizeof(rules), "%s/rules", dir);
	if (pthread_create(&thread, NULL, loop_main, NULL))
		return 1;
	ret = _cmocka_run_group_tests("lane", tests, nr, NULL, NULL);
	rmdir(dir);
	return ret;
}

#endif
