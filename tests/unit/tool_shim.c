// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A module that is not there: preloaded into tools/rdmablk, this answers its netlink
 * messages in place of the kernel, so that tests/unit/tool_netlink and others can check
 * requests and output without a module and without privileges.
 *
 * The environment says what the module is like:
 *
 *   SHIM_DEVICES=N     disks that there are; the last of several has failed
 *   SHIM_STATS=W,...   what disks have done at each question for it: all counters are that
 *                      number of times something; "-": without the last disk; "gone": the
 *                      module is loaded again
 *   SHIM_REOPEN_INT=1  SIGINT comes while a connection after the first one is opened
 *   SHIM_BLOCK=DIR     stands in for /sys/block
 *   SHIM_PROC=DIR      has what stands in for /proc/self/mountinfo and /proc/swaps
 *   SHIM_NOBODY=1      the user is not root: the module answers no question for disks
 *   SHIM_COUNTERS=DIR  stands in for hw_counters of port 1 of rxe0
 *   SHIM_STATES=S:N,.. the disk's state and session at each question for one disk
 *   SHIM_SCRIPT=W,...  what happens when the tool waits, see play(); a command that
 *                      takes time: "ack,reply" unless this says otherwise
 *   SHIM_ERRNO=N       connect, set and reconnect fail so ...
 *   SHIM_TEXT=T        ... with this text ...
 *   SHIM_BLAME=N       ... and this attribute, at once; or
 *   SHIM_EARLY=1       ... without one, at once
 *   SHIM_REFUSE=N      the first N connects fail with ECONNREFUSED
 *   SHIM_EXISTS=N      the first N connects fail with EEXIST
 *   SHIM_CHANGES=N     disks come and go during the first N dumps
 *   SHIM_TERMINAL=N    standard output is a terminal with so many lines ...
 *   SHIM_KEYBOARD=1    standard input is a terminal, too
 *   SHIM_COLUMNS=N     ... of so many characters, 200 unless this says otherwise
 *   SHIM_HOST_ID=FILE  stands in for /etc/rdmablk/host-id
 *   SHIM_OPEN=1        nobody has proved anything to the first disk
 *   SHIM_NO_KEY=1      connects fail with ENOKEY until a key has been loaded
 *   SHIM_KEYS=DIR      stands in for /etc/rdmablk/keys
 *   SHIM_LOG=FILE      gets a line per request, with its attributes, "poll" with the
 *                      milliseconds of each wait, "link" when the keyring of the
 *                      user becomes one of the process, and the description and the
 *                      length of a key that is loaded; "visit" when the tool itself
 *                      would log in to a target, to which no device leads
 *
 * The node /dev/rdmablk0 exists, /dev/rdmablk1 does not. The host "two" has the
 * addresses 10.0.0.1 and 10.0.0.2. The clock stands still but for the script and for
 * pauses, which are over at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/keyctl.h>

#include "rdmablk_netlink.h"
#include "rdmablk_proto.h"
#include "tool_shim.h"

struct mnl_socket *here;

#define SOCKETS	256	/* a closed one is not used again */

static struct mnl_socket sockets[SOCKETS];
static unsigned int nr_sockets;
static int events_sent, played;
static char keys[32];
int key_added;
static __s64 clock_ms = 1000000;

void die(const char *why)
{
	fprintf(stderr, "shim: %s\n", why);
	abort();
}

static void log_line(const char *what, long long value)
{
	const char *path = getenv("SHIM_LOG");
	FILE *log = fopen(path ? path : "/dev/null", "a");

	fprintf(log, "%s %lld\n", what, value);
	fclose(log);
}

/* Writes type=bytes of each attribute, in hexadecimal, and says what INDEX is. */
static long log_request(const struct nlmsghdr *req, __u8 cmd)
{
	const char *path = getenv("SHIM_LOG");
	FILE *log = fopen(path ? path : "/dev/null", "a");
	const struct nlattr *attr;
	long index = -1;
	__u16 i;

	fprintf(log, "%u", cmd);
	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr)) {
		const unsigned char *bytes = mnl_attr_get_payload(attr);

		fprintf(log, " %u=", mnl_attr_get_type(attr));
		for (i = 0; i < mnl_attr_get_payload_len(attr); i++)
			fprintf(log, "%02x", bytes[i]);
		if (mnl_attr_get_type(attr) == RDMABLK_ATTR_INDEX)
			index = mnl_attr_get_u32(attr);
	}
	fprintf(log, "\n");
	fclose(log);
	return index;
}

