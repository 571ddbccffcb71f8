// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logins when slots are short, from the connection request to LIVE: a login whose initiator
 * is silent makes room for another, a known address gets in whatever the others do, and a
 * flood of logins takes bounded memory. The adapter, librdmacm and the clock are fakes.
 *
 * Sources: target/session/listener.c target/session/login.c target/session/session_open.c
 *	   target/session/session_list.c target/session/session.c target/export/quota.c
 * Libraries: json-c liburing libcrypto
 */
#include <arpa/inet.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "../../target/admin/control_answer.h"
#include "../../target/base/log.h"
#include "../../target/rdma/cm.h"
#include "../../target/session/listener.h"
#include "../../target/session/login.h"
#include "../../target/wire/mac.h"
#include "target_admin.h"

#define HALF_OPEN	256U
#define UNPROVEN	10000U
#define ADDRESSES	500U	/* of those */
#define PEERS		(3 * UNPROVEN)

/* An initiator's connection, or an id of the daemon's own. */
struct peer {
	struct rdma_cm_id id;
	struct rdmablk_cm_request req;
	uint32_t qpn;
	struct rdmablk_cm_accept2 accept;
	size_t accept_len;
	struct rdmablk_cm_reject reject;
	struct rdmablk_hello hello;
	struct rdmablk_challenge challenge;
	struct rdmablk_grant grant;
	uint8_t key[RDMABLK_MAC_LEN];
	bool own;		/* the daemon's */
	bool accepted;
	bool live;
	unsigned int refused;	/* reason of a rejection */
	unsigned int closed;	/* reason of a CLOSE */
	atomic_bool gone;
};

static void sent(struct peer *p, const void *msg, size_t len)
{
	const struct rdmablk_hdr *hdr = msg;

	(void)len;
	switch (le16toh(hdr->type)) {
	case RDMABLK_MSG_CHALLENGE:
		memcpy(&p->challenge, msg, sizeof(p->challenge));
		break;
	case RDMABLK_MSG_GRANT:
		memcpy(&p->grant, msg, sizeof(p->grant));
		break;
	case RDMABLK_MSG_LIVE:
		p->live = true;
		break;
	case RDMABLK_MSG_CLOSE:
		p->closed = le16toh(((const struct rdmablk_close *)msg)->reason);
		break;
	default:
		break;
	}
}

#include "target_peers.h"

static void fill_hello(struct peer *p)
{
	struct rdmablk_hello *h = &p->hello;

	*h = (struct rdmablk_hello){
		.hdr = { .type = htole16(RDMABLK_MSG_HELLO), .length = htole16(sizeof(*h)) },
		.version_min = htole16(1), .version_max = htole16(1),
		.flags = htole32(RDMABLK_HELLO_READ_ONLY),
		.generation = htole32(1), .nr_queues = htole16(1), .queue_depth = htole16(16),
		.keep_alive_ms = htole32(5000), .auth_methods = htole32(RDMABLK_AUTH_NONE),
		.host_name = "host", .export_name = "first",
	};
	h->host_id[0] = 1;
}

static void ask_challenge(struct peer *p)
{
	say(p, &p->hello, sizeof(p->hello));
	assert_int_equal(le16toh(p->challenge.hdr.type), RDMABLK_MSG_CHALLENGE);
}

static void say_hello(struct peer *p)
{
	fill_hello(p);
	ask_challenge(p);
}

static void say_proof(struct peer *p)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct rdmablk_proof proof = { .hdr = { .type = htole16(RDMABLK_MSG_PROOF),
						.length = htole16(sizeof(proof)) } };

	assert_int_equal(mac_proof(no_key, &p->hello, &p->challenge, proof.mac), 0);
	assert_int_equal(mac_session_key(no_key, &p->hello, &p->challenge, p->key), 0);
	say(p, &proof, sizeof(proof));
}

static void join_queue(const struct peer *p, uint32_t address, uint16_t queue)
{
	struct peer *data = peer_new(address);

	data->req.kind = queue & 1 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;
	data->req.queue = htole16(queue);
	data->req.generation = p->hello.generation;
	data->req.session_id = p->grant.session_id;
	assert_int_equal(mac_message(p->key, RDMABLK_LABEL_JOIN, &data->req,
				     offsetof(struct rdmablk_cm_request, mac),
				     data->req.mac), 0);
	ask(data);
	assert_int_equal(data->refused, RDMABLK_OK);
}

