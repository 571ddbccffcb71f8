// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The audit log: its lines say what happened, and the name of a peer cannot forge a line. Lost
 * lines are counted. The loop does not wait for the disk. Only a regular file is written to.
 *
 * Sources: target/base/audit.c target/base/lines.c target/session/session_audit.c
 *	   target/admin/admin_request.c
 */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../target/admin/admin_request.h"
#include "../../target/base/audit.h"
#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/session/session_audit.h"
#include "target_files.h"

#define SCHEMA	UNIT_DIR "/../../Documentation/json/rdmablkd-audit.schema.json"
#define CHECKER	UNIT_DIR "/../lib/schema.py"
#define BURST	20	/* lines about refusals of one address in a window */
#define RING	512	/* most lines that wait for the disk */
#define ALL	384	/* lines about refusals of all addresses; also 3/4 of the ring */
#define LOGINS	300U	/* fits into the ring together with the refusals */
#define MANY	2000U	/* addresses */
#define HOSTILE	"\"},{\"event\":\"stop\"\\\n\x1b[2J\xff\xc3"

static struct json_object *lines[4096];
static unsigned int nr;
static char file[256];

static const char *name_of(const char *name)
{
	snprintf(file, sizeof(file), "%s", files_path(name));
	return file;
}

static void forget(void)
{
	while (nr)
		json_object_put(lines[--nr]);
}

/* Reads the file into @lines. Each line must be one JSON object and nothing more. */
static unsigned int read_lines(const char *name)
{
	FILE *f = fopen(files_path(name), "re");
	char text[8192];

	assert_non_null(f);
	forget();
	while (fgets(text, sizeof(text), f)) {
		struct json_tokener *tok = json_tokener_new();

		assert_true(text[strlen(text) - 1] == '\n');
		assert_true(nr < ARRAY_SIZE(lines));
		json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
		lines[nr] = json_tokener_parse_ex(tok, text, (int)strlen(text) - 1);
		if (!lines[nr] || json_tokener_get_parse_end(tok) != strlen(text) - 1)
			fail_msg("no line of JSON: %s", text);
		nr++;
		json_tokener_free(tok);
	}
	fclose(f);
	return nr;
}

static struct json_object *value(unsigned int line, const char *key)
{
	struct json_object *v = NULL;

	assert_true(line < nr);
	if (!json_object_object_get_ex(lines[line], key, &v))
		fail_msg("line %u has no %s: %s", line, key,
			 json_object_to_json_string(lines[line]));
	return v;
}

static const char *text(unsigned int line, const char *key)
{
	return json_object_get_string(value(line, key)) ?: "null";
}

static uint64_t number(unsigned int line, const char *key)
{
	assert_true(json_object_is_type(value(line, key), json_type_int));
	return json_object_get_uint64(value(line, key));
}

static bool yes(unsigned int line, const char *key)
{
	assert_true(json_object_is_type(value(line, key), json_type_boolean));
	return json_object_get_boolean(value(line, key));
}

static void begin(const char *name)
{
	alarm(60);	/* ends a test that waits for the disk for ever */
	audit_stop_ms = 30000;	/* a stop that is cut short would lose lines */
	unlink(files_path(name));
	assert_int_equal(audit_open(name_of(name)), 0);
	assert_int_equal(audit_start(), 0);
}

static void plain(uint64_t i)
{
	struct json_object *line = audit_line("plain");

	audit_number(line, "i", i);
	audit_write(line);
}

static struct session session = {
	.id = 0x1234,
	.peer_text = "10.0.0.7",
	.hello = { .export_name = "disk0", .host_name = "web1", .host_id = { 1, 2 },
		  .flags = RDMABLK_HELLO_STEAL },
	.proof = { .name = "web1-key", .key_id = { 0x0f, 1, 2, 3, 4, 5, 6, 0xf7 } },
	.lease = { .writer = true },
	.share = { .queues = 3 },
	.grant_flags = RDMABLK_GRANT_SHARED,
	.heard = { .messages = 5, .keepalives = 4 },
	.refused_joins = 2,
	.end = { .reason = RDMABLK_R_LOGOUT },
};

static void peer_is(struct session *s, const char *address)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&s->peer;

	in->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, address, &in->sin_addr), 1);
}

