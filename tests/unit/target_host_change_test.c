// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts, keys and rights that change at run time, by a reload, by hand or by the clock. A change
 * counts at once, also for live sessions.
 *
 * Sources: target/session/session_key.c target/admin/admin_host.c target/export/host.c
 */
#include "../../target/base/log.h"
#include "target_admin.h"
#include "target_host.h"

static char conf[160];

static char *args[4];

/* Keys have expired. Stops the loop for a test that waits for that. */
static void expired(void)
{
	session_hosts_changed();
	loop_stop();
}

/* A daemon with the configuration of a test. */
static void daemon_begin(const char *text)
{
	snprintf(conf, sizeof(conf), "%s", files_path("conf"));
	files_text(conf, text);
	args[0] = (char *)"rdmablkd";
	args[1] = (char *)"--config";
	args[2] = conf;
	config_init(&cfg);
	assert_int_equal(options_parse(&cfg, 3, args), OPTIONS_RUN);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	assert_int_equal(cfg.auth, AUTH_PSK);
	assert_int_equal(host_start(&cfg, expired), 0);
	assert_int_equal(session_init(gone), 0);
	quota_init(&cfg);
	assert_int_equal(export_open_all(&cfg), 0);
	admin_init(&cfg);
}

static void daemon_end(void)
{
	export_close_all();
	host_stop();
	config_free(&cfg);
	admin_free(last);
	last = NULL;
}

/* Return: a live session that is busy, so that session_end() only begins its end. */
static struct session *session_of(const char *host, const struct made *key,
				  const char *export, bool writer)
{
	struct session *s = calloc(1, sizeof(*s));

	snprintf(s->proof.name, sizeof(s->proof.name), "%s", host);
	memcpy(s->proof.key_id, key->id, ID_LEN);
	s->export = export_by_name(export);
	s->lease.writer = writer;
	s->state = SESSION_LIVE;
	s->granted = true;
	s->busy = true;
	s->cfg = &cfg;
	s->version = RDMABLK_VERSION_PROVEN;
	s->ctrl.events = UINT32_MAX;	/* nothing can be sent: what is due stays due */
	session_add(s);
	return s;
}

static unsigned int reason_of(const struct session *s)
{
	return s->state == SESSION_LIVE ? RDMABLK_OK : s->end.reason;
}

/* Return: whether the initiator was told to prove another key; if so, ends the time for that */
static bool key_ends(struct session *s)
{
	bool told = s->events.due & 1U << RDMABLK_EVENT_REAUTH;
	int64_t left = (int64_t)s->events.value[RDMABLK_EVENT_REAUTH] - loop_now();

	if (!told || !s->key_ends.armed || left > 30000 || left < 1000)
		return false;
	assert_int_equal(reason_of(s), RDMABLK_OK);
	s->key_ends.expired(&s->key_ends);
	assert_int_equal(reason_of(s), RDMABLK_R_AUTH_KEY);
	return true;
}

static void session_over(struct session *s)
{
	loop_timer_stop(&s->key_ends);
	loop_timer_stop(&s->end.late);
	loop_timer_stop(&s->timer);
	LIST_REMOVE(s, entry);
	free(s);
}

static const char *conf_text(const char *hosts, const char *allow)
{
	static char text[3000];

	snprintf(text, sizeof(text), "[target]\nlisten = 10.0.0.1\n%s[export disk0]\n"
		 "type = memory\nsize = 1M\nhugepages = no\nallow = %s\n", hosts, allow);
	return text;
}

static void reload(const char *hosts, const char *allow)
{
	files_text(conf, conf_text(hosts, allow));
	if (run(ADMIN_RELOAD, "", NULL, 0))
		fail_msg("reload: %s", last->why);
}

/* Return: what the last reload reports for a host */
static const char *done_to(const char *name)
{
	const struct admin_change *c;

	TAILQ_FOREACH(c, &last->changes, entry)
		if (c->thing == ADMIN_HOST && !strcmp(c->name, name))
			return c->action;
	return "nothing";
}

