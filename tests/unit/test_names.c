// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What connect and up say about an export that the target does not have: the nearest name, or a
 * list of bounded length. They say nothing if the visit fails, lists nothing, or lists that
 * export. The target is a list of names.
 *
 * Sources: tools/visit_names.c
 */
#include <time.h>

#include "unit.h"

static unsigned int pauses;

static int pause_counted(const struct timespec *time, struct timespec *left)
{
	(void)left;
	assert_int_equal(time->tv_sec, 0);
	assert_true(time->tv_nsec > 1000000000 / 200);
	pauses++;
	return 0;
}

#define nanosleep pause_counted
#include "../../tools/visit_names.c"
#undef nanosleep
#include "../../target/base/near.c"

/*
 * The target
 */

static struct {
	char names[600][RDMABLK_NAME_LEN];
	unsigned int nr, asked, fails_at, opened, closed;
	bool absent;
	char key[RDMABLK_KEY_NAME_LEN];
	__s64 seconds, page_takes;
} target;

static struct client *const visitor = (struct client *)&target;

struct client *visit_open(struct visit *visit, const char *what, int *status)
{
	assert_null(what);
	assert_string_equal(visit->where.host, "10.0.0.1");
	assert_in_range(visit->tmo_s, 1, 5);
	assert_true(visit->request.has_host_id);
	snprintf(target.key, sizeof(target.key), "%s", visit->key ?: "none");
	*status = 1;
	target.opened++;
	return target.absent ? NULL : visitor;
}

void client_close(struct client *client)
{
	assert_ptr_equal(client, visitor);
	target.closed++;
}

__s64 nl_deadline(unsigned int seconds)
{
	return (target.seconds + seconds) * 1000;
}

int client_list(struct client *client, const char *after, struct rdmablk_list *list,
		struct nl_failure *failure)
{
	unsigned int i = 0, n = 0;

	(void)failure;
	assert_ptr_equal(client, visitor);
	target.seconds += target.page_takes;
	if (++target.asked == target.fails_at)
		return -1;
	memset(list, 0, sizeof(*list));
	while (i < target.nr && strcmp(target.names[i], after) <= 0)
		i++;
	for (; i < target.nr && n < RDMABLK_LISTED_PER_MSG; i++, n++)
		memcpy(list->listed[n].name, target.names[i], sizeof(target.names[i]));
	list->count = htole32(n);
	list->more = htole32(i < target.nr);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	memset(&target, 0, sizeof(target));
	pauses = 0;
	return 0;
}

static void add(const char *name)
{
	snprintf(target.names[target.nr++], RDMABLK_NAME_LEN, "%s", name);
}

/* Checks what is said about @name. */
static void says(const char *name, const char *key, const char *want)
{
	struct connect_request request = { .where = { .host = "10.0.0.1" }, .has_host_id = true };
	char text[VISIT_NAMES_TEXT];

	snprintf(request.where.name, sizeof(request.where.name), "%s", name);
	snprintf(request.key, sizeof(request.key), "%s", key);
	memset(text, 'x', sizeof(text));
	target.asked = 0;
	visit_names(&request, text);
	assert_string_equal(text, want);
	assert_int_equal(target.closed, target.absent ? 0 : target.opened);
	assert_string_equal(target.key, *key ? key : "none");
}

static void test_the_nearest_name(void **state)
{
	(void)state;
	add("disk0");
	add("disk1");
	add("scratch");
	says("dsik1", "", "; did you mean disk1?");
	says("Disk0", "web1", "; did you mean disk0?");
	says("scratches", "web1", "; did you mean scratch?");
}

/* The nearest name may be on any page, not only on the last one. */
static void test_the_nearest_name_is_on_any_page(void **state)
{
	char name[32];

	(void)state;
	add("archive");
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "k%03d.backup", i);
		add(name);
	}
	says("archives", "", "; did you mean archive?");
	assert_int_equal(target.asked, 13);
	assert_int_equal(pauses, 12);
}

static void test_a_list(void **state)
{
	(void)state;
	add("disk0");
	says("elsewhere", "", "; there is disk0");
	add("disk1");
	says("elsewhere", "", "; there are disk0, disk1");
}

static void test_a_list_is_bounded(void **state)
{
	char name[RDMABLK_NAME_LEN], want[VISIT_NAMES_TEXT];

	(void)state;
	for (int i = 0; i < 3; i++) {
		memset(name, 'a' + i, sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		add(name);
	}
	/* The text has room for this name, but the list must not skip others. */
	add("d");
	snprintf(want, sizeof(want), "; there are %s and 3 more", target.names[0]);
	says("elsewhere", "", want);
}

/* The names of a large or slow target are asked for only up to a limit. */
static void test_time_is_bounded(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "%03d-%s", i, "0123456789");
		add(name);
	}
	says("elsewhere", "",
	     "; there are 000-0123456789, 001-0123456789, 002-0123456789, 003-0123456789, 004-0123456789, 005-0123456789, 006-0123456789 and more");
	assert_int_equal(target.asked, MOST_PAGES);
	target.page_takes = 1;
	says("elsewhere", "",
	     "; there are 000-0123456789, 001-0123456789, 002-0123456789, 003-0123456789, 004-0123456789, 005-0123456789, 006-0123456789 and more");
	assert_in_range(target.asked, 4, 5);
}

static void test_nothing_to_say(void **state)
{
	(void)state;
	says("disk0", "", "");
	target.absent = true;
	target.opened = 0;
	target.closed = 0;
	says("disk0", "web1", "");
	target.absent = false;
	target.opened = 0;
	for (int i = 0; i < 7; i++)
		add((char[]){ (char)('a' + i), 'x', 'y', 'z', '\0' });
	/* The export has been added meanwhile. */
	says("axyz", "", "");
	says("gxyz", "", "");
	target.fails_at = 2;
	says("bxy", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_nearest_name, begin),
		cmocka_unit_test_setup(test_the_nearest_name_is_on_any_page, begin),
		cmocka_unit_test_setup(test_a_list, begin),
		cmocka_unit_test_setup(test_a_list_is_bounded, begin),
		cmocka_unit_test_setup(test_time_is_bounded, begin),
		cmocka_unit_test_setup(test_nothing_to_say, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