static void expect_head(unsigned int line, const char *event)
{
	const char *time = text(line, "time");
	int year, us, end = 0;

	assert_string_equal(text(line, "event"), event);
	assert_int_equal(number(line, "seq"), line + 1);
	assert_int_equal(number(line, "version"), 1);
	assert_int_equal(number(line, "lost"), 0);
	if (sscanf(time, "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%6dZ%n", &year, &us, &end) != 2 ||
	    strlen(time) != 27 || (size_t)end != strlen(time) || year < 2024)
		fail_msg("no time: %s", time);
}

static void expect_session(unsigned int line)
{
	assert_string_equal(text(line, "session_id"), "0000000000001234");
	assert_string_equal(text(line, "export"), "disk0");
	assert_string_equal(text(line, "address"), "10.0.0.7");
	assert_string_equal(text(line, "host"), "web1");
	assert_string_equal(text(line, "host_id"), "01020000-0000-0000-0000-000000000000");
	assert_string_equal(text(line, "auth_host"), "web1-key");
	assert_string_equal(text(line, "key_id"), "0f010203040506f7");
}

static void admin_lines(void)
{
	struct admin_change changes[] = {
		{ .name = "disk1", .action = "kept" },
		{ .name = "disk2", .action = "added" },
		{ .name = "listen", .thing = ADMIN_SETTING, .why = "needs a restart" },
		{ .name = "db", .thing = ADMIN_HOST, .action = "added" },
	};
	struct admin a = { .op = ADMIN_RESIZE, .name = "disk0", .uid = 1007, .bytes = 8192 };

	TAILQ_INIT(&a.changes);
	admin_audit_done(&a);
	a.op = ADMIN_ADD;
	a.error = -EINVAL;
	snprintf(a.why, sizeof(a.why), "%s", HOSTILE);
	admin_audit_done(&a);
	a = (struct admin){ .op = ADMIN_RELOAD, .by_signal = true };
	TAILQ_INIT(&a.changes);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		TAILQ_INSERT_TAIL(&a.changes, &changes[i], entry);
	admin_audit_done(&a);
	admin_audit_refused(65534, "too many");
}

/* Requests about hosts, and a refused stranger, who is not told the detail in the line */
static void host_lines(void)
{
	struct session stranger = { .id = 0x98, .proof = { .key_id = { 1 } } };
	struct admin a = { .op = ADMIN_HOST_ADD, .name = "db", .uid = 1007 };
	struct admin_change kicked = {
		.name = "0000000000000098", .thing = ADMIN_SESSION, .action = "ended",
	};

	TAILQ_INIT(&a.changes);
	peer_is(&stranger, "10.0.0.9");
	admin_audit_done(&a);
	a = (struct admin){ .op = ADMIN_ALLOW, .name = "disk0", .allow = (char *)"db:ro" };
	TAILQ_INIT(&a.changes);
	admin_audit_done(&a);
	a = (struct admin){ .op = ADMIN_KICK, .name = "db", .reason = (char *)HOSTILE };
	TAILQ_INIT(&a.changes);
	TAILQ_INSERT_TAIL(&a.changes, &kicked, entry);
	admin_audit_done(&a);
	session_audit_refused(&stranger, RDMABLK_R_AUTH_FAILED);
}

static void write_events(void)
{
	struct session loser = { .id = 0x99, .peer_text = "10.0.0.8" };
	struct wire_request req = { .session_id = 0x77 };

	peer_is(&session, "10.0.0.7");
	peer_is(&loser, "10.0.0.8");
	session.counts.done[RDMABLK_OP_FLUSH - RDMABLK_OP_FENCE] = 6;
	session.born = loop_now() - 1500;
	begin("events");
	session_audit_login(&session);
	session_audit_takeover(&session, &loser, RDMABLK_R_STOLEN);
	session_audit_end(&session, 9);
	session.proof.no_steal = true;
	session_audit_refused(&session, RDMABLK_R_BUSY);
	session.proof.no_steal = false;
	session_audit_connection(session_peer(&loser), &req, RDMABLK_R_JOIN_MAC, "why");
	admin_lines();
	host_lines();
	session_audit_visit(&session, RDMABLK_R_LOGOUT);
	session_audit_revoke(&session, 30000);
	session_audit_reauth(&session, (const uint8_t *)"\x12\x34\x56\x78\x9a\xbc\xde\xf0");
	audit_stop(0, 7);
}

