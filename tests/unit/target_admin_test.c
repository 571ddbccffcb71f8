// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes of the daemon at run time, without sessions: exports are added, removed, resized
 * and reopened, the configuration is reloaded and saved. Also the control socket, which
 * carries these requests, and clients that misbehave.
 *
 * Sources: target/admin/admin.c target/admin/admin_step.c target/admin/control.c
 *	   target/export/export.c target/config/options.c
 * Libraries: json-c liburing
 */
#include <dlfcn.h>
#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "../../target/admin/control.h"
#include "../../target/base/log.h"
#include "../../target/store/full.h"
#include "target_admin.h"

static void add_and_remove(void **state)
{
	const char *path = files_new("disk", 4 * MIB);
	char spec[256];

	(void)state;
	for (int full = 0; full < 2; full++) {
		snprintf(spec, sizeof(spec), "disk,file=%s%s", path,
			 full ? ",cache=full" : "");
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		assert_true(last->bytes == 4 * MIB);
		assert_non_null(export_find("disk"));
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), -EEXIST);
		assert_string_equal(last->why, "export disk exists already");
		snprintf(spec, sizeof(spec), "other,file=%s", path);
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), -EBUSY);
		assert_non_null(strstr(last->why, "is what export disk is made of already"));
		assert_null(export_by_name("other"));
		assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
		assert_null(export_by_name("disk"));
	}
	assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), -ENOENT);
	assert_int_equal(run(ADMIN_ADD, "", "disk,file=/nowhere", 0), -ENOENT);
	assert_non_null(strstr(last->why, "/nowhere"));
	assert_int_equal(run(ADMIN_ADD, "", "disk,memory", 0), -EINVAL);
	assert_int_equal(run(ADMIN_ADD, "", "disk,memory,size=1M,allow=web1", 0), -EINVAL);
	assert_non_null(strstr(last->why, "auth = psk"));
	assert_null(export_by_name("disk"));
}

static void sizes(void **state)
{
	const char *path = files_new("size", 4 * MIB);
	char spec[256];

	(void)state;
	for (int full = 0; full < 2; full++) {
		assert_int_equal(truncate(path, 4 * MIB), 0);
		snprintf(spec, sizeof(spec), "disk,file=%s%s", path,
			 full ? ",cache=full" : "");
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		assert_int_equal(truncate(path, 8 * MIB), 0);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 0), 0);
		assert_true(last->bytes == 8 * MIB);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 4 * MIB), -EINVAL);
		/* an unused export may shrink */
		assert_int_equal(truncate(path, 2 * MIB), 0);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 0), 0);
		assert_true(last->bytes == 2 * MIB);
		assert_int_equal(run(ADMIN_REOPEN, "disk", NULL, 0), 0);
		assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
		/* the export has a configured size */
		assert_int_equal(truncate(path, 8 * MIB), 0);
		snprintf(spec, sizeof(spec), "disk,size=4M,file=%s%s", path,
			 full ? ",cache=full" : "");
		assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 0), 0);
		assert_true(last->bytes == 4 * MIB);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 6 * MIB), 0);
		assert_true(last->bytes == 6 * MIB);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 5 * MIB), -ERANGE);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 9 * MIB), -EINVAL);
		assert_int_equal(run(ADMIN_RESIZE, "disk", NULL, 7 * MIB + 1), -EINVAL);
		assert_int_equal(run(ADMIN_REMOVE, "disk", NULL, 0), 0);
	}
	assert_int_equal(run(ADMIN_RESIZE, "first", NULL, 0), -EOPNOTSUPP);
	assert_int_equal(run(ADMIN_REOPEN, "first", NULL, 0), -EPERM);
}

/* Return: whether the report has this @action for @name, with @why in its reason */
static bool reported(const char *name, const char *action, const char *why)
{
	struct admin_change *c;

	TAILQ_FOREACH(c, &last->changes, entry)
		if (!strcmp(c->name, name))
			return !strcmp(c->action ?: "-", action) && strstr(c->why, why);
	return false;
}

static unsigned int reports(const char *name)
{
	unsigned int nr = 0;
	struct admin_change *c;

	TAILQ_FOREACH(c, &last->changes, entry)
		nr += !strcmp(c->name, name);
	return nr;
}

static void configure(const char *exports)
{
	char text[2048];

	snprintf(text, sizeof(text), "[target]\nlisten = 127.0.0.1\nstate-dir = %s\n%s",
		 cfg.state_dir, exports);
	files_text(files_path("conf"), text);
}

#define FIRST	"[export first]\ntype = memory\nsize = 1M\nhugepages = no\n"

