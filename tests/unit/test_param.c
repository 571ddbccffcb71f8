// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/param.c takes connect= strings and names of keys of the documented form,
 * and says what is wrong with any other.
 */
#include <linux/kernel.h>

#include "param.h"
#include "unit.h"

#define BAD_PORT	"the port is not a number from 1 to 65535"
#define BAD_CHARACTER	"bad character in the export name"
#define NAME_63		"123456789012345678901234567890123456789012345678901234567890123"

/* Parses a copy of exactly the text's length: AddressSanitizer sees an access beyond it. */
static int next(const char *text, struct rdmablk_param_spec *spec, const char **why,
		size_t *used)
{
	char *copy = strdup(text);
	const char *cursor = copy;
	int ret;

	assert_non_null(copy);
	*why = NULL;
	memset(spec, 0xa5, sizeof(*spec));
	ret = rdmablk_param_next(&cursor, spec, why);
	if (used)
		*used = cursor ? (size_t)(cursor - copy) : strlen(text);
	free(copy);
	return ret;
}

static void test_good_elements(void **state)
{
	static const struct {
		const char *text, *addr, *name;
		unsigned int port;
	} list[] = {
		{ "10.0.0.2/disk0", "10.0.0.2", "disk0", RDMABLK_PORT },
		{ "10.0.0.2:1/d", "10.0.0.2", "d", 1 },
		{ "10.0.0.2:65535/d", "10.0.0.2", "d", 65535 },
		{ "10.0.0.2:00080/d", "10.0.0.2", "d", 80 },
		{ "[fe80::1]/d", "fe80::1", "d", RDMABLK_PORT },
		{ "[fe80::1%eth0]:7/d", "fe80::1%eth0", "d", 7 },
		{ "[::]:7/d", "::", "d", 7 },
		{ "[10.0.0.2]:7/d", "10.0.0.2", "d", 7 },
		{ "a/!~:[]%=", "a", "!~:[]%=", RDMABLK_PORT },
		{ "a/" NAME_63, "a", NAME_63, RDMABLK_PORT },
		{ NAME_63 ":9/d", NAME_63, "d", 9 },
		{ "[" NAME_63 "]:9/d", NAME_63, "d", 9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		static const char zero[RDMABLK_NAME_LEN];
		struct rdmablk_param_spec spec;
		const char *why;
		size_t len = strlen(list[i].name);

		if (next(list[i].text, &spec, &why, NULL) != 1)
			fail_msg("%s: %s", list[i].text, why);
		assert_null(why);
		assert_string_equal(spec.addr, list[i].addr);
		assert_string_equal(spec.name, list[i].name);
		assert_memory_equal(spec.name + len, zero, sizeof(spec.name) - len);
		assert_int_equal(spec.port, list[i].port);
	}
}

static void test_errors_have_their_text(void **state)
{
	static const struct {
		const char *text, *why;
	} list[] = {
		{ "", "an element is empty" },
		{ ",", "an element is empty" },
		{ ",a/d", "an element is empty" },
		{ "10.0.0.2", "'/' and an export name are missing" },
		{ "10.0.0.2,a/d", "'/' and an export name are missing" },
		{ "[fe80::1]:7", "'/' and an export name are missing" },
		{ "/", "the address is empty" },
		{ "/d", "the address is empty" },
		{ "[]/d", "the address is empty" },
		{ "[]:7/d", "the address is empty" },
		{ ":7/d", "the address is empty" },
		{ NAME_63 "4/d", "the address is too long" },
		{ "[" NAME_63 "4]/d", "the address is too long" },
		{ "[fe80::1/d", "']' is missing" },
		{ "[/d", "']' is missing" },
		{ "[fe80::1:7/d]", "']' is missing" },
		{ "[fe80::1]7/d", "only ':' and a port may follow ']'" },
		{ "[fe80::1]]/d", "only ':' and a port may follow ']'" },
		{ "fe80::1/d", "an IPv6 address needs brackets" },
		{ "::/d", "an IPv6 address needs brackets" },
		{ "a:7:/d", "an IPv6 address needs brackets" },
		{ "a:/d", BAD_PORT }, { "[::1]:/d", BAD_PORT }, { "a:0/d", BAD_PORT },
		{ "a:00000/d", BAD_PORT }, { "a:65536/d", BAD_PORT },
		{ "a:99999/d", BAD_PORT }, { "a:100000/d", BAD_PORT },
		{ "a:000080/d", BAD_PORT }, { "a:4294967297/d", BAD_PORT },
		{ "a:-1/d", BAD_PORT }, { "a:+1/d", BAD_PORT }, { "a: 1/d", BAD_PORT },
		{ "a:1 /d", BAD_PORT }, { "a:0x1/d", BAD_PORT }, { "a:1a/d", BAD_PORT },
		{ "a/", "the export name is empty" },
		{ "a/,b/d", "the export name is empty" },
		{ "a/" NAME_63 "4", "the export name is longer than 63 characters" },
		{ "a/d d", BAD_CHARACTER }, { "a/ d", BAD_CHARACTER },
		{ "a/d ", BAD_CHARACTER }, { "a/d\n", BAD_CHARACTER },
		{ "a/d/e", BAD_CHARACTER }, { "a//d", BAD_CHARACTER },
		{ "a/d\t", BAD_CHARACTER }, { "a/d\x7f", BAD_CHARACTER },
		{ "a/\xc3\xa9", BAD_CHARACTER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_param_spec spec;
		const char *why;

		if (next(list[i].text, &spec, &why, NULL) != -EINVAL)
			fail_msg("'%s' is accepted", list[i].text);
		if (!why || strcmp(why, list[i].why))
			fail_msg("'%s': %s", list[i].text, why ? why : "no text");
	}
}

static void test_lists(void **state)
{
	const char *cursor = "10.0.0.2/disk0,[fe80::1%eth0]:7/disk1,a:9/disk0", *why;
	struct rdmablk_param_spec spec;

	(void)state;
	assert_int_equal(rdmablk_param_next(&cursor, &spec, &why), 1);
	assert_string_equal(spec.addr, "10.0.0.2");
	assert_string_equal(spec.name, "disk0");
	assert_int_equal(rdmablk_param_next(&cursor, &spec, &why), 1);
	assert_string_equal(spec.addr, "fe80::1%eth0");
	assert_string_equal(spec.name, "disk1");
	assert_int_equal(spec.port, 7);
	assert_int_equal(rdmablk_param_next(&cursor, &spec, &why), 1);
	assert_string_equal(spec.addr, "a");
	assert_int_equal(spec.port, 9);
	assert_int_equal(rdmablk_param_next(&cursor, &spec, &why), 0);
	assert_int_equal(rdmablk_param_next(&cursor, &spec, &why), 0);
}

/* Another element must follow a comma. */
static void test_trailing_commas_are_errors(void **state)
{
	static const char * const list[] = { "a/d,", "a/d,,b/d", "a/d,,", "a/d,b/e," };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rdmablk_param_spec spec;
		const char *cursor = list[i], *why = NULL;
		int ret;

		do
			ret = rdmablk_param_next(&cursor, &spec, &why);
		while (ret > 0);
		assert_int_equal(ret, -EINVAL);
		assert_string_equal(why, "an element is empty");
	}
}

/* The longest string that the module takes, as one element and as the shortest elements */
static void test_long_strings(void **state)
{
	struct rdmablk_param_spec spec;
	char text[1024] = "";
	const char *cursor = text, *why;
	int n;

	(void)state;
	memset(text, 'x', 1023);
	assert_int_equal(next(text, &spec, &why, NULL), -EINVAL);
	text[1] = '/';
	assert_int_equal(next(text, &spec, &why, NULL), -EINVAL);
	for (n = 0; n < 256; n++)
		memcpy(text + 4 * n, "a/d,", 4);
	text[1023] = '\0';
	for (n = 0; rdmablk_param_next(&cursor, &spec, &why) > 0; n++)
		;
	assert_int_equal(n, 256);
	assert_null(cursor);
}

/* All strings of these few characters: accepted elements follow the rules, others have a text. */
static void test_all_short_strings(void **state)
{
	static const char set[] = "[]:/,1a";
	enum { CHARS = sizeof(set) - 1, LEN = 7 };
	unsigned long total = 1;

	(void)state;
	for (int i = 0; i < LEN; i++)
		total *= CHARS;
	for (unsigned long n = 0; n < total; n++) {
		char text[LEN + 1] = "";
		struct rdmablk_param_spec spec;
		const char *why = NULL;
		unsigned long rest = n;
		size_t used;

		for (int i = 0; i < LEN; i++, rest /= CHARS)
			text[i] = set[rest % CHARS];
		if (next(text, &spec, &why, &used) < 0) {
			assert_non_null(why);
			continue;
		}
		assert_true(spec.addr[0] && spec.name[0] && spec.port);
		assert_null(strpbrk(spec.addr, "/,"));
		assert_null(strpbrk(spec.name, "/,"));
		assert_true(used == LEN || text[used - 1] == ',');
	}
}

static void test_noise(void **state)
{
	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct rdmablk_param_spec spec;
		const char *why = NULL;
		char text[200];
		size_t len = unit_random() % sizeof(text);

		unit_random_bytes(text, len);
		text[len] = '\0';
		if (next(text, &spec, &why, NULL) < 0)
			assert_non_null(why);
	}
}

