// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values, keys and files of the daemon's configuration: valid ones are accepted, all others
 * are errors that name the place.
 *
 * Sources: target/config/config.c target/config/config_keys.c target/config/config_file.c
 *	   target/config/options.c target/base/value.c
 * Libraries: inih
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/near.h"
#include "../../target/base/util.h"
#include "../../target/config/config.h"
#include "../../target/config/options.h"

static void sizes(void **state)
{
	static const char * const bad[] = { "", "K", "-1", "1 K", "1KB", "0x10", "1.5G",
					    "18446744073709551616", "20000000T" };
	uint64_t n;

	(void)state;
	assert_int_equal(value_size("4096", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(value_size("3k", &n), 0);
	assert_int_equal(n, 3072);
	assert_int_equal(value_size("1T", &n), 0);
	assert_true(n == 1ULL << 40);
	assert_int_equal(value_size("15999999T", &n), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(value_size(bad[i], &n), 0);
}

static void addresses(void **state)
{
	static const struct {
		const char *text, *want;
	} good[] = {
		{ "10.0.0.2", "10.0.0.2:20420" },
		{ "10.0.0.2:1", "10.0.0.2:1" },
		{ "[fd99::2]", "[fd99::2]:20420" },
		{ "[fd99::2]:65535", "[fd99::2]:65535" },
		{ "fd99::2", "[fd99::2]:20420" },
		{ "0.0.0.0", "0.0.0.0:20420" },
	};
	static const char * const bad[] = { "", ":1", "host", "10.0.0.2:", "10.0.0.2:0",
					    "10.0.0.2:65536", "[fd99::2", "[fd99::2]x",
					    "[]", "10.0.0.2:1x", "10.0.0.256" };
	struct listen_addr a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(value_address(good[i].text, &a), 0);
		assert_string_equal(a.text, good[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(value_address(bad[i], &a), 0);
	value_address("127.1.2.3", &a);
	assert_true(value_loopback(&a));
	value_address("::1", &a);
	assert_true(value_loopback(&a));
	value_address("0.0.0.0", &a);
	assert_false(value_loopback(&a));
	value_address("::", &a);
	assert_false(value_loopback(&a));
}

static bool is_in(const char *networks, const char *address)
{
	struct listen_addr a;

	assert_true(value_networks_ok(networks));
	assert_int_equal(value_address(address, &a), 0);
	return value_in_networks(networks, (struct sockaddr *)&a.sa);
}

static bool is_named(const char *networks, const char *address)
{
	struct in6_addr *names, ip;
	bool named = false;
	struct listen_addr a;
	int nr;

	assert_int_equal(value_address(address, &a), 0);
	ip = value_ip((struct sockaddr *)&a.sa);
	nr = value_addresses(networks, &names);
	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++)
		named |= IN6_ARE_ADDR_EQUAL(&names[i], &ip);
	free(names);
	return named;
}

static void networks(void **state)
{
	static const char * const bad[] = {
		"", " ,", "host", "10.0.0.1/33", "10.0.0.1/24", "10.0.0.0/", "10.0.0/24",
		"fd99::/129", "fd99::1/64", "[fd99::1]", "10.0.0.1:20420", "10.0.0.0/8 x",
		"10.0.0.0/-1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(value_networks_ok(bad[i]));
	assert_true(is_in("10.0.0.2", "10.0.0.2"));
	assert_false(is_in("10.0.0.2", "10.0.0.3"));
	assert_true(is_in("10.0.0.0/24", "10.0.0.255"));
	assert_false(is_in("10.0.0.0/24", "10.0.1.0"));
	assert_true(is_in("10.0.0.4/30", "10.0.0.7"));
	assert_false(is_in("10.0.0.4/30", "10.0.0.8"));
	assert_true(is_in("0.0.0.0/0", "192.0.2.1"));
	assert_false(is_in("0.0.0.0/0", "fd99::1"));
	assert_true(is_in("::/0", "fd99::1"));
	assert_false(is_in("::/0, ::/80 ::/1", "192.0.2.1"));
	assert_true(is_in("::/0, 0.0.0.0/0", "192.0.2.1"));
	assert_true(is_in("::ffff:0:0/96", "192.0.2.1"));
	assert_true(is_in("fd99::/63", "fd99:0:0:1::1"));
	assert_false(is_in("fd99::/64", "fd99:0:0:1::1"));
	assert_true(is_in("192.0.2.1", "::ffff:192.0.2.1"));
	assert_true(is_named("10.0.0.0/8, 10.0.0.2", "10.0.0.2"));
	assert_true(is_named("10.0.0.2/32", "10.0.0.2"));
	assert_true(is_named("fd99::1", "fd99::1"));
	assert_false(is_named("10.0.0.0/8, 10.0.0.2/31", "10.0.0.2"));
	assert_false(is_named("fd99::/127", "fd99::1"));
	assert_true(is_in("::ffff:192.0.2.0/120", "192.0.2.7"));
	assert_true(is_in(" 10.0.0.1,\t10.0.0.2 , fd99::2", "10.0.0.2"));
	assert_true(is_in("10.0.0.1,10.0.0.2,fd99::2", "fd99::2"));
	assert_false(is_in("10.0.0.1,10.0.0.2,fd99::2", "10.0.0.3"));
}

static void two_lists_of_networks(void **state)
{
	static const char * const lists[][3] = {
		{ "10.0.0.2", "10.0.0.2", "10.0.0.2" }, { "10.0.0.2", "10.0.0.3", "" },
		{ "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16" },
		{ "10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/16" },
		{ "10.1.0.0/16, 192.0.2.1", "192.0.2.0/24 10.0.0.0/8", "10.1.0.0/16 192.0.2.1" },
		{ "10.0.0.0/8 fd99::/16", "192.0.2.1\tfd99:1::/32", "fd99:1::/32" },
		{ "::/0", "10.0.0.0/8 fd99::1", "fd99::1" }, { "::/0", "::/1", "::/1" },
		{ "::/80", "0.0.0.0/0", "" }, { "::ffff:0:0/96", "::/0", "" },
		{ "0.0.0.0/0", "10.0.0.0/8 fd99::1", "10.0.0.0/8" },
		{ "::ffff:10.0.0.0/104", "10.0.0.2", "10.0.0.2" },
		{ "10.0.0.0/8 10.0.0.0/16", "10.0.0.0/8", "10.0.0.0/8" },
		{ "", "10.0.0.0/8", "" }, { "10.0.0.0/8", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char *list = value_networks_both(lists[i][0], lists[i][1]);

		assert_string_equal(list, lists[i][2]);
		free(list);
	}
}

static void uuids(void **state)
{
	const char *text = "357fd8ba-e95a-4b0a-8c1d-74865a5c9127";
	uint8_t uuid[RDMABLK_ID_LEN];
	char back[37], cut[64];

	(void)state;
	assert_int_equal(value_uuid(text, uuid), 0);
	value_uuid_text(uuid, back);
	assert_string_equal(back, text);
	for (int len = 0; len < 36; len++) {
		snprintf(cut, sizeof(cut), "%.*s", len, text);
		assert_int_not_equal(value_uuid(cut, uuid), 0);
	}
	snprintf(cut, sizeof(cut), "%s0", text);
	assert_int_not_equal(value_uuid(cut, uuid), 0);
}

/* Reads @text and says how many errors it had. */
static unsigned int read_text(struct config *cfg, const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	config_init(cfg);
	assert_int_equal(config_read_stream(cfg, "test", file), 0);
	fclose(file);
	return cfg->errors;
}

static unsigned int errors_of(const char *text)
{
	struct config cfg;
	unsigned int n = read_text(&cfg, text);

	if (!n) {
		config_finish(&cfg);
		n = cfg.errors;
	}
	config_free(&cfg);
	return n;
}

#define TARGET	"[target]\nlisten = 127.0.0.1\n"
#define DISK	"[export d]\ntype = memory\nsize = 1M\n"

static void a_whole_file(void **state)
{
	struct config cfg;
	struct export_config *ec;

	(void)state;
	assert_int_equal(read_text(&cfg,
				   "; comment\n"
				   "[target]\n"
				   "listen = 10.0.0.1, [::1]:7\n"
				   "listen = 10.0.0.2\n"
				   "insecure = yes\n"
				   "log-level = debug\n"
				   "max-pinned = 8G\n"
				   "[export disk0]\n"
				   "type = memory\n"
				   "size = 1G\n"
				   "ro = yes\n"
				   "block = 4K\n"
				   "region = 2M\n"), 0);
	config_finish(&cfg);
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(cfg.nr_listen, 3);
	assert_int_equal(cfg.log_level, LOG_DEBUG);
	assert_true(cfg.max_pinned == 8ULL << 30);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_string_equal(ec->name, "disk0");
	assert_true(ec->read_only && !ec->shared);
	assert_int_equal(ec->block, 4096);
	assert_int_equal(ec->region, 2 << 20);
	config_free(&cfg);
}

#define UUID_OF_HOST	"host-id = 357fd8ba-e95a-4b0a-8c1d-74865a5c9127\n"
#define UUID(n)	"uuid = 357fd8ba-e95a-4b0a-8c1d-74865a5c912" #n "\n"
#define OTHER	"[export e]\ntype = memory\nsize = 1M\n"

static void what_is_wrong_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(errors_of(TARGET DISK), 0);
	assert_int_equal(errors_of(DISK), 1);
	assert_int_equal(errors_of(TARGET), 1);
	assert_int_equal(errors_of("[target]\nlisten = 10.0.0.1\n" DISK), 1);
	assert_int_equal(errors_of("\xef\xbb\xbf" TARGET DISK), 0);
	assert_int_equal(errors_of("[target]\nlisten = 0.0.0.0\n" DISK), 1);
	assert_int_equal(errors_of("[target]\nlisten = 10.0.0.1\ninsecure = 1\n" DISK), 0);
	assert_int_equal(errors_of(TARGET DISK "size = 2M\n"), 1);
	assert_int_equal(errors_of(TARGET DISK DISK), 1);
	assert_int_equal(errors_of(TARGET DISK "[export e]\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "sze = 2M\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "[exports e]\nx = 1\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "[export a/b]\nsize = 1M\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "rubbish\n"), 1);
	assert_int_equal(errors_of(TARGET DISK UUID(1) OTHER UUID(2)), 0);
	assert_int_equal(errors_of(TARGET DISK UUID(1) OTHER UUID(1)), 1);
	assert_int_equal(errors_of("x = 1\n" TARGET DISK), 1);
	assert_int_equal(errors_of(TARGET "keep-alive-min = 99\n" DISK), 1);
	assert_int_equal(errors_of(TARGET "keep-alive-min = 61000\n" DISK), 1);
	assert_int_equal(errors_of(TARGET "[export d]\ntype = memory\nsize = 4097\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "region = 3M\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "region = 512K\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "block = 1024\n"), 1);
	assert_int_equal(errors_of(TARGET "[export d]\ntype = memory\nsize = 1T\n"
				   "region = 1M\n"), 1);
}

#define FILE_FULL	"[export d]\nfile = /x\ncache = full\n"
#define FILE_NONE	"[export d]\nfile = /x\n"

static void files(void **state)
{
	struct config cfg;
	struct export_config *ec;

	(void)state;
	assert_int_equal(read_text(&cfg, TARGET FILE_FULL "arena = /dev/shm/a\n"
				   "[export e]\nfile = /y\nslot-bytes = 64K\n"
				   "slot-memory = 1M\nfault = /run/f\n"
				   "max-sessions = 7\nmax-queues = 8\nmax-pinned = 1K\n"
				   "[export f]\nsize = 8K\nfile = /z\ncache = none\n"
				   "type = file\nblock = 4K\n"
				   "[export g]\ntype = memory\nsize = 1M\n"), 0);
	config_finish(&cfg);
	assert_int_equal(cfg.errors, 0);
	assert_in_range(cfg.io_threads, 1, 4);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_string_equal(ec->type, "file");
	assert_string_equal(ec->file, "/x");
	assert_int_equal(ec->cache, CACHE_FULL);
	assert_int_equal(ec->size, 0);
	assert_int_equal(ec->block, 0);		/* the device's */
	ec = TAILQ_NEXT(ec, entry);
	assert_int_equal(ec->cache, CACHE_NONE);
	assert_int_equal(ec->slot_bytes, 64 << 10);
	assert_int_equal(ec->slot_memory, 1 << 20);
	assert_string_equal(ec->fault, "/run/f");
	assert_int_equal(ec->max_sessions, 7);
	assert_int_equal(ec->max_queues, 8);
	assert_int_equal(ec->max_pinned, 1024);
	ec = TAILQ_NEXT(ec, entry);
	assert_int_equal(ec->cache, CACHE_NONE);
	assert_int_equal(ec->block, 4096);
	assert_int_equal(ec->slot_bytes, 128 << 10);
	assert_int_equal(ec->slot_memory, 64 << 20);
	assert_int_equal(ec->max_sessions, 0);
	assert_int_equal(ec->max_queues, 0);
	assert_int_equal(ec->max_pinned, 0);
	ec = TAILQ_NEXT(ec, entry);
	assert_null(ec->file);
	assert_int_equal(ec->block, 512);
	config_free(&cfg);
}

static void what_does_not_go_with_a_file(void **state)
{
	(void)state;
	assert_int_equal(errors_of(TARGET FILE_FULL), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE), 0);
	assert_int_equal(errors_of(TARGET "[export d]\ntype = file\n"), 1);
	assert_int_equal(errors_of(TARGET "[export d]\nfile =\n"), 1);
	assert_int_equal(errors_of(TARGET "[export d]\nfile = /x\ncache = half\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "shared = yes\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "shared = yes\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE "arena = /dev/shm/a\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "region = 2M\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "hugepages = no\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "hugepages = no\nregion = 2M\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_FULL "hugepages = no\n"
				   "arena = /dev/shm/a\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "slot-bytes = 64K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "slot-memory = 64M\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "size = 1000000\nblock = 4K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-bytes = 5000\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-bytes = 2K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-bytes = 32M\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-memory = 128K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-memory = 256K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-memory = 511K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "slot-memory = 512K\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE
				   "slot-memory = 512K\nslot-bytes = 256K\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "max-sessions = 0\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "max-sessions = 4294967296\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "max-queues = 0\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "max-queues = many\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "max-pinned = 0\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "size = 2M\nmax-pinned = 1M\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_FULL "size = 2M\nmax-pinned = 1M\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "size = 2M\nmax-pinned = 2M\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_FULL "max-pinned = 1M\n"), 0);
	assert_int_equal(errors_of(TARGET "[export d]\ntype = memory\nsize = 2M\n"
				   "max-pinned = 1M\n"), 1);
	assert_int_equal(errors_of(TARGET "io-threads = 0\n" FILE_NONE), 1);
	assert_int_equal(errors_of(TARGET "io-threads = 65\n" FILE_NONE), 1);
	assert_int_equal(errors_of(TARGET "io-threads = 64\n" FILE_NONE), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE "fault = /run/f\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE "epoch = stable\nstate = /x\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE "epoch = boot\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_NONE "epoch = always\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_NONE "state =\n"), 1);
	assert_int_equal(errors_of(TARGET FILE_FULL "state = /x\n"), 0);
	assert_int_equal(errors_of(TARGET FILE_FULL "epoch = stable\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "state = /x\n"), 0);
	assert_int_equal(errors_of(TARGET DISK "epoch = stable\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "file = /x\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "cache = full\n"), 1);
	assert_int_equal(errors_of(TARGET DISK "fault = /run/f\n"), 1);
}

static void a_line_too_long_is_one_error(void **state)
{
	char text[5000] = "[target]\nname = ";

	(void)state;
	memset(text + strlen(text), 'a', 3000);
	strcat(text, "\nlisten = 127.0.0.1\n" DISK);
	assert_true(errors_of(text) >= 1);
}

static void specs(void **state)
{
	struct config cfg;
	struct export_config *ec;

	(void)state;
	config_init(&cfg);
	config_export_spec(&cfg, "disk0,memory,size=1G,ro,shared,arena=/dev/shm/x");
	assert_int_equal(cfg.errors, 0);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_true(ec->read_only && ec->shared);
	assert_string_equal(ec->arena, "/dev/shm/x");
	config_export_spec(&cfg, "disk0,memory,size=1G");
	assert_int_equal(cfg.errors, 1);
	config_export_spec(&cfg, "disk2,tape");
	config_export_spec(&cfg, ",memory");
	config_export_spec(&cfg, "disk3,memory,size");
	assert_int_equal(cfg.errors, 4);
	config_free(&cfg);
}

static void specs_of_files(void **state)
{
	struct config cfg;
	struct export_config *ec;

	(void)state;
	config_init(&cfg);
	config_export_spec(&cfg, "d,file=/var/lib/x=y.img,cache=full,ro");
	config_export_spec(&cfg, "e,file=/dev/loop0");
	assert_int_equal(cfg.errors, 0);
	TAILQ_FOREACH(ec, &cfg.exports, entry)
		config_export_check(&cfg, ec);
	assert_int_equal(cfg.errors, 0);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_string_equal(ec->file, "/var/lib/x=y.img");
	assert_string_equal(ec->type, "file");
	assert_true(ec->read_only && ec->cache == CACHE_FULL);
	ec = TAILQ_NEXT(ec, entry);
	assert_string_equal(ec->file, "/dev/loop0");
	assert_true(!ec->read_only && ec->cache == CACHE_NONE);
	config_export_spec(&cfg, "f,file");
	config_export_spec(&cfg, "g,file=");
	assert_int_equal(cfg.errors, 1);
	config_export_check(&cfg, TAILQ_NEXT(ec, entry));
	assert_int_equal(cfg.errors, 2);
	config_free(&cfg);
}

#define ADDRESSES	"[target]\nlisten = 127.0.0.2, 127.0.0.3\nlisten = 127.0.0.4\n" \
			"drain-ms = 7\nio-threads = 7\n"

/* Parses the configuration @text and the options @more, which end with NULL. */
static int options(struct config *cfg, const char *text, char **more)
{
	char path[] = "/tmp/rdmablk-unit-XXXXXX";
	char *argv[16] = { "rdmablkd", "--config", path };
	FILE *file = fdopen(mkstemp(path), "w");
	int argc = 3, ret;

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	while (more[argc - 3]) {
		argv[argc] = more[argc - 3];
		argc++;
	}
	config_init(cfg);
	ret = options_parse(cfg, argc, argv);
	if (ret == OPTIONS_RUN) {	/* the same again, as for a reload */
		config_free(cfg);
		config_init(cfg);
		cfg->complaints = stderr;
		assert_int_equal(options_again(cfg), 0);
	}
	unlink(path);
	return ret;
}

#define WORDS(...)	((char *[]){ __VA_ARGS__, NULL })

static void what_is_asked_listens(const struct config *cfg, char * const *want)
{
	unsigned int i;

	for (i = 0; want[i]; i++) {
		assert_in_range(cfg->nr_listen, i + 1, UINT32_MAX);
		assert_string_equal(cfg->listen[i].text, want[i]);
	}
	assert_int_equal(cfg->nr_listen, i);
}

static void options_stand_above_the_file(void **state)
{
	struct config cfg;

	(void)state;
	assert_int_equal(options(&cfg, ADDRESSES DISK, WORDS(NULL)), OPTIONS_RUN);
	what_is_asked_listens(&cfg, WORDS("127.0.0.2:20420", "127.0.0.3:20420",
					  "127.0.0.4:20420"));
	config_free(&cfg);
	assert_int_equal(options(&cfg, ADDRESSES DISK,
				 WORDS("--listen", "127.0.0.9", "--drain-ms", "8", "--listen",
				       "127.0.0.3,[::1]:1", "--export", "e,memory,size=1M")),
			 OPTIONS_RUN);
	what_is_asked_listens(&cfg, WORDS("127.0.0.9:20420", "127.0.0.3:20420", "[::1]:1"));
	assert_int_equal(cfg.drain_ms, 8);
	assert_int_equal(cfg.io_threads, 7);
	/* exports of the file and of the command line add up */
	assert_string_equal(TAILQ_FIRST(&cfg.exports)->name, "d");
	assert_string_equal(TAILQ_LAST(&cfg.exports, export_config_list)->name, "e");
	config_free(&cfg);
}

/*
 * An address that the command line replaces may be one that needs "insecure", but it must be
 * valid. An address or an export given twice is an error.
 */
static void what_stands_below_is_still_read(void **state)
{
	struct config cfg;

	(void)state;
	assert_int_equal(options(&cfg, "[target]\nlisten = 10.0.0.1\n" DISK,
				 WORDS("--listen", "127.0.0.1")), OPTIONS_RUN);
	config_free(&cfg);
	assert_int_equal(options(&cfg, "[target]\nlisten = nowhere\n" DISK,
				 WORDS("--listen", "127.0.0.1")), EXIT_USAGE);
	config_free(&cfg);
	assert_int_equal(options(&cfg, TARGET DISK, WORDS("--listen", "127.0.0.1",
							  "--listen", "127.0.0.1")),
			 EXIT_USAGE);
	config_free(&cfg);
	assert_int_equal(options(&cfg, TARGET DISK, WORDS("--export", "d,memory,size=1M")),
			 EXIT_USAGE);
	config_free(&cfg);
}

/* The option @word ends the daemon with the message @want. */
static void refused_option(char *word, const char *want)
{
	FILE *old = stderr;
	struct config cfg;
	char *said = NULL;
	size_t size;

	stderr = open_memstream(&said, &size);
	assert_non_null(stderr);
	assert_int_equal(options(&cfg, TARGET DISK, WORDS(word)), EXIT_USAGE);
	fclose(stderr);
	stderr = old;
	assert_string_equal(said, want);
	free(said);
	config_free(&cfg);
}

static void an_unknown_option_is_explained(void **state)
{
	(void)state;
	refused_option("--lisen", "rdmablkd: unknown option --lisen; did you mean --listen?\n");
	refused_option("--auht=psk", "rdmablkd: unknown option --auht; did you mean --auth?\n");
	refused_option("--chekc", "rdmablkd: unknown option --chekc; did you mean --check?\n");
	refused_option("--bogus", "rdmablkd: unknown option --bogus; see 'rdmablkd --help'\n");
	refused_option("--max", "rdmablkd: --max begins several options; see 'rdmablkd --help'\n");
	refused_option("-x", "rdmablkd: unknown option -x; see 'rdmablkd --help'\n");
	refused_option("--listen", "rdmablkd: --listen needs a value\n");
	refused_option("--check=1", "rdmablkd: --check=1 takes no value\n");
	/* Only builds for tests have --fault, so it is not suggested. */
	refused_option("--falt", "rdmablkd: unknown option --falt; see 'rdmablkd --help'\n");
}

#define HOST(name, more)	"[host " name "]\nkey = " name "\n" more
#define ALLOW(list)		TARGET HOST("web1", "") DISK "allow = " list "\n"

static void hosts(void **state)
{
	const struct host_config *hc;
	struct config cfg;

	(void)state;
	assert_int_equal(read_text(&cfg, "[target]\nlisten = 10.0.0.1\n"
				   "[host web1]\nkey = web1\nkey = /k/web1-2027.key\n"
				   "host-id = 357fd8ba-e95a-4b0a-8c1d-74865a5c9127\n"
				   "expires = 2027-06-30\naddress = 10.0.0.7, 10.1.0.0/16\n"
				   HOST("ops", "") DISK "allow = web1:ro, ops:rw+steal\n"), 0);
	config_finish(&cfg);
	assert_int_equal(cfg.errors, 0);	/* not only loopback: hosts have keys */
	assert_int_equal(cfg.auth, AUTH_PSK);
	hc = TAILQ_FIRST(&cfg.hosts);
	assert_string_equal(hc->name, "web1");
	assert_int_equal(hc->nr_keys, 2);
	assert_string_equal(hc->key[0], "web1");
	assert_string_equal(hc->key[1], "/k/web1-2027.key");
	assert_true(hc->has_id && hc->host_id[15] == 0x27);
	assert_true(hc->expires == 1814313600);
	assert_string_equal(hc->address, "10.0.0.7, 10.1.0.0/16");
	hc = TAILQ_NEXT(hc, entry);
	assert_false(hc->has_id || hc->address || hc->expires);
	assert_string_equal(TAILQ_FIRST(&cfg.exports)->allow, "web1:ro, ops:rw+steal");
	config_free(&cfg);
}

static void what_is_wrong_with_a_host(void **state)
{
	(void)state;
	assert_int_equal(errors_of(TARGET HOST("web1", "") DISK), 0);
	assert_int_equal(errors_of(TARGET "[host web1]\n" DISK), 1);
	assert_int_equal(errors_of(TARGET "[host web1]\nexpires = 2027-06-30\n" DISK), 1);
	assert_int_equal(errors_of(TARGET "[host a/b]\nkey = x\n" DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "") HOST("web1", "") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "key = a\n") DISK), 0);
	assert_int_equal(errors_of(TARGET HOST("web1", "key = a\nkey = b\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "key = web1\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "key = a/b\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "key = ../a\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "key =\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "ro = yes\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "address = web1\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "host-id = 1\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2027-02-29\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2028-02-29\n") DISK), 0);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2027-13-01\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2027-00-01\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 27-06-30\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2027-06-3\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", "expires = 2027-06-30x\n") DISK), 1);
	assert_int_equal(errors_of(TARGET HOST("web1", UUID_OF_HOST) HOST("b", UUID_OF_HOST)
				   DISK), 1);
}

/* There are @n problems, and @text is one of them. */
static void complains(const char *conf, unsigned int n, const char *text)
{
	char *said = NULL;
	struct config cfg;
	FILE *file = fmemopen((void *)conf, strlen(conf), "r");
	size_t len;

	config_init(&cfg);
	cfg.complaints = open_memstream(&said, &len);
	assert_int_equal(config_read_stream(&cfg, "test", file), 0);
	fclose(file);
	if (!cfg.errors)
		config_finish(&cfg);
	fclose(cfg.complaints);
	assert_int_equal(cfg.errors, n);
	if (!strstr(said, text))
		fail_msg("\"%s\" has no \"%s\"", said, text);
	free(said);
	config_free(&cfg);
}

static void what_was_meant(void **state)
{
	(void)state;
	complains(TARGET DISK "sze = 2M\n", 1, "unknown key \"sze\"; did you mean \"size\"?\n");
	complains(TARGET DISK "foreground = 2M\n", 1, "unknown key \"foreground\"\n");
	complains(TARGET DISK "[exports x]\n", 1,
		  "test:6: unknown section [exports x]; did you mean [export NAME]?\n");
	complains(TARGET DISK "[Target]\n", 1,
		  "unknown section [Target]; did you mean [target]?\n");
	complains(TARGET DISK "[disk x]\n", 1,
		  "unknown section [disk x]; there are [target], [listen ADDR], [host NAME] and [export NAME]\n");
	complains(TARGET DISK "[listeners]\n", 1, "did you mean [listen ADDR]?\n");
}

/* Reads @conf, and then --listen @option, unless that is NULL. */
static void read_listens(struct config *cfg, const char *conf, const char *option)
{
	FILE *file = fmemopen((void *)conf, strlen(conf), "r");

	config_init(cfg);
	assert_int_equal(config_read_stream(cfg, "test", file), 0);
	fclose(file);
	cfg->seen = 0;
	if (option)
		config_set(cfg, NULL, "listen", option, "option");
	assert_int_equal(cfg->errors, 0);
}

static void sections_of_addresses(void **state)
{
	static const char conf[] =
		"[listen [fd00::1]:99]\nallow-address = fd00::/64\n[target]\nlisten = 10.0.0.3\n"
		"[listen 10.0.0.1]\nallow-address = 10.0.0.0/24, 192.0.2.1\n"
		"[listen 10.0.0.2:7] ; [all]\n[listen fd00::2]\n";
	static const char *const want[] = {
		"[fd00::1]:99", "10.0.0.3:20420", "10.0.0.1:20420", "10.0.0.2:7",
		"[fd00::2]:20420",
	};
	struct listen_addr other;
	struct config cfg, now;

	(void)state;
	read_listens(&cfg, conf, NULL);
	assert_int_equal(cfg.nr_listen, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_string_equal(cfg.listen[i].text, want[i]);
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]), "fd00::/64");
	assert_null(config_listen_networks(&cfg, &cfg.listen[1]));
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[2]),
			    "10.0.0.0/24, 192.0.2.1");
	assert_null(config_listen_networks(&cfg, &cfg.listen[3]));
	/* an option replaces the addresses, but the networks of their sections still count */
	read_listens(&now, conf, "10.0.0.1");
	assert_int_equal(now.nr_listen, 1);
	assert_string_equal(config_listen_networks(&now, &now.listen[0]),
			    "10.0.0.0/24, 192.0.2.1");
	config_free(&now);
	/* a reload */
	read_listens(&now, "[listen 10.0.0.1]\n[listen 10.0.0.2:7]\nallow-address = ::1\n"
		     "[target]\nlisten = 10.0.0.9\n", NULL);
	assert_true(config_listen_take(&cfg, &now, &cfg.listen[2]));
	assert_null(config_listen_networks(&cfg, &cfg.listen[2]));
	assert_true(config_listen_take(&cfg, &now, &cfg.listen[3]));
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[3]), "::1");
	assert_false(config_listen_take(&cfg, &now, &cfg.listen[3]));
	assert_false(config_listen_take(&cfg, &now, &cfg.listen[1]));
	/* an address that the new file does not have keeps its networks */
	assert_false(config_listen_take(&cfg, &now, &cfg.listen[0]));
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]), "fd00::/64");
	/* an address without a section in the new file, and one that gets its first section */
	other = cfg.listen[1];
	assert_false(config_listen_take(&now, &cfg, &other));
	assert_true(config_listen_take(&now, &cfg, &cfg.listen[0]));
	assert_string_equal(config_listen_networks(&now, &cfg.listen[0]), "fd00::/64");
	config_free(&now);
	config_free(&cfg);
	/* a section of an address that "listen" names, too, before or behind the section */
	read_listens(&cfg, "[listen 10.0.0.1]\nallow-address = ::1\n[target]\n"
		     "listen = 10.0.0.1, 10.0.0.2\n[listen 10.0.0.2]\nallow-address = ::2\n", NULL);
	assert_int_equal(cfg.nr_listen, 2);
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]), "::1");
	assert_string_equal(config_listen_networks(&cfg, &cfg.listen[1]), "::2");
	config_free(&cfg);
	complains(TARGET DISK "[listen localhost]\n", 1,
		  "test:6: listen localhost: not a numeric address; ADDR[:PORT], IPv6 in brackets, link-local%INTERFACE\n");
	/* a bracket is missing: the keys that follow do not count for the section above */
	complains(TARGET DISK "[listen [fd00::1]\nallow-address = fd00::/64\n", 1,
		  "test:6: listen [fd00::1: not a numeric address; ADDR[:PORT], IPv6 in brackets, link-local%INTERFACE\n");
	complains("[[export d]\nread-only = 1\n" TARGET DISK, 1,
		  "test:1: unknown section [[export d]");
	complains(TARGET DISK "[[export d]\nread-only = 1\n", 1,
		  "test:6: unknown section [[export d]");
	complains(TARGET DISK "[listen 10.0.0.7]\n[listen 10.0.0.7:20420]\n", 1,
		  "test:7: listen 10.0.0.7:20420: the same address twice\n");
	complains(TARGET DISK "[listen 10.0.0.7]\nallow-adress = ::1\n", 1,
		  "unknown key \"allow-adress\"; did you mean \"allow-address\"?\n");
	complains(TARGET DISK "[listen 10.0.0.7]\nallow-address = 10.0.0.0/33\n", 1,
		  "allow-address = 10.0.0.0/33: ");
	complains(TARGET DISK "[listen 10.0.0.7]\nallow-address = ::1\nallow-address = ::1\n", 1,
		  "\"allow-address\" was given before\n");
}

