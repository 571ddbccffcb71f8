// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the module that is not there says: see tool_shim.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>

#include "rdmablk_netlink.h"
#include "rdmablk_proto.h"
#include "tool_shim.h"

#define DEFAULT_ID	"\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0\x01"

static int refused, existed, changed, asked;

long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

static struct nlmsghdr *begin(const struct nlmsghdr *to, __u16 type, __u16 flags,
			      __u8 cmd)
{
	struct datagram *datagram = &here->queue[here->tail % QUEUE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header((char *)datagram->bytes +
						    datagram->len);
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

/* More may follow in the same datagram. */
static void end(const struct nlmsghdr *nlh)
{
	here->queue[here->tail % QUEUE].len += MNL_ALIGN(nlh->nlmsg_len);
}

void deliver(void)
{
	if (++here->tail - here->head > QUEUE - 1)
		die("too much to receive");
	here->queue[here->tail % QUEUE].len = 0;
	here->queue[here->tail % QUEUE].err = 0;
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
	deliver();
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

int state_number(const char *name)
{
	int state;

	for (state = 0; state < RDMABLK_DEV_STATES; state++)
		if (!strncmp(name, rdmablk_dev_state_text(state), 4))
			return state;
	return -1;
}

/* The next of SHIM_STATES; the last one stays. */
static int scripted_state(int state, unsigned long long *session)
{
	const char *text = getenv("SHIM_STATES"), *comma;
	int i;

	if (!text)
		return state;
	for (i = 0; i < asked && (comma = strchr(text, ',')); i++)
		text = comma + 1;
	asked++;
	*session = strtoull(strchr(text, ':') + 1, NULL, 10);
	return state_number(text);
}

static void put_outage(struct nlmsghdr *nlh, int state)
{
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_KEEP_ALIVE_ASKED, 5);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_KEEP_ALIVE_TMO, 7);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_IO_TMO, 30);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_REAUTH_TMO, 3600);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_RECONNECT_DELAY, 2);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_DEV_LOSS_TMO, 600);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_ON_DATA_LOSS, RDMABLK_DATA_LOSS_CONTINUE);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_RECONNECTS, 3);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_OUTAGE_MS, 61250);
	if (state == RDMABLK_DEV_DELETING)
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_DISCONNECT_MS, 90500);
	if (state == RDMABLK_DEV_LIVE)
		return;
	mnl_attr_put(nlh, RDMABLK_ATTR_IO_FAILING, 0, NULL);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_ATTEMPTS, 17);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_HELD, 1ULL << 40);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_LAST_ERROR, "no answer from this address");
}

static void put_device(struct nlmsghdr *nlh, int index, int failed)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int state = failed ? RDMABLK_DEV_FAILED : RDMABLK_DEV_LIVE;
	unsigned long long session = ~0ULL;
	char export[32];

	if (!(nlh->nlmsg_flags & NLM_F_MULTI))
		state = scripted_state(state, &session);
	put_id(nlh, index, state, state == RDMABLK_DEV_LIVE ? 0 : RDMABLK_R_CONNECTION);
	put_outage(nlh, state);
	inet_pton(AF_INET, "10.0.0.1", &addr.sin_addr);
	mnl_attr_put(nlh, RDMABLK_ATTR_TARGET, sizeof(addr), &addr);
	snprintf(export, sizeof(export), "disk%d", index);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_EXPORT, export);
	mnl_attr_put(nlh, RDMABLK_ATTR_UUID, 16, DEFAULT_ID);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_SIZE, 1536ULL << (20 + 10 * index));
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_SESSION_ID, session);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_FAST_IO_FAIL_TMO, -1);
	mnl_attr_put_u8(nlh, RDMABLK_ATTR_ACK_TIMEOUT, 16);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_TOS, -1);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_TARGET_NAME, "evil\033[2J");
	if (index)
		mnl_attr_put(nlh, RDMABLK_ATTR_READ_ONLY, 0, NULL);
	else
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_KEY, "web1");
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_AUTH,
			 index || getenv("SHIM_OPEN") ? RDMABLK_AUTH_NONE : RDMABLK_AUTH_PSK);
	mnl_attr_put_u8(nlh, RDMABLK_ATTR_TIMED, index > 0);
	mnl_attr_put_u64(nlh, RDMABLK_ATTR_RETRY_ERRORS, 5);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_MAX + 7, 1);	/* of a newer module */
	end(nlh);
}