static void test_names(void **state)
{
	char name[RDMABLK_NAME_LEN + 1] = "";
	const char *why;

	(void)state;
	assert_int_equal(rdmablk_param_check_name("", &why), -EINVAL);
	assert_string_equal(why, "the export name is empty");
	for (size_t len = 1; len < sizeof(name); len++) {
		name[len - 1] = 'x';
		assert_int_equal(rdmablk_param_check_name(name, &why),
				 len < RDMABLK_NAME_LEN ? 0 : -EINVAL);
	}
	assert_string_equal(why, "the export name is longer than 63 characters");
	for (int c = 1; c < 256; c++) {
		char text[] = { 'a', (char)c, 0 };
		bool ok = c > 0x20 && c < 0x7f && c != '/' && c != ',';

		assert_int_equal(rdmablk_param_check_name(text, &why), ok ? 0 : -EINVAL);
		if (!ok)
			assert_string_equal(why, BAD_CHARACTER);
	}
}

static void test_names_of_keys(void **state)
{
	char name[RDMABLK_KEY_NAME_LEN + 1] = "";
	const char *why;

	(void)state;
	assert_int_equal(rdmablk_param_check_key("", &why), -EINVAL);
	assert_string_equal(why, "the name of a key has 1 to 63 characters");
	for (size_t len = 1; len < sizeof(name); len++) {
		name[len - 1] = '_';
		why = NULL;
		assert_int_equal(rdmablk_param_check_key(name, &why),
				 len < RDMABLK_KEY_NAME_LEN ? 0 : -EINVAL);
	}
	assert_string_equal(why, "the name of a key has 1 to 63 characters");
	for (int c = 1; c < 256; c++) {
		char first[] = { (char)c, 'a', 0 }, last[] = { 'a', (char)c, 0 };
		bool word = strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				   "abcdefghijklmnopqrstuvwxyz", c);
		bool ok = word || c == '.' || c == '-';

		assert_int_equal(rdmablk_param_check_key(first, &why), word ? 0 : -EINVAL);
		if (!word)
			assert_string_equal(why, ok ?
					    "the name of a key begins with a dot or a dash" :
					    "bad character in the name of a key");
		assert_int_equal(rdmablk_param_check_key(last, &why), ok ? 0 : -EINVAL);
		if (!ok)
			assert_string_equal(why, "bad character in the name of a key");
	}
}

