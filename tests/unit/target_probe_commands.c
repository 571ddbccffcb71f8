// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scenarios with commands on write queues, right and wrong ones.
 */
#include <stdlib.h>
#include <unistd.h>

#include "target_probe.h"

#define RECEIVES	64	/* answers are not waited for when the queue is bad */
#define BLOCK		4096
#define FLOOD_TAGS	8	/* of the daemon's write queues with a store in memory */

static struct queue *const wq = &p.data[1];
static uint8_t generation;

static void login(void)
{
	p.features = p.features ?: RDMABLK_F_COMMANDS;
	login_to_live();
	for (unsigned int q = 1; q < 2U * le16toh(p.grant.nr_queues); q += 2)
		for (int i = 0; i < RECEIVES; i++)
			post_answer(&p.data[q]);
}

static struct rdmablk_command make(unsigned int op, unsigned int tag,
				   uint64_t offset, uint64_t bytes)
{
	struct rdmablk_command cmd = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
		.op = htole16((uint16_t)op),
		.offset = htole64(offset),
		.bytes = htole64(bytes),
	};

	cmd.hdr.tag = htole16((uint16_t)tag);
	cmd.hdr.generation = htole32(++generation);
	return cmd;
}

/* A completion of a write queue. Return: whether it is an answer. */
static bool is_answer(struct queue *q, const struct ibv_wc *wc, uint32_t *imm)
{
	if (wc->status)
		die(ibv_wc_status_str(wc->status));
	if (wc->wr_id != ANSWER)
		return false;
	if (wc->byte_len || !(wc->wc_flags & IBV_WC_WITH_IMM))
		die("form of an answer");
	*imm = be32toh(wc->imm_data);
	post_answer(q);
	return true;
}

/* The next answer on a write queue; not 0: none in time. */
static int next_answer(struct queue *q, uint32_t *imm, long long ms)
{
	struct ibv_wc wc;

	do {
		if (completion(q, &wc, ms) <= 0)
			return -1;
	} while (!is_answer(q, &wc, imm));
	return 0;
}

static unsigned int status_of(const struct rdmablk_command *cmd, uint32_t imm)
{
	if (RDMABLK_IMM_TAG(imm) != le16toh(cmd->hdr.tag) ||
	    RDMABLK_IMM_GENERATION(imm) != le32toh(cmd->hdr.generation))
		die("tag or generation of an answer");
	return RDMABLK_IMM_STATUS(imm);
}

static unsigned int answer_to(struct queue *q, const struct rdmablk_command *cmd)
{
	uint32_t imm;

	if (next_answer(q, &imm, 60000))
		die("no answer");
	return status_of(cmd, imm);
}

static unsigned int run(struct queue *q, struct rdmablk_command cmd)
{
	send_raw(q, &cmd, sizeof(cmd));
	return answer_to(q, &cmd);
}

/* Runs a command that must be answered with @want. */
static void expect(const char *what, unsigned int want, struct rdmablk_command cmd)
{
	unsigned int got = run(wq, cmd);

	if (got == want)
		return;
	printf("%s: %u instead of %u\n", what, got, want);
	finish(1);
}

/* A block of the export; regions are larger than a block. */
static void move(bool write, uint64_t offset)
{
	uint64_t bytes = le64toh(p.grant.region_bytes);

	if (transfer(&p.data[write], write, (uint32_t)(offset / bytes), offset % bytes,
		     BLOCK, 0))
		die("transfer");
}

static void put(uint64_t offset, int byte)
{
	memset(p.buf + 16384, byte, BLOCK);
	move(true, offset);
}

static void contains(const char *what, uint64_t offset, int byte)
{
	memset(p.buf + 16384, ~byte, BLOCK);
	move(false, offset);
	for (int i = 0; i < BLOCK; i++) {
		if (p.buf[16384 + i] != (char)byte) {
			printf("%s: byte %llu is %02x\n", what,
			       (unsigned long long)offset + i,
			       (unsigned char)p.buf[16384 + i]);
			finish(1);
		}
	}
}

