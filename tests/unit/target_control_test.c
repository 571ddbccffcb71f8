// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of the administrator: good lines give the right request, all others are refused.
 * Also whether two configurations of an export are the same, and that the client hears of a
 * mistake in one.
 *
 * Sources: target/admin/control_request.c target/config/config.c target/base/log.c
 * Libraries: json-c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../target/admin/control_request.h"
#include "../../target/base/log.h"
#include "../../target/base/util.h"

static char why[CONTROL_WHY];

static int parse(const char *line, struct control_request *r)
{
	why[0] = '\0';
	return control_parse(line, strlen(line), r, why);
}

#define ASK(rest)	"{\"version\":1,\"command\":" rest "}"

static void commands(void **state)
{
	static const struct {
		const char *line;
		enum control_show show;
		enum admin_op op;
		const char *name;
		const char *spec;
		const char *allow;
		const char *reason;
		uint64_t size;
		bool force;
	} good[] = {
		{ ASK("\"list\""), .show = CONTROL_LIST },
		{ ASK("\"list\",\"name\":\"d\""), .show = CONTROL_LIST, .name = "d" },
		{ ASK("\"sessions\""), .show = CONTROL_SESSIONS },
		{ ASK("\"sessions\",\"name\":\"d\""), .show = CONTROL_SESSIONS, .name = "d" },
		{ ASK("\"add\",\"spec\":\"d,memory,size=1M\""), .op = ADMIN_ADD,
		  .spec = "d,memory,size=1M" },
		{ ASK("\"remove\",\"name\":\"d\""), .op = ADMIN_REMOVE, .name = "d" },
		{ ASK("\"remove\",\"force\":true,\"name\":\"d.1\""), .op = ADMIN_REMOVE,
		  .name = "d.1", .force = true },
		{ ASK("\"remove\",\"force\":false,\"name\":\"d\""), .op = ADMIN_REMOVE,
		  .name = "d" },
		{ ASK("\"resize\",\"name\":\"d\""), .op = ADMIN_RESIZE, .name = "d" },
		{ ASK("\"resize\",\"name\":\"d\",\"size\":4611686018427387904"),
		  .op = ADMIN_RESIZE, .name = "d", .size = 1ULL << 62 },
		{ ASK("\"reopen\",\"name\":\"d\",\"force\":true"), .op = ADMIN_REOPEN,
		  .name = "d", .force = true },
		{ ASK("\"reload\""), .op = ADMIN_RELOAD },
		{ ASK("\"save\""), .op = ADMIN_SAVE },
		{ ASK("\"host list\""), .show = CONTROL_HOSTS },
		{ ASK("\"metrics\""), .show = CONTROL_METRICS },
		{ ASK("\"host add\",\"spec\":\"web1,key=web1\""), .op = ADMIN_HOST_ADD,
		  .spec = "web1,key=web1" },
		{ ASK("\"host remove\",\"name\":\"web1\""), .op = ADMIN_HOST_REMOVE,
		  .name = "web1" },
		{ ASK("\"allow\",\"name\":\"d\",\"allow\":\"web1, b:ro\""), .op = ADMIN_ALLOW,
		  .name = "d", .allow = "web1, b:ro" },
		{ ASK("\"allow\",\"name\":\"d\",\"allow\":\"\""), .op = ADMIN_ALLOW,
		  .name = "d", .allow = "" },
		{ ASK("\"add\",\"spec\":\"a:{\\\"b\\\":1,\\\\\""), .op = ADMIN_ADD,
		  .spec = "a:{\"b\":1,\\" },
		{ ASK("\"kick\",\"name\":\"0123456789abcdef\""), .op = ADMIN_KICK,
		  .name = "0123456789abcdef" },
		{ ASK("\"kick\",\"name\":\"web1\",\"reason\":\"too \\\"loud\\\"\""),
		  .op = ADMIN_KICK, .name = "web1", .reason = "too \"loud\"" },
		{ "{ \"command\" : \"reload\" , \"version\" : 1 }", .op = ADMIN_RELOAD },
	};
	struct control_request r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const char *name = good[i].name ?: "";

		assert_int_equal(parse(good[i].line, &r), 0);
		assert_int_equal(r.show, good[i].show);
		assert_string_equal(r.name, name);
		if (r.show) {
			assert_null(r.admin);
			continue;
		}
		assert_int_equal(r.admin->op, good[i].op);
		assert_string_equal(r.admin->name, name);
		assert_true(r.admin->size == good[i].size);
		assert_int_equal(r.admin->force, good[i].force);
		if (good[i].spec)
			assert_string_equal(r.admin->spec, good[i].spec);
		assert_string_equal(r.admin->allow ?: "-", good[i].allow ?: "-");
		assert_string_equal(r.admin->reason ?: "-", good[i].reason ?: "-");
		admin_free(r.admin);
	}
}

