// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A visit sees the exports that its host may use, page by page, and whether they are in use. It
 * may borrow memory that belongs to no export. It gets nothing else, costs no more than a login,
 * and ends. The adapter, librdmacm and the clock are fakes.
 *
 * Sources: target/session/login.c target/session/visit.c target/session/session.c
 *	   target/session/session_list.c target/session/session_event.c target/session/scratch.c
 *	   target/export/quota.c target/wire/wire.c
 * Libraries: json-c liburing libcrypto
 */
#include "../../target/session/session_audit.h"
#include "target_login2.h"

/* Fills HELLO of a visit; the caller may change it, and sends it. */
static struct peer *visit_hello(unsigned int key)
{
	struct peer *p = begin(key);

	fill_hello(p);
	p->hello.hello.flags = htole32(RDMABLK_HELLO_VISIT);
	memset(p->hello.hello.export_name, 0, sizeof(p->hello.hello.export_name));
	return p;
}

static struct peer *visit(unsigned int key)
{
	struct peer *p = visit_hello(key);

	send_hello(p);
	say_proof(p);
	assert_int_equal(le16toh(p->close.reason), RDMABLK_OK);
	assert_int_equal(le16toh(p->visit.hdr.type), RDMABLK_MSG_VISIT);
	assert_int_equal(p->visit.session_id, p->challenge.challenge.session_id);
	assert_false(p->bare);
	return p;
}

static const struct rdmablk_list *ask_list(struct peer *p, const char *after)
{
	struct rdmablk_list_get get = { .hdr = head(RDMABLK_MSG_LIST_GET, sizeof(get)) };

	snprintf(get.after, sizeof(get.after), "%s", after);
	p->list.hdr.type = 0;
	say_sealed(p, &get, sizeof(get));
	assert_int_equal(le16toh(p->list.hdr.type), RDMABLK_MSG_LIST);
	assert_false(p->bare);
	return &p->list;
}

/* The names of a page, with blanks between them, and "+" if there are more. */
static const char *names_after(struct peer *p, const char *after)
{
	const struct rdmablk_list *list = ask_list(p, after);
	static char text[512];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < RDMABLK_LISTED_PER_MSG; i++) {
		if (i < le32toh(list->count))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
						list->listed[i].name);
		else
			assert_int_equal(list->listed[i].name[0] | list->listed[i].flags, 0);
	}
	snprintf(text + len, sizeof(text) - len, "%s", list->more ? "+" : "");
	return text;
}

static void add(const char *name, const char *words, const char *allow)
{
	char spec[256];

	snprintf(spec, sizeof(spec), "%s,memory,size=1M%s", name, words);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	export_find(name)->cfg->allow = strdup(allow);
}

static void drop(const char *name)
{
	assert_int_equal(run(ADMIN_REMOVE, name, NULL, 0), 0);
}

static uint32_t flags_of(struct peer *p, const char *after)
{
	return le32toh(ask_list(p, after)->listed[0].flags);
}

static void a_host_sees_what_it_may_use(void **state)
{
	struct peer *home, *named, *stranger;

	(void)state;
	add("b", "", "home");
	add("a", "", "home, named:ro");
	add("zz", "", "named");
	home = visit(HOME_KEY);
	assert_string_equal(names_after(home, ""), "a b first ");
	assert_string_equal(names_after(home, "a"), "b first ");
	/* a name that does not exist looks like one that the host may not use */
	assert_string_equal(names_after(home, "aa"), "b first ");
	assert_string_equal(names_after(home, "zz"), "");
	named = visit(NAMED_KEY);
	assert_string_equal(names_after(named, ""), "a first zz ");
	assert_int_equal(flags_of(named, ""), RDMABLK_GRANT_READ_ONLY);
	assert_int_equal(flags_of(home, ""), 0);
	assert_int_equal(le64toh(named->list.listed[0].size), MIB);
	assert_int_equal(le32toh(named->list.listed[0].logical_block), 512);
	export_find("b")->cfg->allow_address = strdup("10.0.0.0/8");
	assert_string_equal(names_after(home, ""), "a first ");
	stranger = visit_hello(STRANGER_KEY);
	send_hello(stranger);
	say_proof(stranger);
	assert_closed(stranger, RDMABLK_R_AUTH_FAILED, false);
	assert_int_equal(stranger->visit.hdr.type, 0);
	drop("a");
	drop("b");
	drop("zz");
}