static void reloads(void **state)
{
	const char *path = files_new("reload", 4 * MIB);
	const struct export *first = export_find("first");
	static char place;
	char text[1024];
	int64_t began;

	(void)state;
	assert_int_equal(run(ADMIN_ADD, "", "hand,memory,size=1M,hugepages=no,max-sessions=9",
			     0), 0);
	assert_int_equal(export_caps(export_find("hand")).sessions, 9);
	configure(FIRST "sze = 1\n");
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), -EINVAL);
	assert_non_null(strstr(last->why, "sze"));
	assert_null(strchr(last->why, '\n'));
	snprintf(text, sizeof(text), FIRST "[export second]\nfile = %s\n", path);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("first", "kept", ""));
	assert_true(reported("second", "added", ""));
	assert_true(reported("hand", "kept", "by hand"));
	assert_ptr_equal(export_find("first"), first);
	snprintf(text, sizeof(text), "log-level = error\nkeep-alive-max = 30000\n"
		 "name = other\n[export first]\ntype = memory\nsize = 2M\nhugepages = no\n"
		 "[export second]\nfile = %s\ncache = full\nsize = 1M\n"
		 "[export third]\nfile = /nowhere\n", path);
	configure(text);
	began = loop_now();
	while (log_allow(&place, NULL))
		;
	assert_true(log_wanted(LOG_INFO));
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_false(log_wanted(LOG_INFO));
	assert_true(log_wanted(LOG_ERR));
	/* The reload sets only the level. Other threads may be logging, so the limits stay. */
	assert_true(!log_allow(&place, NULL) || loop_now() - began > 9000);
	assert_true(reported("first", "-", "would be lost"));
	assert_true(reported("second", "changed", ""));
	assert_true(reported("third", "-", "/nowhere"));
	assert_true(reported("name", "-", "restart"));
	assert_true(reported("keep-alive-max", "changed", ""));
	assert_int_equal(cfg.keep_alive_max, 30000);
	assert_true(export_find("second")->store.size == MIB);
	assert_true(export_find("first")->store.size == MIB);
	snprintf(text, sizeof(text), FIRST "[export second]\nfile = %s\ncache = full\n"
		 "size = 3M\n", path);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("second", "resized", ""));
	assert_true(export_find("second")->store.size == 3 * MIB);
	/* Limits of a memory export change, too, and limits of a file while it grows. */
	assert_int_equal(export_caps(export_find("first")).sessions, cfg.max_sessions_all / 2);
	assert_int_equal(truncate(path, 5 * MIB), 0);
	snprintf(text, sizeof(text), FIRST "max-sessions = 3\nmax-pinned = 4M\n"
		 "[export second]\nfile = %s\ncache = full\nsize = 4M\nmax-queues = 5\n", path);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_int_equal(reports("first"), 1);
	assert_true(reported("first", "changed", ""));
	assert_ptr_equal(export_find("first"), first);
	assert_int_equal(export_caps(first).sessions, 3);
	assert_int_equal(export_caps(first).bytes, 4 * MIB);
	assert_int_equal(reports("second"), 1);
	assert_true(reported("second", "resized", ""));
	assert_int_equal(export_caps(export_find("second")).queues, 5);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("first", "kept", ""));
	configure(FIRST);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("first", "changed", ""));
	assert_true(reported("second", "removed", ""));
	assert_null(export_by_name("second"));
	/* A memory export does not become a file: the contents of its memory would be lost. */
	snprintf(text, sizeof(text), "[export first]\nfile = %s\n", path);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("first", "-", "would be lost"));
	assert_int_equal(run(ADMIN_REMOVE, "hand", NULL, 0), 0);
}

/* Adds the export "lacks": its file refuses writes, and lacks data that is in the arena. */
static void add_failing(const char *path, const char *rules)
{
	struct export *e;
	char spec[400];

	files_text(rules, "");
	snprintf(spec, sizeof(spec), "lacks,file=%s,cache=full,fault=%s", path, rules);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	e = export_find("lacks");
	files_pattern(e->store.base, 0, MIB, 1);
	/* ended() may start the comparison of arena and file at once, so the rule comes first */
	files_text(rules, "write error EIO\n");
	e->store.ops->ended(&e->store, false);
}

/*
 * If the last writes fail, the export is removed or reopened nevertheless, because its memory is
 * gone in any case. But the request reports the error.
 */