static void what_is_wrong_is_refused(void **state)
{
	static const char * const bad[] = {
		"", " ", "x", "{", "}", "[]", "1", "null", "\"list\"", "{}",
		"{\"command\":\"list\"}",
		"{\"version\":0,\"command\":\"list\"}",
		"{\"version\":2,\"command\":\"list\"}",
		"{\"version\":\"1\",\"command\":\"list\"}",
		"{\"version\":1.0,\"command\":\"list\"}",
		"{\"version\":null,\"command\":\"list\"}",
		"{\"version\":1}",
		ASK("\"\""), ASK("\"List\""), ASK("\"lis\""), ASK("1"), ASK("null"),
		ASK("{\"list\":1}"), ASK("\"list\",\"spec\":\"d\""),
		ASK("\"list\",\"x\":1"), ASK("\"list\\u0000\",\"x\":1"),
		ASK("\"add\""), ASK("\"add\",\"spec\":1"), ASK("\"add\",\"name\":\"d\""),
		ASK("\"add\",\"spec\":\"d\\u0000,memory\""),
		ASK("\"remove\""), ASK("\"remove\",\"name\":1"),
		ASK("\"remove\",\"name\":null"), ASK("\"remove\",\"name\":\"\""),
		ASK("\"remove\",\"name\":\"a b\""), ASK("\"remove\",\"name\":\"../x\""),
		ASK("\"remove\",\"name\":\"a\\u0000\""),
		ASK("\"remove\",\"name\":\"d\",\"force\":1"),
		ASK("\"remove\",\"name\":\"d\",\"force\":\"true\""),
		ASK("\"remove\",\"name\":\"d\",\"size\":4096"),
		ASK("\"resize\",\"name\":\"d\",\"size\":0"),
		ASK("\"resize\",\"name\":\"d\",\"size\":-1"),
		ASK("\"resize\",\"name\":\"d\",\"size\":\"1M\""),
		ASK("\"resize\",\"name\":\"d\",\"size\":4611686018427387905"),
		ASK("\"resize\",\"name\":\"d\",\"size\":99999999999999999999"),
		ASK("\"resize\",\"name\":\"d\",\"force\":true"),
		ASK("\"reload\",\"name\":\"d\""),
		ASK("\"host\""), ASK("\"host add\""), ASK("\"host remove\""),
		ASK("\"host add\",\"name\":\"web1\""),
		ASK("\"host add\",\"spec\":\"web1\\u0000\""),
		ASK("\"host remove\",\"name\":\"web1\",\"force\":true"),
		ASK("\"host list\",\"name\":\"web1\""), ASK("\"metrics\",\"name\":\"d\""),
		ASK("\"allow\",\"name\":\"d\""), ASK("\"allow\",\"allow\":\"web1\""),
		ASK("\"allow\",\"name\":\"d\",\"allow\":[\"web1\"]"),
		ASK("\"allow\",\"name\":\"d\",\"allow\":\"web1\\u0000\""),
		ASK("\"list\",\"allow\":\"web1\""),
		ASK("\"kick\""), ASK("\"kick\",\"reason\":\"x\""),
		ASK("\"kick\",\"name\":\"web1\",\"reason\":1"),
		ASK("\"kick\",\"name\":\"web1\",\"reason\":\"a\\nb\""),
		ASK("\"remove\",\"name\":\"d\",\"reason\":\"x\""),
		ASK("\"list\"") "x", ASK("\"list\"") "{}", ASK("\"list\","),
		"{\"version\":1,\"version\":1,\"command\":\"list\"}",
		ASK("\"list\",\"command\":\"list\""),
		ASK("\"remove\",\"name\":\"d\",\"force\":false,\"force\":true"),
		ASK("\"remove\",\"name\":\"d\",\"\\u006eame\":\"d\""),
		"{\"version\":1,\"command\":\"list\",\"x\":[[[[[[[[]]]]]]]]}",
	};
	struct control_request r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!parse(bad[i], &r))
			fail_msg("taken: %s", bad[i]);
		assert_null(r.admin);
		assert_true(why[0]);
		assert_true(strlen(why) < 160);
	}
}