/* Pages follow each other by name, whatever comes and goes between them. */
static void pages_follow_each_other(void **state)
{
	static const char *const names[] = { "p1", "p2", "p3", "p4", "p5", "p6", "p7" };
	struct peer *p = visit(HOME_KEY);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(names[i], "", "home");
	assert_string_equal(names_after(p, ""), "first p1 p2 p3 p4 +");
	/* one that was added when the page was full may come first */
	add("0", "", "home");
	assert_string_equal(names_after(p, ""), "0 first p1 p2 p3 +");
	drop("0");
	drop("p4");
	drop("p1");
	assert_string_equal(names_after(p, "p4"), "p5 p6 p7 ");
	assert_string_equal(names_after(p, ""), "first p2 p3 p5 p6 +");
	drop("p7");
	assert_string_equal(names_after(p, ""), "first p2 p3 p5 p6 ");
	assert_string_equal(names_after(p, "p6"), "");
	drop("p2");
	drop("p3");
	drop("p5");
	drop("p6");
}

static void a_host_sees_who_uses_an_export(void **state)
{
	struct peer *home = visit(HOME_KEY), *reader = visit(READER_KEY);

	(void)state;
	assert_int_equal(flags_of(home, ""), 0);
	log_in(HOME_KEY);
	assert_int_equal(flags_of(home, ""), RDMABLK_LISTED_HERE);
	assert_int_equal(flags_of(reader, ""), RDMABLK_GRANT_READ_ONLY |
			 RDMABLK_LISTED_ELSEWHERE | RDMABLK_LISTED_WRITTEN);
	/* a visit does not count as a user */
	assert_int_equal(session_users(export_find("first")), 1);
}

static void a_visit_gets_nothing_else(void **state)
{
	static const uint16_t heads[] = { RDMABLK_MSG_LIMITS_GET, RDMABLK_MSG_READY };
	struct rdmablk_list_get get = { .hdr = head(RDMABLK_MSG_LIST_GET, sizeof(get)) };
	struct rdmablk_regions_get regions = { .hdr = head(RDMABLK_MSG_REGIONS_GET,
							   sizeof(regions)) };
	struct peer *p, *data;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		p = visit(HOME_KEY);
		say_head(p, heads[i]);
		assert_closed(p, RDMABLK_R_STATE, true);
	}
	p = visit(HOME_KEY);
	say_sealed(p, &regions, sizeof(regions));
	assert_closed(p, RDMABLK_R_STATE, true);
	p = visit(HOME_KEY);
	memset(get.after, 'x', sizeof(get.after));
	say_sealed(p, &get, sizeof(get));
	assert_closed(p, RDMABLK_R_MALFORMED, true);
	p = visit(HOME_KEY);
	memset(get.after, 0, sizeof(get.after));
	get.after[1] = 'x';
	say_sealed(p, &get, sizeof(get));
	assert_closed(p, RDMABLK_R_MALFORMED, true);
	p = visit(HOME_KEY);
	p->grant.session_id = p->visit.session_id;
	data = join_new(p, 1);
	join_sign(p, data);
	ask(data);
	assert_int_equal(data->refused, RDMABLK_R_JOIN_SESSION);
	/* a session with an export may not ask for the list */
	p = log_in(HOME_KEY);
	get.after[1] = 0;
	say_sealed(p, &get, sizeof(get));
	assert_closed(p, RDMABLK_R_STATE, true);
}

