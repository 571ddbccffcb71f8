// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An attacker between the two sides. The module logs in to the daemon, and in each login one
 * other bit of the messages is flipped, in both directions, including the private data of
 * connections. Both sides are the real code; the adapter, librdmacm and the clock are fakes.
 *
 * Sources: kernel/login.c kernel/auth.c kernel/sealed.c kernel/keysched.c kernel/wire.c
 *	   target/session/login.c target/session/listener.c target/wire/keying.c
 * Libraries: json-c liburing libcrypto
 */
#include "target_login2.h"
#include "relay.h"

#define STEPS	32
#define LATER_MS	1000

/* The messages of a login in their order. Bit @bit of step @change is flipped; -1: none */
static struct {
	unsigned int steps;
	size_t len[STEPS];
	bool to_target[STEPS];
	uint8_t first[STEPS][RDMABLK_CTRL_MSG_MAX];
	int change;
	size_t bit;
} wire;

static struct peer *ctrl;
static struct {
	uint8_t msg[4][RDMABLK_CTRL_MSG_MAX];
	size_t len[4];
	unsigned int first, next;
} heard;
static bool granted_to;		/* the daemon has granted a session */

/* Passes a message on. Return: the message as it arrives */
static const void *pass(const void *msg, size_t len, bool to_target)
{
	static uint8_t arrives[RDMABLK_CTRL_MSG_MAX];
	unsigned int step = wire.steps++;

	assert_true(step < STEPS && len <= sizeof(arrives));
	memcpy(arrives, msg, len);
	if ((int)step == wire.change)
		arrives[wire.bit / 8] ^= 1 << wire.bit % 8;
	if (wire.change < 0) {
		wire.len[step] = len;
		wire.to_target[step] = to_target;
		memcpy(wire.first[step], msg, len);
	}
	return arrives;
}

static void look(void)
{
	if (ctrl && !atomic_load(&ctrl->gone))
		granted_to |= session_of(ctrl)->granted;
}

static void hears(const void *msg, size_t len)
{
	unsigned int n = heard.next++ % ARRAY_SIZE(heard.msg);

	assert_true(heard.next - heard.first <= ARRAY_SIZE(heard.msg));
	memcpy(heard.msg[n], msg, len);
	heard.len[n] = len;
}

/* CLOSE of a session that the initiator has left */
static void is_late(const void *msg, size_t len)
{
	(void)msg;
	(void)len;
}

size_t relay_connect(uint32_t qpn, const void *request, size_t len, void *accept,
		     uint32_t *peer_qpn)
{
	struct peer *p = peer_new(HOME);
	const struct conn *conn;

	assert_int_equal(len, sizeof(p->req));
	memcpy(&p->req, pass(request, len, true), len);
	p->qpn = qpn;
	ask(p);
	look();
	if (p->refused)
		return 0;
	if (!ctrl)
		ctrl = p;
	conn = container_of(p->id.context, struct conn, cm);
	*peer_qpn = conn->pair->qp_num;
	memcpy(accept, pass(&p->accept, p->accept_len, false), p->accept_len);
	return p->accept_len;
}

void relay_say(const void *msg, size_t len)
{
	msg = pass(msg, len, true);
	if (atomic_load(&ctrl->gone) || session_of(ctrl)->state >= SESSION_CLOSING)
		return;
	say(ctrl, msg, len);
	look();
}

size_t relay_hear(void *msg)
{
	unsigned int n;

	WAIT_FOR(heard.first < heard.next || atomic_load(&ctrl->gone));
	look();
	if (heard.first == heard.next)
		return 0;
	n = heard.first++ % ARRAY_SIZE(heard.msg);
	memcpy(msg, pass(heard.msg[n], heard.len[n], false), heard.len[n]);
	return heard.len[n];
}

/* One login. Return: as of initiator_login() */
static int log_in_changed(int change, size_t bit)
{
	void *state = NULL;
	int ret;

	wire.steps = 0;
	wire.change = change;
	wire.bit = bit;
	heard.first = 0;
	heard.next = 0;
	ctrl = NULL;
	granted_to = false;
	relay = hears;
	ret = initiator_login(keys[HOME_KEY]->secret, "first");
	relay = is_late;
	/* A session that has ended waits some time for its peer. */
	session_end_all(RDMABLK_R_SHUTDOWN);
	while (session_any())
		advance(LATER_MS);
	return all_forget(&state) ? -1 : ret;
}

/* Steps of a login; those after GRANT have no names. */
enum { REQUEST, ACCEPT, HELLO, CHALLENGE, PROOF, GRANT, NAMED };

static void a_login_without_changes_succeeds(void **state)
{
	static const uint16_t type[NAMED] = {
		[HELLO] = RDMABLK_MSG_HELLO, [CHALLENGE] = RDMABLK_MSG_CHALLENGE,
		[PROOF] = RDMABLK_MSG_PROOF, [GRANT] = RDMABLK_MSG_SEALED,
	};
	struct rdmablk_hdr hdr;

	(void)state;
	assert_int_equal(log_in_changed(-1, 0), 0);
	assert_true(granted_to);
	/* The named steps, then LIMITS, REGIONS, two joins and LIVE, each with its request */
	assert_int_equal(wire.steps, 16);
	for (unsigned int i = HELLO; i <= GRANT; i++) {
		memcpy(&hdr, wire.first[i], sizeof(hdr));
		assert_int_equal(le16toh(hdr.type), type[i]);
	}
}

/*
 * A changed range of versions in a connection request has no effect if it still includes
 * version 2. The request does not decide which version the daemon speaks, and HELLO, which is
 * signed, repeats the range.
 */
static bool means_nothing(int step, size_t bit)
{
	uint16_t min, max;
	struct rdmablk_cm_request req;

	if (step != REQUEST)
		return false;
	memcpy(&req, wire.first[step], sizeof(req));
	((uint8_t *)&req)[bit / 8] ^= 1 << bit % 8;
	min = le16toh(req.version_min);
	max = le16toh(req.version_max);
	return (min != 2 || max != 2) && min <= 2 && max >= 2;
}

static void no_bit_of_a_login_can_change(void **state)
{
	unsigned int tried = 0, same = 0;

	(void)state;
	assert_int_equal(log_in_changed(-1, 0), 0);
	for (int step = 0; wire.len[step]; step++)
		for (size_t bit = 0; bit < 8 * wire.len[step]; bit++, tried++) {
			int ret = log_in_changed(step, bit);

			if (means_nothing(step, bit)) {
				assert_int_equal(ret, 0);
				same++;
				continue;
			}
			if (!ret)
				fail_msg("step %d, bit %zu: the disk is live", step, bit);
			if (step <= PROOF && granted_to)
				fail_msg("step %d, bit %zu: GRANT", step, bit);
		}
	print_message("%u bits, %u of them mean nothing\n", tried, same);
}

#define TEST(name) cmocka_unit_test_teardown(name, all_forget)

static const struct CMUnitTest tests[] = {
	TEST(a_login_without_changes_succeeds),
	TEST(no_bit_of_a_login_can_change),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("relay", tests, start_all, finish_all);
}
