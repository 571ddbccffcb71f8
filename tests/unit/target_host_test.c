// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts and their keys: which key files are accepted, and from where; keys are in locked memory
 * only; which host is found by a key, an address and the date; the rights of each host.
 *
 * Sources: target/export/host.c target/export/identity.c target/base/secret.c
 *	   target/base/key_file.c target/base/value.c
 */
#include <arpa/inet.h>
#include <sys/resource.h>

#include "../../target/base/log.h"
#include "../../target/base/loop.h"
#include "../../target/base/sandbox.h"
#include "../../target/base/util.h"
#include "../../target/export/export.h"
#include "../../target/export/identity.h"
#include "../../target/wire/crypto.h"
#include "target_host.h"

static char *complaints;

/* Reads [host] sections. Return: the table, or NULL, and @complaints says why */
static struct host_table *load(const char *text, enum host_keep keep)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	struct host_table *table = NULL;
	struct host_config *hc;
	struct config c;
	size_t len;

	free(complaints);
	complaints = NULL;
	config_init(&c);
	c.complaints = open_memstream(&complaints, &len);
	assert_int_equal(config_read_stream(&c, "test", file), 0);
	fclose(file);
	TAILQ_FOREACH(hc, &c.hosts, entry)
		config_host_check(&c, hc);
	if (!c.errors)
		table = host_load(&c, keep);
	assert_int_equal(!table, !!c.errors);
	fclose(c.complaints);
	config_free(&c);
	return table;
}

static struct host_table *must_load(const char *text)
{
	struct host_table *table = load(text, HOST_KEEP_NONE);

	if (!table)
		fail_msg("refused: %s", complaints);
	return table;
}

static void refused(const char *text, const char *why)
{
	if (load(text, HOST_KEEP_NONE))
		fail_msg("taken, and not \"%s\"", why);
	if (!strstr(complaints, why))
		fail_msg("\"%s\" has no \"%s\"", complaints, why);
}

static void because(const uint8_t *id, const char *from, const char *why)
{
	char text[HOST_WHY];

	host_refusal(id, peer(from), text, sizeof(text));
	assert_string_equal(text, why);
}

/*
 * Files
 */

static void files_of_others_are_refused(void **state)
{
	const char *path = files_path("one.key");
	const char *text = host_of("web1", path, "");
	static const mode_t bad[] = { 0644, 0640, 0604, 0620, 0602, 0610, 0601, 0700 | 0040 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		make_key(path, bad[i]);
		refused(text, "lets others at the key");
	}
	make_key(path, 0600);
	host_discard(must_load(text));
	make_key(path, 0400);
	host_discard(must_load(text));
	if (geteuid()) {
		printf("SKIP not root: a file of another user\n");
		return;
	}
	assert_int_equal(chown(path, 65534, 0), 0);
	refused(text, "it belongs to user 65534");
}

static void other_things_are_no_key_files(void **state)
{
	const char *path = files_path("one.key"), *link = files_path("link.key");
	const char *text = host_of("web1", path, "");
	char key[200];

	(void)state;
	make_key(path, 0600);
	assert_int_equal(symlink(path, link), 0);
	refused(host_of("web1", link, ""), "a symbolic link");
	refused(host_of("web1", files_path(""), ""), "not a regular file");
	refused(host_of("web1", files_path("missing"), ""), "No such file");
	refused(host_of("web1", "one.key", ""), "No such file");

	/* one wrong character of base64, in a file that is too short and in a whole one */
	memset(key, 0, sizeof(key));
	files_read(path, key, 0, 60);
	key[30] = key[30] == 'A' ? 'B' : 'A';
	assert_int_equal(truncate(path, 0), 0);
	unlink(path);
	files_text(path, key);
	assert_int_equal(chmod(path, 0600), 0);
	refused(text, "not 48 characters of base64");
	make_key(path, 0600);
	files_read(path, key, 0, 69);
	key[30] = key[30] == 'A' ? 'B' : 'A';
	files_text(path, key);
	assert_int_equal(chmod(path, 0600), 0);
	refused(text, "the checksum is wrong");
	if (!strstr(complaints, "web1") || !strstr(complaints, path))
		fail_msg("names neither host nor file: %s", complaints);
}