static void a_hello_of_a_visit_is_checked(void **state)
{
	struct peer *p = visit_hello(HOME_KEY);

	(void)state;
	p->hello.hello.export_name[0] = 'x';
	send_hello(p);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
	p = visit_hello(HOME_KEY);
	p->hello.hello.flags |= htole32(RDMABLK_HELLO_READ_ONLY);
	send_hello(p);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
	p = visit_hello(HOME_KEY);
	p->hello.hello.flags = 0;	/* an export has a name */
	send_hello(p);
	assert_closed(p, RDMABLK_R_MALFORMED, false);
}

static uint64_t refusals(void)
{
	const struct session_audit_counts *counts = session_audit_counts();
	uint64_t sum = counts->logins;

	for (unsigned int i = 0; i < SESSION_AUDIT_REASONS; i++)
		sum += counts->logins_refused[i];
	return sum;
}

#define VISIT_MS	90000U	/* as in session.c */
#define VISIT_SILENT_MS	5000

/* Each message extends a visit, within a limit. A visit is neither a login nor a refusal. */
static void a_visit_ends(void **state)
{
	struct rdmablk_command logout = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(logout)),
					  .op = htole16(RDMABLK_OP_LOGOUT) };
	struct peer *p = visit(HOME_KEY), *late;
	uint64_t before = refusals();

	(void)state;
	freeze(true);
	late = visit(HOME_KEY);
	logout.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	logout.hdr.generation = htole32(3);
	say_sealed(p, &logout, sizeof(logout));
	WAIT_FOR(le32toh(p->answer.hdr.generation) == 3);
	assert_int_equal(p->close.hdr.type, 0);
	advance(VISIT_SILENT_MS - 1);
	assert_int_equal(late->close.hdr.type, 0);
	ask_list(late, "");
	advance(1);
	assert_int_equal(late->close.hdr.type, 0);
	keep_alive(late);
	advance(VISIT_SILENT_MS - 1);
	keep_alive(late);
	advance(VISIT_SILENT_MS - 1);
	assert_int_equal(late->close.hdr.type, 0);
	advance(1);
	assert_closed(late, RDMABLK_R_LOGIN_TIMEOUT, true);
	assert_int_equal(refusals(), before);
	freeze(false);
}

/* Whatever the timeouts of logins are, a visit that speaks lasts a minute, but has a limit. */
static void a_visit_measures_for_a_minute(void **state)
{
	const uint64_t hello_ms = cfg.hello_ms, login_ms = cfg.login_ms;
	struct peer *p;
	uint64_t ms;

	(void)state;
	freeze(true);
	cfg.hello_ms = 100;
	cfg.login_ms = 100;
	p = visit(HOME_KEY);
	for (ms = 0; ms < 62000; ms += 1000) {
		advance(1000);
		keep_alive(p);
	}
	assert_int_equal(p->close.hdr.type, 0);
	for (; ms < VISIT_MS + 2000 && session_of(p)->state == SESSION_VISIT; ms += 1000) {
		keep_alive(p);
		advance(1000);
	}
	freeze(false);
	assert_closed(p, RDMABLK_R_LOGIN_TIMEOUT, true);
	cfg.hello_ms = hello_ms;
	cfg.login_ms = login_ms;
	assert_in_range(ms, 62000, VISIT_MS + 1999);
}

/* A silent visit makes room for a login, as a silent login does. */
static void a_silent_visit_makes_room(void **state)
{
	struct peer *p;

	(void)state;
	cfg.max_logins_addr = 1;
	p = visit(HOME_KEY);
	advance(2000);
	log_in(HOME_KEY);
	assert_closed(p, RDMABLK_R_LOGIN_TIMEOUT, true);
	cfg.max_logins_addr = 4096;
}

/*
 * Scratch regions
 */

#define WANTED	65536U

static void say_scratch_get(struct peer *p, uint32_t bytes)
{
	struct rdmablk_scratch_get get = {
		.hdr = head(RDMABLK_MSG_SCRATCH_GET, sizeof(get)), .bytes = htole32(bytes),
	};

	p->scratch.hdr.type = 0;
	say_sealed(p, &get, sizeof(get));
}