static void expect_begun(void)
{
	struct json_object *loser;

	expect_head(0, "login");
	expect_session(0);
	assert_int_equal(number(0, "queues"), 3);
	assert_false(yes(0, "read_only"));
	assert_true(yes(0, "shared"));
	assert_true(yes(0, "steal"));
	assert_false(yes(0, "resume"));

	expect_head(1, "takeover");
	expect_session(1);
	assert_int_equal(number(1, "reason"), RDMABLK_R_STOLEN);
	loser = value(1, "loser");
	assert_string_equal(json_object_get_string(json_object_object_get(loser, "session_id")),
			    "0000000000000099");
	assert_string_equal(json_object_get_string(json_object_object_get(loser, "address")),
			    "10.0.0.8");
	assert_true(json_object_object_get_ex(loser, "key_id", NULL));
}

static void expect_ended(void)
{
	expect_head(2, "end");
	expect_session(2);
	assert_string_equal(text(2, "reason_text"), rdmablk_reason_text(RDMABLK_R_LOGOUT));
	assert_true(number(2, "duration_ms") >= 1500);
	assert_int_equal(number(2, "messages"), 5);
	assert_int_equal(number(2, "keepalives"), 4);
	assert_int_equal(number(2, "refused_joins"), 2);
	assert_int_equal(number(2, "commands"), 9);
	assert_int_equal(number(2, "flushes"), 6);

	expect_head(3, "refused");
	expect_session(3);
	assert_string_equal(text(3, "what"), "login");
	assert_int_equal(number(3, "reason"), RDMABLK_R_BUSY);
	assert_string_equal(text(3, "detail"), "no rw+steal in allow of the export");

	expect_head(4, "refused");
	assert_string_equal(text(4, "what"), "queue");
	assert_string_equal(text(4, "session_id"), "0000000000000077");
	assert_string_equal(text(4, "address"), "10.0.0.8");
	assert_int_equal(number(4, "reason"), RDMABLK_R_JOIN_MAC);
	assert_string_equal(text(4, "detail"), "why");
}

static void expect_changed(void)
{
	expect_head(5, "admin");
	assert_string_equal(text(5, "request"), "resize");
	assert_string_equal(text(5, "export"), "disk0");
	assert_int_equal(number(5, "uid"), 1007);
	assert_string_equal(text(5, "by"), "control");
	assert_string_equal(text(5, "error"), "null");
	assert_int_equal(number(5, "size"), 8192);

	expect_head(6, "admin");
	assert_string_equal(text(6, "error"), "EINVAL");
	assert_string_equal(text(6, "detail"), "\"},{\"event\":\"stop\"\\\n\x1b[2J??");

	expect_head(7, "admin");
	assert_string_equal(text(7, "request"), "reload");
	assert_string_equal(text(7, "by"), "signal");

	expect_head(8, "change");
	assert_string_equal(text(8, "name"), "disk2");
	assert_string_equal(text(8, "what"), "export");
	assert_string_equal(text(8, "action"), "added");

	expect_head(9, "change");
	assert_string_equal(text(9, "name"), "listen");
	assert_string_equal(text(9, "what"), "setting");
	assert_string_equal(text(9, "action"), "null");
	assert_string_equal(text(9, "detail"), "needs a restart");

	expect_head(10, "change");
	assert_string_equal(text(10, "what"), "host");
	assert_string_equal(text(10, "action"), "added");

	expect_head(11, "refused");
	assert_string_equal(text(11, "what"), "control");
	assert_int_equal(number(11, "uid"), 65534);
}

static void expect_hosts(void)
{
	expect_head(12, "admin");
	assert_string_equal(text(12, "request"), "host add");
	assert_string_equal(text(12, "export"), "null");
	assert_string_equal(text(12, "auth_host"), "db");
	assert_string_equal(text(12, "allow"), "null");

	expect_head(13, "admin");
	assert_string_equal(text(13, "request"), "allow");
	assert_string_equal(text(13, "export"), "disk0");
	assert_string_equal(text(13, "auth_host"), "null");
	assert_string_equal(text(13, "allow"), "db:ro");

	expect_head(14, "admin");
	assert_string_equal(text(14, "request"), "kick");
	assert_string_equal(text(14, "kicked"), "db");
	assert_string_equal(text(14, "export"), "null");
	assert_string_equal(text(14, "auth_host"), "null");
	assert_string_equal(text(14, "why"), "\"},{\"event\":\"stop\"\\\n\x1b[2J??");
	expect_head(15, "change");
	assert_string_equal(text(15, "what"), "session");
	assert_string_equal(text(15, "name"), "0000000000000098");
	assert_string_equal(text(15, "action"), "ended");

	expect_head(16, "refused");
	assert_string_equal(text(16, "auth_host"), "null");
	assert_string_equal(text(16, "key_id"), "0100000000000000");
	assert_string_equal(text(16, "detail"), "no host has this key");

	expect_head(17, "visit");
	assert_string_equal(text(17, "address"), "10.0.0.7");
	assert_string_equal(text(17, "reason_text"), rdmablk_reason_text(RDMABLK_R_LOGOUT));
	assert_int_equal(number(17, "messages"), 5);
}