static void check_limits(void)
{
	const struct rdmablk_limits *l = &p.limits;

	printf("limits ops %x depth %u ranges %u granule %u discard %llu zeroes %llu\n",
	       le32toh(l->ops), le16toh(l->cmd_depth), le16toh(l->max_ranges),
	       le32toh(l->granule), (unsigned long long)le64toh(l->max_discard),
	       (unsigned long long)le64toh(l->max_zeroes));
	if (!(le32toh(l->ops) & RDMABLK_OP_BIT(RDMABLK_OP_FENCE)) ||
	    le16toh(l->cmd_depth) < 2 || l->slot_bytes || l->slot_iova || l->slot_rkey ||
	    l->trailer_bytes || l->reserved)
		die("LIMITS");
}

static void refusals(uint64_t size)
{
	uint64_t most = le64toh(p.limits.max_zeroes);

	expect("unknown operation", RDMABLK_R_UNSUPPORTED, make(99, 0, 0, 0));
	expect("READ", RDMABLK_R_UNSUPPORTED, make(RDMABLK_OP_READ, 0, 0, BLOCK));
	expect("beyond the end", RDMABLK_R_RANGE,
	       make(RDMABLK_OP_DISCARD, 0, size - BLOCK, 2 * BLOCK));
	expect("overflow", RDMABLK_R_RANGE,
	       make(RDMABLK_OP_DISCARD, 0, ~0ULL << 12, 1 << 13));
	expect("half a block", RDMABLK_R_RANGE,
	       make(RDMABLK_OP_WRITE_ZEROES, 0, 0, 100));
	expect("nothing", RDMABLK_R_RANGE, make(RDMABLK_OP_WRITE_ZEROES, 0, 0, 0));
	if (most < size)
		expect("more than the most", RDMABLK_R_RANGE,
		       make(RDMABLK_OP_WRITE_ZEROES, 0, 0, most + BLOCK));
}

/* Sends a command for each tag; the buffer of one is used for the next. */
static unsigned int send_all(struct queue *q, unsigned int depth)
{
	unsigned int seen = 0;

	for (unsigned int tag = 0; tag < depth; tag++) {
		struct rdmablk_command cmd = make(RDMABLK_OP_FENCE, tag, 0, 0);
		struct ibv_wc wc;
		uint32_t imm;

		send_raw(q, &cmd, sizeof(cmd));
		do {
			if (completion(q, &wc, 20000) <= 0)
				die("send");
			if (is_answer(q, &wc, &imm))
				seen |= 1U << RDMABLK_IMM_TAG(imm);
		} while (wc.wr_id != 1000);
	}
	return seen;
}

/*
 * With a store in memory: zeroes and discards change what they should and nothing
 * else, refusals nothing at all.
 */
static void scenario_commands(void)
{
	uint64_t size, zero = 5 * BLOCK, bytes = 3 * BLOCK;

	login();
	check_limits();
	size = le64toh(p.grant.size);
	for (uint64_t off = 0; off < 10 * BLOCK; off += BLOCK)
		put(off, 0x5a);
	put(size - BLOCK, 0x5a);
	refusals(size);
	for (uint64_t off = 0; off < 10 * BLOCK; off += BLOCK)
		contains("refused", off, 0x5a);
	contains("refused", size - BLOCK, 0x5a);
	expect("FENCE", RDMABLK_OK, make(RDMABLK_OP_FENCE, 1, 0, 0));
	expect("WRITE_ZEROES", RDMABLK_OK, make(RDMABLK_OP_WRITE_ZEROES, 2, zero, bytes));
	expect("DISCARD", RDMABLK_OK, make(RDMABLK_OP_DISCARD, 3, size - BLOCK, BLOCK));
	for (uint64_t off = 0; off < 10 * BLOCK; off += BLOCK)
		contains("zeroes", off,
			 off >= zero && off < zero + bytes ? 0 : 0x5a);
	contains("the last block", size - 2 * BLOCK, 0);
	contains("discarded", size - BLOCK, 0);
	puts("commands verified");
	logout();
}