static const struct rdmablk_scratch *borrow(struct peer *p, uint32_t bytes)
{
	say_scratch_get(p, bytes);
	WAIT_FOR(p->scratch.hdr.type);
	assert_false(p->bare);
	return &p->scratch;
}

static void borrow_nothing(struct peer *p, unsigned int reason)
{
	const struct rdmablk_scratch *c = borrow(p, WANTED);

	assert_int_equal(le16toh(c->reason), reason);
	assert_true(!c->bytes && !c->rkey && !c->iova);
	ask_list(p, "");	/* the visit goes on */
}

static unsigned int access_on(const struct peer *p)
{
	return session_of(p)->conn->pair->events_completed;
}

static void leave(struct peer *p)
{
	struct rdmablk_command logout = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(logout)),
					  .op = htole16(RDMABLK_OP_LOGOUT) };

	logout.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	logout.hdr.generation = htole32(9);
	say_sealed(p, &logout, sizeof(logout));
	WAIT_FOR(le32toh(p->answer.hdr.generation) == 9);
}

/* The visitor receives all messages, so that their sends complete. */
static void arrive(const struct peer *p)
{
	struct session *s = session_of(p);

	for (unsigned int i = 0; i < CTRL_SENDS; i++) {
		const struct ibv_wc wc = { .wr_id = CTRL_WR_SEND | i, .opcode = IBV_WC_SEND };

		if (s->ctrl.sending & 1U << i)
			session_completed(&s->cq, &wc);
	}
}

static bool is_zero(const uint8_t *bytes, size_t nr)
{
	while (nr && !bytes[nr - 1])
		nr--;
	return !nr;
}

