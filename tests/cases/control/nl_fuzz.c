// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nl_fuzz ADDRESS SEED COUNT [KEYS]: sends COUNT messages to the netlink family of the
 * module from each of several threads: commands with right, wrong, missing, repeated and
 * unknown attributes, cut headers, wrong flags, and dumps that are not read to the end. One
 * more thread has no rights, and another one connects and disconnects disks meanwhile.
 * ADDRESS is a daemon that exports disk0, disk1 and disk2. With KEYS, a file of 32 bytes
 * for each key of this host, the messages name these keys, and one more thread loads,
 * revokes and spoils the keys.
 *
 * The messages of a thread depend on the seed alone, not on the answers. A thread sends
 * more than COUNT messages while some command has not succeeded yet. At the end all disks
 * are disconnected and the answers are counted. The status is 1 when a command has never
 * succeeded, when few texts of refusals were seen, when a thread without rights got an
 * answer, or when a disk is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/genetlink.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "nl_keys.h"
#include "uapi/rdmablk_netlink.h"

#define THREADS		4	/* with rights; one without comes on top */
#define EXPORTS		3
#define MOST_ATTRS	64
#define ROOM		(256 << 10)	/* of a datagram, bytes */
#define MESSAGE_MAX	(100 << 10)
#define ERRNOS		134
#define COMMANDS	256
#define TEXTS		64
#define TEXT_LEN	80
#define ENOUGH_TEXTS	8
#define MOST		20	/* times COUNT: messages until each command has succeeded */
#define PATIENCE_MS	480000

enum kind { KIND_PAD, KIND_U8, KIND_U32, KIND_U64, KIND_S32, KIND_FLAG, KIND_STRING,
	KIND_BINARY, KIND_ENUM };

struct attribute {
	uint16_t nr;
	enum kind kind;
	int64_t low, high;
	uint32_t len;
	const char *name;
};

struct command {
	uint8_t nr;
	const char *name;
	unsigned int count;
	uint16_t attrs[MOST_ATTRS];
};

#include "nl_table.h"

#define COUNT(list)	(sizeof(list) / sizeof((list)[0]))

/* Counters of all threads together */
static atomic_ulong answers[ERRNOS], succeeded[COMMANDS], replies, done_dumps, unanswered;
static atomic_ulong joined, unprivileged, connected, disconnected;
static atomic_bool stopped;
static char texts[TEXTS][TEXT_LEN];
static unsigned int nr_texts;
static pthread_mutex_t texts_lock = PTHREAD_MUTEX_INITIALIZER;

static uint16_t family;
static uint32_t group;
static struct sockaddr_in target;
static uint64_t seed;
static unsigned long count;
static unsigned int nr_keys;

/**
 * struct sender - a thread that sends
 * @nl: its socket
 * @random: state of its random numbers
 * @root: it has rights
 * @len: bytes of the message in @tx
 * @seq: number of the newest message
 */