static void what_a_file_lacks_is_an_error(void **state)
{
	const char *path = files_new("lacks", 4 * MIB), *rules = files_path("rules");
	char why[400], text[600];

	(void)state;
	full_end_pause_ms = 1;
	snprintf(why, sizeof(why), "but export lacks: %s lacks the last writes: %s", path,
		 strerror(EIO));
	add_failing(path, rules);
	assert_int_equal(run(ADMIN_REMOVE, "lacks", NULL, 0), -EIO);
	assert_non_null(strstr(last->why, "the export is removed, but "));
	assert_non_null(strstr(last->why, why));
	assert_null(export_by_name("lacks"));
	assert_true(files_zero(path, 0, MIB));

	add_failing(path, rules);
	assert_int_equal(run(ADMIN_REOPEN, "lacks", NULL, 0), -EIO);
	assert_non_null(strstr(last->why, "the export is open again, but "));
	assert_non_null(strstr(last->why, why));
	assert_non_null(export_find("lacks"));
	/* the next request does not report the same error again */
	assert_int_equal(run(ADMIN_REOPEN, "lacks", NULL, 0), 0);
	assert_int_equal(run(ADMIN_REMOVE, "lacks", NULL, 0), 0);

	/* the last writes and the open fail */
	add_failing(path, rules);
	assert_int_equal(rename(path, files_path("elsewhere")), 0);
	assert_int_equal(run(ADMIN_REOPEN, "lacks", NULL, 0), -ENOENT);
	assert_non_null(strstr(last->why, "lacks the last writes: "));
	assert_non_null(strstr(last->why, "; and "));
	assert_non_null(strstr(last->why, "cannot open"));
	assert_null(export_find("lacks"));
	assert_int_equal(rename(files_path("elsewhere"), path), 0);
	assert_int_equal(run(ADMIN_REMOVE, "lacks", NULL, 0), 0);

	/* a reload reopens the changed export, and a second one removes it */
	snprintf(text, sizeof(text), FIRST "[export lacks]\nfile = %s\ncache = full\n", path);
	add_failing(path, rules);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("lacks", "-", why));
	assert_non_null(export_find("lacks"));
	configure(FIRST);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("lacks", "removed", ""));
}

/*
 * A disk in an outage is expected back, to flush or to go on. Its export counts as in use until
 * the time for that has passed.
 */
static void an_export_in_an_outage_is_in_use(void **state)
{
	const char *path = files_new("away", 4 * MIB);
	struct export *e, *first = export_find("first");
	char text[400];

	(void)state;
	snprintf(text, sizeof(text), "away,file=%s,cache=full", path);
	assert_int_equal(run(ADMIN_ADD, "", text, 0), 0);
	e = export_find("away");
	export_await(e, INT64_MAX);
	export_await(first, loop_now() + 60000);
	assert_int_equal(run(ADMIN_REMOVE, "away", NULL, 0), -EBUSY);
	assert_string_equal(last->why, "export away: a disk that has lost its connection is "
			    "expected back: wait, or use --force");
	assert_int_equal(run(ADMIN_REOPEN, "away", NULL, 0), -EBUSY);
	assert_int_equal(run(ADMIN_REMOVE, "first", NULL, 0), -EBUSY);
	/* a reload neither changes nor removes such an export; a resize does not shrink it */
	snprintf(text, sizeof(text), "[export away]\nfile = %s\ncache = full\nro = yes\n", path);
	configure(text);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_true(reported("away", "-", "is expected back"));
	assert_true(reported("first", "-", "is expected back"));
	assert_int_equal(truncate(path, 2 * MIB), 0);
	assert_int_equal(run(ADMIN_RESIZE, "away", NULL, 0), -EBUSY);
	assert_true(e->state == EXPORT_READY && e->store.size == 4 * MIB);
	assert_ptr_equal(export_find("first"), first);
	configure(FIRST);
	export_await(first, 0);
	/* the disk has not come back in time */
	export_await(e, loop_now() - 1);
	assert_int_equal(run(ADMIN_REOPEN, "away", NULL, 0), 0);
	assert_int_equal(run(ADMIN_REOPEN, "away", NULL, 0), 0);
	export_await(e, INT64_MAX);
	forced = true;
	assert_int_equal(run(ADMIN_REOPEN, "away", NULL, 0), 0);
	assert_int_equal(e->awaited, 0);
	export_await(e, INT64_MAX);
	assert_int_equal(run(ADMIN_REMOVE, "away", NULL, 0), 0);
	forced = false;
	assert_null(export_by_name("away"));
}

static uintptr_t depth;

static void done_there(struct admin *a)
{
	depth = (uintptr_t)__builtin_frame_address(0);
	done(a);
}

/* A reload refuses to change @nr exports. Return: address on the stack when the report comes */
static uintptr_t refuse(unsigned int nr)
{
	struct admin *a = admin_alloc(ADMIN_RELOAD);
	char text[2048] = FIRST;

	assert_non_null(a);
	for (unsigned int i = 0; i < nr; i++)
		sprintf(text + strlen(text), "[export m%u]\ntype = memory\nsize = 2M\n", i);
	configure(text);
	a->done = done_there;
	admin_free(last);
	last = NULL;
	admin_submit(a);
	assert_int_equal(loop_run(), 0);
	assert_int_equal(last->error, 0);
	for (unsigned int i = 0; i < nr; i++) {
		sprintf(text, "m%u", i);
		assert_true(reported(text, "-", "would be lost"));
	}
	return depth;
}