/* A whole login, with no pause in it. */
static struct peer *log_in(uint32_t address)
{
	struct rdmablk_ready ready = { .hdr = { .type = htole16(RDMABLK_MSG_READY),
						.length = htole16(sizeof(ready)) } };
	struct peer *p = accepted(address);

	say_hello(p);
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type);
	join_queue(p, address, 1);
	join_queue(p, address, 2);
	say(p, &ready, sizeof(ready));
	assert_true(p->live);
	return p;
}

static void assert_refused(uint32_t address)
{
	assert_int_equal(connect_from(address)->refused, RDMABLK_R_LIMIT_LOGINS);
}

/*
 * Tests
 */

static void limit(uint64_t logins, uint64_t of_address)
{
	cfg.max_logins = logins;
	cfg.max_logins_addr = of_address;
}

/*
 * On a busy machine so much time may pass that logins count as silent too early. So tests that
 * expect a refusal freeze the clock.
 */

/* Of 8 slots, 6 are for unknown addresses. */
static void the_login_that_was_silent_for_longest_makes_room(void **state)
{
	struct peer *p[6];

	(void)state;
	freeze(true);
	limit(8, 8);
	for (unsigned int i = 0; i < 6; i++) {
		p[i] = accepted(100 + i);
		advance(1);
	}
	assert_refused(200);
	advance(SILENT_MS - 100);
	assert_refused(200);
	/* HELLO without PROOF is silence, too */
	say_hello(p[0]);
	say_hello(p[2]);
	advance(100);
	for (unsigned int i = 0; i < 6; i++) {
		accepted(201 + i);
		for (unsigned int n = 0; n < 6; n++)
			assert_int_equal(p[n]->closed, n <= i ? RDMABLK_R_LOGIN_TIMEOUT : 0);
	}
	assert_refused(207);
	freeze(false);
}

/* When the slots of one address are used up, ending another address's login would not help. */
static void a_login_makes_room_where_it_is_short(void **state)
{
	struct peer *other, *first, *second;

	(void)state;
	freeze(true);
	limit(8, 2);
	other = accepted(101);
	advance(10);
	first = accepted(100);
	advance(10);
	second = accepted(100);
	assert_refused(100);
	advance(SILENT_MS);
	accepted(100);
	assert_false(other->closed || second->closed);
	assert_int_equal(first->closed, RDMABLK_R_LOGIN_TIMEOUT);
	accepted(100);
	assert_int_equal(second->closed, RDMABLK_R_LOGIN_TIMEOUT);
	assert_false(other->closed);
	freeze(false);
}

/* A peer cannot send HELLO before its queue pair is made. */
static void a_login_whose_queue_is_made_is_not_silent(void **state)
{
	const struct sockaddr *address;
	struct in6_addr ip;
	struct peer *slow;
	sem_t sem;

	(void)state;
	freeze(true);
	limit(1, 1);
	sem_init(&sem, 0, 0);
	make = &sem;
	slow = peer_new(100);
	event(slow, RDMA_CM_EVENT_CONNECT_REQUEST);
	turn();
	address = rdma_get_peer_addr(&slow->id);
	ip = value_ip(address);
	/* the job for the workers names the client */
	assert_memory_equal(&session_of(slow)->job.client, &ip, sizeof(ip));
	advance(SILENT_MS);
	assert_refused(200);
	make = NULL;
	sem_post(&sem);
	WAIT_FOR(slow->accepted);
	assert_refused(200);
	advance(SILENT_MS);
	accepted(200);
	assert_int_equal(slow->closed, RDMABLK_R_LOGIN_TIMEOUT);
	freeze(false);
}

/* A visit that talks all the time keeps its slot no longer than a silent one. */
static void a_visit_makes_room_however_much_it_says(void **state)
{
	struct peer *visit;

	(void)state;
	limit(1, 1);
	freeze(true);
	visit = accepted(100);
	session_of(visit)->state = SESSION_VISIT;
	advance(SILENT_MS - 1);
	session_of(visit)->heard.last = loop_now();
	assert_refused(200);
	advance(1);
	session_of(visit)->heard.last = loop_now();
	accepted(200);
	assert_int_equal(visit->closed, RDMABLK_R_LOGIN_TIMEOUT);
	freeze(false);
}