struct sender {
	struct mnl_socket *nl;
	uint64_t random;
	bool root;
	size_t len;
	uint32_t seq;
	char tx[ROOM] __attribute__((aligned(8)));
	char rx[ROOM] __attribute__((aligned(8)));
};

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list args;

	fputs("FAIL: nl_fuzz: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* splitmix64 */
static uint64_t draw(struct sender *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int below(struct sender *s, unsigned int n)
{
	return draw(s) % n;
}

static bool chance(struct sender *s, unsigned int percent)
{
	return below(s, 100) < percent;
}

/*
 * Sockets
 */

static struct mnl_socket *socket_open(void)
{
	struct timeval wait = { .tv_sec = 1 };
	struct mnl_socket *nl = mnl_socket_open(NETLINK_GENERIC);
	int one = 1;

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		fail("no socket: %s", strerror(errno));
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return nl;
}

/* Opens a new socket with random options. Extended answers stay on. */
static void socket_new(struct sender *s)
{
	static const int options[] = { NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK,
		NETLINK_NO_ENOBUFS, NETLINK_PKTINFO, NETLINK_BROADCAST_ERROR };
	int value;

	if (s->nl)
		mnl_socket_close(s->nl);
	s->nl = socket_open();
	for (size_t i = 0; i < COUNT(options); i++) {
		value = chance(s, 50);
		mnl_socket_setsockopt(s->nl, options[i], &value, sizeof(value));
	}
}

/* Joins and leaves groups: the module's group, or any number. */
static void join(struct sender *s)
{
	uint32_t which = chance(s, 70) ? group : below(s, 64);

	if (!mnl_socket_setsockopt(s->nl, chance(s, 60) ? NETLINK_ADD_MEMBERSHIP :
				   NETLINK_DROP_MEMBERSHIP, &which, sizeof(which)))
		joined++;
}

/*
 * Messages
 */

static struct nlattr *put(struct sender *s, uint16_t type, const void *data, size_t len)
{
	struct nlattr *attr = (struct nlattr *)(s->tx + s->len);
	size_t size = NLA_HDRLEN + len;

	if (s->len + NLA_ALIGN(size) > MESSAGE_MAX)
		return NULL;
	memset(attr, 0, NLA_ALIGN(size));
	attr->nla_len = size;
	attr->nla_type = type;
	memcpy(attr + 1, data, len);
	s->len += NLA_ALIGN(size);
	return attr;
}

static const struct attribute *attribute(uint16_t nr)
{
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (attributes[i].nr == nr)
			return &attributes[i];
	return NULL;
}

/* Mostly small numbers, so that connects have few queues and outages are short */
static int64_t right_number(struct sender *s, const struct attribute *attr)
{
	int64_t span = attr->high - attr->low;

	switch (below(s, 20)) {
	case 0:		return attr->high;
	case 1:		return attr->low;
	case 2:		return attr->low + (int64_t)(draw(s) % (span + 1));
	default:	return attr->low + below(s, span < 4 ? span + 1 : 4);
	}
}

static int64_t wrong_number(struct sender *s, const struct attribute *attr)
{
	static const int64_t odd[] = { 0, -1, -2, INT32_MIN, INT32_MAX, UINT32_MAX, 0x80,
		0xff, 0xffff };

	switch (below(s, 4)) {
	case 0:		return attr->high + 1;
	case 1:		return attr->low - 1;
	case 2:		return (int64_t)draw(s);
	default:	return odd[below(s, COUNT(odd))];
	}
}

static size_t address(struct sender *s, char *data)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback,
		.sin6_port = htons(below(s, 3)) };
	struct sockaddr_in in = target;

	if (chance(s, 10)) {
		memcpy(data, &in6, sizeof(in6));
		return sizeof(in6);
	}
	if (chance(s, 10))
		in.sin_port = htons(1 + below(s, 9));	/* nothing listens there */
	if (chance(s, 5))
		in.sin_addr.s_addr = draw(s);
	memcpy(data, &in, sizeof(in));
	return sizeof(in);
}

/* One of the exports' or keys' names, or one name more, which does not exist */
static size_t text(struct sender *s, const struct attribute *attr, char *data)
{
	if (attr->nr == RDMABLK_ATTR_KEY && nr_keys)
		return 1 + sprintf(data, "key%u", below(s, 8) ? below(s, nr_keys) : nr_keys);
	return 1 + sprintf(data, "disk%u", below(s, EXPORTS + 1));
}

/* Puts a valid value into @data; returns its length. */
static size_t right(struct sender *s, const struct attribute *attr, char *data)
{
	int64_t number = right_number(s, attr);

	switch (attr->kind) {
	case KIND_FLAG:
	case KIND_PAD:
		return 0;
	case KIND_STRING:
		return text(s, attr, data);
	case KIND_BINARY:
		if (attr->nr == RDMABLK_ATTR_TARGET || attr->nr == RDMABLK_ATTR_SOURCE)
			return address(s, data);
		memset(data, 1 + below(s, 3), attr->len);
		return attr->len;
	default:
		memcpy(data, &number, sizeof(number));
		return attr->kind == KIND_U8 ? 1 : attr->kind == KIND_U64 ? 8 : 4;
	}
}