static void a_reload_of_many_exports_takes_no_stack(void **state)
{
	char text[64];
	uintptr_t one;

	(void)state;
	for (unsigned int i = 0; i < 9; i++) {
		sprintf(text, "m%u,memory,size=1M,hugepages=no", i);
		assert_int_equal(run(ADMIN_ADD, "", text, 0), 0);
	}
	one = refuse(1);
	assert_int_equal(refuse(9), one);
	for (unsigned int i = 0; i < 9; i++) {
		sprintf(text, "m%u", i);
		assert_int_equal(run(ADMIN_REMOVE, text, NULL, 0), 0);
	}
	configure(FIRST);
}

#define SIXTEEN	"0123456789abcdef"

static void a_reload_changes_who_may_come_where(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(cfg.nr_listen, 1);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
			 "[target]\nstate-dir = %s\n[listen 127.0.0.1]\n%s" FIRST,
			 cfg.state_dir, i ? "" : "allow-address = 10.0.0.0/8\n");
		files_text(files_path("conf"), text);
		assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
		assert_true(reported("listen 127.0.0.1:20420", "changed", ""));
		assert_false(reported("listen", "-", ""));
		assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]) ?: "any",
				    i ? "any" : "10.0.0.0/8");
		assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
		assert_int_equal(reports("listen 127.0.0.1:20420"), 0);
	}
}

/*
 * A reload applies new networks of an export together with those of the daemon. If the section
 * differs in more than that, the export only gets the networks that old and new section have in
 * common. With another size it cannot be reopened, because its contents in memory would be lost.
 */
static void networks_of_exports_narrow_at_once(void **state)
{
	static const struct { const char *size, *networks, *is; } steps[] = {
		{ "1M", "10.0.0.0/8", "10.0.0.0/8" },
		{ "2M", "10.1.0.0/16, 192.0.2.0/24", "10.1.0.0/16" },
		{ "2M", NULL, "10.1.0.0/16" }, { "2M", "10.0.0.0/8", "10.1.0.0/16" },
		{ "1M", "10.0.0.0/8", "10.0.0.0/8" }, { "1M", NULL, "any" },
		{ "2M", "192.0.2.1", "192.0.2.1" }, { "2M", "10.0.0.1", "" },
		{ "2M", NULL, "" }, { "1M", NULL, "any" },
	};
	const struct export *first = export_find("first");
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		snprintf(text, sizeof(text), "[export first]\ntype = memory\nsize = %s\n"
			 "hugepages = no\n%s%s\n", steps[i].size,
			 steps[i].networks ? "allow-address = " : "", steps[i].networks ?: "");
		configure(text);
		assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
		assert_true(reported("first", *steps[i].size == '1' ? "changed" : "-", ""));
		assert_string_equal(first->cfg->allow_address ?: "any", steps[i].is);
	}
}

static void stop_later(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

/*
 * A reload applies the networks of all exports before it adds an export, because the new one may
 * take hours to be filled.
 */
static void networks_of_exports_do_not_wait(void **state)
{
	static struct loop_timer timer = { .expired = stop_later };
	const char *path = files_new("slow", 4 * MIB), *rules = files_path("rules");
	const struct export *first = export_find("first");
	struct admin *a = admin_alloc(ADMIN_RELOAD);
	char text[700];

	(void)state;
	files_write(path, 0, MIB, 1);
	files_text(rules, "read hang\n");
	configure("allow-address = 10.0.0.1\n" FIRST);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	snprintf(text, sizeof(text), "allow-address = 0.0.0.0/0\n[export slow]\nfile = %s\n"
		 "cache = full\nfault = %s\n" FIRST "allow-address = 10.0.0.1\n", path, rules);
	configure(text);
	a->done = done;
	admin_free(last);
	last = NULL;
	admin_submit(a);
	while (!last && !export_by_name("slow")) {
		loop_timer_start(&timer, 10);
		assert_int_equal(loop_run(), 0);
	}
	loop_timer_stop(&timer);
	assert_null(last);
	assert_string_equal(cfg.allow_address, "0.0.0.0/0");
	snprintf(text, sizeof(text), "%s", first->cfg->allow_address ?: "any");
	files_text(rules, "");
	assert_int_equal(loop_run(), 0);
	assert_string_equal(text, "10.0.0.1");
	assert_true(reported("first", "changed", ""));
	assert_true(reported("slow", "added", ""));
	configure(FIRST);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
}

/* An address that the new configuration lacks stays open until a restart, for the old networks. */
static void a_reload_without_an_address_opens_nothing(void **state)
{
	static const char *const sections[] = {
		"[listen 127.0.0.1]\nallow-address = 10.0.0.0/8\n", "[listen 127.0.0.2]\n",
		"[listen 127.0.0.1]\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		snprintf(text, sizeof(text), "[target]\nstate-dir = %s\n%s" FIRST,
			 cfg.state_dir, sections[i]);
		files_text(files_path("conf"), text);
		assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
		assert_int_equal(reports("listen 127.0.0.1:20420"), i != 1);
		assert_int_equal(reports("listen"), i == 1);
		assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]) ?: "any",
				    i == 2 ? "any" : "10.0.0.0/8");
	}
}