static void a_reload_counts_at_once(void **state)
{
	const char *a, *b, *both, *next, *rotated;
	struct session *s, *ops, *reader;
	int64_t deadline;
	char more[300];

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	web2 = make_key(files_path("web2.key"), 0600);
	other = make_key(files_path("other.key"), 0600);
	snprintf(more, sizeof(more), "key = %s\n", files_path("web2.key"));
	a = strdup(host_of("web1", files_path("web1.key"), ""));
	b = strdup(host_of("ops", files_path("other.key"), ""));
	both = strdup(two(a, b));
	rotated = strdup(two(host_of("web1", files_path("web1.key"), more), b));
	next = strdup(two(host_of("web1", files_path("web2.key"), ""), b));
	daemon_begin(conf_text(both, "web1 ops:rw+steal"));
	s = session_of("web1", &web1, "disk0", true);
	ops = session_of("ops", &other, "disk0", true);
	reader = session_of("ops", &other, "disk0", false);

	reload(both, "web1 ops:rw+steal");
	assert_string_equal(done_to("web1"), "nothing");
	assert_int_equal(reason_of(s), RDMABLK_OK);
	/* a second key is added, and then the first one is removed */
	reload(rotated, "web1 ops");
	assert_string_equal(done_to("web1"), "changed");
	assert_string_equal(done_to("ops"), "nothing");
	assert_int_equal(reason_of(s), RDMABLK_OK);
	memcpy(s->proof.key_id, web2.id, ID_LEN);
	reload(next, "web1 ops");
	assert_int_equal(reason_of(s), RDMABLK_OK);
	assert_string_equal(found(web1.id, "10.0.0.1"), "nobody");
	/* the host loses the right to write, and then all rights */
	reload(next, "web1 ops:ro");
	assert_int_equal(reason_of(ops), RDMABLK_R_READ_ONLY);
	assert_int_equal(reason_of(reader), RDMABLK_OK);
	assert_int_equal(reason_of(s), RDMABLK_OK);
	reload(next, "web1");
	assert_int_equal(reason_of(reader), RDMABLK_R_NO_EXPORT);
	/* the key of a session is removed */
	reload(both, "web1");
	assert_true(s->key_ends.armed);
	/* another change does not extend the deadline; if the key comes back, there is none */
	s->key_ends.deadline += 1000000;
	deadline = s->key_ends.deadline;
	reload(both, "web1:rw");
	assert_true(s->key_ends.armed && s->key_ends.deadline == deadline);
	reload(next, "web1");
	assert_false(s->key_ends.armed);
	reload(both, "web1");
	assert_true(key_ends(s));
	session_over(s);
	s = session_of("web1", &web1, "disk0", true);
	/* a host is removed, and its right to the export */
	reload(b, "");
	assert_string_equal(done_to("web1"), "removed");
	assert_int_equal(reason_of(s), RDMABLK_R_NO_EXPORT);
	session_over(s);
	session_over(ops);
	session_over(reader);
	daemon_end();
	free((void *)a);
	free((void *)b);
	free((void *)both);
	free((void *)next);
	free((void *)rotated);
}

/* After its host was removed a session has time for another key; a lost right ends it at once. */
static void a_right_ends_without_its_host(const char *host)
{
	struct session *s;

	reload(host, "web1");
	s = session_of("web1", &web1, "disk0", true);
	assert_int_equal(run(ADMIN_HOST_REMOVE, "web1", NULL, 0), 0);
	assert_int_equal(reason_of(s), RDMABLK_OK);
	assert_true(s->key_ends.armed);
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "", 0), 0);
	assert_int_equal(reason_of(s), RDMABLK_R_NO_EXPORT);
	session_over(s);
}

static unsigned int rights(const char *host, const char *export)
{
	return host_may(host_by_name(host), export_by_name(export));
}

#define RW	(ALLOW_READ | ALLOW_WRITE)

