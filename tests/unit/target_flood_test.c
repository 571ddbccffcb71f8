// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flood of logins of version 2: connections that stay half open, and HELLOs without PROOF.
 * A host whose section names its address gets in at its first try, though it has never logged in
 * before. The flood takes bounded memory, and no turn of the loop takes long. The adapter,
 * librdmacm and the clock are fakes. Times are those of the processor.
 *
 * Sources: target/session/listener.c target/session/login.c target/session/session_list.c
 *	   target/export/quota.c target/export/host.c
 * Libraries: json-c liburing libcrypto
 */
#define PEERS	20000

#include "target_login2.h"

#define HALF_OPEN	256U
#define UNPROVEN	10000U
#define ADDRESSES	500U		/* of the unproven logins */
#define TOGETHER	16U		/* connections that come in one turn of the loop */

static struct peer *comes_from(uint32_t address)
{
	static uint32_t qpn = QPN << 12;
	struct peer *p = peer_new(address);

	p->address = address;
	p->qpn = qpn++;
	p->req.version_min = htole16(2);
	p->req.version_max = htole16(2);
	return p;
}

/* Opens HALF_OPEN connections, each from its own address. Return: number of accepted ones */
static unsigned int open_half(void)
{
	struct peer *p[TOGETHER];
	unsigned int taken = 0;

	for (uint32_t i = 0; i < HALF_OPEN; i += TOGETHER) {
		for (uint32_t n = 0; n < TOGETHER; n++) {
			p[n] = comes_from(100000 + i + n);
			event(p[n], RDMA_CM_EVENT_CONNECT_REQUEST);
		}
		for (uint32_t n = 0; n < TOGETHER; n++) {
			WAIT_FOR(p[n]->accepted || p[n]->refused);
			taken += p[n]->accepted;
		}
	}
	return taken;
}

/*
 * Sends a copy of @hello, but no PROOF. Every other HELLO names a key that the daemon knows.
 * Return: whether the connection was accepted
 */
static bool say_no_more(uint32_t address, const struct rdmablk_hello2 *hello, unsigned int n)
{
	struct peer *p = comes_from(address);

	ask(p);
	if (!p->accepted)
		return false;
	p->hello = *hello;
	memcpy(p->hello.key_id, keys[n & 1 ? NAMED_KEY : STRANGER_KEY]->id,
	       sizeof(p->hello.key_id));
	send_hello(p);
	assert_int_equal(le16toh(p->challenge.challenge.hdr.type), RDMABLK_MSG_CHALLENGE);
	return true;
}

/* Return: processor time of the loop and of the initiator, ns */
static uint64_t log_in_and_out(void)
{
	uint64_t from = cpu_now(), ns;
	struct peer *p = log_in(HOME_KEY);

	ns = cpu_now() - from;
	hang_up(p);
	return ns;
}

static void a_host_gets_in(void **state)
{
	unsigned int taken, nr, hellos = 0, most = 0, in = 0;
	uint64_t ns, login_most = 0;
	struct peer *first;

	(void)state;
	cfg.max_logins = 256;		/* the defaults */
	cfg.max_logins_addr = 64;
	first = comes_from(1000);
	first->key = keys[STRANGER_KEY];
	fill_hello(first);
	cpu_most = 0;
	taken = open_half();
	for (uint32_t i = 0; i < UNPROVEN; i++) {
		hellos += say_no_more(1000 + i % ADDRESSES, &first->hello, i);
		atomic_fetch_add(&ahead_ms, 2);
		nr = sessions();
		most = nr > most ? nr : most;
		if (i % 500)
			continue;
		ns = log_in_and_out();
		login_most = ns > login_most ? ns : login_most;
		in++;
	}
	print_message("%u of %u half-open, %u of %u HELLOs had a slot, %u sessions at most\n",
		      taken, HALF_OPEN, hellos, UNPROVEN, most);
	print_message("%u logins, each in %.3f ms at most; the loop took %.3f ms at most\n",
		      in, (double)login_most / 1e6, (double)cpu_most / 1e6);
	assert_int_equal(taken, cfg.max_logins - cfg.max_logins / 4);
	assert_true(hellos > cfg.max_logins);
	assert_true(most <= 2 * cfg.max_logins);
}

#define TEST(name) cmocka_unit_test_teardown(name, all_forget)

static const struct CMUnitTest tests[] = {
	TEST(a_host_gets_in),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("flood", tests, start_all, finish_all);
}
