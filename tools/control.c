// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of the daemon. Request and answer are a line of JSON each. Only questions have a
 * timeout: for a change the daemon may need long, as for a large export.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "util.h"

#define MAX_ANSWER	(64UL << 20)

static int failed(char *why, const char *what, const char *path, int err)
{
	snprintf(why, CONTROL_WHY, "%s %.160s: %s", what, path, strerror(err));
	return err;
}

static const char *hint(int err)
{
	switch (err) {
	case ENOENT:
	case ECONNREFUSED:	return " (is rdmablkd running?)";
	case EACCES:
	case EPERM:		return " (are you root?)";
	default:		return "";
	}
}

/* Ends calls that wait for the daemon for so many seconds with EAGAIN; 0: none of them. */
static void set_limit(int fd, unsigned int limit)
{
	struct timeval time = { .tv_sec = limit };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* The daemon is stopped, or hangs. Returns -errno. */
static int silent(char *why, const char *path, unsigned int limit)
{
	snprintf(why, CONTROL_WHY, "the daemon at %.160s has not answered for %u s", path, limit);
	return -ETIMEDOUT;
}

/* Returns a descriptor or -errno. A daemon that takes no connection lets @limit pass, too. */
static int open_socket(const char *path, unsigned int limit, char *why)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -failed(why, "cannot connect to", path, ENAMETOOLONG);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		set_limit(fd, limit);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	if (err == EAGAIN && limit)
		return silent(why, path, limit);
	snprintf(why, CONTROL_WHY, "cannot connect to %.108s: %s%s", path, strerror(err),
		 hint(err));
	return -err;
}

static int send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		text += n;
		len -= n;
	}
	return 0;
}

static int send_request(int fd, struct json_object *request)
{
	const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	int err = send_all(fd, text, strlen(text));

	return err ? err : send_all(fd, "\n", 1);
}

/* Receives until an object is complete, and ignores the rest. */
static int receive(int fd, struct json_object **answer)
{
	struct json_tokener *tok = json_tokener_new();
	int err = EPROTO;
	size_t sum = 0;
	char buf[4096];
	ssize_t n;

	*answer = NULL;
	if (!tok)
		return -EPROTO;
	do {
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			err = EAGAIN;
		if (n <= 0)
			break;
		sum += n;
		*answer = json_tokener_parse_ex(tok, buf, n);
	} while (!*answer && (!sum || json_tokener_get_error(tok) == json_tokener_continue) &&
		 sum < MAX_ANSWER);
	json_tokener_free(tok);
	return *answer && json_object_is_type(*answer, json_type_object) ? 0 : -err;
}

/**
 * control_ask() - ask the daemon
 * @path: path of its socket
 * @request: request
 * @limit: seconds without a byte from the daemon after which it counts as stopped; 0: none
 * @answer: result, which the caller puts
 * @uid: result, user that runs the daemon; may be NULL
 * @why: CONTROL_WHY bytes, text of the error
 *
 * Returns 0 or an errno.
 */
int control_ask(const char *path, struct json_object *request, unsigned int limit,
		struct json_object **answer, uid_t *uid, char *why)
{
	int fd = open_socket(path, limit, why), err;
	struct ucred peer = { .uid = -1 };
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -fd;
	if (uid) {
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
		*uid = peer.uid;
	}
	err = send_request(fd, request);
	if (!err)
		err = -receive(fd, answer);
	close(fd);
	if (!err)
		return 0;
	if (err == EAGAIN)
		return -silent(why, path, limit);
	if (err == EPROTO) {
		json_object_put(*answer);
		snprintf(why, CONTROL_WHY, "the daemon at %.160s has not answered", path);
		return err;
	}
	return failed(why, "cannot write to", path, err);
}

/**
 * control_pid() - the process at the other end of the daemon's socket
 * @path: path of the socket
 *
 * Returns its number, or -errno; -ETIMEDOUT: it takes no connection.
 */
pid_t control_pid(const char *path)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	char why[CONTROL_WHY];
	int fd = open_socket(path, CONTROL_LIMIT, why), err = 0;

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		err = -errno;
	close(fd);
	return err ?: peer.pid;
}
