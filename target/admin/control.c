// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of the administrator. Only root and the user of the daemon may connect: the
 * rights of the file allow no others, and the daemon asks the kernel for the user of each
 * peer. A client sends a line and gets a line, one request in a turn of the loop; while a
 * request is under way the daemon reads no more from its client. The number of clients, the
 * length of lines and the time are bounded: a client has control_idle_ms for a whole line, and
 * as long to take an answer. If a client goes away, its request is done all the same.
 *
 * A killed daemon leaves its socket behind. Its successor may replace it: the lock on the
 * file beside it says that there is no daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "admin/admin.h"
#include "admin/admin_step.h"
#include "admin/control.h"
#include "admin/control_answer.h"
#include "admin/control_request.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "session/session.h"

#define CONTROL_CLIENTS	16
#define CONTROL_LINE	8192		/* bytes of a request, with its end */
#define CONTROL_REST_MS	1000		/* until the next try, without descriptors */

/*
 * Clients
 */

/**
 * enum phase - phases of a client
 * @PHASE_NEW: it has sent nothing yet
 * @PHASE_SENDING: it is sending a line
 * @PHASE_WAITING: it waits for the end of its request
 * @PHASE_TAKING: it is taking an answer
 */
enum phase {
	PHASE_NEW,
	PHASE_SENDING,
	PHASE_WAITING,
	PHASE_TAKING,
};

/**
 * struct client - one connection
 * @entry: in the list of clients
 * @source: descriptor
 * @timer: limit of @phase
 * @phase: present phase
 * @uid: user of the peer
 * @admin: request under way, or NULL
 * @in: bytes that it has sent
 * @nr_in: number of bytes in @in
 * @broken: there was no memory for its answer, so the connection ends
 * @out: answer that it has to take, or NULL
 * @nr_out: number of bytes in @out
 * @at_out: number of these that it has taken
 */
struct client {
	LIST_ENTRY(client) entry;
	struct loop_source source;
	struct loop_timer timer;
	enum phase phase;
	uid_t uid;
	struct admin *admin;
	char in[CONTROL_LINE];
	size_t nr_in;
	bool broken;
	char *out;
	size_t nr_out;
	size_t at_out;
};

int64_t control_idle_ms = 30000;

static void listen_ready(struct loop_source *src);
static void listen_again(struct loop_timer *timer);

static struct {
	struct loop_source source;
	struct loop_timer rest;		/* pause when there are no descriptors */
	int lock;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat seen;		/* status of our own socket's file */
	LIST_HEAD(, client) clients;
	unsigned int nr;
} control = {
	.source = { .fd = -1, .ready = listen_ready },
	.rest = { .expired = listen_again },
	.lock = -1,
	.clients = LIST_HEAD_INITIALIZER(control.clients),
};

static void client_free(struct client *c)
{
	if (c->admin)
		c->admin->owner = NULL;
	loop_timer_stop(&c->timer);
	loop_del(&c->source);
	close(c->source.fd);
	LIST_REMOVE(c, entry);
	control.nr--;
	free(c->out);
	free(c);
}

static bool has_line(const struct client *c)
{
	return memchr(c->in, '\n', c->nr_in);
}

/* Limits the time of a new phase. Bytes that come or go within a phase do not extend it. */
static void client_phase(struct client *c, enum phase phase)
{
	if (c->phase == phase)
		return;
	c->phase = phase;
	if (phase == PHASE_WAITING)
		loop_timer_stop(&c->timer);
	else
		loop_timer_start(&c->timer, control_idle_ms);
}

/*
 * Chooses what the loop waits for. While a request is under way: only for the end of the
 * connection. With an answer, or a line that has come: to write. Else: for the rest of a line.
 */
static void client_watch(struct client *c)
{
	bool busy = c->admin, taking = !busy && (c->out || c->broken || has_line(c));

	loop_watch(&c->source, !busy && !taking, taking);
	client_phase(c, busy ? PHASE_WAITING : taking ? PHASE_TAKING : PHASE_SENDING);
}

static void client_expired(struct loop_timer *timer)
{
	client_free(container_of(timer, struct client, timer));
}