/* Sends a command for each tag of each write queue, 50 times; each gets an answer. */
static void scenario_many(void)
{
	unsigned int depth;

	login();
	depth = le16toh(p.limits.cmd_depth);
	for (int round = 0; round < 50; round++) {
		if (command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE))
			die("keep-alive");
		for (unsigned int q = 1; q < 2U * le16toh(p.grant.nr_queues); q += 2) {
			unsigned int seen = send_all(&p.data[q], depth);
			uint32_t imm;

			while (seen != (1U << depth) - 1) {
				if (next_answer(&p.data[q], &imm, 20000))
					die("an answer is missing");
				seen |= 1U << RDMABLK_IMM_TAG(imm);
			}
		}
	}
	puts("answered");
	logout();
}

static void scenario_read_only(void)
{
	p.flags |= RDMABLK_HELLO_READ_ONLY;
	login();
	expect("DISCARD", RDMABLK_R_READ_ONLY, make(RDMABLK_OP_DISCARD, 0, 0, BLOCK));
	expect("WRITE_ZEROES", RDMABLK_R_READ_ONLY,
	       make(RDMABLK_OP_WRITE_ZEROES, 0, 0, BLOCK));
	expect("FENCE", RDMABLK_OK, make(RDMABLK_OP_FENCE, 0, 0, 0));
	logout();
}

/*
 * A command that takes longer than the session may be silent. Keep-alives and FENCEs are
 * answered meanwhile, and the command succeeds. "silent" is printed when it has taken that
 * long, "done" when it has been answered.
 */
static void scenario_slow(void)
{
	struct rdmablk_command cmd;
	unsigned int alive = 0;
	long long silent;
	uint32_t imm;

	login();
	silent = now_ms() + 3LL * le32toh(p.grant.session_tmo_ms);
	cmd = make(RDMABLK_OP_WRITE_ZEROES, 1, 0, le64toh(p.grant.size));
	send_raw(wq, &cmd, sizeof(cmd));
	do {
		if (command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE))
			die("keep-alive");
		if (run(&p.data[3], make(RDMABLK_OP_FENCE, 0, 0, 0)))
			die("FENCE");
		alive++;
		if (silent && now_ms() >= silent) {
			printf("silent, %u keep-alives\n", alive);
			fflush(stdout);
			silent = 0;
		}
	} while (next_answer(wq, &imm, le32toh(p.grant.keep_alive_ms) / 4));
	if (silent)
		die("answered before anything could be proved");
	if (status_of(&cmd, imm)) {
		printf("status %u\n", RDMABLK_IMM_STATUS(imm));
		finish(1);
	}
	puts("done");
	logout();
}

/* Exits during a WRITE_ZEROES of the whole export. */
static void scenario_zeroes_crash(void)
{
	struct rdmablk_command cmd;
	struct ibv_wc wc;

	login();
	cmd = make(RDMABLK_OP_WRITE_ZEROES, 1, 0, le64toh(p.grant.size));
	send_raw(wq, &cmd, sizeof(cmd));
	/* the command has arrived */
	if (completion(wq, &wc, 20000) <= 0 || wc.status)
		die("send");
	_exit(0);
}

/*
 * Writes the first block, and still finds its data there after a command. By then the daemon has
 * finished everything that an earlier session left to do.
 */
static void scenario_put(void)
{
	login();
	put(0, 0x77);
	contains("written", 0, 0x77);
	puts("written");
	fflush(stdout);
	expect("WRITE_ZEROES", RDMABLK_OK,
	       make(RDMABLK_OP_WRITE_ZEROES, 1, le64toh(p.grant.size) - BLOCK, BLOCK));
	contains("written before", 0, 0x77);
	logout();
}

static unsigned int dirty(uint64_t offset)
{
	struct {
		struct rdmablk_command cmd;
		struct rdmablk_range range;
	} msg = { .range = { htole64(offset), htole64(BLOCK) } };

	msg.cmd = make(RDMABLK_OP_DIRTY, 3, 0, 0);
	msg.cmd.hdr.length = htole16(sizeof(msg));
	send_raw(wq, &msg, sizeof(msg));
	return answer_to(wq, &msg.cmd);
}