/* Logins that were ended to make room still take memory, so there are at most as many as slots. */
static void logins_that_made_room_are_bounded(void **state)
{
	static sem_t sem;	/* a worker may still wait for it when the test has ended */
	unsigned int refused = 0;

	(void)state;
	limit(8, 8);
	sem_init(&sem, 0, 0);
	hold = &sem;
	for (uint32_t i = 0; i < 40; i++) {
		refused += !!connect_from(100 + i)->refused;
		advance(SILENT_MS);
	}
	assert_int_equal(refused, 40 - 6 - 8);
	assert_int_equal(sessions(), 6 + 8);
	hold = NULL;
	for (unsigned int i = 0; i < 40; i++)
		sem_post(&sem);
	WAIT_FOR(sessions() <= 6);
	accepted(500);
}

#define KNOWN	7U

/* Unknown addresses have no slot left, and one known address asks for all reserved slots. */
static void a_known_address_leaves_room_for_another(void **state)
{
	struct sockaddr_in in[2] = { { .sin_family = AF_INET }, { .sin_family = AF_INET } };

	(void)state;
	freeze(true);
	limit(32, 32);
	for (unsigned int i = 0; i < 2; i++) {
		in[i].sin_addr.s_addr = htonl(KNOWN + i);
		quota_live_get((struct sockaddr *)&in[i]);
		quota_live_put((struct sockaddr *)&in[i]);
	}
	for (uint32_t i = 0; i < 24; i++)
		accepted(100 + i);
	assert_refused(200);
	for (uint32_t i = 0; i < 4; i++)
		accepted(KNOWN);
	assert_refused(KNOWN);
	for (uint32_t i = 0; i < 4; i++)
		accepted(KNOWN + 1);
	assert_refused(KNOWN + 1);
	freeze(false);
}

#define NAMED	9U	/* of a configured host; no session was ever there */

static bool expects(const struct sockaddr *peer)
{
	return ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr ==
	       htonl(NAMED);
}

static void the_address_of_a_host_has_reserved_slots(void **state)
{
	(void)state;
	freeze(true);
	limit(8, 8);
	quota_expect(expects);
	for (uint32_t i = 0; i < 6; i++)
		accepted(100 + i);
	assert_refused(200);
	accepted(NAMED);
	assert_refused(NAMED);		/* one address gets at most half of the reserved slots */
	assert_refused(201);
	quota_expect(NULL);
	freeze(false);
}

/*
 * The rate of logins of an address
 */

#define RATE	4U

static void rate_begin(void)
{
	freeze(true);
	limit(4096, 4096);
	cfg.login_rate = RATE;
	quota_rate_init(&cfg);
}

static void rate_end(void)
{
	freeze(false);
	cfg.login_rate = 64;
	quota_rate_init(&cfg);
}

static void begin_many(uint32_t address, unsigned int nr)
{
	while (nr--)
		hang_up(accepted(address));
}

static void an_address_begins_so_many_logins_in_a_second(void **state)
{
	(void)state;
	rate_begin();
	begin_many(100, QUOTA_RATE_SECONDS * RATE);
	assert_int_equal(quota_rate_refused(), 0);
	assert_refused(100);
	assert_int_equal(quota_rate_refused(), 1);
	begin_many(101, 1);
	advance(1000 / RATE - 1);
	assert_refused(100);
	advance(1);
	begin_many(100, 1);
	assert_refused(100);
	/* after a long time no address may begin more than at first, even with some left */
	begin_many(102, 1);
	advance(1000000);
	for (uint32_t address = 100; address <= 102; address += 2) {
		begin_many(address, QUOTA_RATE_SECONDS * RATE);
		assert_refused(address);
	}
	assert_int_equal(quota_rate_refused(), 5);
	rate_end();
}

static void a_known_address_begins_any_number_of_logins(void **state)
{
	(void)state;
	rate_begin();
	hang_up(log_in(KNOWN));
	begin_many(KNOWN, 3 * QUOTA_RATE_SECONDS * RATE);
	quota_expect(expects);
	begin_many(NAMED, 3 * QUOTA_RATE_SECONDS * RATE);
	quota_expect(NULL);
	assert_int_equal(quota_rate_refused(), 0);
	rate_end();
}

