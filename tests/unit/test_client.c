// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A visit of the tool to a target that misbehaves: it sends messages of any length between
 * requests, answers without a question, nothing at all, or the wrong amount of memory. Also how
 * a signal and a limit shorten the time that the tool waits. The adapter and the clock are
 * fakes.
 *
 * Sources: tools/client_conn.c tools/client.c
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "unit.h"

static uint64_t clock_ns = 1;
static atomic_bool interrupted;
static uint64_t stops_at = UINT64_MAX;	/* time of a signal, which does not interrupt poll() */

/* poll() that sleeps for its whole time: no event comes. */
static int asleep(struct pollfd *fds, nfds_t nr, int ms)
{
	assert_in_range(ms, 0, 600000);
	for (nfds_t i = 0; i < nr; i++)
		fds[i].revents = 0;
	clock_ns += (uint64_t)ms * 1000000 + 1000;
	if (clock_ns >= stops_at)
		interrupted = true;
	return 0;
}

#define poll asleep
#include "../../tools/client_conn.c"
#undef poll
#include "../../tools/client.c"
#include "client_fakes.h"

int rdmablk_wire_errno(unsigned int reason);	/* from the kernel module */

#define TMO_MS	600000U

__u64 times_now(void)
{
	return clock_ns += 1000;
}

/*
 * The adapter: what has been completed, and what was sent
 */

static struct {
	struct ibv_wc wc[16];
	unsigned int nr, at, sends;
	struct rdmablk_command sent;
} hw;

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	(void)cq;
	(void)nr;
	if (hw.at == hw.nr)
		return 0;
	*wc = hw.wc[hw.at++];
	return 1;
}

static int notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static int send_one(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	hw.sends++;
	if (wr->sg_list->length == sizeof(hw.sent))
		memcpy(&hw.sent, (void *)(uintptr_t)wr->sg_list->addr, sizeof(hw.sent));
	return 0;
}