static bool host_differs;

/* uname() and sysconf() replace those of the C library: the host changes with @host_differs. */
int uname(struct utsname *host)
{
	static int (*real)(struct utsname *host);
	int ret;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "uname");
	ret = real(host);
	if (host_differs)
		snprintf(host->nodename, sizeof(host->nodename), "renamed");
	return ret;
}

long sysconf(int name)
{
	static long (*real)(int name);
	long n;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sysconf");
	n = real(name);
	return host_differs && name == _SC_NPROCESSORS_ONLN ? (n == 1) + 1 : n;
}

/* Defaults that depend on the host are those of the start, until the file sets a value. */
static void a_reload_on_a_changed_host_changes_nothing(void **state)
{
	char text[512];

	(void)state;
	host_differs = true;
	for (int said = 0; said < 2; said++) {
		snprintf(text, sizeof(text), "[target]\nlisten = 127.0.0.1\n%s" FIRST, said ?
			 "name = renamed\nio-threads = 64\n" : "");
		files_text(files_path("conf"), text);
		assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
		assert_int_equal(reports("name"), said);
		assert_int_equal(reports("io-threads"), said);
	}
	host_differs = false;
}

/*
 * The new configuration has auth = psk, the daemon has auth = none until its restart. Until then
 * every host could use what the reload adds, so it changes neither exports nor networks.
 */
static void a_reload_adds_nothing_that_wants_keys(void **state)
{
	static const char *const exports[] = {
		FIRST,
		FIRST "max-sessions = 7\n[export more]\ntype = memory\nsize = 1M\n"
		"hugepages = no\nallow = web1\n[export nobody]\ntype = memory\nsize = 1M\n"
		"hugepages = no\n",
		"[export first]\ntype = memory\nsize = 1M\nhugepages = no\nblock = 4K\n",
	};
	struct export *first = export_find("first");
	char text[2048];

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text),
			 "[target]\nstate-dir = %s\nauth = %s\n%s[listen 127.0.0.1]\n%s%s%s",
			 cfg.state_dir, i ? "psk" : "none", i ? "" : "allow-address = 10.0.0.0/8\n",
			 i ? "" : "allow-address = 10.1.0.0/16\n", exports[i % 3],
			 i ? "" : "allow-address = 10.1.1.0/24\n");
		if (i)
			strcat(text, "[host web1]\nkey = /nowhere\n");
		files_text(files_path("conf"), text);
		if (run(ADMIN_RELOAD, "", NULL, 0))
			fail_msg("reload: %s", last->why);
		assert_string_equal(cfg.allow_address, "10.0.0.0/8");
		assert_string_equal(config_listen_networks(&cfg, &cfg.listen[0]), "10.1.0.0/16");
		assert_string_equal(first->cfg->allow_address, "10.1.1.0/24");
		assert_int_equal(first->cfg->block, 512);
		assert_null(export_by_name("more"));
		assert_null(export_by_name("nobody"));
		if (!i)
			continue;
		assert_true(reported("allow-address", "-", "auth = none until its restart"));
		assert_true(reported("listen 127.0.0.1:20420", "-", "until its restart"));
		assert_true(reported("first", "-", "until its restart"));
		assert_int_equal(reports("first"), 1);
		assert_int_equal(reports("more"), i == 1);
		assert_int_equal(reports("nobody"), i == 1);
	}
	configure(FIRST);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_null(first->cfg->allow_address);
}

/* A path that is too long becomes an empty one, and connect() fails. */
static void control_path(struct sockaddr_un *addr)
{
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/control", files_dir);

	if (n >= (int)sizeof(addr->sun_path))
		addr->sun_path[0] = '\0';
}