void answer_get(const struct nlmsghdr *req, long index)
{
	long i, nr = number("SHIM_DEVICES");
	__u16 flags = NLM_F_MULTI;

	if (number("SHIM_NOBODY")) {
		ack(req, EPERM, NULL, 0);
		return;
	}
	if (!(req->nlmsg_flags & NLM_F_DUMP)) {
		if (index >= nr) {
			ack(req, ENODEV, "no such device", RDMABLK_ATTR_INDEX);
			return;
		}
		put_device(begin(req, FAMILY, 0, RDMABLK_CMD_GET), index,
			   index && index == nr - 1);
		deliver();
		ack(req, 0, NULL, 0);
		return;
	}
	if (here->head != here->tail)
		die("a dump before the last one is over");
	if (changed < number("SHIM_CHANGES"))
		flags |= NLM_F_DUMP_INTR;
	for (i = nr - 1; i >= 0; i--) {
		put_device(begin(req, FAMILY, flags, RDMABLK_CMD_GET), i, i && i == nr - 1);
		if (flags & NLM_F_DUMP_INTR)
			deliver();
	}
	changed++;
	end(begin(req, NLMSG_DONE, flags, 0));
	deliver();
}

/*
 * Of disk 0 nothing is timed. Of disk 1, for each of @times: 90 reads of 5000 ns, 10 of
 * 1 ms, a write of 0 ns and one of an hour.
 */
static void put_latency(struct nlmsghdr *nlh, int index, long times)
{
	struct rdmablk_latency_histogram h = { 0 };

	mnl_attr_put_u8(nlh, RDMABLK_ATTR_TIMED, index == 1);
	if (index == 1) {
		h.sum = times * (90 * 5000 + 10 * 1000000);
		h.count[rdmablk_latency_bucket(5000)] = 90 * times;
		h.count[rdmablk_latency_bucket(1000000)] = 10 * times;
	}
	mnl_attr_put(nlh, RDMABLK_ATTR_LATENCY_READ, sizeof(h), &h);
	if (index == 1) {
		memset(&h, 0, sizeof(h));
		h.sum = times * 3600 * 1000000000L;
		h.count[0] = times;
		h.count[RDMABLK_LATENCY_BUCKETS - 1] = times;
	}
	mnl_attr_put(nlh, RDMABLK_ATTR_LATENCY_WRITE, sizeof(h), &h);
	memset(&h, 0, sizeof(h));
	mnl_attr_put(nlh, RDMABLK_ATTR_LATENCY_FLUSH, sizeof(h), &h);
	mnl_attr_put(nlh, RDMABLK_ATTR_LATENCY_DISCARD,
		     sizeof(h) - number("SHIM_SHORT"), &h);
}

/* Disk 2 is still being connected, and has nothing to tell. */
static void put_stats(struct nlmsghdr *nlh, int index, long times)
{
	put_id(nlh, index, index == 2 ? RDMABLK_DEV_CONNECTING : RDMABLK_DEV_LIVE, 0);
	if (index != 2) {
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_IBDEV, index ? "rxe1" : "rxe0");
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_IBPORT, 1);
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_IN_FLIGHT, 7 + index);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_READS, 1000 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_READ_BYTES, 4096000 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_WRITES, 10 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_WRITE_BYTES, 1000000 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_FLUSHES, 3 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_REQUEUES, 2 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_ERRORS, times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_OUTAGE_MS, 61250 * times);
		mnl_attr_put_u64(nlh, RDMABLK_ATTR_RNR_ERRORS, 4 * times);
		put_latency(nlh, index, times);
	}
	end(nlh);
}

/* The next word of SHIM_STATS; the last one stays. */
static const char *scripted_stats(void)
{
	const char *text = getenv("SHIM_STATS") ?: "1", *comma;
	static int questions;
	int i;

	for (i = 0; i < questions && (comma = strchr(text, ',')); i++)
		text = comma + 1;
	questions++;
	return text;
}

void answer_stats(const struct nlmsghdr *req, long index)
{
	const char *word = scripted_stats();
	long i, nr = number("SHIM_DEVICES") - (*word == '-');
	long times = atol(word + (*word == '-'));

	if (!strncmp(word, "gone", 4)) {
		ack(req, ENOENT, NULL, 0);
		return;
	}
	if (req->nlmsg_flags & NLM_F_DUMP) {
		for (i = nr - 1; i >= 0; i--)
			put_stats(begin(req, FAMILY, NLM_F_MULTI, RDMABLK_CMD_STATS_GET),
				  i, times);
		end(begin(req, NLMSG_DONE, NLM_F_MULTI, 0));
		deliver();
		return;
	}
	if (index >= nr) {
		ack(req, ENODEV, "no such device", RDMABLK_ATTR_INDEX);
		return;
	}
	put_stats(begin(req, FAMILY, 0, RDMABLK_CMD_STATS_GET), index, times);
	deliver();
	ack(req, 0, NULL, 0);
}