long keyctl_describe(int key, char *text, size_t size);
long keyctl_describe(int key, char *text, size_t size)
{
	(void)key;
	(void)text;
	(void)size;
	errno = EACCES;
	return -1;
}

int add_key(const char *type, const char *description, const void *payload, size_t len,
	    int ring);
int add_key(const char *type, const char *description, const void *payload, size_t len,
	    int ring)
{
	log_line(strcmp(type, "logon") || ring != KEY_SPEC_USER_KEYRING || !payload ?
		 "other key" : description, len);
	key_added = 1;
	return 5;
}

long keyctl_set_timeout(int key, unsigned int seconds);
long keyctl_set_timeout(int key, unsigned int seconds)
{
	return key == 5 && !seconds ? 0 : -1;
}

long keyctl_link(int key, int ring);
long keyctl_link(int key, int ring)
{
	log_line(key == KEY_SPEC_USER_KEYRING && ring == KEY_SPEC_PROCESS_KEYRING ? "link" :
		 "other link", 0);
	return 0;
}

void *rdma_create_event_channel(void);
void *rdma_create_event_channel(void)
{
	log_line("visit", 0);
	errno = ENODEV;
	return NULL;
}

struct mnl_socket *mnl_socket_open(int bus)
{
	struct mnl_socket *nl = &sockets[nr_sockets++];

	if (nr_sockets > 1 && getenv("SHIM_REOPEN_INT"))
		raise(SIGINT);
	if (nr_sockets > SOCKETS)
		die("too many sockets");
	nl->fd = eventfd(0, 0);
	return bus == NETLINK_GENERIC ? nl : NULL;
}

int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	(void)nl;
	return groups || pid ? -1 : 0;
}

int mnl_socket_close(struct mnl_socket *nl)
{
	return close(nl->fd);
}

int mnl_socket_get_fd(const struct mnl_socket *nl)
{
	return nl->fd;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *nl)
{
	(void)nl;
	return PORTID;
}

int mnl_socket_setsockopt(const struct mnl_socket *nl, int type, void *buf,
			  socklen_t len)
{
	(void)len;
	if (type == NETLINK_ADD_MEMBERSHIP && *(int *)buf == GROUP)
		sockets[nl - sockets].subscribed = 1;
	return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *buf, size_t len)
{
	const struct nlmsghdr *req = buf;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	long index;

	here = &sockets[nl - sockets];
	memcpy(here->request, buf, len);
	if (is_late(genl->cmd))
		played = 0;
	if (req->nlmsg_type == GENL_ID_CTRL) {
		answer_family(req);
		return len;
	}
	index = log_request(req, genl->cmd);
	if (genl->cmd == RDMABLK_CMD_GET)
		answer_get(req, index);
	else if (genl->cmd == RDMABLK_CMD_STATS_GET)
		answer_stats(req, index);
	else if (!is_late(genl->cmd))
		acknowledge(req, genl->cmd);
	return len;
}

/* Two events, an overrun, two events, the end of the module. */
static void next_event(void)
{
	switch (events_sent++) {
	case 0:
		put_event(0, RDMABLK_DEV_LIVE, 0, 0);
		put_event(12, RDMABLK_DEV_FAILED, RDMABLK_R_SHUTDOWN, 0);
		deliver();
		break;
	case 1:
		overrun();
		break;
	case 2:
		put_event(3, RDMABLK_DEV_RECOVERING, RDMABLK_R_EXPIRED, 1);
		put_event(0, 99, 999, 0);
		deliver();
		break;
	default:
		put_family_event(CTRL_CMD_DELFAMILY, FAMILY);
	}
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t len)
{
	struct datagram *datagram;

	here = &sockets[nl - sockets];
	if (here->head == here->tail && here->subscribed)
		next_event();
	datagram = &here->queue[here->head % QUEUE];
	if (here->head++ == here->tail || datagram->len > len)
		die("nothing to receive");
	if (datagram->err) {
		errno = datagram->err;
		return -1;
	}
	memcpy(buf, datagram->bytes, datagram->len);
	return datagram->len;
}