/* Reloads with disk0 and the uncached file "disk1". */
static void reload_file(const char *hosts, const char *file, const char *more)
{
	char text[2500];

	snprintf(text, sizeof(text), "%s[export disk1]\nfile = %s\n%s",
		 conf_text(hosts, "web1"), file, more);
	files_text(conf, text);
	if (run(ADMIN_RELOAD, "", NULL, 0))
		fail_msg("reload: %s", last->why);
}

/*
 * An export that is in use keeps its old contents until it is opened again. Until then hosts have
 * only the rights that the old and the new section both give.
 */
static void new_rights_are_for_new_contents(void **state)
{
	char *a = strdup(files_new("a", 4 * MIB)), *b = strdup(files_new("b", 4 * MIB));
	char *hosts, spec[400];
	struct session *s;
	struct export *e;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	web2 = make_key(files_path("web2.key"), 0600);
	other = make_key(files_path("other.key"), 0600);
	assert_true(asprintf(&hosts, "%s%s%s", host_of("web1", files_path("web1.key"), ""),
			     host_of("web2", files_path("web2.key"), ""),
			     host_of("ops", files_path("other.key"), "")) > 0);
	daemon_begin(conf_text(hosts, "web1"));
	reload_file(hosts, a, "allow = web1 ops:ro\n");
	e = export_by_name("disk1");
	s = session_of("web1", &web1, "disk1", false);
	/* read-only, and for more hosts; the export is in use, so it is not read-only yet */
	reload_file(hosts, a, "ro = yes\nallow = ops web2, web1:rw+steal\n");
	assert_int_equal(rights("web1", "disk1"), RW);
	assert_int_equal(rights("ops", "disk1"), ALLOW_READ);
	assert_int_equal(rights("web2", "disk1"), 0);
	assert_int_equal(reason_of(s), RDMABLK_OK);
	assert_false(e->cfg->read_only);
	/* other contents, for another host */
	reload_file(hosts, b, "allow = web2 web1:ro\n");
	assert_int_equal(rights("web1", "disk1"), ALLOW_READ);
	assert_int_equal(rights("web2", "disk1"), 0);
	assert_int_equal(rights("ops", "disk1"), 0);
	assert_int_equal(reason_of(s), RDMABLK_OK);
	assert_string_equal(e->cfg->file, a);
	session_over(s);
	/* the first section again */
	reload_file(hosts, a, "allow = web1 ops:ro\n");
	assert_int_equal(rights("web1", "disk1"), RW);
	assert_int_equal(rights("ops", "disk1"), ALLOW_READ);
	/* not in use any more: it is opened with the new section */
	reload_file(hosts, b, "allow = web2\n");
	assert_string_equal(e->cfg->file, b);
	assert_int_equal(rights("web2", "disk1"), RW);
	assert_int_equal(rights("web1", "disk1"), 0);
	/* new rights count at once if the contents stay the same, or only grow */
	s = session_of("web2", &web2, "disk1", true);
	reload_file(hosts, b, "allow = web2, ops\n");
	assert_int_equal(rights("ops", "disk1"), RW);
	session_over(s);
	reload_file(hosts, b, "size = 1M\nallow = web2\n");
	s = session_of("web2", &web2, "disk1", true);
	reload_file(hosts, b, "size = 2M\nallow = web2 ops:ro\n");
	assert_true(e->store.size == 2 * MIB);
	assert_int_equal(rights("ops", "disk1"), ALLOW_READ);
	session_over(s);
	/* an export that was added by hand has the name of a new section */
	assert_int_equal(run(ADMIN_REMOVE, "disk1", NULL, 0), 0);
	snprintf(spec, sizeof(spec), "disk1,file=%s,allow=web1", a);
	assert_int_equal(run(ADMIN_ADD, "", spec, 0), 0);
	s = session_of("web1", &web1, "disk1", false);
	reload_file(hosts, b, "allow = web1:ro web2\n");
	assert_string_equal(export_by_name("disk1")->cfg->file, a);
	assert_int_equal(rights("web1", "disk1"), ALLOW_READ);
	assert_int_equal(rights("web2", "disk1"), 0);
	session_over(s);
	daemon_end();
	free(hosts);
	free(a);
	free(b);
}