/* What becomes of the newest request; 0 or a negative errno. */
static int verdict(const struct nlmsghdr *req, __u8 cmd, const char **text)
{
	const struct nlattr *attr;
	__u32 index = 0;

	*text = getenv("SHIM_TEXT");
	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == RDMABLK_ATTR_INDEX)
			index = mnl_attr_get_u32(attr);
	if (cmd == RDMABLK_CMD_CONNECT && refused < number("SHIM_REFUSE")) {
		refused++;
		*text = "nobody listens on this port";
		return -ECONNREFUSED;
	}
	if (cmd == RDMABLK_CMD_CONNECT && existed < number("SHIM_EXISTS")) {
		existed++;
		return -EEXIST;
	}
	if (cmd == RDMABLK_CMD_CONNECT && number("SHIM_NO_KEY") && !key_added)
		return -ENOKEY;
	if (cmd != RDMABLK_CMD_DISCONNECT)
		return -number("SHIM_ERRNO");
	if (index != 1 || strstr(getenv("SHIM_FORCE") ?: "", "yes"))
		return 0;
	*text = "the device is in use";
	return -EBUSY;
}

int is_late(__u8 cmd)
{
	return cmd == RDMABLK_CMD_CONNECT || cmd == RDMABLK_CMD_DISCONNECT;
}

void acknowledge(const struct nlmsghdr *req, __u8 cmd)
{
	const char *text = NULL;
	int err = 0;

	if (!is_late(cmd) || number("SHIM_BLAME") || number("SHIM_EARLY"))
		err = verdict(req, cmd, &text);
	ack(req, -err, text, number("SHIM_BLAME"));
}

/* The reply of a command that took time; @wrong: what is wrong with it. */
void reply(const struct nlmsghdr *req, __u8 cmd, const char *wrong)
{
	struct nlmsghdr *nlh = begin(req, FAMILY, 0, cmd);
	const char *text;
	int err = verdict(req, cmd, &text);

	if (!strcmp(wrong, "stale"))
		nlh->nlmsg_seq--;
	if (strcmp(wrong, "bare")) {
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, number("SHIM_DEVICES"));
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_NAME,
				  number("SHIM_DEVICES") ? "rdmablk1" : "rdmablk0");
	}
	if (err || !strcmp(wrong, "stale"))
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_ERROR, err ?: -EIO);
	if (!strcmp(wrong, "short"))
		mnl_attr_put_u16(nlh, RDMABLK_ATTR_ERROR, 0);
	if (!strcmp(wrong, "positive"))
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_ERROR, EIO);
	if (!strcmp(wrong, "huge"))
		mnl_attr_put_u32(nlh, RDMABLK_ATTR_ERROR, 1U << 31);
	if (text)
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_TEXT, text);
	end(nlh);
	deliver();
}

void answer_family(const struct nlmsghdr *req)
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
	deliver();
	ack(req, 0, NULL, 0);
}

void put_event(int index, int state, int reason, int failing)
{
	struct nlmsghdr *nlh = begin(NULL, FAMILY, 0, RDMABLK_CMD_EVENT);

	put_id(nlh, index, state, reason);
	if (failing)
		mnl_attr_put(nlh, RDMABLK_ATTR_IO_FAILING, 0, NULL);
	end(nlh);
}

void put_family_event(__u8 cmd, __u16 family)
{
	struct nlmsghdr *nlh = begin(NULL, GENL_ID_CTRL, 0, cmd);

	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, family);
	end(nlh);
	deliver();
}

void overrun(void)
{
	here->queue[here->tail % QUEUE].err = ENOBUFS;
	deliver();
}

/* Bytes that are no message, a message without a body, one of another command. */
void garbage(const struct nlmsghdr *req)
{
	struct nlmsghdr *nlh;

	memset(here->queue[here->tail % QUEUE].bytes, 0xee, 40);
	here->queue[here->tail % QUEUE].len = 40;
	deliver();
	nlh = begin(req, FAMILY, 0, RDMABLK_CMD_CONNECT);
	nlh->nlmsg_len = NLMSG_HDRLEN;
	end(nlh);
	end(begin(req, FAMILY, 0, RDMABLK_CMD_GET));
	deliver();
	put_event(0, RDMABLK_DEV_FAILED, RDMABLK_R_STOLEN, 1);
	deliver();
	put_family_event(CTRL_CMD_NEWFAMILY, FAMILY + 1);
	put_family_event(CTRL_CMD_DELFAMILY, FAMILY + 1);
}