static void expect_keys(void)
{
	expect_head(18, "revoke");
	expect_session(18);
	assert_int_equal(number(18, "notice_ms"), 30000);

	expect_head(19, "reauth");
	expect_session(19);
	assert_string_equal(text(19, "old_key_id"), "123456789abcdef0");

	expect_head(20, "stop");
	assert_int_equal(number(20, "status"), 0);
	assert_int_equal(number(20, "command_status"), 7);
}

static void each_event_has_its_line(void **state)
{
	(void)state;
	write_events();
	assert_int_equal(read_lines("events"), 21);
	expect_begun();
	expect_ended();
	expect_changed();
	expect_hosts();
	expect_keys();
	forget();
}

static void lines_follow_the_schema(void **state)
{
	char command[1024];
	int ret;

	(void)state;
	if (access(CHECKER, R_OK)) {	/* a copy of the sources alone */
		printf("SKIP no " CHECKER "\n");
		return;
	}
	begin("schema");
	audit_write(audit_line("stop"));	/* lacks "status" */
	audit_stop(0, -1);
	write_events();
	snprintf(command, sizeof(command), "python3 " CHECKER " " SCHEMA " %s",
		 files_path("events"));
	ret = system(command);
	assert_true(WIFEXITED(ret));
	if (WEXITSTATUS(ret) == 77) {
		printf("SKIP no python3-jsonschema: the schema of the audit log\n");
		return;
	}
	assert_int_equal(WEXITSTATUS(ret), 0);
	snprintf(command, sizeof(command), "python3 " CHECKER " " SCHEMA " %s 2>/dev/null",
		 files_path("schema"));
	ret = system(command);
	assert_true(WIFEXITED(ret) && WEXITSTATUS(ret) == 1);
}

static void names_of_peers_stay_texts(void **state)
{
	struct session s = { .id = 1 };

	(void)state;
	peer_is(&s, "10.0.0.9");
	snprintf(s.hello.host_name, sizeof(s.hello.host_name), "%s", HOSTILE);
	snprintf(s.hello.export_name, sizeof(s.hello.export_name), "%s", HOSTILE);
	begin("hostile");
	session_audit_refused(&s, RDMABLK_R_BUSY);
	audit_stop(0, -1);
	assert_int_equal(read_lines("hostile"), 2);
	assert_false(json_object_object_get_ex(lines[1], "command_status", NULL));
	assert_string_equal(text(0, "host"), "\"},{\"event\":\"stop\"\\\n\x1b[2J??");
	assert_string_equal(text(0, "export"), text(0, "host"));
	assert_string_equal(text(0, "event"), "refused");
	forget();
}

/* Each failed authentication has its own detail. A known key is not reported as unknown. */
static void a_failed_authentication_has_its_cause(void **state)
{
	static struct export export;
	struct session s = { .id = 1 };

	(void)state;
	peer_is(&s, "10.0.0.10");
	begin("causes");
	session_audit_refused(&s, RDMABLK_R_AUTH_FAILED);
	s.proof.key_id[0] = 1;
	session_audit_refused(&s, RDMABLK_R_AUTH_FAILED);
	snprintf(s.proof.name, sizeof(s.proof.name), "web1");
	session_audit_refused(&s, RDMABLK_R_AUTH_FAILED);
	s.export = &export;
	session_audit_refused(&s, RDMABLK_R_AUTH_FAILED);
	audit_stop(0, -1);
	assert_int_equal(read_lines("causes"), 5);
	assert_string_equal(text(0, "detail"), "null");
	assert_string_equal(text(1, "detail"), "no host has this key");
	assert_string_equal(text(2, "auth_host"), "web1");
	assert_string_equal(text(2, "detail"), "host-id of the host");
	assert_string_equal(text(3, "detail"), "a message that is not sealed");
	forget();
}