/* Puts an invalid value into @data: wrong length, wrong contents, or both; up to 64 KiB. */
static size_t wrong(struct sender *s, const struct attribute *attr, char *data)
{
	static const uint32_t lens[] = { 0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 28, 63, 64, 65, 128,
		1032, 4096, 20000, 65000 };
	size_t len = right(s, attr, data);
	int64_t number;

	if (chance(s, 40) && attr->kind != KIND_STRING && attr->kind != KIND_BINARY) {
		number = wrong_number(s, attr);
		memcpy(data, &number, sizeof(number));
		return len;
	}
	if (chance(s, 70))
		len = lens[below(s, COUNT(lens))];
	memset(data, chance(s, 50) ? 'x' : (int)below(s, 256), len);
	if (len && chance(s, 50))
		data[len - 1] = 0;
	return len;
}

static void put_attribute(struct sender *s, uint16_t nr, unsigned int percent_right)
{
	static __thread char data[1 << 16];
	static const struct attribute unknown = { .kind = KIND_BINARY, .len = 4, .name = "" };
	const struct attribute *attr = attribute(nr) ?: &unknown;
	size_t len = chance(s, percent_right) ? right(s, attr, data) : wrong(s, attr, data);

	put(s, nr, data, len);
}

/* Nests attributes up to 200 deep. No message of the family has nested attributes. */
static void put_nested(struct sender *s, uint16_t nr)
{
	unsigned int depth = 1 + below(s, chance(s, 20) ? 200 : 4);
	struct nlattr *open[200];
	unsigned int i;

	for (i = 0; i < depth; i++) {
		open[i] = put(s, nr | (chance(s, 80) ? NLA_F_NESTED : 0), "", 0);
		if (!open[i])
			return;
	}
	put_attribute(s, nr, 50);
	while (i--)
		open[i]->nla_len = s->tx + s->len - (char *)open[i] - below(s, 2);
}

static bool needed(uint16_t nr)
{
	return nr == RDMABLK_ATTR_TARGET || nr == RDMABLK_ATTR_EXPORT ||
	       nr == RDMABLK_ATTR_INDEX || nr == RDMABLK_ATTR_CONNECT_TMO ||
	       (nr == RDMABLK_ATTR_KEY && nr_keys);
}

static void put_odd(struct sender *s, const struct command *cmd)
{
	uint16_t own = cmd->attrs[below(s, cmd->count)];
	uint16_t any = below(s, 2 * COUNT(attributes));

	switch (below(s, 5)) {
	case 0:		/* repeated */
		return put_attribute(s, own, 70);
	case 1:		/* of another command, or of none */
		return put_attribute(s, any, 70);
	case 2:
		return put_attribute(s, draw(s), 50);
	case 3:
		return put_nested(s, chance(s, 50) ? own : any);
	default:	/* with flags in its type */
		return put_attribute(s, own | (chance(s, 50) ? NLA_F_NESTED :
					       NLA_F_NET_BYTEORDER), 70);
	}
}

/* Changes bytes of the message. */
static void damage(struct sender *s, struct nlmsghdr *nlh)
{
	struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	size_t from = (char *)nlh - s->tx, len = s->len - from;
	size_t head = NLMSG_HDRLEN + GENL_HDRLEN;

	switch (below(s, 8)) {
	case 0:		/* lengths and types of attributes */
		if (len > head)
			s->tx[from + head + below(s, len - head)] = draw(s);
		break;
	case 1:
		nlh->nlmsg_len = head + below(s, len - head + 1);
		break;
	case 2:		/* cut in its header */
		nlh->nlmsg_len = below(s, head);
		break;
	case 3:		/* the header claims more bytes than are sent */
		nlh->nlmsg_len += 1 + below(s, 5000);
		break;
	case 4:
		nlh->nlmsg_flags = draw(s);
		break;
	case 5:
		genl->version = draw(s);
		genl->reserved = draw(s);
		break;
	case 6:
		genl->cmd = draw(s);
		break;
	default:
		for (unsigned int i = 1 + below(s, 8); i && len > head; i--)
			s->tx[from + head + below(s, len - head)] ^= 1 << below(s, 8);
		break;
	}
}