/* A line that is cut short is refused, and no byte behind its end is read. */
static void cut_lines(void **state)
{
	const char *line = ASK("\"resize\",\"name\":\"disk\",\"size\":4096");
	struct control_request r;

	(void)state;
	for (size_t len = 0; len < strlen(line); len++) {
		char *cut = malloc(len + !len);

		memcpy(cut, line, len);
		assert_int_not_equal(control_parse(cut, len, &r, why), 0);
		assert_null(r.admin);
		free(cut);
	}
}

static void long_texts(void **state)
{
	char line[8192], text[5000];
	struct control_request r;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[63] = '\0';
	snprintf(line, sizeof(line), ASK("\"remove\",\"name\":\"%s\""), text);
	assert_int_equal(parse(line, &r), 0);
	assert_string_equal(r.admin->name, text);
	admin_free(r.admin);
	text[63] = 'a';
	text[64] = '\0';
	snprintf(line, sizeof(line), ASK("\"remove\",\"name\":\"%s\""), text);
	assert_int_not_equal(parse(line, &r), 0);
	text[64] = 'a';
	text[4096] = '\0';
	snprintf(line, sizeof(line), ASK("\"add\",\"spec\":\"%s\""), text);
	assert_int_equal(parse(line, &r), 0);
	admin_free(r.admin);
	text[4096] = 'a';
	text[4097] = '\0';
	snprintf(line, sizeof(line), ASK("\"add\",\"spec\":\"%s\""), text);
	assert_int_not_equal(parse(line, &r), 0);
}