/* The memory and its protection domain belong to the visit alone; the key ends with it. */
static void a_visit_borrows_memory(void **state)
{
	struct peer *p = visit(HOME_KEY), *other = visit(HOME_KEY);
	const struct rdmablk_scratch *c;
	int before = atomic_load(&lent.nr);

	(void)state;
	assert_int_equal(access_on(p), 0);
	assert_int_equal(session_of(p)->conn->setup.resources, 16);
	c = borrow(p, WANTED);
	assert_int_equal(le32toh(c->bytes), WANTED);
	assert_int_equal(le16toh(c->reason), RDMABLK_OK);
	assert_int_equal(le32toh(c->rkey), lent.mr->rkey);
	assert_true(le64toh(c->iova) == lent.iova);
	assert_int_equal(lent.mr->length, WANTED);
	assert_int_equal(lent.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			 IBV_ACCESS_REMOTE_WRITE);
	assert_ptr_equal(lent.mr->pd, session_of(p)->pd);
	assert_ptr_not_equal(lent.mr->pd, session_of(other)->pd);
	assert_true(is_zero(lent.mr->addr, WANTED));
	memset(lent.mr->addr, 0xff, WANTED);	/* all of it is there */
	assert_int_equal(atomic_load(&lent.nr), before + 1);
	assert_int_equal(access_on(p), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(access_on(other), 0);
	/* lent memory does not count against disks */
	assert_int_equal(quota_lent(), WANTED);
	assert_int_equal(quota_taken()->bytes, 0);
	/* When the visitor learns of the end, the key is gone. */
	leave(p);
	assert_int_equal(atomic_load(&lent.nr), before);
	assert_int_equal(quota_lent(), 0);
	borrow(other, WANTED);
	assert_true(is_zero(lent.mr->addr, WANTED));
}

static void a_visit_borrows_what_there_is(void **state)
{
	struct peer *p;

	(void)state;
	cfg.scratch = 8192;
	assert_int_equal(le32toh(borrow(visit(HOME_KEY), WANTED)->bytes), 8192);
	assert_int_equal(quota_lent(), scratch_room(8192));
	/* whole pages are locked */
	assert_int_equal(le32toh(borrow(visit(HOME_KEY), 100)->bytes), 100);
	assert_int_equal(lent.mr->length, 100);
	assert_int_equal(quota_lent(), scratch_room(8192) + (uint64_t)sysconf(_SC_PAGESIZE));
	cfg.scratch = 0;
	p = visit(HOME_KEY);
	borrow_nothing(p, RDMABLK_R_UNSUPPORTED);
	assert_int_equal(access_on(p), 0);
	cfg.scratch = RDMABLK_MAX_SCRATCH;
	/* this host has as many regions as one may have */
	p = visit(HOME_KEY);
	borrow_nothing(p, RDMABLK_R_LIMIT_MEMORY);
	assert_int_equal(access_on(p), 0);
	assert_int_equal(le32toh(borrow(visit(NAMED_KEY), WANTED)->bytes), WANTED);
}

/* A region that cannot be made takes no quota, and leaves no memory behind. */
static void a_region_that_fails_is_none(void **state)
{
	struct peer *p = visit(HOME_KEY);
	int before = atomic_load(&lent.nr);

	(void)state;
	lent.fails = true;
	borrow_nothing(p, RDMABLK_R_NO_MEMORY);
	lent.fails = false;
	assert_int_equal(access_on(p), 0);
	assert_null(session_of(p)->scratch.mem);
	assert_int_equal(session_of(p)->scratch.bytes, 0);
	/* a visitor may break its queue pair meanwhile */
	p = visit(HOME_KEY);
	lent.shut = EINVAL;
	borrow_nothing(p, RDMABLK_R_NO_MEMORY);
	lent.shut = 0;
	assert_int_equal(atomic_load(&lent.nr), before);
	assert_null(session_of(p)->scratch.mem);
	assert_int_equal(session_of(p)->scratch.bytes, 0);
	assert_int_equal(quota_lent(), 0);
}

/* The number of regions of a host, of an address and of all is limited, whatever their size. */
static void regions_are_few(void **state)
{
	const unsigned int all = QUOTA_SCRATCH, nr = all + 3;
	struct quota_visit visits[QUOTA_SCRATCH + 3] = { 0 };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	uint8_t id[RDMABLK_ID_LEN] = { 0 };
	const char *full;

	(void)state;
	for (unsigned int i = 0; i < nr; i++) {
		id[0] = (uint8_t)(i < 3 ? 1 : i);
		/* ten have the first address, eight the second, and the last one its own */
		addr.sin_addr.s_addr = htonl(0x0a000001 + i / (QUOTA_SCRATCH_ADDR + 2) +
					     i / (nr - 1));
		assert_int_equal(quota_visit_get(&visits[i], id, (struct sockaddr *)&addr, &full),
				 RDMABLK_OK);
	}
	for (unsigned int i = 0; i < nr; i++) {
		/* the third of the first host, the ninth of an address, the seventeenth of all */
		const char *what = i == QUOTA_SCRATCH_HOST ? "its host's" :
				   i == QUOTA_SCRATCH_ADDR + 1 ? "its address's" :
				   i == nr - 1 ? "the limit" : NULL;

		assert_int_equal(quota_visit_lend(&visits[i], 1, &full),
				 what ? RDMABLK_R_LIMIT_MEMORY : RDMABLK_OK);
		assert_true(what ? !strncmp(full, what, strlen(what)) : !full);
	}
	assert_int_equal(quota_lent(), all);
	/* what is given back can be lent again */
	quota_visit_return(&visits[0]);
	quota_visit_return(&visits[0]);
	assert_int_equal(quota_lent(), all - 1);
	assert_int_equal(quota_visit_lend(&visits[nr - 1], 1, &full), RDMABLK_OK);
	for (unsigned int i = 0; i < nr; i++)
		quota_visit_put(&visits[i]);
	assert_int_equal(quota_lent(), 0);
	assert_int_equal(quota_visits(), 0);
}

/* A visit of version 1, which proves nothing */
static struct peer *open_visit(uint32_t address)
{
	static const uint8_t no_key[RDMABLK_MAC_LEN];
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };
	struct peer *p;

	cfg.auth = AUTH_NONE;
	p = accepted(address);
	cfg.auth = AUTH_PSK;
	p->key = keys[HOME_KEY];
	fill_hello(p);
	p->hello.hello.hdr = head(RDMABLK_MSG_HELLO, sizeof(p->hello.hello));
	p->hello.hello.version_min = htole16(RDMABLK_VERSION_OPEN);
	p->hello.hello.version_max = htole16(RDMABLK_VERSION_OPEN);
	p->hello.hello.auth_methods = htole32(RDMABLK_AUTH_NONE);
	p->hello.hello.flags = htole32(RDMABLK_HELLO_VISIT);
	memset(p->hello.hello.export_name, 0, sizeof(p->hello.hello.export_name));
	say(p, &p->hello, sizeof(p->hello.hello));
	assert_int_equal(mac_proof(no_key, &p->hello.hello, &p->challenge.challenge, proof.mac),
			 0);
	say(p, &proof, sizeof(proof));
	assert_int_equal(le16toh(p->visit.hdr.type), RDMABLK_MSG_VISIT);
	return p;
}