static void *client(void *arg)
{
	static const char line[] =
		"{\"version\":1,\"command\":\"add\",\"spec\":\"c,memory,size=1M,hugepages=no,max-queues=7\"}\n"
		"{\"version\":1,\"command\":\"list\"}\n"
		"{\"version\":1,\"command\":\"sessions\"}\n"
		"{\"version\":1,\"command\":\"remove\",\"name\":\"c\"}\n"
		"{\"version\":1,\"command\":\"remove\",\"name\":\"c\"}\n"
		"{\"version\":1,\"command\":\"list\",\"" SIXTEEN SIXTEEN SIXTEEN
		"123456789abcdef\xc3\xa9\":1}\n";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *text = arg;
	size_t at = 0;
	ssize_t n;

	control_path(&addr);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    write(fd, line, sizeof(line) - 1) > 0 && !shutdown(fd, SHUT_WR))
		while ((n = read(fd, text + at, 8191 - at)) > 0)
			at += (size_t)n;
	close(fd);
	loop_stop();
	return NULL;
}

static void wake(struct loop_timer *timer)
{
	loop_timer_start(timer, 10);
}

/* Return: contents of a file in the test's directory, to be freed */
static char *file_text(const char *name)
{
	FILE *file = fopen(files_path(name), "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	fclose(file);
	return text;
}

/* Saves. Return: why the save could not write an export, or "" */
static const char *unsaved(const char *name)
{
	const struct admin_change *c;

	assert_int_equal(run(ADMIN_SAVE, "", NULL, 0), 0);
	TAILQ_FOREACH(c, &last->changes, entry) {
		assert_null(c->action);
		if (!strcmp(c->name, name))
			return c->why;
	}
	return "";
}

static void write_saved(void)
{
	mkdir(files_path("conf.d"), 0755);
	assert_string_equal(last->path, files_path("conf.d/saved.conf"));
	files_text(last->path, last->text);
}

/* Reloads. Return: the first export that was changed, or could not be, or NULL */
static const struct admin_change *reload_changes(void)
{
	const struct admin_change *c;

	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	TAILQ_FOREACH(c, &last->changes, entry)
		if (c->thing == ADMIN_EXPORT && (!c->action || strcmp(c->action, "kept")))
			return c;
	return NULL;
}

/*
 * A save writes each added export as it is at that time, so that a reload changes nothing. After
 * a saved export was removed, the next save leaves it out. A save does not change the
 * administrator's own files: it reports exports that differ there. A value that a file cannot
 * have is an error.
 */
static void what_was_changed_is_saved(void **state)
{
	const char *path = files_new("save", 4 * MIB);
	char spec[300], want[400], *old, *first;

	(void)state;
	files_text(files_path("conf"), "[target]\nlisten = 127.0.0.1\n[export first]\n"
		   "type = memory\nsize = 1M\nhugepages = no\n");
	assert_string_equal(unsaved("first"), "");
	assert_null(strchr(last->text, '['));
	snprintf(spec, sizeof(spec), "two,file=%s,size=1M,ro,max-sessions=3", path);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	assert_int_equal(run(ADMIN_ADD, "", "three,memory,size=2M,hugepages=no", 0), 0);
	assert_int_equal(run(ADMIN_RESIZE, "two", NULL, 2 * MIB), 0);
	assert_string_equal(unsaved("two"), "");
	snprintf(want, sizeof(want), "\n[export two]\nfile = %s\nro = yes\nmax-sessions = 3\n"
		 "size = 2097152\n\n[export three]\ntype = memory\nhugepages = no\n"
		 "size = 2097152\n", path);
	assert_non_null(strstr(last->text, want));
	write_saved();
	old = strdup(last->text);
	assert_null(reload_changes());
	assert_false(export_by_name("two")->by_hand);
	/* the next save is the same, after the reload and after a change of a limit in the file */
	assert_string_equal(unsaved("two"), "");
	assert_string_equal(last->text, old);
	first = strstr(old, "max-sessions = 3");
	first[strlen("max-sessions = ")] = '5';
	files_text(files_path("conf.d/saved.conf"), old);
	assert_string_equal(reload_changes()->name, "two");
	assert_string_equal(unsaved("two"), "");
	assert_string_equal(last->text, old);
	free(old);
	assert_int_equal(run(ADMIN_REMOVE, "two", NULL, 0), 0);
	assert_string_equal(unsaved("two"), "");
	assert_null(strstr(last->text, "two"));
	assert_non_null(strstr(last->text, "[export three]"));
	write_saved();
	assert_null(reload_changes());

	/* an export in the administrator's own file that the daemon does not have */
	old = file_text("conf");
	snprintf(want, sizeof(want), "%s[export ghost]\ntype = memory\nsize = 1M\n", old);
	files_text(files_path("conf"), want);
	assert_non_null(strstr(unsaved("ghost"), "it was removed, and is in "));
	assert_non_null(strstr(unsaved("ghost"), "/conf:"));
	assert_null(strstr(last->text, "ghost"));
	files_text(files_path("conf"), "[target]\nlistne = 127.0.0.1\n");
	assert_int_equal(run(ADMIN_SAVE, "", NULL, 0), -EINVAL);
	assert_non_null(strstr(last->why, "did you mean"));
	files_text(files_path("conf"), old);
	free(old);

	snprintf(spec, sizeof(spec), "four,file=%s", files_new("a ;b", 4 * MIB));
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	assert_int_equal(run(ADMIN_SAVE, "", NULL, 0), -EINVAL);
	assert_non_null(strstr(last->why, "export four: a value of it cannot be written"));
	assert_int_equal(run(ADMIN_REMOVE, "four", NULL, 0), 0);
	assert_int_equal(run(ADMIN_REMOVE, "three", NULL, 0), 0);
	assert_int_equal(unlink(files_path("conf.d/saved.conf")), 0);
}

static void a_socket(void **state)
{
	static struct loop_timer timer = { .expired = wake };
	static char text[8192];
	pthread_t thread;
	struct stat st;
	char *second;

	(void)state;
	assert_int_equal(control_open(files_path("control")), 0);
	assert_int_equal(stat(files_path("control"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(pthread_create(&thread, NULL, client, text), 0);
	wake(&timer);
	assert_int_equal(loop_run(), 0);
	loop_timer_stop(&timer);
	pthread_join(thread, NULL);
	second = strchr(text, '\n');
	assert_non_null(second);
	assert_memory_equal(text, "{\"version\":1,\"name\":\"c\",\"size\":1048576}", 39);
	assert_non_null(strstr(second, "\"name\":\"c\",\"state\":\"ready\""));
	assert_non_null(strstr(second, "\"sessions\":0,\"queues\":0,\"pinned\":0,"
			       "\"max_sessions\":2048,\"max_queues\":7,\"max_pinned\":null"));
	assert_non_null(strstr(second, "{\"version\":1,\"sessions\":[],"
			       "\"logins\":{\"in_progress\":0,\"visits\":0,\"too_often\":0},"
			       "\"allow_address\":null,\"listeners\":[]}\n"
			       "{\"version\":1,\"name\":\"c\"}\n"
			       "{\"version\":1,\"error\":{\"code\":\"ENOENT\""));
	/* a key that is cut within a character ends with "?" */
	assert_non_null(strstr(second, SIXTEEN "123456789abcdef?\""));
	control_close();
	assert_int_equal(stat(files_path("control"), &st), -1);
}

static bool no_memory;

/* Replaces the function of json-c: it fails while @no_memory is set. */
const char *json_object_to_json_string_ext(struct json_object *o, int flags)
{
	static const char *(*real)(struct json_object *o, int flags);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "json_object_to_json_string_ext");
	return no_memory ? NULL : real(o, flags);
}

#define GIVE_UP_MS	20000

/* Sends the line @arg, waits for the end of the connection. Return: @arg if it ended in time */
static void *unanswered(void *arg)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *line = arg;
	struct pollfd fd = { .events = POLLIN };
	bool ended = false;
	char c;

	fd.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	control_path(&addr);
	if (!connect(fd.fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    write(fd.fd, line, strlen(line)) > 0 && poll(&fd, 1, GIVE_UP_MS) == 1)
		ended = read(fd.fd, &c, 1) <= 0;
	close(fd.fd);
	loop_stop();
	return ended ? arg : NULL;
}

/* If there is no memory for an answer, the daemon closes the connection of the client. */
static void no_memory_for_an_answer(void **state)
{
	static const char * const lines[] = {
		"{\"version\":1,\"command\":\"list\"}\n",
		"{\"version\":1,\"command\":\"remove\",\"name\":\"nobody\"}\n",
		"{\"version\":1,\"command\":\"reload\"}\n",
	};
	static struct loop_timer timer = { .expired = wake };
	int64_t idle = control_idle_ms;

	(void)state;
	control_idle_ms = 1000 * GIVE_UP_MS;
	no_memory = true;
	assert_int_equal(control_open(files_path("control")), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		void *line = (void *)lines[i], *ended;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, unanswered, line), 0);
		wake(&timer);
		assert_int_equal(loop_run(), 0);
		loop_timer_stop(&timer);
		pthread_join(thread, &ended);
		assert_ptr_equal(ended, line);
	}
	no_memory = false;
	control_idle_ms = idle;
	control_close();
}

static void *abuse(void *arg)
{
	const char *how = control_idle_ms < 1000 ? "slow" : "";
	char command[1024];
	int *status = arg;

	snprintf(command, sizeof(command), "python3 '%s/control_abuse.py' '%s' %s", UNIT_DIR,
		 files_path("control"), how);
	*status = system(command);
	loop_stop();
	return NULL;
}

/* Clients that are slow, many, greedy or gone. */
static void bad_clients(void **state)
{
	static struct loop_timer timer = { .expired = wake };
	const int64_t idle[] = { control_idle_ms, 300 };

	(void)state;
	assert_int_equal(run(ADMIN_ADD, "", "a,memory,size=1M,hugepages=no", 0), 0);
	assert_int_equal(control_open(files_path("control")), 0);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		int status = -1;
		pthread_t thread;

		control_idle_ms = idle[i];
		assert_int_equal(pthread_create(&thread, NULL, abuse, &status), 0);
		wake(&timer);
		assert_int_equal(loop_run(), 0);
		loop_timer_stop(&timer);
		pthread_join(thread, NULL);
		assert_int_equal(status, 0);
	}
	control_idle_ms = idle[0];
	control_close();
	assert_int_equal(run(ADMIN_REMOVE, "a", NULL, 0), 0);
}