/* A credential of systemd comes before the key directory, and its group may read it. */
static void credentials(void **state)
{
	const char *dir = files_path("credentials"), *near = files_path("credentials2");
	const char *deep = files_path("credentials/deep");
	struct made first, second;

	(void)state;
	mkdir(dir, 0700);
	mkdir(near, 0700);
	mkdir(deep, 0700);
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	second = make_key(files_path("web1.key"), 0600);
	host_key_dir = files_dir;
	host_install(must_load("[host a]\nkey = web1\n"));
	assert_string_equal(found(second.id, "10.0.0.1"), "a");

	first = make_key(files_path("credentials/web1.key"), 0440);
	host_install(must_load("[host a]\nkey = web1\n"));
	assert_string_equal(found(first.id, "10.0.0.1"), "a");
	assert_string_equal(found(second.id, "10.0.0.1"), "nobody");
	host_install(must_load(host_of("a", files_path("credentials/web1.key"), "")));
	assert_string_equal(found(first.id, "10.0.0.1"), "a");

	/* A wrong credential is an error. The key directory does not replace it. */
	make_key(files_path("credentials/web1.key"), 0460);
	refused("[host a]\nkey = web1\n", "lets others at the key");
	make_key(files_path("credentials/web1.key"), 0444);
	refused("[host a]\nkey = web1\n", "lets others at the key");
	unlink(files_path("credentials/web1.key"));

	/* Outside the directory of credentials the group must not read a key. */
	make_key(files_path("web1.key"), 0440);
	refused("[host a]\nkey = web1\n", "lets others at the key");
	make_key(files_path("credentials2/web1.key"), 0440);
	refused(host_of("a", files_path("credentials2/web1.key"), ""), "lets others");
	make_key(files_path("credentials2.key"), 0440);
	refused(host_of("a", files_path("credentials2.key"), ""), "lets others");
	make_key(files_path("credentials/deep/web1.key"), 0440);
	refused(host_of("a", files_path("credentials/deep/web1.key"), ""), "lets others");
	unsetenv("CREDENTIALS_DIRECTORY");
	make_key(files_path("credentials/web1.key"), 0440);
	refused(host_of("a", files_path("credentials/web1.key"), ""), "lets others");
	unlink(files_path("credentials/web1.key"));
	host_key_dir = KEY_FILE_DIR;
	host_stop();
}

/* A host may have two keys; a key cannot be that of two hosts. */
static void keys_belong_to_one_host(void **state)
{
	char both[500];
	const char *a, *b;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	web2 = make_key(files_path("web2.key"), 0600);
	other = make_key(files_path("other.key"), 0600);
	snprintf(both, sizeof(both), "key = %s\n", files_path("web2.key"));
	a = host_of("web1", files_path("web1.key"), both);
	b = host_of("ops", files_path("other.key"), "");
	host_install(must_load(two(a, b)));
	assert_string_equal(found(web1.id, "10.0.0.1"), "web1");
	assert_string_equal(found(web2.id, "10.0.0.1"), "web1");
	assert_string_equal(found(other.id, "10.0.0.1"), "ops");
	other.id[ID_LEN - 1] ^= 1;
	assert_string_equal(found(other.id, "10.0.0.1"), "nobody");
	because(other.id, "10.0.0.1", "no host has this key");
	other.id[ID_LEN - 1] ^= 1;
	because(web1.id, "10.0.0.1", "the key of host web1 was not proven");
	assert_true(host_proves(host_find_name("web1"), web2.id));
	assert_false(host_proves(host_find_name("ops"), web2.id));

	refused(two(a, host_of("ops", files_path("web2.key"), "")),
		"is a key of host \"web1\", too");
	assert_non_null(strstr(complaints, "host \"ops\""));
	assert_int_equal(link(files_path("web1.key"), files_path("same.key")), 0);
	snprintf(both, sizeof(both), "key = %s\n", files_path("same.key"));
	refused(host_of("web1", files_path("web1.key"), both), "is a key of host \"web1\"");
	host_stop();
	assert_string_equal(found(web1.id, "10.0.0.1"), "nobody");
}