static void test_keys_of_addresses(void **state)
{
	static const char *const pairs[][2] = {
		{ "10.0.0.1", "10.0.0.1" },
		{ "fd00::2", "fd00__2" },
		{ "::1", "__1" },
		{ "fe80::1%eth0.7", "fe80__1_eth0.7" },
		{ "fe80::1%a+b", "fe80__1_a+b" },
	};
	char name[RDMABLK_ADDR_LEN], longest[RDMABLK_ADDR_LEN];
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		rdmablk_param_addr_key(pairs[i][0], name);
		assert_string_equal(name, pairs[i][1]);
		assert_int_equal(rdmablk_param_check_key(name, &why),
				 strchr(name, '+') ? -EINVAL : 0);
	}
	memset(longest, ':', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	rdmablk_param_addr_key(longest, name);
	assert_int_equal(strlen(name), RDMABLK_ADDR_LEN - 1);
	assert_int_equal(rdmablk_param_check_key(name, &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_elements),
		cmocka_unit_test(test_errors_have_their_text),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_trailing_commas_are_errors),
		cmocka_unit_test(test_long_strings),
		cmocka_unit_test(test_all_short_strings),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_of_keys),
		cmocka_unit_test(test_keys_of_addresses),
	};

	return cmocka_run_group_tests_name("param", tests, NULL, NULL);
}