static void what_is_no_text_is_marked(void **state)
{
	static const char * const texts[][2] = {
		{ "", "" }, { "plain", "plain" }, { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe", NULL },
		{ "x\xc3", "x?" }, { "\xe2\x82", "??" }, { "\xf0\x9f\x92", "???" },
		{ "\xe9t\xe9", "?t?" }, { "\xc0\xaf", "??" }, { "\xe0\x80\xaf", "???" },
		{ "\xed\xa0\x80", "???" }, { "\xf4\x90\x80\x80", "????" }, { "\xff", "?" },
		{ "\xc3\xa9\xa9.", "\xc3\xa9?." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *text = strdup(texts[i][0]);

		value_utf8(text);
		assert_string_equal(text, texts[i][1] ?: texts[i][0]);
		free(text);
	}
}

/* Return: checked configuration of an export, from the words of --export, to be freed */

static struct export_config *export_of(const char *spec)
{
	struct export_config *ec;
	struct config cfg;

	config_init(&cfg);
	config_export_spec(&cfg, spec);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_non_null(ec);
	config_export_check(&cfg, ec);
	assert_int_equal(cfg.errors, 0);
	config_export_take(&cfg, ec);
	config_free(&cfg);
	return ec;
}

static bool same(const char *one, const char *other)
{
	struct export_config *a = export_of(one), *b = export_of(other);
	bool ret;

	if (!a->block)		/* an open export has the block size of its file */
		a->block = 4096;
	ret = config_export_same(a, b);
	config_export_free(a);
	config_export_free(b);
	return ret;
}

/* Return: whether the limits of @one change to those of @other */
static bool limited(const char *one, const char *other)
{
	struct export_config *a = export_of(one), *b = export_of(other);
	bool ret = config_export_limit(a, b);

	assert_int_equal(a->max_sessions, b->max_sessions);
	assert_int_equal(a->max_queues, b->max_queues);
	assert_int_equal(a->max_pinned, b->max_pinned);
	assert_false(config_export_limit(a, b));
	config_export_free(a);
	config_export_free(b);
	return ret;
}

static void sameness(void **state)
{
	static const char * const others[] = {
		"d,file=/y", "d,file=/x,cache=full", "d,file=/x,ro", "d,file=/x,shared",
		"d,file=/x,size=1M", "d,file=/x,block=4096", "d,file=/x,slot-bytes=64K",
		"d,file=/x,slot-memory=1M", "d,file=/x,fault=/f", "d,file=/x,epoch=stable",
		"d,file=/x,state=/s",
		"d,file=/x,uuid=357fd8ba-e95a-4b0a-8c1d-74865a5c9127", "d,memory,size=1M",
	};

	(void)state;
	assert_true(same("d,file=/x", "d,file=/x"));
	assert_true(same("d,file=/x", "d,cache=none,file=/x,slot-bytes=128K"));
	assert_true(same("d,memory,size=1M", "d,memory,size=1024K,block=512"));
	assert_false(same("d,memory,size=1M", "d,memory,size=2M"));
	assert_false(same("d,memory,size=1M", "d,memory,size=1M,arena=/a"));
	assert_false(same("d,memory,size=1M", "d,memory,size=1M,hugepages=no"));
	assert_false(same("d,memory,size=1M", "d,memory,size=1M,region=1M"));
	assert_true(same("d,memory,size=1M", "d,memory,size=1M,numa=auto"));
	assert_false(same("d,memory,size=1M", "d,memory,size=1M,numa=none"));
	assert_false(same("d,memory,size=1M", "d,memory,size=1M,numa=0"));
	assert_false(same("d,memory,size=1M,numa=0", "d,memory,size=1M,numa=1"));
	/* limits do not count: an export gets new ones without a reopen */
	assert_true(same("d,file=/x", "d,file=/x,max-sessions=1,max-queues=1,max-pinned=1M"));
	assert_true(limited("d,file=/x", "d,file=/x,max-sessions=1"));
	assert_true(limited("d,file=/x", "d,file=/x,max-queues=1"));
	assert_true(limited("d,file=/x,max-pinned=2M", "d,file=/x,max-pinned=1M"));
	assert_false(limited("d,file=/x,max-queues=3", "d,file=/x,max-queues=3"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (same("d,file=/x", others[i]))
			fail_msg("the same: %s", others[i]);
}

static void complaints_have_a_place(void **state)
{
	struct config cfg;
	char *text = NULL;
	size_t len;

	(void)state;
	config_init(&cfg);
	cfg.complaints = open_memstream(&text, &len);
	config_export_spec(&cfg, "d,memory,sze=1M");
	fclose(cfg.complaints);
	assert_int_equal(cfg.errors, 1);
	assert_string_equal(text, "--export d,memory,sze=1M: unknown key \"sze\"; "
			    "did you mean \"size\"?\n");
	free(text);
	config_free(&cfg);
}

static void the_last_error_is_kept(void **state)
{
	char kept[16];

	(void)state;
	log_setup(LOG_ERR - 1);		/* errors are kept even if they are not logged */
	log_keep(kept, sizeof(kept));
	assert_string_equal(kept, "");
	log_err("one %d", 1);
	log_warn("two");
	assert_string_equal(kept, "one 1");
	log_err("a line that is longer than the place for it");
	assert_string_equal(kept, "a line that is ");
	log_keep(NULL, 0);
	log_err("three");
	assert_string_equal(kept, "a line that is ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(what_is_wrong_is_refused),
		cmocka_unit_test(cut_lines),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(what_is_no_text_is_marked),
		cmocka_unit_test(sameness),
		cmocka_unit_test(complaints_have_a_place),
		cmocka_unit_test(the_last_error_is_kept),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