static bool take6(uint16_t net, uint16_t host)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };

	in.sin6_addr.s6_addr16[0] = htons(0xfd99);
	in.sin6_addr.s6_addr16[3] = htons(net);
	in.sin6_addr.s6_addr16[7] = htons(host);
	return quota_rate_take((struct sockaddr *)&in);
}

/* An IPv6 network counts as one address. Its use is remembered as long as it keeps coming. */
static void many_addresses_are_no_way_out(void **state)
{
	unsigned int taken = 0;

	(void)state;
	rate_begin();
	for (uint16_t i = 0; i < 1000; i++)
		taken += take6(1, i);
	assert_int_equal(taken, QUOTA_RATE_SECONDS * RATE);
	for (uint16_t i = 2; i < 60000; i++) {
		assert_true(take6(i, 1));
		if (!(i % 50))
			assert_false(take6(1, i));
	}
	rate_end();
}

/* Half-open connections, and HELLOs without PROOF, from many addresses */
static void a_flood_keeps_no_known_address_out(void **state)
{
	unsigned int taken = 0, most = 0, n, in = 0;
	struct peer *p;

	(void)state;
	limit(256, 64);		/* the defaults */
	hang_up(log_in(KNOWN));
	cpu_most = 0;
	for (uint32_t i = 0; i < HALF_OPEN + UNPROVEN; i++) {
		p = connect_from(1000 + i % ADDRESSES);
		taken += p->accepted;
		if (p->accepted && i >= HALF_OPEN)
			say_hello(p);
		atomic_fetch_add(&ahead_ms, 2);
		n = sessions();
		most = n > most ? n : most;
		if (i % 500 == 499) {
			hang_up(log_in(KNOWN));
			in++;
		}
	}
	print_message("%u of %u logins of the flood had a slot, %u sessions at most, %u live\n",
		      taken, HALF_OPEN + UNPROVEN, most, in);
	print_message("the loop had the processor for %.3f ms at a time, at most\n",
		      (double)cpu_most / 1e6);
	assert_true(taken > cfg.max_logins);
	assert_true(most <= 2 * cfg.max_logins);
}

/* 'rdmablk target sessions --json' prints @text. */
static void is_shown(const char *text)
{
	struct json_object *answer = control_sessions("");

	assert_non_null(strstr(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN),
			       text));
	json_object_put(answer);
}

/* A listener has its own allow-address. No queue pair is made for an address that it refuses. */
static void an_address_may_not_come_to_each_listener(void **state)
{
	struct config with;
	struct listener_status status;
	struct peer *p;
	int before;

	(void)state;
	config_init(&with);
	config_set_listen(&with, config_listen_add(&with, "127.0.0.1", "test"), "allow-address",
			  "0.0.0.7, 0.0.1.0/24", "test");
	config_set_listen(&with, config_listen_add(&with, "127.0.0.1:99", "test"),
			  "allow-address", "192.0.2.1", "test");
	assert_int_equal(with.errors, 0);
	assert_true(listener_show(0, &status));
	assert_string_equal(status.address, "127.0.0.1:20420");
	assert_true(status.listening);
	assert_null(status.allow_address);
	assert_false(listener_show(1, &status));
	p = log_in(9);
	assert_true(config_listen_take(&cfg, &with, &cfg.listen[0]));
	before = atomic_load(&made);
	assert_int_equal(connect_from(8)->refused, RDMABLK_R_NO_EXPORT);
	assert_int_equal(connect_from(0x200)->refused, RDMABLK_R_NO_EXPORT);
	assert_int_equal(atomic_load(&made), before);
	assert_int_equal(quota_logins(), 0);
	hang_up(accepted(7));
	hang_up(accepted(0x1ff));
	/* the session goes on */
	assert_int_equal(session_of(p)->state, SESSION_LIVE);
	assert_true(listener_show(0, &status));
	assert_string_equal(status.allow_address, "0.0.0.7, 0.0.1.0/24");
	assert_int_equal(status.refused, 2);
	/* the daemon's allow-address counts, too */
	cfg.allow_address = strdup("0.0.0.9");
	is_shown("\"allow_address\":\"0.0.0.9\",\"listeners\":[{\"address\":\"127.0.0.1:20420\"");
	assert_int_equal(connect_from(7)->refused, RDMABLK_R_NO_EXPORT);
	assert_int_equal(connect_from(9)->refused, RDMABLK_R_NO_EXPORT);
	free(cfg.allow_address);
	cfg.allow_address = NULL;
	is_shown("\"allow_address\":null,\"listeners\":");
	config_free(&with);
	config_init(&with);
	assert_non_null(config_listen_add(&with, "127.0.0.1", "test"));
	assert_true(config_listen_take(&cfg, &with, &cfg.listen[0]));
	hang_up(accepted(8));
	config_free(&with);
}