/* Draws DISCONNECT less often than other commands, because most of them need a disk. */
static const struct command *any_command(struct sender *s)
{
	const struct command *cmd = &commands[below(s, COUNT(commands))];

	while (cmd->nr == RDMABLK_CMD_DISCONNECT && chance(s, nr_keys ? 99 : 95))
		cmd = &commands[below(s, COUNT(commands))];
	return cmd;
}

/* Appends a message of any command. */
static void build(struct sender *s)
{
	const struct command *cmd = any_command(s);
	struct nlmsghdr *nlh = (struct nlmsghdr *)(s->tx + s->len);
	struct genlmsghdr *genl;
	unsigned int percent = chance(s, 50) ? 100 : 80, i;

	memset(nlh, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (chance(s, 10) ? NLM_F_DUMP : 0);
	nlh->nlmsg_seq = ++s->seq;
	genl = mnl_nlmsg_get_payload(nlh);
	genl->cmd = cmd->nr;
	genl->version = RDMABLK_GENL_VERSION;
	s->len += NLMSG_HDRLEN + GENL_HDRLEN;
	for (i = 0; i < cmd->count; i++)
		if (chance(s, needed(cmd->attrs[i]) ? 93 : 12))
			put_attribute(s, cmd->attrs[i], percent);
	while (percent < 100 && chance(s, 40))
		put_odd(s, cmd);
	nlh->nlmsg_len = s->tx + s->len - (char *)nlh;
	if (percent < 100 && chance(s, 40))
		damage(s, nlh);
}

/*
 * Answers
 */

static void note_text(const char *said)
{
	unsigned int i;

	pthread_mutex_lock(&texts_lock);
	for (i = 0; i < nr_texts; i++)
		if (!strncmp(texts[i], said, TEXT_LEN - 1))
			break;
	if (i == nr_texts && i < TEXTS) {
		snprintf(texts[i], TEXT_LEN, "%s", said);
		nr_texts++;
	}
	pthread_mutex_unlock(&texts_lock);
}

static void note_texts(const struct nlmsghdr *nlh, size_t offset)
{
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || nlh->nlmsg_len < NLMSG_HDRLEN + offset)
		return;
	mnl_attr_for_each(attr, nlh, offset)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			note_text(mnl_attr_get_str(attr));
}

/*
 * An acknowledgment begins with the header of the acknowledged message. The command is in
 * s->tx, because the newest message is the one that is acknowledged.
 */
static void note_ack(struct sender *s, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	const struct nlmsghdr *sent = (const struct nlmsghdr *)s->tx;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(sent);
	size_t offset = sizeof(*err);
	int code = -err->error;

	if (code < 0 || code >= ERRNOS)
		fail("the answer is %d", err->error);
	answers[code]++;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err->msg.nlmsg_len > NLMSG_HDRLEN)
		offset += err->msg.nlmsg_len - NLMSG_HDRLEN;
	note_texts(nlh, offset);
	if (code || err->msg.nlmsg_seq != sent->nlmsg_seq || err->msg.nlmsg_type != family ||
	    !(sent->nlmsg_flags & NLM_F_REQUEST) || sent->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		return;
	if (!s->root)
		fail("command %u succeeds without rights", genl->cmd);
	succeeded[genl->cmd]++;
}

static void note_message(struct sender *s, const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_type == NLMSG_ERROR) {
		note_ack(s, nlh);
	} else if (nlh->nlmsg_type == NLMSG_DONE) {
		note_texts(nlh, sizeof(int));
		done_dumps++;
	} else if (nlh->nlmsg_type == family) {
		/*
		 * Events go to every listener; replies to requests only to senders with
		 * rights.
		 */
		if (!s->root && nlh->nlmsg_seq)
			fail("a reply to a request without rights");
		replies++;
	}
}