/* The next word of the script, or NULL. */
static const char *next_word(char *word, size_t size)
{
	const char *text = getenv("SHIM_SCRIPT") ?: "ack,reply";
	int i;

	for (i = 0; i < played && text; i++) {
		text = strchr(text, ',');
		text += text ? 1 : 0;
	}
	if (!text)
		return NULL;
	played++;
	snprintf(word, size, "%.*s", (int)strcspn(text, ","), text);
	return word;
}

/* @signal: 0: only what is pending, if anything is. Return: -1 and EINTR, or 0 */
static int interrupt(int signal, const sigset_t *mask)
{
	sigset_t old, pending;

	sigpending(&pending);
	if (!signal && (!mask || !sigismember(&pending, SIGINT)))
		return 0;
	if (mask)
		sigprocmask(SIG_SETMASK, mask, &old);
	if (signal)
		raise(signal);
	if (mask)
		sigprocmask(SIG_SETMASK, &old, NULL);
	errno = EINTR;
	return -1;
}

/*
 * ack, reply: the two parts of an answer; the names of reply(): what is wrong with it;
 * a state, or other: an event of disk 0, or of another; later: 20 seconds pass; stopped:
 * the tool does not run for 21 seconds; silence: nothing happens any more; int, term:
 * signals; key=...: keys are pressed, with ^ for the escape.
 */
static void play(const char *word)
{
	const struct nlmsghdr *req = (const struct nlmsghdr *)here->request;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);

	if (!strcmp(word, "ack"))
		acknowledge(req, genl->cmd);
	else if (!strcmp(word, "reply") || !strcmp(word, "stale") ||
		 !strcmp(word, "bare") || !strcmp(word, "short") ||
		 !strcmp(word, "positive") || !strcmp(word, "huge"))
		reply(req, genl->cmd, word);
	else if (!strcmp(word, "garbage"))
		garbage(req);
	else if (!strcmp(word, "overrun"))
		overrun();
	else if (!strcmp(word, "unloaded"))
		put_family_event(CTRL_CMD_DELFAMILY, FAMILY);
	else if (!strcmp(word, "other"))
		put_event(5, RDMABLK_DEV_LIVE, 0, 0), deliver();
	else if (!strcmp(word, "lost-data"))
		put_event(0, RDMABLK_DEV_FAILED, RDMABLK_R_DATA_LOST, 1), deliver();
	else if (state_number(word) >= 0)
		put_event(0, state_number(word), RDMABLK_R_CONNECTION, 0), deliver();
	else
		die(word);
}

int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
	  const sigset_t *mask)
{
	__s64 ms = timeout ? timeout->tv_sec * 1000LL + timeout->tv_nsec / 1000000 : -1;
	__typeof__(ppoll) *real = dlsym(RTLD_NEXT, "ppoll");
	unsigned int i;
	char word[32];

	if (fds[0].fd == STDOUT_FILENO)
		return real(fds, nr, timeout, mask);
	for (i = 0; i < nr_sockets; i++)
		if (sockets[i].fd == fds[0].fd)
			here = &sockets[i];
	log_line("poll", ms);
	if (interrupt(0, mask))
		return -1;
	while (here->head == here->tail) {
		if (!next_word(word, sizeof(word))) {
			if (ms)
				die("nothing to wait for");
			return 0;
		}
		if (!strcmp(word, "silence") || (!strcmp(word, "later") && ms >= 0 &&
						 ms <= 20000)) {
			if (ms < 0)
				die("it would wait for ever");
			clock_ms += ms;
			return 0;
		}
		if (!strcmp(word, "stopped")) {
			clock_ms += 21000;
			return 0;
		}
		if (!strcmp(word, "hang"))
			return real(fds, nr, timeout, mask);
		if (!strcmp(word, "int") || !strcmp(word, "term"))
			return interrupt(*word == 'i' ? SIGINT : SIGTERM, mask);
		if (!strncmp(word, "key=", 4) && nr == 2 && fds[1].fd == STDIN_FILENO) {
			snprintf(keys, sizeof(keys), "%s", word + 4);
			fds[0].revents = 0;
			fds[1].revents = POLLIN;
			return 1;
		}
		if (!strcmp(word, "later"))
			clock_ms += 20000;
		else
			play(word);
	}
	fds[0].revents = POLLIN;
	return 1;
}