/*
 * Memory
 */

static void keys_are_in_locked_memory_alone(void **state)
{
	const char *text;
	uint8_t prk0[LEN];

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	assert_int_equal(keys_in_memory(&web1, "made"), 0);
	text = host_of("web1", files_path("web1.key"), "");
	host_install(must_load(text));
	assert_int_equal(keys_in_memory(&web1, "loaded"), 1);
	assert_int_equal(host_prk0(host_find_name("web1"), web1.id, prk0), 0);
	assert_int_equal(keys_in_memory(&web1, "used"), 1);
	host_install(must_load(text));
	assert_int_equal(keys_in_memory(&web1, "loaded again"), 1);
	assert_true(host_remove("web1"));
	assert_false(host_remove("web1"));
	assert_int_equal(keys_in_memory(&web1, "removed"), 0);
	host_install(must_load(text));
	host_stop();
	assert_int_equal(keys_in_memory(&web1, "stopped"), 0);
	host_discard(must_load(text));
	assert_int_equal(keys_in_memory(&web1, "discarded"), 0);
}

/* A child has zeroes in place of keys. */
static void children_have_no_keys(void **state)
{
	uint8_t mine[LEN], theirs[LEN];
	int status;
	pid_t pid;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	host_install(must_load(host_of("web1", files_path("web1.key"), "")));
	assert_int_equal(host_prk0(host_find_name("web1"), web1.id, mine), 0);
	pid = fork();
	if (!pid) {
		host_prk0(host_find_name("web1"), web1.id, theirs);
		_exit(memcmp(mine, theirs, LEN) ? 42 : 43);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	host_stop();
}

static void memory_that_cannot_be_locked_names_the_limit(void **state)
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		struct host_table *table;

		if (setrlimit(RLIMIT_MEMLOCK, &none) || (!geteuid() && setuid(65534)))
			_exit(1);
		table = load("[target]\n", HOST_KEEP_NONE);
		if (table || !strstr(complaints, "RLIMIT_MEMLOCK is 0 bytes") ||
		    !strstr(complaints, "LimitMEMLOCK="))
			_exit(2);
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
}

/*
 * Logins
 */

static void what_a_login_derives(void **state)
{
	static const uint8_t zero[LEN];
	uint8_t key[LEN], want[LEN], is[LEN], again[LEN];
	const struct host *h;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	other = make_key(files_path("other.key"), 0600);
	host_install(must_load(two(host_of("web1", files_path("web1.key"), ""),
				   host_of("ops", files_path("other.key"), ""))));
	h = host_find_name("web1");
	for (int i = 0; i < LEN; i++)
		key[i] = web1.masked[i] ^ MASK;
	assert_int_equal(rdmablk_keysched_prk0(&crypto_keysched, key, want), 0);
	explicit_bzero(key, sizeof(key));
	assert_int_equal(host_prk0(h, web1.id, is), 0);
	assert_memory_equal(is, want, LEN);
	/* for an unknown host, or the key of another one, the result is random */
	assert_int_equal(host_prk0(NULL, web1.id, is), 0);
	assert_int_equal(host_prk0(NULL, web1.id, again), 0);
	assert_memory_not_equal(is, again, LEN);
	assert_memory_not_equal(is, want, LEN);
	assert_memory_not_equal(is, zero, LEN);
	assert_int_equal(host_prk0(h, other.id, is), 0);
	assert_int_equal(host_prk0(h, other.id, again), 0);
	assert_memory_not_equal(is, again, LEN);
	host_stop();
}

static bool expected(const char *from)
{
	struct listen_addr a;

	assert_int_equal(value_address(from, &a), 0);
	return host_expects((struct sockaddr *)&a.sa);
}