/* Reads all answers. The family answers during the send, and continues a dump during a read. */
static void drain(struct sender *s)
{
	int fd = mnl_socket_get_fd(s->nl), len;
	struct nlmsghdr *nlh;
	bool any = false;
	ssize_t got;

	while ((got = recv(fd, s->rx, sizeof(s->rx), MSG_DONTWAIT)) > 0) {
		any = true;
		len = got;
		for (nlh = (struct nlmsghdr *)s->rx; mnl_nlmsg_ok(nlh, len);
		     nlh = mnl_nlmsg_next(nlh, &len))
			note_message(s, nlh);
	}
	if (!any)
		unanswered++;
}

static void send_all(struct sender *s, size_t len)
{
	static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	(void)!sendto(mnl_socket_get_fd(s->nl), s->tx, len, 0,
		      (const struct sockaddr *)&kernel, sizeof(kernel));
}

/*
 * Sends one datagram of one or two messages. Sometimes it is cut, or the answers stay
 * unread.
 */
static void step(struct sender *s)
{
	size_t len;

	s->len = 0;
	build(s);
	if (chance(s, 4) && s->len < MESSAGE_MAX / 2)
		build(s);
	len = s->len;
	if (chance(s, 2))
		len = below(s, len + 1);
	send_all(s, len);
	if (chance(s, 95))
		drain(s);
	if (chance(s, 3))
		join(s);
	if (chance(s, 2))
		socket_new(s);
	if (nr_keys)
		usleep(below(s, 10000));	/* gives logins time to compute */
}

/*
 * Threads
 */

/* Drops the rights of this thread alone. The C library's wrappers would change all threads. */
static void drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_setresgid, 65534, 65534, 65534) ||
	    syscall(SYS_setresuid, 65534, 65534, 65534) || syscall(SYS_capset, &head, none))
		fail("rights stay: %s", strerror(errno));
}

static struct sender *sender_new(unsigned int nr)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		fail("out of memory");
	s->random = seed * 1000 + nr;
	return s;
}

/* Return: whether some command, or the connecting thread, has not succeeded yet. */
static bool lacks(void)
{
	bool all = connected;

	for (size_t i = 0; i < COUNT(commands); i++)
		all &= succeeded[commands[i].nr] > 0;
	return !all;
}

static void *fuzz(void *context)
{
	unsigned int nr = (uintptr_t)context;
	struct sender *s = sender_new(nr);

	s->root = nr < THREADS;
	if (!s->root)
		drop_rights();
	socket_new(s);
	for (unsigned long i = 0; i < count || (s->root && i < MOST * count && lacks()); i++)
		step(s);
	if (!s->root)
		unprivileged = count;
	mnl_socket_close(s->nl);
	free(s);
	return NULL;
}

static struct nlmsghdr *request(struct sender *s, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(s->tx);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++s->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = RDMABLK_GENL_VERSION;
	return nlh;
}

/* Waits for the reply to the newest request; returns its errno, and the index if it has one. */
static int reply(struct sender *s, uint32_t *index)
{
	long long deadline = now_ms() + PATIENCE_MS;
	const struct nlmsgerr *err;
	const struct nlattr *attr;
	struct nlmsghdr *nlh;
	int len, ret;

	while (now_ms() < deadline) {
		len = mnl_socket_recvfrom(s->nl, s->rx, sizeof(s->rx));
		for (nlh = (struct nlmsghdr *)s->rx; mnl_nlmsg_ok(nlh, len);
		     nlh = mnl_nlmsg_next(nlh, &len)) {
			err = mnl_nlmsg_get_payload(nlh);
			if (nlh->nlmsg_seq != s->seq)
				continue;
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return -err->error;
			ret = 0;
			mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
				if (mnl_attr_get_type(attr) == RDMABLK_ATTR_INDEX)
					*index = mnl_attr_get_u32(attr);
				if (mnl_attr_get_type(attr) == RDMABLK_ATTR_ERROR)
					ret = -(int)mnl_attr_get_u32(attr);
			}
			return ret;
		}
	}
	fail("no reply to command %u", ((struct genlmsghdr *)
	     mnl_nlmsg_get_payload((struct nlmsghdr *)s->tx))->cmd);
}

