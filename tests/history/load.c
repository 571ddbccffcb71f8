// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The load; see load.h.
 *
 * A thread chooses a range that no other thread uses, logs the request, issues it, and logs
 * its end before another thread may use the range. The lock protects the choice, the log
 * and the model. Sectors are made and compared without the lock. The data of a read is
 * judged at once, and must be legal for the model.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define TRIES		16	/* ranges, before a thread waits for somebody's end */
#define ERROR_PAUSE_MS	50	/* after an error, so that a dead disk fills no log */
#define TICK_MS		100	/* between two looks at the clock while waiting */
#define BAD_SHOWN	20	/* sectors */

struct thread {
	struct load *load;
	pthread_t id;
	uint16_t writer;
	uint64_t random;
	uint64_t requests;
	uint32_t op;
	enum op_kind kind;
	uint64_t lba;
	uint32_t count;
	char *data;
	struct look *look;
};

static uint64_t next_random(struct thread *t)
{
	uint64_t x = t->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Waits for a change, for at most @ms; the lock is held. */
static void wait_change(struct load *load, unsigned int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)ms * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&load->changed, &load->lock, &ts);
}

/*
 * Sizes are even on a logarithmic scale. A quarter of all requests go to the first
 * sixteenth of the disk, so that sectors are written again soon.
 */
static void choose(struct thread *t)
{
	const struct load *load = t->load;
	uint64_t block = load->model.block, blocks = load->model.sectors / block;
	uint64_t size = 1, most = load->opt.max / block, r = next_random(t);

	t->kind = OP_READ;
	if (r % 100 >= load->opt.read_percent)
		t->kind = r / 100 % 100 < load->opt.fua_percent ? OP_WRITE_FUA : OP_WRITE;
	if (load->opt.flush_every && !(++t->requests % load->opt.flush_every)) {
		t->kind = OP_FLUSH;
		t->count = 0;
		return;
	}
	if (most > blocks)
		most = blocks;
	while (size * 2 <= most && next_random(t) % 10)
		size *= 2;
	size = 1 + next_random(t) % size;
	r = next_random(t);
	if (r % 4 == 0 && blocks / 16 > size)
		blocks /= 16;
	t->count = (uint32_t)(size * block);
	t->lba = r / 4 % (blocks - size + 1) * block;
}

/* Chooses a request and logs it; the lock is held. False when it is time to stop. */
static bool issue(struct thread *t)
{
	struct load *load = t->load;
	unsigned int tries = 0;

	for (;;) {
		if (load->stop || (load->opt.ops && load->issued >= load->opt.ops))
			return false;
		choose(t);
		if (t->kind == OP_FLUSH ||
		    model_is_free(&load->model, t->kind, t->lba, t->count))
			break;
		if (++tries % TRIES == 0)
			wait_change(load, TICK_MS);
	}
	load->issued++;
	t->op = model_issue(&load->model, t->kind, t->writer, t->lba, t->count);
	log_add(&load->log, (struct record){
		.type = RECORD_ISSUE, .kind = t->kind, .writer = t->writer, .op = t->op,
		.lba = t->lba, .count = t->count,
	});
	log_flush(&load->log);
	return true;
}

/*
 * Does what is left of a request after its first @done bytes.
 * Return: bytes, or -1 with errno.
 */
static ssize_t transfer(const struct thread *t, size_t done)
{
	struct iovec iov = { t->data + done, (size_t)t->count * SECTOR - done };
	off_t at = (off_t)(t->lba * SECTOR + done);

	if (t->kind == OP_READ)
		return preadv(t->load->fd, &iov, 1, at);
	return pwritev2(t->load->fd, &iov, 1, at,
			t->kind == OP_WRITE_FUA ? RWF_DSYNC : 0);
}

/*
 * After a partial transfer the rest is requested, which returns the error that stopped it.
 * A transfer without progress ends with EIO.
 * Return: 0 or an errno.
 */
static int perform(struct thread *t)
{
	size_t len = (size_t)t->count * SECTOR;
	size_t done = 0;

	if (t->kind == OP_FLUSH)
		return fdatasync(t->load->fd) < 0 ? errno : 0;
	while (done < len) {
		ssize_t n = transfer(t, done);

		if (n <= 0)
			return n ? errno : EIO;
		done += (size_t)n;
	}
	return 0;
}

static void report_bad(struct load *load, uint64_t lba, const struct look *look)
{
	if (load->bad++ < BAD_SHOWN)
		fprintf(stderr, "sector %llu: %s (write %u)\n", (unsigned long long)lba,
			verdict_text[look->verdict], look->op);
	log_add(&load->log, (struct record){
		.type = RECORD_BAD, .op = look->op, .lba = lba, .count = 1,
		.aux = look->verdict,
	});
}

/* The lock is held. */
static void judge_read(struct thread *t)
{
	struct model *m = &t->load->model;
	uint32_t bad = model_judge(m, t->lba, t->count, t->look);

	for (uint32_t i = 0; i < t->count; i++) {
		if (t->look[i].verdict != VERDICT_GOOD) {
			report_bad(t->load, t->lba + i, &t->look[i]);
		} else if (!model_is_settled(m, t->lba + i)) {
			model_seen(m, t->lba + i, t->look[i].op);
			log_add(&t->load->log, (struct record){
				.type = RECORD_SEEN, .op = t->look[i].op,
				.lba = t->lba + i, .count = 1,
			});
		}
	}
	if (bad)
		t->load->stop = true;
}