static void addresses(void **state)
{
	const char *more = "address = 10.0.0.7, fd99::/64";

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	host_install(must_load(host_of("web1", files_path("web1.key"), more)));
	assert_string_equal(found(web1.id, "10.0.0.7"), "web1");
	assert_string_equal(found(web1.id, "fd99::1"), "web1");
	assert_string_equal(found(web1.id, "10.0.0.8"), "nobody");
	because(web1.id, "10.0.0.8", "host web1 may not come from this address");
	assert_true(expected("10.0.0.7"));
	assert_false(expected("10.0.0.8"));
	/* a network does not name an address */
	assert_false(expected("fd99::1"));
	assert_false(expected("fd99::"));
	host_stop();
	assert_false(expected("10.0.0.7"));
	more = "address = 10.0.0.7\nexpires = 1999-01-01";
	host_install(must_load(host_of("web1", files_path("web1.key"), more)));
	assert_false(expected("10.0.0.7"));
	host_stop();
}

static void identities(void **state)
{
	uint8_t hello[RDMABLK_ID_LEN] = { 1, 2, 3, 4 }, wrong[RDMABLK_ID_LEN] = { 1 };
	uint8_t named[RDMABLK_ID_LEN], ops[RDMABLK_ID_LEN], again[RDMABLK_ID_LEN];
	const char *more = "host-id = " UUID_1;

	(void)state;
	make_key(files_path("web1.key"), 0600);
	make_key(files_path("other.key"), 0600);
	make_key(files_path("web2.key"), 0600);
	host_install(must_load(two(host_of("web1", files_path("web1.key"), more),
				   host_of("ops", files_path("other.key"), ""))));
	assert_true(host_is(host_find_name("web1"), hello));
	assert_false(host_is(host_find_name("web1"), wrong));
	assert_true(host_is(host_find_name("ops"), wrong));
	/* The name of a host's section decides its lease id, whatever its host-id is. */
	host_lease_id(host_find_name("web1"), named);
	assert_memory_not_equal(named, hello, sizeof(hello));
	host_lease_id(host_find_name("ops"), ops);
	assert_memory_not_equal(ops, named, sizeof(ops));
	host_install(must_load(host_of("web1", files_path("web1.key"), "")));
	host_lease_id(host_find_name("web1"), again);
	assert_memory_equal(named, again, sizeof(named));
	host_install(must_load(host_of("ops2", files_path("other.key"), "")));
	host_lease_id(host_find_name("ops2"), again);
	assert_memory_not_equal(ops, again, sizeof(ops));
	refused(two(host_of("web1", files_path("web1.key"), more),
		    host_of("web2", files_path("web2.key"), more)),
		"has the host-id of host \"web1\"");
	host_stop();
}

static void rights(void **state)
{
	struct export_config ec = { .allow = (char *)"web1, backup:ro ops:rw+steal,db:rw" };
	struct export e = { .cfg = &ec };
	const char *text = host_of("web1", files_path("web1.key"), "");

	(void)state;
	make_key(files_path("web1.key"), 0600);
	host_install(must_load(text));
	assert_int_equal(host_may(host_find_name("web1"), &e), ALLOW_READ | ALLOW_WRITE);
	ec.allow = (char *)"web1:ro";
	assert_int_equal(host_may(host_find_name("web1"), &e), ALLOW_READ);
	ec.allow = (char *)"web11 ,\tweb:rw";
	assert_int_equal(host_may(host_find_name("web1"), &e), 0);
	ec.allow = NULL;
	assert_int_equal(host_may(host_find_name("web1"), &e), 0);
	host_stop();
}

/* Number of calls of look(): the daemon would look at its sessions then */
static unsigned int looks;

static void look(void)
{
	looks++;
	loop_stop();
}

