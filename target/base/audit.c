// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The audit log. The loop makes the lines, and a thread writes them: neither a stuck disk
 * nor a full one keeps the loop waiting. Lines that the disk does not take wait, and are
 * written when it does. Only when too many wait are lines lost. The next line says how many.
 *
 * Lines are numbered, lost ones included, so a gap in the numbers shows lost lines.
 *
 * Peers can cause refusals without end. So in a window of time an address gets a limited
 * number of lines about refusals, and so do all addresses together, because a peer may have
 * many. And lines about refusals leave a quarter of the ring to the other lines, which have no
 * limit. The next line about a refusal says how many were left out; these have no numbers.
 *
 * A line is in the file when write(2) has returned. Nothing waits until it is on the medium.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/audit.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/util.h"
#include "base/value.h"
#include "uapi/rdmablk_proto.h"

#define AUDIT_LINE	2048	/* longest line, bytes */
#define AUDIT_RING	512	/* most lines that wait */
#define AUDIT_TEXT	256	/* longest text in a line, bytes */
#define AUDIT_OTHER	128	/* places in the ring that are not for refusals */
#define AUDIT_BURST	20	/* lines about refusals of an address in a window */
#define AUDIT_ALL	384	/* the same of all addresses */
#define AUDIT_PEERS	256	/* addresses whose refusals are counted */
#define AUDIT_PATH	4096

int audit_stop_ms = 1000;
int audit_retry_ms = 1000;
int audit_window_ms = 10000;

static void write_line(const char *line, size_t len);
static int64_t reopen_due(void);
static void reopen_now(void);

static uint16_t ring_len[AUDIT_RING];
static char ring_line[AUDIT_RING * AUDIT_LINE];

static struct lines ring = {
	LINES_INITIALIZER,
	.write = write_line,
	.due = reopen_due,
	.say = reopen_now,
	.nr = AUDIT_RING,
	.size = AUDIT_LINE,
	.len = ring_len,
	.line = ring_line,
};

/**
 * struct audit_window - lines about refusals in a window of time
 * @start: of the present window, ms; 0: none yet
 * @count: lines in it
 */
struct audit_window {
	int64_t start;
	unsigned int count;
};

/**
 * struct audit_peer - refusals of an address
 * @key: log_peer_key() of the address
 * @window: lines of this address; its @start is 0: not in use
 * @left_out: refusals since the last line of this address
 */
struct audit_peer {
	uint64_t key;
	struct audit_window window;
	uint64_t left_out;
};

/* Owned by the loop, except @reopen, and except @fd while there is a thread, which owns it */
static struct {
	char path[AUDIT_PATH];		/* empty: there is no audit log */
	int fd;
	atomic_bool reopen;
	bool moved;			/* reopen_now() has opened another file */
	bool started;
	uint64_t seq;			/* number of the last line */
	uint64_t lost;			/* lines lost since the last line that was not */
	struct audit_window all;	/* lines of all addresses */
	uint64_t left_out;		/* refusals that no address has in its count */
	struct audit_peer peer[AUDIT_PEERS];
} audit = { .fd = -1 };

/*
 * The file
 */