/*
 * Logins that wait for their turn have nothing to fence. So each loser gives its lease back at
 * once, while the daemon is still looking for further losers.
 */
static void all_losers_end_that_wait_for_their_turn(void **state)
{
	struct peer *first = accepted(5), *p[4];

	(void)state;
	session_of(first)->login.registering = true;
	for (unsigned int i = 0; i < 4; i++) {
		p[i] = accepted(5);
		fill_hello(p[i]);
		p[i]->hello.instance_id[0] = (uint8_t)(i + 1);
		p[i]->hello.boot_nonce[0] = i == 3;	/* after a boot of the host */
		ask_challenge(p[i]);
		if (i < 3)
			say_proof(p[i]);
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_true(session_of(p[i])->login.waits);
	say_proof(p[3]);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(p[i]->closed, RDMABLK_R_REPLACED);
	assert_int_equal(p[3]->closed, RDMABLK_R_FENCING);
	session_of(first)->login.registering = false;
}

static unsigned int from(const char *address)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
	return quota_login_get((struct sockaddr *)&in6);
}

static void from_no_more(const char *address)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
	quota_login_put((struct sockaddr *)&in6);
}

static bool named(const struct sockaddr *peer)
{
	return value_in_networks("2001:db8::3", peer);
}

/* The owner of a network has all its addresses, except one that a host's section names. */
static void a_network_of_ipv6_is_one_address(void **state)
{
	(void)state;
	limit(32, 2);
	quota_expect(named);
	assert_int_equal(from("2001:db8::1"), RDMABLK_OK);
	assert_int_equal(from("2001:db8::2"), RDMABLK_OK);
	assert_int_equal(from("2001:db8::4"), RDMABLK_R_LIMIT_LOGINS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(from("2001:db8::3"), RDMABLK_OK);
		assert_int_equal(from("2001:db8:0:1::1"), RDMABLK_OK);
		assert_int_equal(from("fe80::1"), RDMABLK_OK);
		assert_int_equal(from("fe80::2"), RDMABLK_OK);
		assert_int_equal(from("::ffff:10.0.0.1"), RDMABLK_OK);
		assert_int_equal(from("::ffff:10.0.0.2"), RDMABLK_OK);
	}
	assert_int_equal(from("2001:db8::3"), RDMABLK_R_LIMIT_LOGINS);
	from_no_more("2001:db8::1");
	assert_int_equal(from("2001:db8::4"), RDMABLK_OK);
	assert_int_equal(from("2001:db8::1"), RDMABLK_R_LIMIT_LOGINS);
	for (int i = 0; i < 2; i++) {
		from_no_more("2001:db8::4");
		from_no_more("2001:db8::3");
		from_no_more("2001:db8:0:1::1");
		from_no_more("fe80::1");
		from_no_more("fe80::2");
		from_no_more("::ffff:10.0.0.1");
		from_no_more("::ffff:10.0.0.2");
	}
	assert_int_equal(quota_logins(), 0);
	/* the hosts of the configuration change between login and logout */
	for (int i = 0; i < 4; i++) {
		quota_expect(i & 1 ? named : NULL);
		assert_int_equal(from("2001:db8::3"), RDMABLK_OK);
		quota_expect(i & 1 ? NULL : named);
		assert_int_equal(from("2001:db8::3"), RDMABLK_OK);
		from_no_more("2001:db8::3");
		from_no_more("2001:db8::3");
	}
	assert_int_equal(from("2001:db8::2"), RDMABLK_OK);
	assert_int_equal(from("2001:db8::1"), RDMABLK_OK);
	from_no_more("2001:db8::1");
	from_no_more("2001:db8::1");
	quota_expect(NULL);
}

