// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of the daemon's configuration file: what counts as a section, what as a key, and that
 * nothing of a line is dropped in silence.
 *
 * Sources: target/config/config_file.c
 * Libraries: inih
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../target/base/util.h"
#include "../../target/config/config.h"

#define TARGET	"[target]\nlisten = 127.0.0.1\n"
#define DISK	"[export d]\ntype = memory\nsize = 1M\n"

/* Reads @text into @cfg. Return: the complaints, to be freed */
static char *read_text(struct config *cfg, const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	char *said;
	size_t len;

	config_init(cfg);
	cfg->complaints = open_memstream(&said, &len);
	assert_int_equal(config_read_stream(cfg, "test", file), 0);
	fclose(cfg->complaints);
	cfg->complaints = NULL;
	fclose(file);
	return said;
}

static void complains(const char *text, const char *want)
{
	struct config cfg;
	char *said = read_text(&cfg, text);

	assert_string_equal(said, want);
	assert_int_equal(!*want, !cfg.errors);
	free(said);
	config_free(&cfg);
}

/* inih, too, skips a byte order mark in the first line, and finds a section behind it. */
static void a_section_that_only_the_parser_sees_is_an_error(void **state)
{
	static const char * const marks[] = { "\xef\xbb\xbf\xef\xbb\xbf", " \xef\xbb\xbf" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		snprintf(text, sizeof(text), "%s[target]\ninsecure = yes\n" TARGET DISK, marks[i]);
		complains(text, "test:2: key before the first section\n");
	}
}

static void text_behind_a_section_is_an_error(void **state)
{
	static const char * const wrong[] = { " ro = yes", "x", "]", ";x", " # x" };
	static const char * const right[] = { "", " ", "\t\r", " ;", "\t; ro = yes" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(text, sizeof(text), TARGET "[export d]%s\nsize = 1M\n", wrong[i]);
		complains(text, "test:3: text after [export d]; a key needs a line of its own\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		snprintf(text, sizeof(text), TARGET "[export d]%s\nsize = 1M\n", right[i]);
		complains(text, "");
	}
	complains("[listen [::1]:7] x\n",
		  "test:1: text after [listen [::1]:7]; a key needs a line of its own\n");
	complains("[listen [::1]:7] ; x\n" DISK, "");
}

static void indentation_means_nothing(void **state)
{
	struct config cfg;

	(void)state;
	free(read_text(&cfg, "  [target]\n\tlisten = 127.0.0.1\n  name = a\n\t\n\t; x\n\v\f# x\n"
		       " [export d]\n\r type = memory\n  size = 1M\n"));
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(cfg.nr_listen, 1);
	assert_string_equal(cfg.name, "a");
	assert_int_equal(TAILQ_FIRST(&cfg.exports)->size, 1 << 20);
	config_free(&cfg);
	complains(TARGET DISK "  sze = 2M\n",
		  "test:6: unknown key \"sze\"; did you mean \"size\"?\n");
	complains(" \v[target]\n auth = psk\n \v[exports d]\n x = 1\n",
		  "test:3: unknown section [exports d]; did you mean [export NAME]?\n");
	complains("\xef\xbb\xbf  [target]\n  name = a\n", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indentation_means_nothing),
		cmocka_unit_test(a_section_that_only_the_parser_sees_is_an_error),
		cmocka_unit_test(text_behind_a_section_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