static uint64_t errors(const struct load *load)
{
	uint64_t nr = 0;

	for (int kind = 0; kind < OP_KINDS; kind++)
		nr += load->ended[kind][1];
	return nr;
}

/* Logs the end of a request, and prints the first error; the lock is held. */
static void end(struct thread *t, int error)
{
	struct load *load = t->load;

	if (error && !errors(load))
		fprintf(stderr, "request %u has failed: %s\n", t->op, strerror(error));
	if (t->kind == OP_READ && !error)
		judge_read(t);
	model_end(&load->model, t->op, error);
	load->ended[t->kind][!!error]++;
	log_add(&load->log, (struct record){
		.type = error ? RECORD_ERROR : RECORD_DONE, .op = t->op,
		.aux = (uint32_t)error,
	});
	log_flush(&load->log);
}

/* The lock is held, except during the request itself. */
static int do_request(struct thread *t)
{
	struct load *load = t->load;
	int error;

	pthread_mutex_unlock(&load->lock);
	if (t->kind == OP_WRITE || t->kind == OP_WRITE_FUA)
		for (uint32_t i = 0; i < t->count; i++)
			stamp_write(t->data + (size_t)i * SECTOR, load->model.run,
				    t->lba + i, t->op, t->writer);
	error = perform(t);
	if (t->kind == OP_READ && !error)
		model_look(&load->model, t->data, t->lba, t->count, t->look);
	pthread_mutex_lock(&load->lock);
	end(t, error);
	return error;
}

/* The lock is held. */
static void pause_after_error(struct load *load)
{
	int64_t over = now_ms() + ERROR_PAUSE_MS;

	while (!load->stop && now_ms() < over)
		wait_change(load, ERROR_PAUSE_MS);
}

static void *writer(void *arg)
{
	struct thread *t = arg;
	struct load *load = t->load;

	pthread_mutex_lock(&load->lock);
	while (issue(t)) {
		int error = do_request(t);

		if (error && load->opt.errors && errors(load) >= load->opt.errors)
			load->stop = true;
		pthread_cond_broadcast(&load->changed);
		if (error)
			pause_after_error(load);
	}
	pthread_mutex_unlock(&load->lock);
	return NULL;
}

static void thread_init(struct thread *t, struct load *load, uint32_t max)
{
	void *data;

	t->load = load;
	t->look = calloc(max, sizeof(*t->look));
	if (!t->look || posix_memalign(&data, 4096, (size_t)max * SECTOR))
		err(2, "no memory");
	t->data = data;
}

static void thread_free(struct thread *t)
{
	free(t->data);
	free(t->look);
}

static void watch(struct load *load)
{
	int64_t over = now_ms() + load->opt.seconds * 1000LL;

	pthread_mutex_lock(&load->lock);
	while (!load->stop && (!load->opt.ops || load->issued < load->opt.ops)) {
		if (load->opt.seconds && now_ms() >= over)
			load->stop = true;
		else
			wait_change(load, TICK_MS);
	}
	pthread_mutex_unlock(&load->lock);
}

/**
 * load_run - run the threads until it is time to stop
 * @load: set up
 *
 * Return: 0 or an errno.
 */
int load_run(struct load *load)
{
	unsigned int nr = load->opt.writers * load->opt.depth, started = 0;
	struct thread *threads = calloc(nr, sizeof(*threads));
	int ret = threads ? 0 : ENOMEM;

	while (!ret && started < nr) {
		struct thread *t = &threads[started];

		thread_init(t, load, load->opt.max);
		t->writer = (uint16_t)(started / load->opt.depth);
		t->random = load->opt.seed * 0x100000001b3ULL + started;
		ret = pthread_create(&t->id, NULL, writer, t);
		if (ret)
			thread_free(t);
		else
			started++;
	}
	if (ret)
		load->stop = true;
	else
		watch(load);
	while (started) {
		pthread_join(threads[--started].id, NULL);
		thread_free(&threads[started]);
	}
	free(threads);
	return ret;
}

/**
 * load_sweep - read and judge the whole disk
 * @load: after load_run()
 */
void load_sweep(struct load *load)
{
	struct thread t = { .writer = UINT16_MAX };
	uint64_t lba;

	thread_init(&t, load, MAX_SECTORS);
	pthread_mutex_lock(&load->lock);
	for (lba = 0; lba < load->model.sectors; lba += t.count) {
		uint64_t left = load->model.sectors - lba;

		t.kind = OP_READ;
		t.lba = lba;
		t.count = left < MAX_SECTORS ? (uint32_t)left : MAX_SECTORS;
		t.op = model_issue(&load->model, t.kind, t.writer, t.lba, t.count);
		log_add(&load->log, (struct record){
			.type = RECORD_ISSUE, .kind = t.kind, .writer = t.writer,
			.op = t.op, .lba = t.lba, .count = t.count,
		});
		log_flush(&load->log);
		do_request(&t);
	}
	pthread_mutex_unlock(&load->lock);
	thread_free(&t);
}