static void an_interface_makes_another_address(void **state)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_scope_id = 1 }, b;
	struct listen_addr addr;
	char text[ADDR_TEXT];

	(void)state;
	limit(32, 1);
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &a.sin6_addr), 1);
	b = a;
	assert_true(quota_same_address((struct sockaddr *)&a, (struct sockaddr *)&b));
	b.sin6_scope_id = 999999;
	assert_false(quota_same_address((struct sockaddr *)&a, (struct sockaddr *)&b));
	assert_int_equal(quota_login_get((struct sockaddr *)&a), RDMABLK_OK);
	assert_int_equal(quota_login_get((struct sockaddr *)&b), RDMABLK_OK);
	assert_int_equal(quota_login_get((struct sockaddr *)&a), RDMABLK_R_LIMIT_LOGINS);
	quota_login_put((struct sockaddr *)&a);
	quota_login_put((struct sockaddr *)&b);
	value_address_text((struct sockaddr *)&a, text, false);
	assert_string_equal(text, "fe80::1%lo");
	value_address_text((struct sockaddr *)&b, text, false);
	assert_string_equal(text, "fe80::1%999999");
	/* the text of a listening address can be parsed again */
	assert_int_equal(value_address("[fe80::1%lo]:7", &addr), 0);
	assert_string_equal(addr.text, "[fe80::1%lo]:7");
	assert_int_equal(value_address(addr.text, &addr), 0);
	assert_string_equal(addr.text, "[fe80::1%lo]:7");
}

/* The configuration is valid before the interface exists. */
static void an_interface_is_looked_for_when_the_daemon_binds(void **state)
{
	static const char *const wrong[] = {
		"fe80::1%", "fe80::1%a/b", "fe80::1%a b", "fe80::1%a]", "fe80::1%..",
		"fe80::1%a234567890123456", "fd99::1%lo", "127.0.0.1%lo", "[fe80::1]%lo",
		"fe80::1", "[fe80::1]:7",
	};
	struct config other = { .nr_listen = 1 };
	struct listen_addr addr;
	char at[ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(value_address(wrong[i], &addr), -EINVAL);
	assert_int_equal(value_address("fe80::1%a23456789012345", &addr), 0);
	assert_string_equal(addr.text, "[fe80::1%a23456789012345]:20420");
	assert_int_equal(listener_check(&addr), -ENODEV);
	assert_int_equal(bound.sin6_family, AF_UNSPEC);
	listener_close_all();
	other.listen = &addr;
	assert_int_equal(listener_open_all(&other), -ENODEV);
	listener_close_all();
	for (int numbered = 0; numbered < 2; numbered++) {
		assert_int_equal(value_address(numbered ? "[fe80::1%1]:7" : "[fe80::1%lo]:7",
					       &addr), 0);
		assert_int_equal(listener_check(&addr), 0);
		assert_int_equal(bound.sin6_scope_id, 1);
		assert_int_equal(bound.sin6_port, 0);
		assert_int_equal(listener_open_all(&other), 0);
		value_address_text((struct sockaddr *)&bound, at, true);
		assert_string_equal(at, "[fe80::1%lo]:7");
		listener_close_all();
		memset(&bound, 0, sizeof(bound));
	}
	assert_int_equal(listener_open_all(&cfg), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, all_end)

static const struct CMUnitTest tests[] = {
	TEST(the_login_that_was_silent_for_longest_makes_room),
	TEST(a_login_makes_room_where_it_is_short),
	TEST(a_login_whose_queue_is_made_is_not_silent),
	TEST(a_visit_makes_room_however_much_it_says),
	TEST(logins_that_made_room_are_bounded),
	TEST(a_known_address_leaves_room_for_another),
	TEST(the_address_of_a_host_has_reserved_slots),
	TEST(an_address_begins_so_many_logins_in_a_second),
	TEST(a_known_address_begins_any_number_of_logins),
	TEST(many_addresses_are_no_way_out),
	TEST(an_interface_is_looked_for_when_the_daemon_binds),
	TEST(a_flood_keeps_no_known_address_out),
	TEST(an_address_may_not_come_to_each_listener),
	TEST(all_losers_end_that_wait_for_their_turn),
	TEST(a_network_of_ipv6_is_one_address),
	TEST(an_interface_makes_another_address),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("logins", tests, start, finish);
}
