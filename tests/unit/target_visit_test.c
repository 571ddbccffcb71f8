// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits: a host without an export sees the exports that it may use, page by page, and who uses
 * them. It gets nothing else, costs no more than a login, and lasts no longer. The adapter,
 * librdmacm and the clock are fakes.
 *
 * Sources: target/session/login.c target/session/visit.c target/session/session.c
 *	   target/session/session_list.c target/wire/wire.c
 * Libraries: json-c liburing libcrypto
 */
#include "../../target/session/session_audit.h"
#include "target_login2.h"

/* HELLO of a visit, changed or not; what comes of it is the caller's. */
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
	/* a name that is not there, and one that it may not use, are the same */
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
	/* and a visit is no use of anything */
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
	/* nor does a session that has an export look round */
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

/* It has the time of a login, which each page renews, and is neither a login nor a refusal. */
static void a_visit_ends(void **state)
{
	struct rdmablk_command logout = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(logout)),
					  .op = htole16(RDMABLK_OP_LOGOUT) };
	struct peer *p = visit(HOME_KEY), *late = visit(HOME_KEY);
	uint64_t before = refusals();

	(void)state;
	logout.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	logout.hdr.generation = htole32(3);
	say_sealed(p, &logout, sizeof(logout));
	WAIT_FOR(le32toh(p->answer.hdr.generation) == 3);
	assert_int_equal(p->close.hdr.type, 0);
	advance((int64_t)cfg.hello_ms - 1);
	assert_int_equal(late->close.hdr.type, 0);
	ask_list(late, "");
	advance(1);
	assert_int_equal(late->close.hdr.type, 0);
	keep_alive(late);
	advance((int64_t)cfg.hello_ms - 1);
	keep_alive(late);
	advance((int64_t)cfg.hello_ms - 1);
	assert_int_equal(late->close.hdr.type, 0);
	for (uint64_t ms = 0; ms < 2 * cfg.login_ms && !late->close.hdr.type; ms += 500) {
		advance(500);
		if (!late->close.hdr.type)
			ask_list(late, "");
	}
	assert_closed(late, RDMABLK_R_LOGIN_TIMEOUT, true);
	assert_int_equal(refusals(), before);
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

/* What it was told holds while its key does. */
static void a_key_that_ends_ends_the_visit(void **state)
{
	struct peer *p = visit(NAMED_KEY);

	(void)state;
	assert_true(host_remove("named"));
	session_hosts_changed();
	assert_closed(p, RDMABLK_R_AUTH_KEY, true);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_teardown(a_host_sees_what_it_may_use, all_forget),
	cmocka_unit_test_teardown(pages_follow_each_other, all_forget),
	cmocka_unit_test_teardown(a_host_sees_who_uses_an_export, all_forget),
	cmocka_unit_test_teardown(a_visit_gets_nothing_else, all_forget),
	cmocka_unit_test_teardown(a_hello_of_a_visit_is_checked, all_forget),
	cmocka_unit_test_teardown(a_visit_ends, all_forget),
	cmocka_unit_test_teardown(a_silent_visit_makes_room, all_forget),
	cmocka_unit_test_teardown(a_key_that_ends_ends_the_visit, all_forget),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests_name("visit", tests, start_all, finish_all);
}