/* Return: a process that has opened the socket */
static pid_t other_daemon(const char *path)
{
	int told[2];
	pid_t pid;
	char ok = 0;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		loop_exit();
		ok = !loop_init() && !control_open(path);
		if (write(told[1], &ok, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(told[0], &ok, 1), 1);
	assert_true(ok);
	close(told[0]);
	close(told[1]);
	return pid;
}

static void whose_socket(void **state)
{
	const char *path = files_path("control");
	char too_long[256];
	struct stat st;
	pid_t pid;

	(void)state;
	pid = other_daemon(path);
	assert_int_equal(control_open(path), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
	/* also without the lock file the socket of a live process is not removed */
	unlink(files_path("control.lock"));
	assert_int_equal(control_open(path), -EADDRINUSE);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(control_open(path), 0);
	control_close();
	assert_int_equal(stat(path, &st), -1);
	/* a file or a link of that name is not removed */
	files_text(path, "precious\n");
	assert_int_equal(control_open(path), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
	assert_int_equal(symlink(files_path("precious"), path), 0);
	assert_int_equal(control_open(path), -EEXIST);
	unlink(path);
	/* a lock that leads elsewhere is not followed */
	unlink(files_path("control.lock"));
	assert_int_equal(symlink(files_path("precious"), files_path("control.lock")), 0);
	assert_int_equal(control_open(path), -ELOOP);
	unlink(files_path("control.lock"));
	assert_int_equal(stat(files_path("precious"), &st), -1);
	memset(too_long, 'x', sizeof(too_long));
	too_long[0] = '/';
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(control_open(too_long), -ENAMETOOLONG);
	assert_int_equal(control_open("/nowhere/control"), -ENOENT);
}

/*
 * This test is the last one, because a shutdown cannot be undone. A request under way ends soon;
 * later ones are refused.
 */
static void the_end(void **state)
{
	struct admin *a = admin_alloc(ADMIN_RELOAD);

	(void)state;
	assert_non_null(a);
	configure(FIRST "[export late]\ntype = memory\nsize = 1M\nhugepages = no\n");
	a->done = done;
	admin_free(last);
	last = NULL;
	admin_submit(a);
	admin_shutdown();
	assert_int_equal(loop_run(), 0);
	assert_ptr_equal(last, a);
	assert_null(export_by_name("late"));
	assert_int_equal(run(ADMIN_ADD, "", "late,memory,size=1M,hugepages=no", 0), -ESHUTDOWN);
	assert_int_equal(run(ADMIN_REMOVE, "first", NULL, 0), -ESHUTDOWN);
	assert_non_null(export_find("first"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_and_remove),
		cmocka_unit_test(sizes),
		cmocka_unit_test(reloads),
		cmocka_unit_test(what_a_file_lacks_is_an_error),
		cmocka_unit_test(a_reload_of_many_exports_takes_no_stack),
		cmocka_unit_test(an_export_in_an_outage_is_in_use),
		cmocka_unit_test(what_was_changed_is_saved),
		cmocka_unit_test(a_reload_changes_who_may_come_where),
		cmocka_unit_test(networks_of_exports_narrow_at_once),
		cmocka_unit_test(networks_of_exports_do_not_wait),
		cmocka_unit_test(a_reload_without_an_address_opens_nothing),
		cmocka_unit_test(a_reload_on_a_changed_host_changes_nothing),
		cmocka_unit_test(a_reload_adds_nothing_that_wants_keys),
		cmocka_unit_test(a_socket),
		cmocka_unit_test(bad_clients),
		cmocka_unit_test(no_memory_for_an_answer),
		cmocka_unit_test(whose_socket),
		cmocka_unit_test(the_end),
	};

	return cmocka_run_group_tests_name("admin", tests, setup, teardown);
}