/* Begins a new window of all addresses, by a refusal while no audit log is open. */
static void new_window(void)
{
	audit_window_ms = -1;
	assert_null(audit_refusal(NULL));
	audit_window_ms = 100000;
}

static void an_address_has_so_many_lines_of_refusals(void **state)
{
	struct session other = { .id = 2 };

	(void)state;
	audit_window_ms = 100000;
	peer_is(&session, "10.1.0.1");
	peer_is(&other, "10.1.0.2");
	begin("flood");
	for (unsigned int i = 0; i < LOGINS; i++) {
		session_audit_refused(&session, RDMABLK_R_BUSY);
		session_audit_login(&other);	/* logins have no such limit */
	}
	session_audit_refused(&other, RDMABLK_R_BUSY);
	audit_window_ms = -1;
	session_audit_refused(&session, RDMABLK_R_BUSY);
	audit_window_ms = 100000;
	for (unsigned int i = 0; i < BURST + 3; i++)
		session_audit_refused(&session, RDMABLK_R_BUSY);
	audit_stop(0, -1);
	audit_window_ms = 10000;
	read_lines("flood");
	assert_int_equal(nr, LOGINS + BURST + 1 + 1 + BURST - 1 + 1);
	assert_int_equal(number(BURST + LOGINS, "left_out"), 0);
	assert_int_equal(number(BURST + LOGINS + 1, "left_out"), LOGINS - BURST);
	assert_int_equal(number(BURST + LOGINS + 2, "left_out"), 0);
	assert_int_equal(number(nr - 1, "left_out"), 4);
	/* Lines that are left out have no numbers. */
	assert_int_equal(number(nr - 1, "seq"), nr);
	forget();
}

static void forgotten_addresses_are_counted(void **state)
{
	uint64_t sum = 0;

	(void)state;
	new_window();
	peer_is(&session, "10.2.0.0");
	begin("many");
	for (unsigned int i = 0; i < BURST + 7; i++)
		session_audit_refused(&session, RDMABLK_R_BUSY);
	usleep(2000);	/* its window is the oldest from here on */
	for (unsigned int i = 1; i < 300; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&session.peer;

		in->sin_addr.s_addr = htonl(0x0a020000 + i);
		session_audit_refused(&session, RDMABLK_R_BUSY);
	}
	audit_stop(0, -1);
	audit_window_ms = 10000;
	read_lines("many");
	for (unsigned int i = 0; i < nr - 1; i++)
		sum += number(i, "left_out_others");
	assert_int_equal(sum, 7);
	assert_int_equal(number(nr - 1, "left_out"), 0);
	forget();
	peer_is(&session, "10.0.0.7");
}

/* No file of this process may grow beyond this: the disk is full. */
static void disk_full_at(rlim_t size)
{
	struct rlimit limit = { .rlim_cur = size, .rlim_max = RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void refuse_address(unsigned int i)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&session.peer;

	in->sin_addr.s_addr = htonl(0x0a030000 + i);
	session_audit_refused(&session, RDMABLK_R_BUSY);
}

static unsigned int lines_of(const char *event)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < nr; i++)
		found += !strcmp(text(i, "event"), event);
	return found;
}

static unsigned int count_lines(const char *name)
{
	FILE *f = fopen(files_path(name), "re");
	unsigned int found = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		found += c == '\n';
	fclose(f);
	return found;
}

/* Waits until the file has @wanted lines. */
static void wait_for_lines(const char *name, unsigned int wanted)
{
	for (unsigned int i = 0; i < 1000 && count_lines(name) < wanted; i++)
		usleep(10000);
	assert_int_equal(count_lines(name), wanted);
}

static void all_addresses_have_so_many_lines_of_refusals(void **state)
{
	(void)state;
	new_window();
	begin("crowd");
	for (unsigned int i = 0; i < MANY; i++) {
		refuse_address(i);
		if (i < ALL && i % 64 == 63)	/* so the ring does not fill up */
			wait_for_lines("crowd", i + 1);
	}
	session_audit_login(&session);
	audit_window_ms = -1;
	refuse_address(MANY);
	audit_stop(0, -1);
	audit_window_ms = 10000;
	peer_is(&session, "10.0.0.7");
	read_lines("crowd");
	assert_int_equal(nr, ALL + 1 + 1 + 1);
	assert_string_equal(text(ALL, "event"), "login");
	assert_int_equal(number(ALL + 1, "left_out_others"), MANY - ALL);
	assert_int_equal(number(ALL + 1, "seq"), ALL + 2);
	assert_int_equal(number(nr - 1, "left_out"), 0);
	forget();
}