static unsigned int refuses_memory(struct peer *p)
{
	const struct rdmablk_scratch_get get = {
		.hdr = head(RDMABLK_MSG_SCRATCH_GET, sizeof(get)), .bytes = htole32(WANTED),
	};

	say(p, &get, sizeof(get));
	WAIT_FOR(p->scratch.hdr.type);
	assert_int_equal(!p->scratch.bytes, !!p->scratch.reason);
	hang_up(p);
	return le16toh(p->scratch.reason);
}

/* A visitor without a key gets memory only if its address may use at least one export. */
static void a_stranger_borrows_nothing(void **state)
{
	struct export_config *first = export_find("first")->cfg;

	(void)state;
	assert_int_equal(refuses_memory(open_visit(9)), RDMABLK_OK);
	first->allow_address = strdup("10.0.0.0/8");
	assert_int_equal(refuses_memory(open_visit(9)), RDMABLK_R_NO_EXPORT);
	assert_int_equal(refuses_memory(open_visit(0x0a000001)), RDMABLK_OK);
	assert_int_equal(le32toh(borrow(visit(HOME_KEY), WANTED)->bytes), WANTED);
	/* one export is enough */
	add("open", "", "home");
	assert_int_equal(refuses_memory(open_visit(9)), RDMABLK_OK);
	drop("open");
	free(first->allow_address);
	first->allow_address = NULL;
}

static void a_visit_asks_once(void **state)
{
	struct rdmablk_scratch_get get = {
		.hdr = head(RDMABLK_MSG_SCRATCH_GET, sizeof(get)), .bytes = htole32(WANTED),
		.reserved = htole32(1),
	};
	struct peer *p = visit(HOME_KEY);
	int before = atomic_load(&lent.nr);

	(void)state;
	borrow(p, WANTED);
	say_scratch_get(p, WANTED);
	assert_closed(p, RDMABLK_R_STATE, true);
	hang_up(p);
	assert_int_equal(atomic_load(&lent.nr), before);
	/* nor while a worker still makes the first region, which is gone before CLOSE is sent */
	p = visit(HOME_KEY);
	say_scratch_get(p, WANTED);
	say_scratch_get(p, WANTED);
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_int_equal(atomic_load(&lent.nr), before);
	assert_int_equal(quota_lent(), 0);
	p = visit(HOME_KEY);
	say_scratch_get(p, 0);
	assert_closed(p, RDMABLK_R_MALFORMED, true);
	p = visit(HOME_KEY);
	say_scratch_get(p, RDMABLK_MAX_SCRATCH + 1);
	assert_closed(p, RDMABLK_R_MALFORMED, true);
	p = visit(HOME_KEY);
	say_sealed(p, &get, sizeof(get));
	assert_closed(p, RDMABLK_R_MALFORMED, true);
	/* a session with an export has memory of its own */
	p = log_in(HOME_KEY);
	before = atomic_load(&lent.nr);
	say_scratch_get(p, WANTED);
	assert_closed(p, RDMABLK_R_STATE, true);
	assert_int_equal(atomic_load(&lent.nr), before - 1);
}