static int receive_one(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static struct ibv_context ctx = { .ops = { .poll_cq = poll_cq, .req_notify_cq = notify,
					   .post_send = send_one, .post_recv = receive_one } };
static struct ibv_cq cq = { .context = &ctx };
static struct ibv_qp qp = { .context = &ctx };
static struct rdma_cm_id id = { .qp = &qp };
static struct ibv_mr mr;
static struct ibv_comp_channel comp;
static struct rdma_event_channel channel;
static struct client *c;
static struct nl_failure failure;

static int begin(void **state)
{
	(void)state;
	memset(&hw, 0, sizeof(hw));
	memset(&failure, 0, sizeof(failure));
	interrupted = false;
	stops_at = UINT64_MAX;
	c = calloc(1, sizeof(*c));
	c->login.tmo_ms = TMO_MS;
	c->version = RDMABLK_VERSION_OPEN;
	c->conn = (struct client_conn){
		.channel = &channel, .id = &id, .comp = &comp, .cq = &cq, .mr = &mr,
		.buf = calloc(1, BUF_BYTES), .requests = 4, .stop = &interrupted,
	};
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(c->conn.buf);
	free(c);
	return 0;
}

static void completes(const struct ibv_wc *wc)
{
	if (hw.at == hw.nr) {
		hw.nr = 0;
		hw.at = 0;
	}
	assert_true(hw.nr < ARRAY_SIZE(hw.wc));
	hw.wc[hw.nr++] = *wc;
}

static void comes(const void *msg, uint32_t len)
{
	const struct ibv_wc wc = { .opcode = IBV_WC_RECV, .byte_len = len };

	memcpy(c->conn.buf, msg, len);
	completes(&wc);
}

static void request_done(unsigned int request)
{
	const struct ibv_wc wc = { .wr_id = REQUEST_ID + request };

	completes(&wc);
}

static void refuses(int err)
{
	unsigned int request = 0xdeadbeef;

	assert_int_equal(client_done(c, &request, &failure), -1);
	assert_int_equal(failure.err, err);
	assert_int_equal(request, 0xdeadbeef);
}

/*
 * Tests
 */

static void test_request(void **state)
{
	unsigned int request;

	(void)state;
	request_done(3);
	request_done(0);
	assert_int_equal(client_done(c, &request, &failure), 0);
	assert_int_equal(request, 3);
	assert_int_equal(client_done(c, &request, &failure), 0);
	assert_int_equal(request, 0);
}

/* A message is not the completion of a request, however short the message is. */
static void test_short_message(void **state)
{
	const struct rdmablk_hdr head = { .type = htole16(RDMABLK_MSG_ANSWER) };

	(void)state;
	for (uint32_t len = 0; len <= sizeof(head); len++) {
		comes(&head, len);
		refuses(EPROTO);
	}
}

static void test_close(void **state)
{
	const struct rdmablk_close close = {
		.hdr = { .type = htole16(RDMABLK_MSG_CLOSE), .length = htole16(sizeof(close)) },
		.reason = htole16(RDMABLK_R_SHUTDOWN),
	};

	(void)state;
	comes(&close, sizeof(close));
	refuses(ECONNREFUSED);
	assert_int_equal(c->closed, RDMABLK_R_SHUTDOWN);
}

/* CLOSE comes before a request fails: the visit ends with its reason, and without a LOGOUT. */
static void test_ended(void **state)
{
	const struct rdmablk_close close = {
		.hdr = { .type = htole16(RDMABLK_MSG_CLOSE), .length = htole16(sizeof(close)) },
		.reason = htole16(RDMABLK_R_KICKED),
	};
	const struct ibv_wc broken = { .wr_id = REQUEST_ID, .status = IBV_WC_REM_ACCESS_ERR };
	uint64_t before = clock_ns;

	(void)state;
	c->welcome = true;
	comes(&close, sizeof(close));
	completes(&broken);
	refuses(ECONNRESET);
	assert_string_equal(failure.text, rdmablk_reason_text(RDMABLK_R_KICKED));
	id.qp = NULL;	/* so that client_leave() does not destroy the fake */
	client_leave(c);
	id.qp = &qp;
	assert_int_equal(hw.sends, 0);
	assert_true(clock_ns - before < 1000000);
}

/* A completion that is not a message is refused: its buffer still has an old message. */
static void test_immediate(void **state)
{
	static const struct ibv_wc no_message[] = {
		{ .opcode = IBV_WC_RECV_RDMA_WITH_IMM },
		{ .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_IMM },
		{ .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_INV },
		{ .opcode = IBV_WC_RECV, .byte_len = RDMABLK_CTRL_MSG_MAX + 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no_message); i++) {
		completes(&no_message[i]);
		refuses(EPROTO);
		assert_non_null(strstr(failure.text, "something else than a message"));
	}
}

static void answer(unsigned int generation)
{
	struct rdmablk_answer msg = {
		.hdr = { .type = htole16(RDMABLK_MSG_ANSWER), .length = htole16(sizeof(msg)) },
	};

	msg.hdr.tag = htole16(RDMABLK_TAG_KEEPALIVE);
	msg.hdr.generation = htole32(generation);
	comes(&msg, sizeof(msg));
}

/* One keep-alive is under way at a time; its answer comes once, possibly between requests. */
static void test_keep_alive(void **state)
{
	unsigned int request;

	(void)state;
	assert_int_equal(client_keep_alive(c, &failure), 0);
	assert_int_equal(client_keep_alive(c, &failure), 0);
	assert_int_equal(hw.sends, 1);
	assert_int_equal(le16toh(hw.sent.op), RDMABLK_OP_KEEPALIVE);
	answer(1);
	request_done(2);
	assert_int_equal(client_done(c, &request, &failure), 0);
	assert_int_equal(request, 2);
	answer(1);
	refuses(EPROTO);
	assert_int_equal(client_keep_alive(c, &failure), 0);
	assert_int_equal(hw.sends, 2);
	answer(1);	/* answers the first keep-alive, not this one */
	refuses(EPROTO);
}

static uint64_t silent_ms(int err)
{
	uint64_t before = clock_ns;

	refuses(err);
	return (clock_ns - before) / 1000000;
}

/* The tool waits for tmo_ms, for the rest of the limit, or for 1 s after a signal. */
static void test_patience(void **state)
{
	(void)state;
	assert_in_range(silent_ms(ETIMEDOUT), TMO_MS - 1, TMO_MS + 1);
	client_limit(c, 3000);
	assert_in_range(silent_ms(ETIMEDOUT), 2998, 3001);
	assert_in_range(silent_ms(ETIMEDOUT), 0, 1);
	c->limit = 0;
	stops_at = clock_ns + 7000000000ULL;
	assert_in_range(silent_ms(EINTR), 7999, 8000 + SLICE_MS + 1);
	/* the next wait is no longer than 1 s either */
	assert_in_range(silent_ms(EINTR), 999, 1001);
}

static void test_connection(void **state)
{
	static const struct {
		enum ibv_wc_status status;
		int err;
		const char *text;
	} ends[] = {
		{ IBV_WC_REM_ACCESS_ERR, ECONNRESET, "taken its memory back" },
		{ IBV_WC_RETRY_EXC_ERR, ETIMEDOUT, "the connection is lost" },
		{ IBV_WC_WR_FLUSH_ERR, ECONNRESET, "the connection is lost" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const struct ibv_wc wc = { .wr_id = REQUEST_ID, .status = ends[i].status };

		c->conn.gone = false;
		completes(&wc);
		refuses(ends[i].err);
		assert_non_null(strstr(failure.text, ends[i].text));
		assert_true(c->conn.gone);
	}
}

static int lends(struct rdmablk_scratch msg, struct client_scratch *lent)
{
	msg.hdr.type = htole16(RDMABLK_MSG_SCRATCH);
	msg.hdr.length = htole16(sizeof(msg));
	comes(&msg, sizeof(msg));
	return client_lend(c, 4096, lent, &failure);
}

/* SCRATCH has memory, at most what was asked for, or a reason, and never both. */
static void test_lend(void **state)
{
	const struct rdmablk_scratch good = { .iova = htole64(5), .rkey = htole32(6),
					      .bytes = htole32(4096) };
	const struct rdmablk_scratch none = { .reason = htole16(RDMABLK_R_LIMIT_MEMORY) };
	struct client_scratch lent;
	struct rdmablk_scratch bad;

	(void)state;
	assert_int_equal(lends(good, &lent), 0);
	assert_true(lent.iova == 5 && lent.rkey == 6 && lent.bytes == 4096 && !lent.reason);
	assert_int_equal(lends(none, &lent), 0);
	assert_true(!lent.bytes && lent.reason == RDMABLK_R_LIMIT_MEMORY && !lent.over);
#define BAD(from, member, value) do {				\
	bad = from;						\
	bad.member = value;					\
	assert_int_equal(lends(bad, &lent), -1);		\
	assert_int_equal(failure.err, EPROTO);			\
	assert_int_equal(lent.bytes, 0);			\
} while (0)
	BAD(good, bytes, htole32(4097));
	BAD(good, bytes, 0);
	BAD(good, reason, htole16(RDMABLK_R_SHUTDOWN));
	BAD(good, reserved, 1);
	BAD(good, reserved2, 1);
	BAD(none, reason, 0);
	BAD(none, iova, 1);
	BAD(none, rkey, 1);
}

/* One refusal has one errno, whether it refuses a disk or a visit. */
static void test_errno(void **state)
{
	unsigned int reason;

	(void)state;
	for (reason = 1; reason < 256; reason++) {
		int ret = client_errno(reason);

		if (reason == RDMABLK_R_NO_EXPORT)
			assert_int_equal(ret, -EACCES);
		else if (reason == RDMABLK_R_UNSUPPORTED)
			assert_int_equal(ret, -EPROTONOSUPPORT);
		else if (ret != -EIO)
			assert_int_equal(ret, rdmablk_wire_errno(reason));
	}
	assert_int_equal(client_errno(RDMABLK_R_AUTH_KEY), -EKEYREJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_request, begin, end),
		cmocka_unit_test_setup_teardown(test_short_message, begin, end),
		cmocka_unit_test_setup_teardown(test_close, begin, end),
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
		cmocka_unit_test_setup_teardown(test_immediate, begin, end),
		cmocka_unit_test_setup_teardown(test_keep_alive, begin, end),
		cmocka_unit_test_setup_teardown(test_patience, begin, end),
		cmocka_unit_test_setup_teardown(test_connection, begin, end),
		cmocka_unit_test_setup_teardown(test_lend, begin, end),
		cmocka_unit_test(test_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