/* While the disk is stuck, lines about refusals leave a quarter of the ring to other lines. */
static void refusals_leave_room_for_other_lines(void **state)
{
	const unsigned int first = 200, logins = RING - ALL - 1;

	(void)state;
	audit_retry_ms = 1;
	new_window();
	begin("stuck");
	disk_full_at(0);
	for (unsigned int i = 0; i < first; i++)
		plain(i);
	for (unsigned int i = 0; i < MANY; i++)
		refuse_address(i);
	for (unsigned int i = 0; i < logins; i++)
		session_audit_login(&session);
	session_audit_takeover(&session, &session, RDMABLK_R_STOLEN);
	disk_full_at(RLIM_INFINITY);
	wait_for_lines("stuck", RING);
	audit_stop(0, -1);
	audit_window_ms = 10000;
	audit_retry_ms = 1000;
	peer_is(&session, "10.0.0.7");
	assert_int_equal(read_lines("stuck"), RING + 1);
	assert_int_equal(lines_of("refused"), ALL - first);
	assert_int_equal(lines_of("login"), logins);
	assert_int_equal(lines_of("takeover"), 1);
	assert_int_equal(number(nr - 1, "lost"), 0);
	assert_int_equal(number(nr - 1, "left_out"), MANY - (ALL - first));
	forget();
}

static void a_full_disk_loses_lines_that_are_counted(void **state)
{
	uint64_t lost = 0, next = 1;
	const unsigned int all = RING + 100;

	(void)state;
	audit_retry_ms = 1;
	begin("full");
	disk_full_at(1000);
	for (unsigned int i = 0; i < all; i++)
		plain(i);	/* does not wait for the disk */
	disk_full_at(RLIM_INFINITY);
	/* until there is room for a line again */
	for (unsigned int i = 0; i < 1000; i++) {
		struct stat st;

		assert_int_equal(stat(files_path("full"), &st), 0);
		if (st.st_size > 2000)
			break;
		usleep(10000);
	}
	plain(all);
	audit_stop(1, -1);
	audit_retry_ms = 1000;
	read_lines("full");
	for (unsigned int i = 0; i < nr; i++) {
		next += number(i, "lost");
		lost += number(i, "lost");
		assert_int_equal(number(i, "seq"), next);
		next++;
	}
	/* the lines that did not fit into the ring, less a few that were written meanwhile */
	assert_true(lost > 80 && lost <= 100);
	assert_int_equal(nr + lost, all + 2);
	assert_int_equal(number(nr - 2, "i"), all);
	forget();
}

static bool has(const char *name)
{
	struct stat st;

	return !stat(files_path(name), &st) && st.st_size > 0;
}

static void a_moved_file_is_left(void **state)
{
	char to[256];

	(void)state;
	begin("now");
	plain(0);
	snprintf(to, sizeof(to), "%s", files_path("then"));
	for (unsigned int i = 0; i < 1000 && !has("now"); i++)
		usleep(10000);
	assert_int_equal(rename(files_path("now"), to), 0);
	audit_reopen();
	plain(1);
	audit_stop(0, -1);
	assert_int_equal(read_lines("then"), 1);
	assert_int_equal(number(0, "seq"), 1);
	assert_int_equal(read_lines("now"), 2);
	assert_int_equal(number(0, "seq"), 2);
	forget();
}

static void a_name_that_cannot_be_opened_again_leaves_the_file(void **state)
{
	char to[256];

	(void)state;
	begin("kept");
	snprintf(to, sizeof(to), "%s", files_path("moved"));
	assert_int_equal(rename(files_path("kept"), to), 0);
	assert_int_equal(mkfifo(files_path("kept"), 0600), 0);
	audit_reopen();
	plain(0);
	audit_stop(0, -1);
	assert_int_equal(read_lines("moved"), 2);
	assert_int_equal(unlink(files_path("kept")), 0);
	forget();
}

/* Begins a log and fills the disk after the first 10 bytes of its first line. */
static void begin_cut(const char *name)
{
	struct stat st;

	audit_retry_ms = 1;
	begin(name);
	disk_full_at(10);
	plain(7);
	do
		assert_int_equal(stat(files_path(name), &st), 0);
	while (st.st_size < 10);
}