/* Return: false: the client is freed; true: all of its answer is sent if @out is NULL */
static bool client_write(struct client *c)
{
	if (c->broken) {
		client_free(c);
		return false;
	}
	while (c->out && c->at_out < c->nr_out) {
		ssize_t n = send(c->source.fd, c->out + c->at_out, c->nr_out - c->at_out,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) {
			client_free(c);
			return false;
		}
		c->at_out += (size_t)n;
	}
	free(c->out);
	c->out = NULL;
	return true;
}

/* @answer is released. */
static void client_answer(struct client *c, struct json_object *answer)
{
	const char *text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	int len = text ? asprintf(&c->out, "%s\n", text) : -1;

	if (len < 0) {
		c->out = NULL;
		c->broken = true;
	} else {
		value_utf8(c->out);
		c->nr_out = (size_t)len;
	}
	c->at_out = 0;
	json_object_put(answer);
	c->phase = PHASE_NEW;
}

static void request_done(struct admin *a)
{
	struct client *c = a->owner;

	if (a->op == ADMIN_RELOAD)
		admin_reload_log(a);
	if (c) {
		c->admin = NULL;
		client_answer(c, control_done(a));
		/* in the loop: the caller may still use the client */
		client_watch(c);
	}
	admin_free(a);
}

static void request_handle(struct client *c, const char *line, size_t len)
{
	struct control_request request;
	char why[CONTROL_WHY];

	if (control_parse(line, len, &request, why)) {
		client_answer(c, control_error(-EINVAL, why));
	} else if (request.show && request.name[0] && !export_by_name(request.name)) {
		admin_near_export(request.name, why);
		client_answer(c, control_error(-ENOENT, why));
	} else if (request.show == CONTROL_LIST) {
		client_answer(c, control_list(request.name));
	} else if (request.show == CONTROL_SESSIONS) {
		client_answer(c, control_sessions(request.name));
	} else if (request.show == CONTROL_HOSTS) {
		client_answer(c, control_hosts());
	} else if (request.show == CONTROL_METRICS) {
		client_answer(c, control_metrics());
	} else {
		request.admin->owner = c;
		request.admin->uid = c->uid;
		request.admin->done = request_done;
		c->admin = request.admin;
		admin_submit(request.admin);
	}
}

static void client_line(struct client *c)
{
	char *end = memchr(c->in, '\n', c->nr_in);
	size_t len = (size_t)(end - c->in);

	request_handle(c, c->in, len);
	c->nr_in -= len + 1;
	memmove(c->in, end + 1, c->nr_in);
}

/* Handles one request at most, so that other clients and sessions have their turn. */
static void client_on(struct client *c)
{
	if (!client_write(c))
		return;
	if (!c->out && has_line(c)) {
		client_line(c);
		if (!client_write(c))
			return;
	}
	client_watch(c);
}

static bool client_read(struct client *c)
{
	ssize_t n = recv(c->source.fd, c->in + c->nr_in, sizeof(c->in) - c->nr_in,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		client_free(c);
		return false;
	}
	c->nr_in += (size_t)n;
	if (c->nr_in == sizeof(c->in) && !memchr(c->in, '\n', c->nr_in)) {
		log_peer(NULL, LOG_WARNING, "control: a request of more than %d bytes",
			 CONTROL_LINE - 1);
		client_free(c);
		return false;
	}
	return true;
}

/* While a request is under way, the loop reports only that the client has gone. */
static void client_ready(struct loop_source *src)
{
	struct client *c = container_of(src, struct client, source);

	if (c->admin)
		client_free(c);
	else if (c->broken || c->out || has_line(c) || client_read(c))
		client_on(c);
}

static bool may_connect(int fd, uid_t *uid)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(who);
	bool known = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);

	*uid = who.uid;
	return known && (!who.uid || who.uid == geteuid());
}

static void client_new(int fd, uid_t uid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->source = (struct loop_source){ .fd = fd, .ready = client_ready };
	c->timer.expired = client_expired;
	c->uid = uid;
	if (loop_add(&c->source)) {
		close(fd);
		free(c);
		return;
	}
	LIST_INSERT_HEAD(&control.clients, c, entry);
	control.nr++;
	client_phase(c, PHASE_SENDING);
}