/* Return: a descriptor or -errno. Nothing but a regular file is waited for, or written to. */
static int open_file(void)
{
	int fd = open(audit.path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
		      O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;
	int ret;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -ENXIO;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static const char *open_error(int ret)
{
	switch (ret) {
	case -ENXIO:		/* also of open(), for a pipe or a socket */
	case -EISDIR:
		return "not a regular file";
	case -ELOOP:
		return "a symbolic link";
	default:
		return strerror(-ret);
	}
}

/**
 * audit_open - begin an audit log
 * @path: path of the file, which is made if it does not exist; NULL: no audit log
 *
 * Lines come after audit_start().
 *
 * Return: 0 or -errno, logged.
 */
int audit_open(const char *path)
{
	if (!path)
		return 0;
	if (strlen(path) >= sizeof(audit.path)) {
		log_err("cannot open the audit log %s: %s", path, strerror(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	memcpy(audit.path, path, strlen(path) + 1);
	audit.fd = open_file();
	if (audit.fd >= 0)
		return 0;
	log_err("cannot open the audit log %s: %s", path, open_error(audit.fd));
	audit.path[0] = '\0';
	return audit.fd;
}

static int64_t reopen_due(void)
{
	return atomic_load(&audit.reopen) ? 0 : INT64_MAX;
}

/* In the thread. */
static void reopen_now(void)
{
	struct stat old, new;
	int fd;

	audit.moved = false;
	atomic_store(&audit.reopen, false);
	fd = open_file();
	if (fd < 0) {
		log_err("cannot open the audit log %s again: %s; its lines go to the file that was open",
			audit.path, open_error(fd));
		return;
	}
	audit.moved = fstat(audit.fd, &old) || fstat(fd, &new) || old.st_dev != new.st_dev ||
		      old.st_ino != new.st_ino;
	close(audit.fd);
	audit.fd = fd;
}

/**
 * audit_reopen - the file may have been moved away: go on with the one of its name
 *
 * The thread opens it, before the next line.
 */
void audit_reopen(void)
{
	if (!audit.started)
		return;
	atomic_store(&audit.reopen, true);
	lines_wake(&ring);
}

/* Return: number of bytes written. The rest of the line has to follow them. */
static size_t write_some(const char *line, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = write(audit.fd, line + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return at;
}

/*
 * In the thread. Returns when all of the line is in one file: a new file gets the line from the
 * line's first byte on.
 */
static void write_line(const char *line, size_t len)
{
	size_t at = write_some(line, len);

	if (at < len)
		log_err("cannot write the audit log %s: %s; its lines wait", audit.path,
			strerror(errno));
	while (at < len) {
		poll(NULL, 0, audit_retry_ms);
		if (atomic_load(&audit.reopen)) {
			reopen_now();
			at = audit.moved ? 0 : at;
		}
		at += write_some(line + at, len - at);
	}
}

/*
 * Lines
 */

static void add(struct json_object *line, const char *key, struct json_object *value)
{
	if (line)
		json_object_object_add(line, key, value);
	else
		json_object_put(value);
}

static struct json_object *new_text(const char *text)
{
	char copy[AUDIT_TEXT];

	if (!text || !*text)
		return NULL;
	snprintf(copy, sizeof(copy), "%s", text);
	value_utf8(copy);
	return json_object_new_string(copy);
}

/**
 * audit_text - add a text to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @text: text, may be a peer's; NULL or empty: null in the line
 */
void audit_text(struct json_object *line, const char *key, const char *text)
{
	add(line, key, new_text(text));
}

/**
 * audit_number - add a number to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @number: the number
 */
void audit_number(struct json_object *line, const char *key, uint64_t number)
{
	add(line, key, json_object_new_uint64(number));
}

/**
 * audit_bool - add a yes or no to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @yes: which
 */
void audit_bool(struct json_object *line, const char *key, bool yes)
{
	add(line, key, json_object_new_boolean(yes));
}

/**
 * audit_id - add the number of a session to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @id: number; null in the line, if it is 0
 */
void audit_id(struct json_object *line, const char *key, uint64_t id)
{
	char text[17] = "";

	if (id)
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	audit_text(line, key, text);
}

/**
 * audit_uuid - add an identity to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @uuid: identity; null in the line, if it is NULL or all zero
 */
void audit_uuid(struct json_object *line, const char *key, const uint8_t *uuid)
{
	static const uint8_t none[RDMABLK_ID_LEN];
	char text[37] = "";

	if (uuid && memcmp(uuid, none, sizeof(none)))
		value_uuid_text(uuid, text);
	audit_text(line, key, text);
}

/**
 * audit_key - add the fingerprint of a key to a line
 * @line: of audit_line(), or NULL
 * @key: key of the value in JSON
 * @id: RDMABLK_KEY_ID_LEN bytes; null in the line, if it is NULL or all zero
 */
void audit_key(struct json_object *line, const char *key, const uint8_t *id)
{
	uint64_t number = 0;

	for (unsigned int i = 0; id && i < RDMABLK_KEY_ID_LEN; i++)
		number = number << 8 | id[i];
	audit_id(line, key, number);
}

static void add_time(struct json_object *line)
{
	struct timespec now;
	char text[64];
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(text, sizeof(text), "%FT%T", &tm);
	snprintf(text + len, sizeof(text) - len, ".%06ldZ", now.tv_nsec / 1000);
	audit_text(line, "time", text);
}

/**
 * audit_line - begin a line
 * @event: what happened
 *
 * audit_write() ends it. In the loop, one line at a time.
 *
 * Return: the line; NULL: there is no audit log, which is no error, or no memory.
 */
struct json_object *audit_line(const char *event)
{
	struct json_object *line = audit.started ? json_object_new_object() : NULL;

	audit_number(line, "version", 1);
	audit_number(line, "seq", audit.seq + 1);
	if (line)
		add_time(line);
	audit_text(line, "event", event);
	audit_number(line, "lost", audit.lost);
	return line;
}

/**
 * audit_write - end a line
 * @line: of audit_line(), which is released; or NULL
 */
void audit_write(struct json_object *line)
{
	char text[AUDIT_LINE];
	int len;

	if (!line)
		return;
	len = snprintf(text, sizeof(text), "%s\n",
		       json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE) ?: "");
	json_object_put(line);
	audit.seq++;
	if (len > 1 && len < AUDIT_LINE && !lines_put(&ring, text, (size_t)len))
		audit.lost = 0;
	else
		audit.lost++;
}

/*
 * Refusals
 */

/* Return: the entry of an address; a new address takes the entry with the oldest window. */
static struct audit_peer *find_peer(uint64_t key)
{
	struct audit_peer *p = audit.peer, *oldest = p;

	for (; p < audit.peer + AUDIT_PEERS; p++) {
		if (p->window.start && p->key == key)
			return p;
		if (p->window.start < oldest->window.start)
			oldest = p;
	}
	audit.left_out += oldest->left_out;
	*oldest = (struct audit_peer){ .key = key };
	return oldest;
}

/* Begins another window if the present one is over. Return: whether it has room for a line. */
static bool has_room(struct audit_window *w, unsigned int most)
{
	int64_t now = lines_now();

	if (!w->start || now - w->start > audit_window_ms) {
		w->start = now;
		w->count = 0;
	}
	return w->count < most;
}

/**
 * audit_refusal - begin a line about a refusal
 * @peer: address of the refused peer; NULL: it has no address
 *
 * Return: as for audit_line(); NULL also if the address, or all of them, had their share of
 * lines.
 */
struct json_object *audit_refusal(const struct sockaddr *peer)
{
	struct json_object *line;
	struct audit_peer *p;

	if (!has_room(&audit.all, AUDIT_ALL) || lines_short(&ring, AUDIT_OTHER)) {
		audit.left_out++;
		return NULL;
	}
	p = find_peer(log_peer_key(peer));
	if (!has_room(&p->window, AUDIT_BURST)) {
		p->left_out++;
		return NULL;
	}
	p->window.count++;
	line = audit_line("refused");
	audit_number(line, "left_out", p->left_out);
	audit_number(line, "left_out_others", audit.left_out);
	if (line) {
		audit.all.count++;
		p->left_out = 0;
		audit.left_out = 0;
	}
	return line;
}

/* Return: number of refusals that no line has counted yet. */
static uint64_t take_left_out(void)
{
	uint64_t sum = audit.left_out;

	for (unsigned int i = 0; i < AUDIT_PEERS; i++) {
		sum += audit.peer[i].left_out;
		audit.peer[i].left_out = 0;
	}
	audit.left_out = 0;
	return sum;
}

/*
 * Start and stop
 */

/**
 * audit_start - let lines come
 *
 * After audit_open(); without a file nothing happens.
 *
 * Return: 0 or -errno.
 */
int audit_start(void)
{
	int ret = audit.path[0] ? lines_start(&ring, "audit") : 0;

	audit.started = audit.path[0] && !ret;
	audit.seq = 0;
	return ret;
}

/**
 * audit_stop - write the last line, that the daemon ends
 * @status: its own exit status
 * @command: that of the command of --run; negative: there is none
 *
 * Waits for audit_stop_ms at most. Without audit_start() there is no line.
 */
void audit_stop(int status, int command)
{
	struct json_object *line = audit_line("stop");

	audit_number(line, "status", (uint64_t)status);
	if (command >= 0)
		audit_number(line, "command_status", (uint64_t)command);
	audit_number(line, "left_out", take_left_out());
	audit_write(line);
	if (audit.started && !lines_stop(&ring, audit_stop_ms))
		log_err("the audit log %s lacks its last lines: the disk does not take them",
			audit.path);
	else if (audit.fd >= 0)
		close(audit.fd);
	audit.started = false;
	audit.path[0] = '\0';
	audit.fd = -1;
}