/* A WRITE WITH IMMEDIATE completes a receive, whose buffer has an old message. */
static void a_write_is_no_message(void **state)
{
	static const struct {
		enum ibv_wc_opcode opcode;
		unsigned int flags;
	} no_message[] = {
		{ IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM },
		{ IBV_WC_RECV_RDMA_WITH_IMM, 0 },
		{ IBV_WC_RECV, IBV_WC_WITH_IMM },
		{ IBV_WC_RECV, IBV_WC_WITH_INV },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no_message); i++) {
		struct peer *p = visit_hello(HOME_KEY);
		struct ibv_wc wc = { .wr_id = CTRL_WR_RECV, .opcode = no_message[i].opcode,
				     .wc_flags = no_message[i].flags,
				     .byte_len = sizeof(p->hello) };

		/* a valid HELLO is there */
		memcpy(session_of(p)->ctrl.buf, &p->hello, sizeof(p->hello));
		session_completed(&session_of(p)->cq, &wc);
		assert_closed(p, RDMABLK_R_MALFORMED, false);
	}
}

/* There may be as many visits as sessions, and a visit takes no session's place. */
static void visits_are_counted(void **state)
{
	struct peer *p, *home = visit(HOME_KEY);
	uint64_t before = session_audit_counts()->visits;

	(void)state;
	assert_non_null(strstr(session_text(session_of(home)), "visit "));
	assert_non_null(strstr(session_text(session_of(home)), " host home "));
	assert_int_equal(quota_visits(), 1);
	cfg.max_sessions = 1;
	p = visit_hello(HOME_KEY);
	snprintf(p->hello.hello.host_name, sizeof(p->hello.hello.host_name), "claimed");
	send_hello(p);
	assert_null(strstr(session_text(session_of(p)), "claimed"));
	say_proof(p);
	assert_closed(p, RDMABLK_R_LIMIT_SESSIONS, true);
	visit(NAMED_KEY);
	log_in(HOME_KEY);
	cfg.max_sessions = 256;
	cfg.max_sessions_addr = 2;
	p = visit_hello(HOME_KEY);
	send_hello(p);
	say_proof(p);
	assert_closed(p, RDMABLK_R_LIMIT_SESSIONS, true);
	cfg.max_sessions_addr = 512;
	assert_int_equal(quota_visits(), 2);
	assert_int_equal(session_audit_counts()->visits, before + 1);
	leave(home);
	assert_int_equal(quota_visits(), 1);
}

static bool is_behind(const struct store *store)
{
	return store;
}

/* A shutdown waits for devices that may come back to flush: logins go on, but visits end. */
static void a_shutdown_ends_visits(void **state)
{
	struct peer *p = visit(HOME_KEY), *login = begin(HOME_KEY);
	struct store *store = &export_find("first")->store;
	const struct store_ops *memory = store->ops;
	struct store_ops file = *memory;

	(void)state;
	file.behind = is_behind;
	store->ops = &file;
	export_find("first")->awaited = INT64_MAX;
	session_drain(NULL, 200, 10000);
	assert_closed(p, RDMABLK_R_SHUTDOWN, true);
	say_hello(login);
	assert_int_equal(login->close.hdr.type, 0);
	export_find("first")->awaited = 0;
	store->ops = memory;
}

/* A visit, and the memory that it was lent, lasts no longer than the key of its host. */
static void a_key_that_ends_ends_the_visit(void **state)
{
	struct peer *p = visit(NAMED_KEY);

	(void)state;
	borrow(p, WANTED);
	assert_true(host_remove("named"));
	session_hosts_changed();
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
	arrive(p);
	WAIT_FOR(!atomic_load(&lent.nr));
}