/* Writes blocks 2 and 7; DIRTY names only block 2. */
static void flush_one(void)
{
	put(2 * BLOCK, 0x33);
	put(7 * BLOCK, 0x44);
	expect("FENCE", RDMABLK_OK, make(RDMABLK_OP_FENCE, 0, 0, 0));
	if (dirty(2 * BLOCK))
		die("DIRTY");
	expect("FLUSH", RDMABLK_OK, make(RDMABLK_OP_FLUSH, 1, 0, 0));
	puts("flushed");
	fflush(stdout);
}

/*
 * Flushes a block, and then, with --arg, another one by a FLUSH with a range of its own.
 * Stays until it is killed.
 */
static void scenario_flush(void)
{
	login();
	flush_one();
	if (p.arg) {
		expect("FLUSH", RDMABLK_OK, make(RDMABLK_OP_FLUSH, 1, 7 * BLOCK, BLOCK));
		puts("flushed more");
		fflush(stdout);
	}
	wait_closed(p.hold, true);
}

/* Flushes and logs out when told to drain, --hold ms later. */
static void scenario_drain(void)
{
	struct rdmablk_event_msg event;
	uint8_t other;

	login();
	puts("waiting");
	fflush(stdout);
	if (receive(&event, sizeof(event), 60000) != RDMABLK_MSG_EVENT)
		die("no event");
	printf("event %u %llu\n", le16toh(event.event),
	       (unsigned long long)le64toh(event.value));
	fflush(stdout);
	if (receive(&other, sizeof(other), p.hold))
		die("another message");
	if (!p.ended)
		flush_one();
	logout();
}

static void send_imm(const void *msg, size_t len, bool write)
{
	struct ibv_send_wr wr = {
		.opcode = write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM,
	};

	wr.wr.rdma.remote_addr = le64toh(p.region[0].iova);
	wr.wr.rdma.rkey = le32toh(p.region[0].rkey);
	post(wq, &wr, msg, len);
}

/* One thing wrong with a command, by --arg. */
static void scenario_bad_command(void)
{
	struct rdmablk_command cmd, *msg;
	char longer[2 * sizeof(cmd)] = { 0 };

	login();
	cmd = make(RDMABLK_OP_FENCE, 0, 0, 0);
	msg = (void *)longer;
	switch (p.arg) {
	case 0:
		cmd.hdr.tag = p.limits.cmd_depth;
		break;
	case 1:
		cmd.hdr.generation = htole32(256);
		break;
	case 2:
		cmd.reserved2[23] = 1;
		break;
	case 3:
		cmd.hdr.type = htole16(RDMABLK_MSG_ANSWER);
		break;
	case 4:
		cmd.offset = htole64(512);
		break;
	case 5:
		cmd.hdr.length = htole16(sizeof(cmd) - 1);
		send_raw(wq, &cmd, sizeof(cmd) - 1);
		break;
	case 6:
		*msg = cmd;
		msg->hdr.length = htole16(sizeof(longer));
		send_raw(wq, longer, sizeof(longer));
		break;
	case 7:
		send_imm(&cmd, sizeof(cmd), false);
		break;
	case 8:
		send_imm(&cmd, sizeof(cmd), true);
		break;
	default:
		die("--arg");
	}
	if (p.arg < 5)
		send_raw(wq, &cmd, sizeof(cmd));
	wait_closed(20000, false);
}

/* The same tag again while its command is being done. */
static void scenario_tag_twice(void)
{
	struct rdmablk_command cmd;

	login();
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc;

		cmd = make(RDMABLK_OP_WRITE_ZEROES, 1, 0, le64toh(p.grant.size));
		send_raw(wq, &cmd, sizeof(cmd));
		if (completion(wq, &wc, 20000) <= 0 || wc.wr_id != 1000)
			die("send");
	}
	wait_closed(60000, false);
}

static void scenario_early_command(void)
{
	struct rdmablk_command cmd = make(RDMABLK_OP_FENCE, 0, 0, 0);

	p.features = RDMABLK_F_COMMANDS;
	login_to_grant();
	join_all();
	send_raw(wq, &cmd, sizeof(cmd));
	wait_closed(20000, false);
}