/* Makes room on the disk. The file must get the whole line. */
static void end_whole(const char *name)
{
	disk_full_at(RLIM_INFINITY);
	audit_stop(0, -1);
	audit_retry_ms = 1000;
	assert_int_equal(read_lines(name), 2);
	assert_int_equal(number(0, "i"), 7);
	forget();
}

static void a_line_is_whole_in_the_next_file(void **state)
{
	struct stat st;
	char to[256];

	(void)state;
	begin_cut("cut");
	snprintf(to, sizeof(to), "%s", files_path("half"));
	assert_int_equal(rename(files_path("cut"), to), 0);
	audit_reopen();
	do
		usleep(1000);
	while (stat(files_path("cut"), &st));
	end_whole("cut");
}

/* After a reopen of the same file the rest of the line follows its first bytes. */
static void a_line_goes_on_in_the_same_file(void **state)
{
	char event[512];
	int watch;

	(void)state;
	begin_cut("again");
	watch = inotify_init1(IN_CLOEXEC);
	assert_true(inotify_add_watch(watch, files_path("again"), IN_OPEN) >= 0);
	audit_reopen();
	assert_true(read(watch, event, sizeof(event)) > 0);
	close(watch);
	end_whole("again");
}

static void expect_refused(const char *path, const char *why)
{
	char said[1024], want[512];

	log_keep(said, sizeof(said));
	assert_true(audit_open(path) < 0);
	log_keep(NULL, 0);
	snprintf(want, sizeof(want), "cannot open the audit log %s: %s", path, why);
	assert_string_equal(said, want);
	audit_stop(0, -1);
}

static void only_a_regular_file_will_do(void **state)
{
	struct stat st;

	(void)state;
	alarm(60);	/* ends a test whose open of the pipe waits for a reader */
	assert_int_equal(mkfifo(files_path("pipe"), 0600), 0);
	expect_refused(name_of("pipe"), "not a regular file");
	assert_int_equal(mkdir(files_path("dir"), 0700), 0);
	expect_refused(name_of("dir"), "not a regular file");
	assert_int_equal(symlink("elsewhere", files_path("link")), 0);
	expect_refused(name_of("link"), "a symbolic link");
	assert_int_equal(access(files_path("elsewhere"), F_OK), -1);
	expect_refused("/dev/null", "not a regular file");
	expect_refused(name_of("none/audit"), "No such file or directory");
	umask(0);
	begin("mode");
	audit_stop(0, -1);
	assert_int_equal(stat(files_path("mode"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* An open keeps the lines of the file. */
	assert_int_equal(audit_open(name_of("mode")), 0);
	assert_int_equal(audit_start(), 0);
	audit_stop(0, -1);
	assert_int_equal(read_lines("mode"), 2);
	assert_int_equal(number(1, "seq"), 1);
	forget();
}

static void without_a_file_nothing_happens(void **state)
{
	(void)state;
	assert_int_equal(audit_open(NULL), 0);
	assert_int_equal(audit_start(), 0);
	assert_null(audit_line("plain"));
	session_audit_login(&session);
	session_audit_takeover(&session, &session, RDMABLK_R_STOLEN);
	session_audit_refused(&session, RDMABLK_R_BUSY);
	audit_reopen();
	audit_stop(0, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_file_nothing_happens),
		cmocka_unit_test(each_event_has_its_line),
		cmocka_unit_test(lines_follow_the_schema),
		cmocka_unit_test(names_of_peers_stay_texts),
		cmocka_unit_test(a_failed_authentication_has_its_cause),
		cmocka_unit_test(an_address_has_so_many_lines_of_refusals),
		cmocka_unit_test(forgotten_addresses_are_counted),
		cmocka_unit_test(all_addresses_have_so_many_lines_of_refusals),
		cmocka_unit_test(refusals_leave_room_for_other_lines),
		cmocka_unit_test(a_full_disk_loses_lines_that_are_counted),
		cmocka_unit_test(a_moved_file_is_left),
		cmocka_unit_test(a_name_that_cannot_be_opened_again_leaves_the_file),
		cmocka_unit_test(a_line_is_whole_in_the_next_file),
		cmocka_unit_test(a_line_goes_on_in_the_same_file),
		cmocka_unit_test(only_a_regular_file_will_do),
	};

	log_setup(-1);
	return cmocka_run_group_tests_name("audit", tests, files_setup, files_teardown);
}
