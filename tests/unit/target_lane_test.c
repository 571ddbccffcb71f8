// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions of an uncached file, from the arrival of a command to its answer.
 *
 * Sources: target/staged/lane.c target/staged/staged_session.c target/staged/iothread.c
 *	   target/staged/store_none.c target/staged/write_queue.c
 */
#include <dlfcn.h>

#include "target_lane.h"

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
		/* data behind the command of a WRITE with FUA, and with the answer to a READ */
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

static uint64_t flushes_timed(const struct store_counts *counts)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++)
		sum += counts->flush.count[i];
	return sum;
}

/* Commands are counted, with their bytes. A FLUSH is timed unless its session only reads. */
static void commands_are_counted(void **state)
{
	struct store_counts counts = { 0 };

	(void)state;
	open_store(false);
	open_session(true);
	assert_int_equal(command(0, RDMABLK_OP_WRITE, 0, 0, SLOT), RDMABLK_OK);
	assert_int_equal(command(1, RDMABLK_OP_WRITE, 0, 0, 512), RDMABLK_OK);
	assert_int_equal(command(0, RDMABLK_OP_READ, 0, SIZE, 512), RDMABLK_R_RANGE);
	assert_int_equal(command(0, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
	assert_int_equal(command(0, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	assert_int_equal(command(1, RDMABLK_OP_FLUSH, 0, 0, 512), RDMABLK_OK);
	assert_int_equal(command(0, 60, 0, 0, 0), RDMABLK_R_UNSUPPORTED);
	lane_counts(&session->lanes, &counts);
	assert_int_equal(counts.begun, 6);
	assert_int_equal(counts.done[RDMABLK_OP_WRITE - RDMABLK_OP_FENCE], 2);
	assert_int_equal(counts.bytes[RDMABLK_OP_WRITE - RDMABLK_OP_FENCE], SLOT + 512);
	assert_int_equal(counts.failed[RDMABLK_OP_READ - RDMABLK_OP_FENCE], 1);
	assert_int_equal(counts.bytes[RDMABLK_OP_READ - RDMABLK_OP_FENCE], 0);
	assert_int_equal(counts.bytes[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE], 0);
	assert_int_equal(flushes_timed(&counts), 2);
	assert_true(counts.flush.sum > 0);
	stop_session();
	free_session();
	open_session(false);
	assert_int_equal(command(0, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	memset(&counts, 0, sizeof(counts));
	lane_counts(&session->lanes, &counts);
	assert_int_equal(counts.done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE], 1);
	assert_int_equal(flushes_timed(&counts), 0);
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
	/* the file has grown */
	assert_int_equal(truncate(path, (off_t)SIZE + 4096), 0);
	lane_resized(&session->lanes, SIZE + 4096);
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
	atomic_store(&session->lanes.queues.live, false);
	send_command(0, 0, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	assert_int_equal(wait_ended(), RDMABLK_R_STATE);
	close_all();
}

/* Every queue has as many commands under way as its depth allows, in 60 rounds. */
static void full_house(void)
{
	static char data[TRAILER], seen[TRAILER];

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

static unsigned int listed(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < QUEUES; i++)
		nr += qp[i].listed;
	return nr;
}

static void a_full_house(void **state)
{
	(void)state;
	full_house();
	assert_int_equal(listed(), 0);
	lists = true;
	full_house();
	lists = false;
	assert_true(listed() > 0);
}

/*
 * Fills queue 0 with as many answers as its queue pair takes; the completions of their sends
 * are held back. Return: the number of sends
 */
static unsigned int fill_sends(void)
{
	unsigned int nr = 0, max = session->lanes.queue[0].queue.max_sends;

	qp[0].hold = true;
	for (; nr < max; nr++) {
		send_command(0, (uint16_t)(nr % plan.cmd_depth), RDMABLK_OP_FENCE, 0, 0, 0,
			     NULL, 0);
		assert_int_equal(answer(0, (uint16_t)(nr % plan.cmd_depth), NULL, 0),
				 RDMABLK_OK);
	}
	return max;
}

/*
 * The peer may have all answers, and send new commands, before the sends complete here. The
 * answers to the new commands wait until there is room in the queue pair.
 */
static void sends_are_counted(void **state)
{
	unsigned int nr, max;

	(void)state;
	open_store(false);
	open_session(true);
	max = fill_sends();
	nr = max;
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
 * Waits until the commands of queue 0 are done and their answers wait for a send. Queue 2 is
 * served by the same thread.
 */
static void wait_done(void)
{
	int64_t until = now() + PATIENCE_MS;
	uint8_t was = generation;

	assert_int_equal(command(2, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
	while (lane_busy(&session->lanes) && now() < until)
		pause_1ms();
	assert_int_equal(command(2, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
	generation = was;
}

/* Sends an implied WRITE; the test has put its data into the slot. */
static void write_implied(unsigned int queue, uint32_t imm, uint32_t bytes)
{
	assert_true(fake_write(&qp[queue], imm, bytes));
}

static void open_implied(bool faults, bool writer)
{
	implied = true;
	open_store(faults);
	open_session(writer);
	implied = false;
}

/* The tag of an implied WRITE is the one after the last; its generation the next of that tag. */
static void the_tag_is_implied(void **state)
{
	static char data[SLOT];
	uint32_t at = 0;

	(void)state;
	open_implied(false, true);
	for (unsigned int round = 0; round < 600; round++) {
		unsigned int queue = round % QUEUES;
		uint16_t tag;

		/* The last command before it names its own tag. */
		send_command(queue, 2, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
		assert_int_equal(answer(queue, 2, NULL, 0), RDMABLK_OK);
		for (tag = 3; tag + 4U < plan.cmd_depth; tag += 5) {
			uint32_t bytes = 512U << (round + tag) % 8, pos = at / 512;

			if (!(round % 2)) {
				at += 4096 - at % 4096;
				pos = RDMABLK_WRITE_PAGES | at / 4096;
			}
			if (at + bytes > SIZE) {
				at = 0;
				pos = 0;
			}
			if (round % 5 == 4)
				pos |= RDMABLK_WRITE_FUA;
			pattern(data, bytes, round + tag);
			memcpy(slot(queue, tag), data, bytes);
			write_implied(queue, pos, bytes);
			generation = (uint8_t)(round / QUEUES + 1);
			assert_int_equal(answer(queue, tag, NULL, 0), RDMABLK_OK);
			in_file(data, at, bytes);
			at += bytes;
			/* The next implied tag is counted from this command's tag. */
			send_command(queue, (uint16_t)(tag + 4), RDMABLK_OP_READ,
				     RDMABLK_IO_TRAILER, 0, SIZE, NULL, 0);
			assert_int_equal(answer(queue, (uint16_t)(tag + 4), NULL, 0),
					 RDMABLK_R_RANGE);
		}
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_int_equal(qp[i].nr_receives, plan.cmd_depth);
	assert_int_equal(atomic_load(&ended), RDMABLK_OK);
	close_all();
}

/* Each tag has a command under way, and no answer is awaited before the last one is sent. */
static void as_many_as_there_are_tags(void **state)
{
	static char data[TRAILER];

	(void)state;
	open_implied(false, true);
	for (unsigned int round = 0; round < 60; round++) {
		generation = (uint8_t)(round + 1);
		send_command(1, 0, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
		for (uint16_t tag = 1; tag < plan.cmd_depth; tag++) {
			pattern(data, TRAILER, round * 1000 + tag);
			memcpy(slot(1, tag), data, TRAILER);
			write_implied(1, RDMABLK_WRITE_PAGES | tag, TRAILER);
		}
		for (uint16_t tag = 0; tag < plan.cmd_depth; tag++)
			assert_int_equal(answer(1, tag, NULL, 0), RDMABLK_OK);
		for (uint16_t tag = 1; tag < plan.cmd_depth; tag++) {
			pattern(data, TRAILER, round * 1000 + tag);
			in_file(data, tag * TRAILER, TRAILER);
		}
	}
	close_all();
}

static void what_is_implied_may_be_wrong(void **state)
{
	static const struct {
		uint32_t imm, bytes;
	} list[] = {
		{ 0, 0 }, { 0, 1 }, { 0, 511 }, { 0, 513 }, { 0, SLOT + 512 },
		{ 0, UINT32_MAX }, { SIZE / 512, 512 }, { SIZE / 512 - 1, 1024 },
		{ RDMABLK_WRITE_PAGES | SIZE / 4096, 512 },
		{ RDMABLK_WRITE_PAGES | RDMABLK_WRITE_FUA | (SIZE / 4096 - 1), 8192 },
		{ UINT32_MAX, 4096 },
	};

	(void)state;
	for (int writer = 0; writer < 2; writer++) {
		open_implied(false, writer);
		for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
			assert_int_equal(command(0, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
			write_implied(0, list[i].imm, list[i].bytes);
			generation = (uint8_t)(i + 1);
			assert_int_equal(answer(0, 2, NULL, 0), writer ? RDMABLK_R_RANGE :
					 RDMABLK_R_READ_ONLY);
		}
		assert_int_equal(atomic_load(&ended), RDMABLK_OK);
		close_all();
	}
}

/* The FLUSH of a session that only reads does not sync the file, whose syncs fail here. */
static void a_reader_has_nothing_to_flush(void **state)
{
	(void)state;
	open_store(true);
	write_rules("sync error EIO\n");
	open_session(false);
	assert_int_equal(command(1, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	assert_int_equal(atomic_load(&ended), RDMABLK_OK);
	close_session();
	open_session(true);
	assert_int_not_equal(command(1, RDMABLK_OP_FLUSH, 0, 0, 0), RDMABLK_OK);
	close_all();
}

static void first_of_all(void)
{
	write_implied(0, 0, 512);
}

static void after_the_last(void)
{
	send_command(1, (uint16_t)(plan.cmd_depth - 1), RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	write_implied(1, 0, 512);
}

static void of_a_tag_in_use(void)
{
	write_rules("read hang\n");
	send_command(1, 5, RDMABLK_OP_READ, 0, 0, 512, NULL, 0);
	send_command(1, 4, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	write_implied(1, 0, 512);
}

static void before_it_is_live(void)
{
	atomic_store(&session->lanes.queues.live, false);
	write_implied(1, 0, 512);
}

static void none_may_be_implied_there(void **state)
{
	static void (* const sins[])(void) = {
		first_of_all, after_the_last, of_a_tag_in_use, before_it_is_live
	};

	(void)state;
	open_store(true);
	implied = true;
	for (size_t i = 0; i < ARRAY_SIZE(sins); i++) {
		open_session(true);
		assert_int_equal(command(1, RDMABLK_OP_FENCE, 0, 0, 0), RDMABLK_OK);
		sins[i]();
		assert_int_equal(wait_ended(), RDMABLK_R_STATE);
		write_rules("");
		close_session();
	}
	implied = false;
	open_session(true);
	close_all();
}

/*
 * Answers that have waited for a send go out in one list, whatever their command and status
 * are. Only answers that carry data go out alone.
 */
static void answers_go_together(void **state)
{
	static const struct {
		uint16_t op, flags;
		uint64_t offset;
		uint32_t bytes;
		unsigned int status;
		bool data;
	} list[] = {
		{ RDMABLK_OP_FENCE, 0, 0, 0, RDMABLK_OK, false },
		{ RDMABLK_OP_READ, RDMABLK_IO_TRAILER, 4096, 512, RDMABLK_OK, true },
		{ RDMABLK_OP_READ, RDMABLK_IO_TRAILER, SIZE, 512, RDMABLK_R_RANGE, false },
		{ RDMABLK_OP_READ, 0, 4096, SLOT, RDMABLK_OK, false },
		{ RDMABLK_OP_WRITE, 0, 4096, SLOT, RDMABLK_OK, false },
		{ RDMABLK_OP_FLUSH, 0, 0, 0, RDMABLK_OK, false },
	};
	static char data[SLOT], seen[512];
	unsigned int nr, alone = 0;
	int fd;

	(void)state;
	lists = true;
	open_store(false);
	open_session(true);
	lists = false;
	fill_sends();
	pattern(data, SLOT, 1);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, data, SLOT, 4096), SLOT);
	close(fd);
	assert_int_equal(qp[0].lists, 0);
	generation++;
	for (nr = 0; nr < plan.cmd_depth; nr++) {
		unsigned int kind = nr % ARRAY_SIZE(list);

		/* Each has a slot of its own. */
		memcpy(slot(0, (uint16_t)nr), data, SLOT);
		send_command(0, (uint16_t)nr, list[kind].op, list[kind].flags,
			     list[kind].offset, list[kind].bytes, NULL, 0);
		alone += list[kind].data;
	}
	wait_done();
	assert_int_equal(qp[0].nr_answers, 0);
	fake_release(&qp[0]);
	for (nr = 0; nr < plan.cmd_depth; nr++) {
		unsigned int kind = nr % ARRAY_SIZE(list);

		assert_int_equal(answer(0, (uint16_t)nr, seen, list[kind].data ? 512 : 0),
				 list[kind].status);
		if (list[kind].data)
			assert_memory_equal(seen, data, 512);
		if (list[kind].op == RDMABLK_OP_READ && list[kind].bytes == SLOT)
			assert_memory_equal(slot(0, (uint16_t)nr), data, SLOT);
	}
	assert_int_equal(qp[0].listed, plan.cmd_depth - alone);
	assert_int_equal(qp[0].lists, 1);
	close_all();
}

/* A list that is full is followed by another. */
static void lists_have_an_end(void **state)
{
	unsigned int nr;

	(void)state;
	lists = true;
	open_store(false);
	depth = 200;
	open_session(true);
	depth = DEPTH;
	lists = false;
	assert_int_equal(plan.cmd_depth, 203);
	fill_sends();
	generation++;
	for (nr = 0; nr < plan.cmd_depth; nr++)
		send_command(0, (uint16_t)nr, RDMABLK_OP_FENCE, 0, 0, 0, NULL, 0);
	wait_done();
	fake_release(&qp[0]);
	for (nr = 0; nr < plan.cmd_depth; nr++) {
		struct fake_answer a;

		assert_true(fake_answer(&qp[0], (uint16_t)nr, &a));
		assert_int_equal(RDMABLK_IMM_STATUS(a.imm), RDMABLK_OK);
	}
	/* with 64, 64, 64 and 11 answers */
	assert_int_equal(qp[0].lists, 4);
	assert_int_equal(qp[0].listed, plan.cmd_depth);
	close_all();
}

/* Sessions that only read leave the last quarter of a ring's table to the others. */
static void places_are_left_to_writers(void **state)
{
	struct iothread *t = calloc(1, sizeof(*t));
	const unsigned int words = ARRAY_SIZE(t->buffers);

	(void)state;
	assert_non_null(t);
	assert_int_equal(iothread_free_place(t, false), 0);
	t->buffers[0] = 7;
	assert_int_equal(iothread_free_place(t, false), 3);
	for (unsigned int i = 0; i < words - words / 4; i++)
		t->buffers[i] = ~0ULL;
	t->buffers[words - words / 4 - 1] = ~0ULL >> 1;
	assert_int_equal(iothread_free_place(t, false), IOTHREAD_BUFFERS / 4 * 3 - 1);
	t->buffers[words - words / 4 - 1] = ~0ULL;
	assert_int_equal(iothread_free_place(t, false), -ENOSPC);
	assert_int_equal(iothread_free_place(t, true), IOTHREAD_BUFFERS / 4 * 3);
	memset(t->buffers, 0xff, sizeof(t->buffers));
	assert_int_equal(iothread_free_place(t, true), -ENOSPC);
	free(t);
}

static bool faked;	/* the kernel is not called, and the result is @fake_result */
static int fake_result;

/* Replaces the function of liburing. */
int io_uring_register_buffers_update_tag(struct io_uring *uring, unsigned int off,
					 const struct iovec *iovecs, const __u64 *tags,
					 unsigned int nr)
{
	static int (*real)(struct io_uring *uring, unsigned int off, const struct iovec *iovecs,
			   const __u64 *tags, unsigned int nr);

	if (!real)
		real = dlsym(RTLD_NEXT, "io_uring_register_buffers_update_tag");
	return faked ? fake_result : real(uring, off, iovecs, tags, nr);
}

/* If the ring keeps the memory of a place, no other session gets that place. */
static void a_place_is_free_when_its_memory_is(void **state)
{
	struct iothread_pool all = { .name = "unit" };
	struct iothread *t = calloc(1, sizeof(*t));

	(void)state;
	assert_non_null(t);
	t->all = &all;
	faked = true;
	fake_result = 1;
	assert_int_equal(iothread_get_buffer(t, t, 4096, true), 0);
	assert_int_equal(iothread_get_buffer(t, t, 4096, true), 1);
	iothread_put_buffer(t, 0);
	assert_int_equal(iothread_free_place(t, true), 0);
	fake_result = -ENOMEM;
	iothread_put_buffer(t, 1);
	fake_result = 1;
	assert_int_equal(iothread_get_buffer(t, t, 4096, true), 0);
	assert_int_equal(iothread_free_place(t, true), 2);
	faked = false;
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_goes_both_ways),
		cmocka_unit_test(commands_are_counted),
		cmocka_unit_test(what_cannot_be_done_is_answered),
		cmocka_unit_test(a_reader_has_nothing_to_flush),
		cmocka_unit_test(places_are_left_to_writers),
		cmocka_unit_test(a_place_is_free_when_its_memory_is),
		cmocka_unit_test(the_peer_must_keep_to_the_protocol),
		cmocka_unit_test(not_before_it_is_live),
		cmocka_unit_test(a_full_house),
		cmocka_unit_test(sends_are_counted),
		cmocka_unit_test(answers_go_together),
		cmocka_unit_test(lists_have_an_end),
		cmocka_unit_test(the_tag_is_implied),
		cmocka_unit_test(as_many_as_there_are_tags),
		cmocka_unit_test(what_is_implied_may_be_wrong),
		cmocka_unit_test(none_may_be_implied_there),
	};

	return lane_run(tests, ARRAY_SIZE(tests));
}