/* Uses a feature that was not agreed on: LIMITS_GET, or with --arg a flag of LOGOUT. */
static void scenario_unasked(void)
{
	struct rdmablk_limits_get get = {
		.hdr = head(RDMABLK_MSG_LIMITS_GET, sizeof(get)),
	};
	struct rdmablk_command cmd = make(RDMABLK_OP_LOGOUT, RDMABLK_TAG_LOGOUT, 0, 0);

	if (p.arg) {
		login_to_live();
		cmd.flags = htole16(RDMABLK_LOGOUT_CLEAN);
		send_raw(&p.ctrl, &cmd, sizeof(cmd));
	} else {
		login_to_grant();
		send_raw(&p.ctrl, &get, sizeof(get));
	}
	wait_closed(20000, false);
}

/* Each tag of each write queue has its own buffer, because the sends are not waited for. */
static void send_fence(unsigned int q, unsigned int tag)
{
	struct rdmablk_command cmd = make(RDMABLK_OP_FENCE, tag, 0, 0);
	char *place = p.buf + 16384 + (q * FLOOD_TAGS + tag) * sizeof(cmd);
	struct ibv_sge sge = { (uintptr_t)place, sizeof(cmd), p.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1000, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	memcpy(place, &cmd, sizeof(cmd));
	post_send(&p.data[q], &wr);
}

/* Sends another command after each answer. Return: number of answers */
static unsigned int again(unsigned int q)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(p.data[q].cq, ARRAY_SIZE(wc), wc);
	unsigned int answers = 0;
	uint32_t imm;

	for (int i = 0; i < n; i++) {
		if (!is_answer(&p.data[q], &wc[i], &imm))
			continue;
		if (RDMABLK_IMM_STATUS(imm))
			die("FENCE");
		send_fence(q, RDMABLK_IMM_TAG(imm));
		answers++;
	}
	return answers;
}

/* FENCEs without pause, as many as may be under way, for --hold ms or until it is killed. */
static void scenario_fences(void)
{
	long long end, next = now_ms();
	unsigned long count = 0;

	login();
	end = now_ms() + p.hold;
	for (unsigned int q = 1; q < 2U * le16toh(p.grant.nr_queues); q += 2)
		for (unsigned int tag = 0; tag < le16toh(p.limits.cmd_depth); tag++)
			send_fence(q, tag);
	while (!p.ended && !p.gone && now_ms() < end) {
		for (unsigned int q = 1; q < 2U * le16toh(p.grant.nr_queues); q += 2)
			count += again(q);
		if (now_ms() < next)
			continue;
		send_command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE);
		receive(NULL, 0, 0);
		next = now_ms() + le32toh(p.grant.keep_alive_ms) / 4;
		printf("%lu FENCEs\n", count);
		fflush(stdout);
	}
}

/* Asks for LIMITS without pause, and goes no further with its login. */
static void scenario_limits_flood(void)
{
	struct rdmablk_limits_get get = {
		.hdr = head(RDMABLK_MSG_LIMITS_GET, sizeof(get)),
	};
	unsigned int asked = 0;

	p.features = RDMABLK_F_COMMANDS;
	login_to_grant();
	while (!p.ended && !p.gone) {
		send_raw(&p.ctrl, &get, sizeof(get));
		asked++;
		while (!p.gone && receive(NULL, 0, 1000) != RDMABLK_MSG_LIMITS && !p.ended)
			;
	}
	printf("asked %u times\n", asked);
}

const struct scenario command_scenarios[] = {
	{ "commands", scenario_commands }, { "many", scenario_many },
	{ "commands-read-only", scenario_read_only }, { "slow", scenario_slow },
	{ "zeroes-crash", scenario_zeroes_crash }, { "put", scenario_put },
	{ "flush", scenario_flush }, { "drain", scenario_drain },
	{ "bad-command", scenario_bad_command }, { "tag-twice", scenario_tag_twice },
	{ "early-command", scenario_early_command }, { "unasked", scenario_unasked },
	{ "fences", scenario_fences }, { "limits-flood", scenario_limits_flood },
};

const unsigned int nr_command_scenarios = ARRAY_SIZE(command_scenarios);
