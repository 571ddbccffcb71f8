// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A module that is not there: preloaded into tools/rdmablk, this answers its netlink
 * messages in place of the kernel, so that tests/unit/tool_netlink can check requests
 * and output without a module and without privileges.
 *
 * The environment says what the module is like:
 *
 *   SHIM_DEVICES=N     disks that there are; the last of several has failed
 *   SHIM_ERRNO=N       connect fails so ...
 *   SHIM_TEXT=T        ... with this text ...
 *   SHIM_BLAME=N       ... and this attribute
 *   SHIM_REFUSE=N      the first N connects fail with ECONNREFUSED
 *   SHIM_HOST_ID=FILE  stands in for /etc/rdmablk/host-id
 *   SHIM_LOG=FILE      gets a line per request, with its attributes
 *
 * The node /dev/rdmablk0 exists, /dev/rdmablk1 does not. The host "two" has the
 * addresses 10.0.0.1 and 10.0.0.2.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "rdmablk_netlink.h"
#include "rdmablk_proto.h"

#define FAMILY	0x23
#define GROUP	7
#define PORTID	4711
#define DEFAULT_ID	"\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0\x01"

static __u64 queue[8192];
static size_t queued;
static int subscribed, events_sent, refused;

struct mnl_socket {
	int unused;
};

static struct mnl_socket the_socket;

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

static struct nlmsghdr *begin(const struct nlmsghdr *to, __u16 type, __u16 flags,
			      __u8 cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header((char *)queue + queued);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = to ? to->nlmsg_seq : 0;
	nlh->nlmsg_pid = to ? PORTID : 0;
	if (type >= NLMSG_MIN_TYPE) {
		genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
		genl->cmd = cmd;
		genl->version = 1;
	}
	return nlh;
}

static void end(const struct nlmsghdr *nlh)
{
	queued += MNL_ALIGN(nlh->nlmsg_len);
}

/* Acknowledges, as a kernel with extended acknowledgments and capping does. */
static void ack(const struct nlmsghdr *to, int err, const char *text, int blame)
{
	struct nlmsghdr *nlh = begin(to, NLMSG_ERROR, NLM_F_CAPPED, 0);
	struct nlmsgerr *error = mnl_nlmsg_put_extra_header(nlh, sizeof(*error));
	const struct nlattr *attr;

	error->error = -err;
	error->msg = *to;
	if (text || blame)
		nlh->nlmsg_flags |= NLM_F_ACK_TLVS;
	if (text)
		mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, text);
	mnl_attr_for_each(attr, to, sizeof(struct genlmsghdr))
		if (blame && mnl_attr_get_type(attr) == blame)
			mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS,
					 (const char *)attr - (const char *)to);
	end(nlh);
}

static void put_id(struct nlmsghdr *nlh, int index, int state, int reason)
{
	char name[32];

	snprintf(name, sizeof(name), "rdmablk%d", index);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_NAME, name);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_STATE, state);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_REASON, reason);
}

static void put_device(struct nlmsghdr *nlh, int index, int failed)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	char export[32];

	put_id(nlh, index, failed ? RDMABLK_DEV_FAILED : RDMABLK_DEV_LIVE,
	       failed ? RDMABLK_R_CONNECTION : 0);
	inet_pton(AF_INET, "10.0.0.1", &addr.sin_addr);
	mnl_attr_put(nlh, RDMABLK_ATTR_TARGET, sizeof(addr), &addr);
	snprintf(export, sizeof(export), "disk%d", index);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_EXPORT, export);
	mnl_attr_put(nlh, RDMABLK_ATTR_UUID, 16, DEFAULT_ID);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_SIZE, 1536ULL << (20 + 10 * index));
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_SESSION_ID, ~0ULL);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_FAST_IO_FAIL_TMO, -1);
	mnl_attr_put_u8(nlh, RDMABLK_ATTR_ACK_TIMEOUT, 16);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_TARGET_NAME, "evil\033[2J");
	if (index)
		mnl_attr_put(nlh, RDMABLK_ATTR_READ_ONLY, 0, NULL);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_MAX + 7, 1);	/* of a newer module */
	end(nlh);
}

static void answer_get(const struct nlmsghdr *req, long index)
{
	long i, nr = number("SHIM_DEVICES");

	if (!(req->nlmsg_flags & NLM_F_DUMP)) {
		if (index >= nr) {
			ack(req, ENODEV, "no such device", RDMABLK_ATTR_INDEX);
			return;
		}
		put_device(begin(req, FAMILY, 0, RDMABLK_CMD_GET), index,
			   index && index == nr - 1);
		ack(req, 0, NULL, 0);
		return;
	}
	for (i = nr - 1; i >= 0; i--)
		put_device(begin(req, FAMILY, NLM_F_MULTI, RDMABLK_CMD_GET), i,
			   i && i == nr - 1);
	end(begin(req, NLMSG_DONE, NLM_F_MULTI, 0));
}