static void the_end_of_keys(void **state)
{
	struct config c;
	const char *text = host_of("web1", files_path("web1.key"), "expires = 2027-06-30");
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	host_time = fake_time;
	host_look_ms = 1;
	now = EXPIRES - 1;
	looks = 0;
	config_init(&c);
	assert_int_equal(config_read_stream(&c, "test", file), 0);
	fclose(file);
	assert_int_equal(host_start(&c, look), 0);
	assert_string_equal(found(web1.id, "10.0.0.1"), "web1");
	assert_non_null(host_find_name("web1"));
	now = EXPIRES;
	assert_string_equal(found(web1.id, "10.0.0.1"), "nobody");
	because(web1.id, "10.0.0.1", "the keys of host web1 have expired");
	assert_null(host_find_name("web1"));
	assert_int_equal(loop_run(), 0);	/* ends when the sessions were looked at */
	assert_int_equal(looks, 1);
	/* If the clock goes back, the key is valid again, and its next end is reported again. */
	now = EXPIRES - DAY;
	assert_string_equal(found(web1.id, "10.0.0.1"), "web1");
	host_install(must_load(text));
	now = EXPIRES + DAY;
	assert_int_equal(loop_run(), 0);
	assert_int_equal(looks, 2);
	host_stop();
	config_free(&c);
	host_time = time;
	host_look_ms = 60000;
}

/*
 * The identity of the target
 */

static void the_target_keeps_its_identity(void **state)
{
	static const uint8_t none[RDMABLK_ID_LEN];
	struct config c = { .state_dir = (char *)files_path("identity") };
	uint8_t first[RDMABLK_ID_LEN];

	(void)state;
	assert_int_equal(identity_target(&c), 0);
	memcpy(first, c.target_id, sizeof(first));
	assert_memory_not_equal(first, none, sizeof(none));
	memset(c.target_id, 0, sizeof(c.target_id));
	assert_int_equal(identity_target(&c), 0);
	assert_memory_equal(c.target_id, first, sizeof(first));
	files_text(files_path("identity/target-id"), "no UUID\n");
	assert_int_equal(identity_target(&c), -EINVAL);
	unlink(files_path("identity/target-id"));
	assert_int_equal(identity_target(&c), 0);
	assert_memory_not_equal(c.target_id, first, sizeof(first));
	files_text(files_path("file"), "");
	c.state_dir = (char *)files_path("file");
	assert_int_not_equal(identity_target(&c), 0);
}

/* In the sandbox a reload can still read key files. */
static void the_sandbox_lets_key_files_be_read(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	pid = fork();
	if (!pid) {
		const char *text = host_of("web1", files_path("web1.key"), "");
		int ret = sandbox_begin(true);

		if (ret)
			_exit(77);	/* the kernel has no Landlock */
		if (sandbox_enter())
			_exit(2);
		if (open(files_path("new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
			_exit(3);
		_exit(load(text, HOST_KEEP_NONE) ? 42 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		printf("SKIP no Landlock\n");
	else
		assert_int_equal(WEXITSTATUS(status), 42);
}

static int group_setup(void **state)
{
	const char *missing;

	if (files_setup(state) || crypto_start(&missing))
		return -1;
	return loop_init();
}

static int group_teardown(void **state)
{
	loop_exit();
	crypto_stop();
	free(complaints);
	return files_teardown(state);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_others_are_refused),
		cmocka_unit_test(other_things_are_no_key_files),
		cmocka_unit_test(credentials),
		cmocka_unit_test(keys_belong_to_one_host),
		cmocka_unit_test(keys_are_in_locked_memory_alone),
		cmocka_unit_test(children_have_no_keys),
		cmocka_unit_test(memory_that_cannot_be_locked_names_the_limit),
		cmocka_unit_test(what_a_login_derives),
		cmocka_unit_test(addresses),
		cmocka_unit_test(identities),
		cmocka_unit_test(rights),
		cmocka_unit_test(the_end_of_keys),
		cmocka_unit_test(the_target_keeps_its_identity),
		cmocka_unit_test(the_sandbox_lets_key_files_be_read),
	};

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