static void listen_again(struct loop_timer *timer)
{
	(void)timer;
	loop_watch(&control.source, true, false);
}

static void listen_ready(struct loop_source *src)
{
	int fd = accept4(src->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	const char *why;
	bool allowed;
	uid_t uid;

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		       errno == ENOMEM)) {
		/* The connection still waits, so the socket would be ready again at once. */
		loop_watch(src, false, false);
		loop_timer_start(&control.rest, CONTROL_REST_MS);
	}
	if (fd < 0)
		return;
	allowed = may_connect(fd, &uid);
	if (control.nr < CONTROL_CLIENTS && allowed) {
		client_new(fd, uid);
		return;
	}
	why = allowed ? "too many" : "not the user of the daemon";
	log_peer(NULL, LOG_WARNING, "control: a connection is refused: %s", why);
	admin_audit_refused(uid, why);
	close(fd);
}

/* Return: whether a daemon listens there */
static bool in_use(const struct sockaddr_un *addr)
{
	int fd __cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					0);

	return fd < 0 || !connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	       errno == EAGAIN;
}

/* The lock of a path; its file is never removed, or two daemons could have the lock. */
static int take_lock(const char *path)
{
	char name[sizeof(control.path) + 8];

	snprintf(name, sizeof(name), "%s.lock", path);
	control.lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (control.lock < 0)
		return -errno;
	if (!flock(control.lock, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
}

/* Removes a socket at which nobody listens, but nothing else. Return: 0 or -errno */
static int make_room(const struct sockaddr_un *addr)
{
	struct stat st;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (in_use(addr))
		return -EADDRINUSE;
	return unlink(addr->sun_path) ? -errno : 0;
}

static int bind_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ret = take_lock(path) ?: make_room(&addr);
	if (ret)
		return ret;
	/* before bind(), so that the file never has other rights */
	if (fchmod(control.source.fd, 0600) ||
	    bind(control.source.fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(control.source.fd, CONTROL_CLIENTS))
		return -errno;
	snprintf(control.path, sizeof(control.path), "%s", path);
	return stat(path, &control.seen) ? -errno : 0;
}

static void close_all(void)
{
	if (control.source.fd >= 0)
		close(control.source.fd);
	if (control.lock >= 0)
		close(control.lock);
	control.source.fd = -1;
	control.lock = -1;
}

/**
 * control_open - listen on the socket of the administrator
 * @path: path of the socket; NULL: CONFIG_CONTROL, if the socket can be made there
 *
 * It is an error if another daemon listens there, because "rdmablk target" would ask that
 * daemon about the exports of this one.
 *
 * Return: 0 or -errno, logged.
 */
int control_open(const char *path)
{
	const char *at = path ?: CONFIG_CONTROL;
	int ret;

	if (!path)
		mkdir(CONFIG_RUN_DIR, 0755);
	control.source.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = control.source.fd < 0 ? -errno : bind_to(at) ?: loop_add(&control.source);
	if (!ret)
		return 0;
	close_all();
	if (ret == -EADDRINUSE) {
		log_err("cannot listen on %s: another daemon does; give this one a socket of its own (--control)",
			at);
		return ret;
	}
	log_write(path ? LOG_ERR : LOG_WARNING, "cannot listen on %s: %s%s", at,
		  strerror(-ret), path ? "" : "; \"rdmablk target\" will not work");
	return path ? ret : 0;
}

/**
 * control_close - stop listening
 */
void control_close(void)
{
	struct client *c, *next;
	struct stat st;

	for (c = LIST_FIRST(&control.clients); c; c = next) {
		next = LIST_NEXT(c, entry);
		client_free(c);
	}
	if (control.source.fd < 0)
		return;
	loop_timer_stop(&control.rest);
	loop_del(&control.source);
	if (!stat(control.path, &st) && st.st_ino == control.seen.st_ino &&
	    st.st_dev == control.seen.st_dev)
		unlink(control.path);
	close_all();
}