ssize_t read(int fd, void *buf, size_t len)
{
	size_t i;

	if (fd != STDIN_FILENO || !keys[0])
		return syscall(SYS_read, fd, buf, len);
	len = strlen(keys) < len ? strlen(keys) : len;
	for (i = 0; i < len; i++)
		((char *)buf)[i] = keys[i] == '^' ? '\033' : keys[i] == '_' ? ' ' : keys[i];
	keys[0] = '\0';
	return len;
}

int tcgetattr(int fd, struct termios *mode)
{
	memset(mode, 0, sizeof(*mode));
	mode->c_lflag = ICANON | ECHO | ISIG;
	return isatty(fd) ? 0 : -1;
}

int tcsetattr(int fd, int when, const struct termios *mode)
{
	(void)when;
	log_line("terminal", fd == STDIN_FILENO ? (long long)mode->c_lflag : -1);
	return 0;
}

pid_t tcgetpgrp(int fd)
{
	return isatty(fd) ? getpgrp() : -1;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	if (id != CLOCK_MONOTONIC)
		return syscall(SYS_clock_gettime, id, now);
	now->tv_sec = clock_ms / 1000;
	now->tv_nsec = clock_ms % 1000 * 1000000;
	return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	clock_ms += time->tv_sec * 1000LL + time->tv_nsec / 1000000;
	return 0;
}

int stat(const char *path, struct stat *st)
{
	if (!strncmp(path, "/dev/rdmablk", 12)) {
		memset(st, 0, sizeof(*st));
		st->st_mode = S_IFBLK | 0660;
		errno = ENOENT;
		return strcmp(path, "/dev/rdmablk0") ? -1 : 0;
	}
	return fstatat(AT_FDCWD, path, st, 0);
}

int isatty(int fd)
{
	return (fd == STDOUT_FILENO && getenv("SHIM_TERMINAL")) ||
	       (fd == STDIN_FILENO && getenv("SHIM_KEYBOARD"));
}

int ioctl(int fd, unsigned long request, ...)
{
	struct winsize *size;
	va_list args;

	if (fd != STDOUT_FILENO || request != TIOCGWINSZ || !isatty(fd)) {
		errno = ENOTTY;
		return -1;
	}
	va_start(args, request);
	size = va_arg(args, struct winsize *);
	va_end(args);
	memset(size, 0, sizeof(*size));
	size->ws_row = number("SHIM_TERMINAL");
	size->ws_col = getenv("SHIM_COLUMNS") ? number("SHIM_COLUMNS") : 200;
	return 0;
}

/* A path below /etc/rdmablk/keys is one below SHIM_KEYS. */
static const char *elsewhere(const char *path, char *other, size_t size)
{
	static const char keys[] = "/etc/rdmablk/keys/";

	if (strncmp(path, keys, strlen(keys)))
		return path;
	snprintf(other, size, "%s/%s", getenv("SHIM_KEYS") ?: "/nonexistent",
		 path + strlen(keys));
	return other;
}

int open(const char *path, int flags, ...)
{
	const char *counters = getenv("SHIM_COUNTERS"), *block = getenv("SHIM_BLOCK");
	char other[512];

	if (counters && !strcmp(path, "/sys/class/infiniband/rxe0/ports/1/hw_counters"))
		path = counters;
	if (!strcmp(path, "/sys/block"))
		path = block ?: "/nonexistent";
	return openat(AT_FDCWD, elsewhere(path, other, sizeof(other)), flags);
}

FILE *fopen(const char *path, const char *mode)
{
	__typeof__(fopen) *real = dlsym(RTLD_NEXT, "fopen");

	char other[512];

	if (!strcmp(path, "/etc/rdmablk/host-id"))
		path = getenv("SHIM_HOST_ID") ?: "/nonexistent";
	if (!strcmp(path, "/proc/self/mountinfo") || !strcmp(path, "/proc/swaps")) {
		snprintf(other, sizeof(other), "%s%s", getenv("SHIM_PROC") ?: "/nonexistent",
			 strrchr(path, '/'));
		path = other;
	}
	return real(path, mode);
}

int getaddrinfo(const char *node, const char *service,
		const struct addrinfo *hints, struct addrinfo **res)
{
	__typeof__(getaddrinfo) *real = dlsym(RTLD_NEXT, "getaddrinfo");
	int ret;

	if (strcmp(node, "two"))
		return real(node, service, hints, res);
	ret = real("10.0.0.1", service, hints, res);
	return ret ? ret : real("10.0.0.2", service, hints, &(*res)->ai_next);
}