#define LINGER_MS	1000	/* as in session.c */

/* Return: whether the peer is gone. The clock stands still, so no timer can end it. */
static bool is_gone_now(const struct peer *p)
{
	for (unsigned int turns = 0; turns < 1000000 && !atomic_load(&p->gone); turns++)
		turn();
	return atomic_load(&p->gone);
}

/*
 * A visit that may have requests under way gets CLOSE before its memory goes. The memory's key
 * ends when CLOSE has arrived, when the visitor is gone, or after a second. CLOSE is sent once.
 */
static void a_visit_hears_why_it_ends(void **state)
{
	const int before = atomic_load(&lent.nr);

	(void)state;
	for (unsigned int how = 0; how < 3; how++) {
		struct peer *p = visit(HOME_KEY);
		struct session *s = session_of(p);

		borrow(p, WANTED);
		arrive(p);
		freeze(true);
		session_end(s, RDMABLK_R_KICKED);
		assert_closed(p, RDMABLK_R_KICKED, true);
		if (how == 2)
			advance(LINGER_MS - 1);
		turn();
		assert_int_equal(atomic_load(&lent.nr), before + 1);
		assert_int_equal(s->state, SESSION_CLOSING);
		assert_string_equal(session_awaits(s), "its host, to receive the last message");
		p->close.hdr.type = 0;
		if (how == 0)
			arrive(p);
		else if (how == 1)
			event(p, RDMA_CM_EVENT_DISCONNECTED);
		else
			advance(1);
		assert_true(is_gone_now(p));
		freeze(false);
		assert_int_equal(atomic_load(&lent.nr), before);
		assert_int_equal(p->close.hdr.type, 0);
		assert_int_equal(quota_lent(), 0);
	}
}

/* A visit that logs out has nothing under way: its key is gone when the answer comes. */
static void a_visit_that_leaves_has_no_key(void **state)
{
	struct peer *p = visit(HOME_KEY);
	const int before = atomic_load(&lent.nr);

	(void)state;
	borrow(p, WANTED);
	leave(p);
	assert_int_equal(p->close.hdr.type, 0);
	assert_int_equal(atomic_load(&lent.nr), before);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_teardown(a_host_sees_what_it_may_use, all_forget),
	cmocka_unit_test_teardown(pages_follow_each_other, all_forget),
	cmocka_unit_test_teardown(a_host_sees_who_uses_an_export, all_forget),
	cmocka_unit_test_teardown(a_visit_gets_nothing_else, all_forget),
	cmocka_unit_test_teardown(a_hello_of_a_visit_is_checked, all_forget),
	cmocka_unit_test_teardown(a_visit_ends, all_forget),
	cmocka_unit_test_teardown(a_visit_measures_for_a_minute, all_forget),
	cmocka_unit_test_teardown(a_silent_visit_makes_room, all_forget),
	cmocka_unit_test_teardown(a_visit_borrows_memory, all_forget),
	cmocka_unit_test_teardown(a_visit_borrows_what_there_is, all_forget),
	cmocka_unit_test_teardown(a_stranger_borrows_nothing, all_forget),
	cmocka_unit_test_teardown(a_visit_asks_once, all_forget),
	cmocka_unit_test_teardown(a_region_that_fails_is_none, all_forget),
	cmocka_unit_test_teardown(regions_are_few, all_forget),
	cmocka_unit_test_teardown(a_write_is_no_message, all_forget),
	cmocka_unit_test_teardown(visits_are_counted, all_forget),
	cmocka_unit_test_teardown(a_shutdown_ends_visits, all_forget),
	cmocka_unit_test_teardown(a_key_that_ends_ends_the_visit, all_forget),
	cmocka_unit_test_teardown(a_visit_hears_why_it_ends, all_forget),
	cmocka_unit_test_teardown(a_visit_that_leaves_has_no_key, all_forget),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("visit", tests, start_all, finish_all);
}