static char drop_dir[40];

static const char *drop_path(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", drop_dir, name);
	return path;
}

static void drop(const char *name, const char *text)
{
	FILE *file = fopen(drop_path(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Reads the files; @said gets the complaints. Return: the number of problems */
static unsigned int drop_read(struct config *cfg, char *said, size_t size)
{
	FILE *out = fmemopen(said, size, "w");

	config_init(cfg);
	cfg->complaints = out;
	assert_int_equal(config_read(cfg, drop_path("conf")), 0);
	if (!cfg->errors)
		config_finish(cfg);
	fclose(out);
	return cfg->errors;
}

/* Files conf.d/NAME.conf are read after conf, sorted by bytes of their names, and add to it. */
static void drop_in_files(void **state)
{
	static const char *const ignored[] = {
		"conf.d/b.conf~", "conf.d/b.conf.dpkg-old", "conf.d/.b.conf", "conf.d/README",
	};
	struct export_config *ec;
	struct config cfg;
	char said[1024];

	(void)state;
	snprintf(drop_dir, sizeof(drop_dir), "/tmp/rdmablk-drop-XXXXXX");
	assert_non_null(mkdtemp(drop_dir));
	drop("conf", TARGET DISK);
	assert_int_equal(drop_read(&cfg, said, sizeof(said)), 0);
	config_free(&cfg);
	assert_int_equal(mkdir(drop_path("conf.d"), 0700), 0);
	drop("conf.d/b.conf", "[export z]\ntype = memory\nsize = 1M\n");
	drop("conf.d/B.conf", "[export y]\ntype = memory\nsize = 1M\n"
	     "[target]\nlisten = 127.0.0.2\nlog-level = debug\n");
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		drop(ignored[i], "nonsense\n");
	assert_int_equal(drop_read(&cfg, said, sizeof(said)), 0);
	ec = TAILQ_FIRST(&cfg.exports);
	assert_string_equal(ec->name, "d");
	ec = TAILQ_NEXT(ec, entry);
	assert_string_equal(ec->name, "y");
	ec = TAILQ_NEXT(ec, entry);
	assert_string_equal(ec->name, "z");
	assert_null(TAILQ_NEXT(ec, entry));
	assert_int_equal(cfg.nr_listen, 2);
	assert_int_equal(cfg.log_level, LOG_DEBUG);
	config_free(&cfg);

	/* Each problem is reported with file and line; so is a key or an export given twice. */
	drop("conf.d/b.conf", "[export d]\ntype = memory\n\n[target]\nlog-level = info\n");
	assert_int_equal(drop_read(&cfg, said, sizeof(said)), 2);
	assert_non_null(strstr(said, "/conf.d/b.conf:1: export \"d\" exists already, at "));
	assert_non_null(strstr(said, "/conf.d/b.conf:5: \"log-level\" was given before\n"));
	config_free(&cfg);
	unlink(drop_path("conf.d/b.conf"));
	assert_int_equal(symlink("nowhere", drop_path("conf.d/b.conf")), 0);
	assert_int_equal(drop_read(&cfg, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "/conf.d/b.conf: cannot read it: No such file"));
	config_free(&cfg);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		unlink(drop_path(ignored[i]));
	unlink(drop_path("conf.d/B.conf"));
	unlink(drop_path("conf.d/b.conf"));
	rmdir(drop_path("conf.d"));
	drop("conf.d", "");
	assert_int_equal(drop_read(&cfg, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "/conf.d: cannot read it: Not a directory\n"));
	config_free(&cfg);
	unlink(drop_path("conf.d"));
	unlink(drop_path("conf"));
	rmdir(drop_dir);
}

static void lists_of_hosts(void **state)
{
	static const char * const good[] = {
		"web1", "web1:rw", "web1:ro", "web1:rw+steal", " , web1,", "",
	};
	static const char * const bad[] = {
		"web1 web1", "web1:", "web1:wo", "web1:ro+steal", "web1:rw+", ":ro", "a/b",
		"web1:ro:ro", "web1:RO", "web1:rosteal", "-a",
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(text, sizeof(text), ALLOW("%s"), good[i]);
		assert_int_equal(errors_of(text), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), ALLOW("%s"), bad[i]);
		if (errors_of(text) != 1)
			fail_msg("taken: allow = %s", bad[i]);
	}
	complains(ALLOW("web1, db:ro"), 1,
		  "export \"d\" allows host \"db\", and there is no [host db]");
	assert_int_equal(value_allow_rights("a:ro b", "a"), ALLOW_READ);
	assert_int_equal(value_allow_rights("a:ro b", "b"), ALLOW_READ | ALLOW_WRITE);
	assert_int_equal(value_allow_rights("a:rw+steal", "a"),
			 ALLOW_READ | ALLOW_WRITE | ALLOW_STEAL);
	assert_int_equal(value_allow_rights("a:ro b", "c"), 0);
	assert_int_equal(value_allow_rights("", "a"), 0);
	assert_int_equal(value_allow_rights(NULL, "a"), 0);
}

static void two_lists_of_hosts(void **state)
{
	static const char * const lists[][3] = {
		{ "a", "a", "a" }, { "a:rw", "a, b", "a" }, { "a b", "b:ro a:rw+steal", "a b:ro" },
		{ "a:rw+steal b:ro", "b:rw+steal\ta:rw+steal", "a:rw+steal b:ro" },
		{ "a", "b", "" }, { "a ab", "ab", "ab" }, { "", "a", "" }, { NULL, "a", "" },
		{ "a", NULL, "" }, { NULL, NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char *list = value_allow_both(lists[i][0], lists[i][1]);

		assert_string_equal(list, lists[i][2]);
		free(list);
	}
}

static enum config_auth auth_of(const char *text, char **more)
{
	enum config_auth auth;
	struct config cfg;

	assert_int_equal(options(&cfg, text, more), OPTIONS_RUN);
	auth = cfg.auth;
	config_free(&cfg);
	return auth;
}

static void authentication(void **state)
{
	(void)state;
	assert_int_equal(auth_of(TARGET DISK, WORDS(NULL)), AUTH_NONE);
	assert_int_equal(auth_of(TARGET HOST("web1", "") DISK, WORDS(NULL)), AUTH_PSK);
	assert_int_equal(auth_of(TARGET "auth = psk\n" DISK, WORDS(NULL)), AUTH_PSK);
	assert_int_equal(auth_of(TARGET "auth = none\n" HOST("web1", "") DISK, WORDS(NULL)),
			 AUTH_NONE);
	assert_int_equal(auth_of(TARGET HOST("web1", "") DISK, WORDS("--auth", "none")),
			 AUTH_NONE);
	assert_int_equal(auth_of(TARGET "auth = none\n" DISK, WORDS("--auth", "psk")), AUTH_PSK);
	assert_int_equal(errors_of(TARGET "auth = yes\n" DISK), 1);
	assert_int_equal(errors_of("[target]\nlisten = 10.0.0.1\nauth = psk\n" DISK), 0);
	assert_int_equal(errors_of("[target]\nlisten = 10.0.0.1\nauth = none\n"
				   HOST("web1", "") DISK), 1);
	complains(TARGET "auth = none\n" HOST("web1", "") DISK "allow = web1\n", 1,
		  "export \"d\" has \"allow\", which takes auth = psk");
}

static void nearest_word(void **state)
{
	static const char *const words[] = { "size", "sized", "shared", "slot-bytes", "slot-memory",
					     "a" };
	static const struct {
		const char *word;
		const char *best;
	} looks[] = {
		{ "sze", "size" }, { "sizes", "size" }, { "isze", "size" }, { "SHARED", "shared" },
		{ "slot_byte", "slot-bytes" }, { "slot-memroy", "slot-memory" },
		{ "x", NULL }, { "b", NULL }, { "", NULL }, { "xy", NULL }, { "path", NULL },
	};
	struct near n;

	(void)state;
	assert_int_equal(near_distance("listen", "listen"), 0);
	assert_int_equal(near_distance("lsten", "listen"), 1);
	assert_int_equal(near_distance("", "abc"), 3);
	assert_int_equal(near_distance("regon", "region"), 1);
	assert_int_equal(near_distance("tpo", "top"), 1);
	assert_int_equal(near_distance("ca", "abc"), 3);
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		near_begin(&n, looks[i].word);
		for (size_t j = 0; j < ARRAY_SIZE(words); j++)
			near_try(&n, words[j]);
		if (looks[i].best)
			assert_string_equal(n.best, looks[i].best);
		else
			assert_null(n.best);
	}
	/* A name of a peer may have any length. */
	near_begin(&n, "0123456789012345678901234567890123456789012345678901234567890123");
	near_try(&n, "0123456789012345678901234567890123456789012345678901234567890124");
	assert_null(n.best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(addresses),
		cmocka_unit_test(networks),
		cmocka_unit_test(two_lists_of_networks),
		cmocka_unit_test(uuids),
		cmocka_unit_test(a_whole_file),
		cmocka_unit_test(what_is_wrong_is_an_error),
		cmocka_unit_test(a_line_too_long_is_one_error),
		cmocka_unit_test(specs),
		cmocka_unit_test(specs_of_files),
		cmocka_unit_test(files),
		cmocka_unit_test(what_does_not_go_with_a_file),
		cmocka_unit_test(options_stand_above_the_file),
		cmocka_unit_test(an_unknown_option_is_explained),
		cmocka_unit_test(what_stands_below_is_still_read),
		cmocka_unit_test(nearest_word),
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(sections_of_addresses),
		cmocka_unit_test(drop_in_files),
		cmocka_unit_test(hosts),
		cmocka_unit_test(what_is_wrong_with_a_host),
		cmocka_unit_test(lists_of_hosts),
		cmocka_unit_test(two_lists_of_hosts),
		cmocka_unit_test(authentication),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