static void answer_connect(const struct nlmsghdr *req)
{
	struct nlmsghdr *nlh;

	if (refused < number("SHIM_REFUSE")) {
		refused++;
		ack(req, ECONNREFUSED, "nobody listens on this port", 0);
		return;
	}
	if (number("SHIM_ERRNO")) {
		ack(req, number("SHIM_ERRNO"), getenv("SHIM_TEXT"),
		    number("SHIM_BLAME"));
		return;
	}
	nlh = begin(req, FAMILY, 0, RDMABLK_CMD_CONNECT);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, number("SHIM_DEVICES"));
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_NAME,
			  number("SHIM_DEVICES") ? "rdmablk1" : "rdmablk0");
	end(nlh);
	ack(req, 0, getenv("SHIM_TEXT"), 0);
}

static void answer_family(const struct nlmsghdr *req)
{
	struct nlmsghdr *nlh = begin(req, GENL_ID_CTRL, 0, CTRL_CMD_NEWFAMILY);
	struct nlattr *groups, *group;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, RDMABLK_GENL_NAME);
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAMILY);
	groups = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS);
	group = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, RDMABLK_GENL_EVENTS);
	mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, GROUP);
	mnl_attr_nest_end(nlh, group);
	mnl_attr_nest_end(nlh, groups);
	end(nlh);
	ack(req, 0, NULL, 0);
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

struct mnl_socket *mnl_socket_open(int bus)
{
	return bus == NETLINK_GENERIC ? &the_socket : NULL;
}

int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	(void)nl;
	return groups || pid ? -1 : 0;
}

int mnl_socket_close(struct mnl_socket *nl)
{
	(void)nl;
	return 0;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *nl)
{
	(void)nl;
	return PORTID;
}

int mnl_socket_setsockopt(const struct mnl_socket *nl, int type, void *buf,
			  socklen_t len)
{
	(void)nl;
	(void)len;
	if (type == NETLINK_ADD_MEMBERSHIP && *(int *)buf == GROUP)
		subscribed = 1;
	return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *buf, size_t len)
{
	const struct nlmsghdr *req = buf;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(req);
	long index;

	(void)nl;
	if (req->nlmsg_type == GENL_ID_CTRL) {
		answer_family(req);
		return len;
	}
	index = log_request(req, genl->cmd);
	if (genl->cmd == RDMABLK_CMD_GET)
		answer_get(req, index);
	else if (genl->cmd == RDMABLK_CMD_CONNECT)
		answer_connect(req);
	else if (index == 1 && !strstr(getenv("SHIM_FORCE") ?: "", "yes"))
		ack(req, EBUSY, "the device is in use", 0);
	else
		ack(req, 0, NULL, 0);
	return len;
}

/* Two events, an overrun, an event, the end of the module. */
static ssize_t next_event(void)
{
	struct nlmsghdr *nlh;

	switch (events_sent++) {
	case 0:
		nlh = begin(NULL, FAMILY, 0, RDMABLK_CMD_EVENT);
		put_id(nlh, 0, RDMABLK_DEV_LIVE, 0);
		end(nlh);
		nlh = begin(NULL, FAMILY, 0, RDMABLK_CMD_EVENT);
		put_id(nlh, 12, RDMABLK_DEV_FAILED, RDMABLK_R_SHUTDOWN);
		end(nlh);
		return 0;
	case 1:
		errno = ENOBUFS;
		return -1;
	case 2:
		nlh = begin(NULL, FAMILY, 0, RDMABLK_CMD_EVENT);
		put_id(nlh, 0, 99, 999);
		end(nlh);
		return 0;
	default:
		nlh = begin(NULL, GENL_ID_CTRL, 0, CTRL_CMD_DELFAMILY);
		mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAMILY);
		end(nlh);
		return 0;
	}
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t len)
{
	size_t bytes;

	(void)nl;
	if (!queued && subscribed && next_event())
		return -1;
	if (!queued || queued > len) {
		fprintf(stderr, "shim: nothing to receive\n");
		abort();
	}
	bytes = queued;
	memcpy(buf, queue, bytes);
	queued = 0;
	return bytes;
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

FILE *fopen(const char *path, const char *mode)
{
	__typeof__(fopen) *real = dlsym(RTLD_NEXT, "fopen");

	if (!strcmp(path, "/etc/rdmablk/host-id"))
		path = getenv("SHIM_HOST_ID") ?: "/nonexistent";
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