static int disconnect(struct sender *s, uint32_t index)
{
	struct nlmsghdr *nlh = request(s, RDMABLK_CMD_DISCONNECT, 0);

	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	mnl_attr_put(nlh, RDMABLK_ATTR_FORCE, 0, NULL);
	mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len);
	return reply(s, &index);
}

/* Connects and disconnects correctly, until the end. */
static void *connects(void *context)
{
	struct sender *s = sender_new(THREADS + 1);
	struct nlmsghdr *nlh;
	uint32_t index = 0;
	char name[16];

	(void)context;
	s->nl = socket_open();
	for (unsigned int i = 0; !stopped; i++) {
		snprintf(name, sizeof(name), "disk%u", i % EXPORTS);
		nlh = request(s, RDMABLK_CMD_CONNECT, 0);
		mnl_attr_put(nlh, RDMABLK_ATTR_TARGET, sizeof(target), &target);
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_EXPORT, name);
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_CONNECT_TMO, 60);
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_QUEUES, 1);
		mnl_attr_put(nlh, RDMABLK_ATTR_STEAL, 0, NULL);
		if (nr_keys) {
			snprintf(name, sizeof(name), "key%u", i % nr_keys);
			mnl_attr_put_strz(nlh, RDMABLK_ATTR_KEY, name);
			mnl_attr_put_u32(nlh, RDMABLK_ATTR_REAUTH_TMO, 1);
		}
		mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len);
		if (reply(s, &index)) {
			usleep(100000);
			continue;
		}
		connected++;
		sleep(1);	/* the other threads need disks */
		if (!disconnect(s, index))
			disconnected++;
	}
	mnl_socket_close(s->nl);
	free(s);
	return NULL;
}

static atomic_ulong changed;

/* Meanwhile the module reads the keys for connects, for logins, and for new proofs. */
static void *changes(void *context)
{
	struct sender *s = sender_new(THREADS + 3);

	(void)context;
	for (; !stopped; changed++) {
		nl_keys_change(draw(s));
		usleep(50000);	/* the other threads need keys */
	}
	free(s);
	return NULL;
}

/* Gets the indexes of the connected disks; returns their number. */
static unsigned int list(struct sender *s, uint32_t *indexes, unsigned int most)
{
	struct nlmsghdr *nlh = request(s, RDMABLK_CMD_GET, NLM_F_DUMP);
	const struct nlattr *attr;
	unsigned int n = 0;
	int len;

	mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len);
	for (;;) {
		len = mnl_socket_recvfrom(s->nl, s->rx, sizeof(s->rx));
		if (len < 0)
			fail("a dump does not end: %s", strerror(errno));
		for (nlh = (struct nlmsghdr *)s->rx; mnl_nlmsg_ok(nlh, len);
		     nlh = mnl_nlmsg_next(nlh, &len)) {
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
				return n;
			mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
				if (mnl_attr_get_type(attr) == RDMABLK_ATTR_INDEX && n < most)
					indexes[n++] = mnl_attr_get_u32(attr);
		}
	}
}

/* Disconnects every disk, and waits for disconnects that are under way. */
static unsigned int disconnect_all(struct sender *s)
{
	long long deadline = now_ms() + PATIENCE_MS;
	uint32_t indexes[64];
	unsigned int gone = 0, n;

	while ((n = list(s, indexes, COUNT(indexes)))) {
		if (now_ms() > deadline)
			fail("%u disks are left", n);
		for (unsigned int i = 0; i < n; i++)
			gone += !disconnect(s, indexes[i]);
		usleep(100000);
	}
	return gone;
}