/* A session loses what its host would not get at the next login. */
static void a_session_has_no_more_than_a_login(void **state)
{
	static const char *const narrower[] = {
		"address = 10.9.9.9\n", "host-id = 3f2c9c1e-8f0b-4f5e-9a39-4a6c1d0f7e11\n",
	};
	const char *host, *rotated, *ops;
	struct session *s;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	web2 = make_key(files_path("web2.key"), 0600);
	host = strdup(host_of("web1", files_path("web1.key"), ""));
	rotated = strdup(host_of("web1", files_path("web2.key"), ""));
	ops = strdup(host_of("ops", files_path("web1.key"), ""));
	daemon_begin(conf_text(host, "web1"));
	/* A removed right ends the session at once, although it has time for another key. */
	s = session_of("web1", &web1, "disk0", true);
	reload(rotated, "web1:ro");
	assert_int_equal(reason_of(s), RDMABLK_R_READ_ONLY);
	session_over(s);
	reload(host, "web1");
	s = session_of("web1", &web1, "disk0", true);
	reload(rotated, "web1");
	assert_int_equal(reason_of(s), RDMABLK_OK);
	reload(rotated, "");
	assert_int_equal(reason_of(s), RDMABLK_R_NO_EXPORT);
	session_over(s);
	a_right_ends_without_its_host(host);
	for (size_t i = 0; i < ARRAY_SIZE(narrower); i++) {
		reload(host, "web1");
		s = session_of("web1", &web1, "disk0", true);
		reload(host_of("web1", files_path("web1.key"), narrower[i]), "web1");
		assert_true(key_ends(s));
		session_over(s);
	}
	/* The key is now that of another host, although with the same right. */
	reload(host, "web1");
	s = session_of("web1", &web1, "disk0", true);
	reload(two(rotated, ops), "web1 ops");
	assert_string_equal(found(web1.id, "10.0.0.1"), "ops");
	assert_true(key_ends(s));
	session_over(s);
	daemon_end();
	free((void *)host);
	free((void *)rotated);
	free((void *)ops);
}

/* A key file that is replaced under its name is another key. */
static void a_reload_reads_the_key_files(void **state)
{
	const char *a;
	struct session *s;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	a = strdup(host_of("web1", files_path("web1.key"), ""));
	daemon_begin(conf_text(a, "web1"));
	s = session_of("web1", &web1, "disk0", true);
	web2 = make_key(files_path("web1.key"), 0600);
	reload(a, "web1");
	assert_string_equal(done_to("web1"), "changed");
	assert_true(key_ends(s));
	assert_string_equal(found(web2.id, "10.0.0.1"), "web1");
	assert_int_equal(keys_in_memory(&web1, "replaced"), 0);
	session_over(s);

	/* a reload with a wrong key file, or an unknown host, changes nothing */
	s = session_of("web1", &web2, "disk0", true);
	assert_int_equal(chmod(files_path("web1.key"), 0644), 0);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), -EINVAL);
	assert_non_null(strstr(last->why, "lets others at the key"));
	assert_string_equal(found(web2.id, "10.0.0.1"), "web1");
	assert_int_equal(reason_of(s), RDMABLK_OK);
	files_text(conf, conf_text(a, "web1 db"));
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), -EINVAL);
	assert_non_null(strstr(last->why, "\"disk0\" allows host \"db\""));
	session_over(s);
	daemon_end();
	free((void *)a);
}