/*
 * Beginning and end
 */

static int on_group(const struct nlattr *attr, void *data)
{
	const struct nlattr *field;

	(void)data;
	mnl_attr_for_each_nested(field, attr)
		if (mnl_attr_get_type(field) == CTRL_ATTR_MCAST_GRP_ID)
			group = mnl_attr_get_u32(field);
	return MNL_CB_OK;
}

static int on_family(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
		family = mnl_attr_get_u16(attr);
	if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
		mnl_attr_parse_nested(attr, on_group, NULL);
	return MNL_CB_OK;
}

static void find_family(struct sender *s)
{
	struct nlmsghdr *nlh = request(s, CTRL_CMD_GETFAMILY, 0);

	nlh->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, RDMABLK_GENL_NAME);
	mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len);
	if (mnl_socket_recvfrom(s->nl, s->rx, sizeof(s->rx)) < 0 ||
	    mnl_attr_parse((struct nlmsghdr *)s->rx, GENL_HDRLEN, on_family, NULL) < 0 ||
	    !family || !group)
		fail("no family %s", RDMABLK_GENL_NAME);
}

static void report(unsigned int gone)
{
	const struct command *cmd;

	printf("answers:");
	for (int i = 0; i < ERRNOS; i++)
		if (answers[i])
			printf(" %s %lu", i ? strerrorname_np(i) : "0", answers[i]);
	printf("\nnot answered: %lu; replies and events: %lu; dumps: %lu; joins: %lu\n",
	       unanswered, replies, done_dumps, joined);
	printf("succeeded:");
	for (size_t i = 0; i < COUNT(commands); i++)
		printf(" %s %lu", commands[i].name, succeeded[commands[i].nr]);
	printf("\nconnected: %lu, disconnected: %lu, at the end: %u; changes of keys: %lu\n",
	       connected, disconnected, gone, changed);
	for (unsigned int i = 0; i < nr_texts; i++)
		printf("text: %s\n", texts[i]);
	for (size_t i = 0; i < COUNT(commands); i++) {
		cmd = &commands[i];
		if (!succeeded[cmd->nr])
			fail("%s has never succeeded", cmd->name);
	}
	if (nr_texts < ENOUGH_TEXTS)
		fail("only %u texts", nr_texts);
	if (!connected)
		fail("no connect has succeeded beside the messages");
	if (!answers[EPERM] || unprivileged != count)
		fail("nobody without rights was refused");
	if (nr_keys && (!changed || !answers[ENOKEY]))
		fail("no key was missing");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS + 1], connecting, changing;
	struct sender *s;
	int keys = 0;

	if (argc < 4 || argc > 5)
		fail("usage: nl_fuzz ADDRESS SEED COUNT [KEYS]");
	target.sin_family = AF_INET;
	if (inet_pton(AF_INET, argv[1], &target.sin_addr) != 1)
		fail("%s is no IPv4 address", argv[1]);
	seed = strtoull(argv[2], NULL, 0);
	count = strtoul(argv[3], NULL, 0);
	if (argc == 5)
		keys = nl_keys_read(argv[4]);
	if (keys < 0)
		fail("%s: %s", argv[4], strerror(errno));
	nr_keys = keys;
	s = sender_new(THREADS + 2);
	s->nl = socket_open();
	s->root = true;
	find_family(s);
	if (pthread_create(&connecting, NULL, connects, NULL) ||
	    (nr_keys && pthread_create(&changing, NULL, changes, NULL)))
		fail("no thread");
	for (uintptr_t i = 0; i < COUNT(threads); i++)
		if (pthread_create(&threads[i], NULL, fuzz, (void *)i))
			fail("no thread");
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	stopped = true;
	pthread_join(connecting, NULL);
	if (nr_keys && (pthread_join(changing, NULL) || nl_keys_load()))
		fail("the keys cannot be loaded again: %s", strerror(errno));
	report(disconnect_all(s));
	return 0;
}