static void hosts_come_and_go_by_hand(void **state)
{
	const char *a;
	struct session *s;
	char spec[400];

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	other = make_key(files_path("other.key"), 0600);
	a = strdup(host_of("web1", files_path("web1.key"), ""));
	daemon_begin(conf_text(a, "web1"));
	snprintf(spec, sizeof(spec), "ops,key=%s,address=10.0.0.7 10.0.0.8",
		 files_path("other.key"));
	assert_int_equal(run(ADMIN_HOST_ADD, "", spec, 0), 0);
	assert_string_equal(last->name, "ops");
	assert_string_equal(found(other.id, "10.0.0.8"), "ops");
	assert_string_equal(found(other.id, "10.0.0.9"), "nobody");
	assert_string_equal(found(web1.id, "10.0.0.9"), "web1");
	assert_int_equal(run(ADMIN_HOST_ADD, "", spec, 0), -EEXIST);
	assert_non_null(strstr(last->why, "host ops exists already"));
	snprintf(spec, sizeof(spec), "db,key=%s", files_path("other.key"));
	assert_int_equal(run(ADMIN_HOST_ADD, "", spec, 0), -EINVAL);
	assert_non_null(strstr(last->why, "is a key of host"));
	assert_int_equal(run(ADMIN_HOST_ADD, "", "db", 0), -EINVAL);
	assert_non_null(strstr(last->why, "has no key"));
	assert_int_equal(run(ADMIN_HOST_ADD, "", "db,expires=2027-06-30,x=1", 0), -EINVAL);
	assert_non_null(strstr(last->why, "unknown key \"x\""));

	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1, ops:ro", 0), 0);
	assert_string_equal(export_by_name("disk0")->cfg->allow, "web1, ops:ro");
	assert_int_equal(run(ADMIN_ALLOW, "disk1", "web1", 0), -ENOENT);
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1 db", 0), -EINVAL);
	assert_string_equal(last->why, "there is no host db");
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "wbe1", 0), -EINVAL);
	assert_string_equal(last->why, "there is no host wbe1; did you mean web1?");
	assert_int_equal(run(ADMIN_HOST_REMOVE, "web", "", 0), -ENOENT);
	assert_string_equal(last->why, "there is no host web; did you mean web1?");
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1:wo", 0), -EINVAL);
	assert_string_equal(export_by_name("disk0")->cfg->allow, "web1, ops:ro");
	s = session_of("ops", &other, "disk0", false);
	/* a reload keeps a host added by hand, but not a list changed by hand */
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_string_equal(found(other.id, "10.0.0.8"), "ops");
	assert_string_equal(export_by_name("disk0")->cfg->allow, "web1");
	assert_int_equal(reason_of(s), RDMABLK_R_NO_EXPORT);
	session_over(s);
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1, ops:ro", 0), 0);
	/* a save writes the host, and reports the changed list, which it cannot write */
	assert_int_equal(run(ADMIN_SAVE, "", NULL, 0), 0);
	snprintf(spec, sizeof(spec), "\n[host ops]\nkey = %s\naddress = 10.0.0.7 10.0.0.8\n",
		 files_path("other.key"));
	assert_non_null(strstr(last->text, spec));
	assert_null(strstr(last->text, "web1"));
	assert_null(strstr(last->text, "disk0"));
	assert_string_equal(TAILQ_FIRST(&last->changes)->name, "disk0");
	assert_non_null(strstr(TAILQ_FIRST(&last->changes)->why, "list of hosts differs from"));
	assert_null(TAILQ_NEXT(TAILQ_FIRST(&last->changes), entry));
	s = session_of("ops", &other, "disk0", false);
	assert_int_equal(run(ADMIN_HOST_REMOVE, "ops", NULL, 0), 0);
	assert_true(key_ends(s));
	assert_string_equal(found(other.id, "10.0.0.8"), "nobody");
	assert_int_equal(run(ADMIN_HOST_REMOVE, "ops", NULL, 0), -ENOENT);
	session_over(s);
	s = session_of("web1", &web1, "disk0", true);
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "", 0), 0);
	assert_null(export_by_name("disk0")->cfg->allow);
	assert_int_equal(reason_of(s), RDMABLK_R_NO_EXPORT);
	session_over(s);
	/* a reload brings back a host of the configuration */
	assert_int_equal(run(ADMIN_HOST_REMOVE, "web1", NULL, 0), 0);
	assert_int_equal(run(ADMIN_RELOAD, "", NULL, 0), 0);
	assert_string_equal(done_to("web1"), "added");
	assert_string_equal(found(web1.id, "10.0.0.9"), "web1");
	daemon_end();
	free((void *)a);
}

static void keys_that_expire_end_sessions(void **state)
{
	const char *a;
	struct session *s, *writer, *open;

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	a = strdup(host_of("web1", files_path("web1.key"), "expires = 2027-06-30"));
	host_time = fake_time;
	host_look_ms = 1;
	now = EXPIRES - 1;
	daemon_begin(conf_text(a, "web1"));
	s = session_of("web1", &web1, "disk0", false);
	writer = session_of("web1", &web1, "disk0", true);
	open = session_of("", &other, "disk0", true);
	session_hosts_changed();
	assert_int_equal(reason_of(s), RDMABLK_OK);
	now = EXPIRES;
	assert_int_equal(loop_run(), 0);
	/* A removed right ends the session at once, also after its key has expired. */
	assert_true(writer->key_ends.armed);
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1:ro", 0), 0);
	assert_int_equal(reason_of(writer), RDMABLK_R_READ_ONLY);
	assert_true(key_ends(s));
	/* A session without a proven key goes on. */
	assert_int_equal(reason_of(open), RDMABLK_OK);
	assert_false(open->key_ends.armed);
	session_over(s);
	session_over(writer);
	session_over(open);
	daemon_end();
	host_time = time;
	host_look_ms = 60000;
	free((void *)a);
}

static void an_export_is_added_for_hosts_that_there_are(void **state)
{
	const char *spec = "disk1,memory,size=1M,hugepages=no,allow=";
	char text[100];

	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	daemon_begin(conf_text(host_of("web1", files_path("web1.key"), ""), "web1"));
	snprintf(text, sizeof(text), "%s%s", spec, "web2");
	assert_int_equal(run(ADMIN_ADD, "", text, 0), -EINVAL);
	assert_non_null(strstr(last->why, "web2"));
	assert_null(export_by_name("disk1"));
	snprintf(text, sizeof(text), "%s%s", spec, "web1:ro");
	assert_int_equal(run(ADMIN_ADD, "", text, 0), 0);
	assert_string_equal(export_by_name("disk1")->cfg->allow, "web1:ro");
	daemon_end();
}

/* Without authentication hosts and rights cannot be changed. */
static void hosts_take_authentication(void **state)
{
	(void)state;
	web1 = make_key(files_path("web1.key"), 0600);
	daemon_begin(conf_text(host_of("web1", files_path("web1.key"), ""), "web1"));
	cfg.auth = AUTH_NONE;
	assert_int_equal(run(ADMIN_HOST_ADD, "", "ops,key=x", 0), -EINVAL);
	assert_non_null(strstr(last->why, "auth = psk"));
	assert_int_equal(run(ADMIN_ALLOW, "disk0", "web1", 0), -EINVAL);
	assert_non_null(strstr(last->why, "auth = psk"));
	daemon_end();
}

static int group_setup(void **state)
{
	if (files_setup(state))
		return -1;
	return loop_init() ?: worker_start();
}

static int group_teardown(void **state)
{
	worker_stop();
	loop_exit();
	return files_teardown(state);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reload_counts_at_once),
		cmocka_unit_test(new_rights_are_for_new_contents),
		cmocka_unit_test(a_session_has_no_more_than_a_login),
		cmocka_unit_test(a_reload_reads_the_key_files),
		cmocka_unit_test(hosts_come_and_go_by_hand),
		cmocka_unit_test(keys_that_expire_end_sessions),
		cmocka_unit_test(an_export_is_added_for_hosts_that_there_are),
		cmocka_unit_test(hosts_take_authentication),
	};

	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
