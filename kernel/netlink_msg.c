// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the management interface says of a device, and how it reads an address.
 */
#include <linux/blkdev.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <net/genetlink.h>
#include "netlink.h"
#include "session.h"
#include "uapi/rdmablk_netlink.h"

static int rdmablk_nl_put_u64(struct sk_buff *msg, int nr, u64 value)
{
	return nla_put_u64_64bit(msg, nr, value, RDMABLK_ATTR_PAD);
}

static int rdmablk_nl_put_addr(struct sk_buff *msg, int nr,
			       const struct sockaddr_storage *ss)
{
	return nla_put(msg, nr, ss->ss_family == AF_INET6 ?
		       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), ss);
}

static int rdmablk_nl_put_options(struct sk_buff *msg, const struct rdmablk_session *s)
{
	const struct rdmablk_options *opt = &s->opt;

	return rdmablk_nl_put_addr(msg, RDMABLK_ATTR_TARGET, &opt->target) ||
	       nla_put_string(msg, RDMABLK_ATTR_EXPORT, opt->export_name) ||
	       nla_put(msg, RDMABLK_ATTR_HOST_ID, RDMABLK_ID_LEN, opt->host_id) ||
	       nla_put_u32(msg, RDMABLK_ATTR_CONNECT_TMO, opt->connect_tmo) ||
	       nla_put_u32(msg, RDMABLK_ATTR_RECONNECT_DELAY,
			   READ_ONCE(opt->reconnect_delay)) ||
	       nla_put_s32(msg, RDMABLK_ATTR_FAST_IO_FAIL_TMO,
			   READ_ONCE(opt->fast_io_fail_tmo)) ||
	       nla_put_s32(msg, RDMABLK_ATTR_DEV_LOSS_TMO, READ_ONCE(opt->dev_loss_tmo)) ||
	       nla_put_s32(msg, RDMABLK_ATTR_IO_TMO, READ_ONCE(opt->io_tmo)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_KEEP_ALIVE_ASKED,
			   READ_ONCE(opt->keep_alive_tmo)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_ON_DATA_LOSS, READ_ONCE(opt->on_data_loss)) ||
	       nla_put_u8(msg, RDMABLK_ATTR_ACK_TIMEOUT, READ_ONCE(s->ack_timeout)) ||
	       nla_put_s32(msg, RDMABLK_ATTR_TOS, opt->route.tos) ||
	       (opt->ordered && nla_put_flag(msg, RDMABLK_ATTR_ORDERED)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_CQ_COUNT, opt->cq_count) ||
	       nla_put_u32(msg, RDMABLK_ATTR_CQ_PERIOD, opt->cq_period) ||
	       (opt->source.ss_family != AF_UNSPEC &&
		rdmablk_nl_put_addr(msg, RDMABLK_ATTR_SOURCE, &opt->source));
}

static int rdmablk_nl_put_agreed(struct sk_buff *msg, struct rdmablk_session *s)
{
	const struct rdmablk_wire_grant *g;
	struct rdmablk_agreed a;

	rdmablk_session_agreed(s, &a);
	g = &a.grant;

	return nla_put(msg, RDMABLK_ATTR_UUID, sizeof(g->uuid), g->uuid) ||
	       nla_put(msg, RDMABLK_ATTR_EPOCH, sizeof(g->epoch), g->epoch) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_SIZE, g->size) ||
	       nla_put_u32(msg, RDMABLK_ATTR_LOGICAL_BLOCK, g->logical_block) ||
	       nla_put_u32(msg, RDMABLK_ATTR_PHYSICAL_BLOCK, g->physical_block) ||
	       nla_put_u32(msg, RDMABLK_ATTR_MAX_IO, a.limits.max_io_bytes) ||
	       nla_put_u32(msg, RDMABLK_ATTR_MAX_SEGMENTS, a.limits.max_segments) ||
	       nla_put_u32(msg, RDMABLK_ATTR_SGE_PER_WR, a.limits.sge_per_wr) ||
	       nla_put_u32(msg, RDMABLK_ATTR_READ_DEPTH,
			   a.read_depth) ||
	       nla_put_u32(msg, RDMABLK_ATTR_REGIONS, g->nr_regions) ||
	       nla_put_u32(msg, RDMABLK_ATTR_QUEUES, a.nr_hwqs) ||
	       nla_put_u32(msg, RDMABLK_ATTR_POLL_QUEUES, a.nr_polled) ||
	       nla_put_u32(msg, RDMABLK_ATTR_QUEUE_DEPTH, g->queue_depth) ||
	       nla_put_u32(msg, RDMABLK_ATTR_KEEP_ALIVE_TMO,
			   DIV_ROUND_UP(g->keep_alive_ms, MSEC_PER_SEC)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_SESSION_TMO, g->session_tmo_ms) ||
	       nla_put_string(msg, RDMABLK_ATTR_IBDEV, a.ibdev) ||
	       nla_put_u32(msg, RDMABLK_ATTR_IBPORT, a.port) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_SESSION_ID, g->session_id) ||
	       nla_put_string(msg, RDMABLK_ATTR_TARGET_NAME, g->target_name) ||
	       (g->flags & RDMABLK_GRANT_READ_ONLY &&
		nla_put_flag(msg, RDMABLK_ATTR_READ_ONLY)) ||
	       (g->flags & RDMABLK_GRANT_CACHE &&
		nla_put_flag(msg, RDMABLK_ATTR_WRITE_CACHE)) ||
	       (g->flags & RDMABLK_GRANT_STAGED && nla_put_flag(msg, RDMABLK_ATTR_STAGED)) ||
	       (g->flags & RDMABLK_GRANT_SHARED && nla_put_flag(msg, RDMABLK_ATTR_SHARED));
}

static int rdmablk_nl_put_counters(struct sk_buff *msg, struct rdmablk_session *s)
{
	struct rdmablk_stats st;

	rdmablk_stats_sum(s->path.stats, &st);
	return rdmablk_nl_put_u64(msg, RDMABLK_ATTR_READS, st.ios[READ]) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_WRITES, st.ios[WRITE]) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_READ_BYTES, st.bytes[READ]) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_WRITE_BYTES, st.bytes[WRITE]) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_FLUSHES, st.flushes) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_DISCARDS, st.discards) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_DISCARD_BYTES, st.discard_bytes) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_ERRORS, st.errors) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_WORK_REQUESTS, st.work_requests) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_BUSY, st.busy) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_REQUEUES, st.requeues) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_FENCES,
				  READ_ONCE(s->path.fence.fences_sent)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_KEEPALIVES, READ_ONCE(s->keepalives)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_STALE_ANSWERS,
				  READ_ONCE(s->ctrl.stale_answers)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_RECONNECTS, READ_ONCE(s->reconnects)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_HELD, READ_ONCE(s->held)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_RETRY_ERRORS,
				  atomic_read(&s->errors.retry)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_RNR_ERRORS,
				  atomic_read(&s->errors.rnr)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_REMOTE_ERRORS,
				  atomic_read(&s->errors.remote)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_OTHER_ERRORS,
				  atomic_read(&s->errors.other));
}

static int rdmablk_nl_put_live(struct sk_buff *msg, struct rdmablk_session *s)
{
	u32 openers, in_flight = 0;

	mutex_lock(&s->disk_mutex);
	openers = s->disk ? disk_openers(s->disk) : 0;
	if (s->disk)
		in_flight = rdmablk_request_in_flight(&s->tag_set);
	mutex_unlock(&s->disk_mutex);
	return nla_put_u32(msg, RDMABLK_ATTR_OPENERS, openers) ||
	       nla_put_u32(msg, RDMABLK_ATTR_IN_FLIGHT, in_flight) ||
	       (READ_ONCE(s->path.unflushed) && nla_put_flag(msg, RDMABLK_ATTR_UNFLUSHED)) ||
	       nla_put_u8(msg, RDMABLK_ATTR_TIMED, READ_ONCE(s->path.timing.on)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_ATTEMPTS, READ_ONCE(s->attempts)) ||
	       nla_put_string(msg, RDMABLK_ATTR_LAST_ERROR, READ_ONCE(s->why) ?: "");
}

static int rdmablk_nl_put_latency(struct sk_buff *msg, struct rdmablk_session *s)
{
	static const int attrs[RDMABLK_TIMED_OPS] = {
		[RDMABLK_TIMED_READ]	= RDMABLK_ATTR_LATENCY_READ,
		[RDMABLK_TIMED_WRITE]	= RDMABLK_ATTR_LATENCY_WRITE,
		[RDMABLK_TIMED_FLUSH]	= RDMABLK_ATTR_LATENCY_FLUSH,
		[RDMABLK_TIMED_DISCARD]	= RDMABLK_ATTR_LATENCY_DISCARD,
	};
	struct rdmablk_latency_histogram *sum;
	struct nlattr *attr;
	unsigned int op;

	/* Summed up in the message: it is too large for the stack. */
	for (op = 0; op < RDMABLK_TIMED_OPS; op++) {
		attr = nla_reserve_64bit(msg, attrs[op], sizeof(*sum), RDMABLK_ATTR_PAD);
		if (!attr)
			return -EMSGSIZE;
		sum = nla_data(attr);
		rdmablk_stats_timing_sum(&s->path.timing, op, sum);
	}
	return 0;
}

/**
 * rdmablk_netlink_put_id() - which device, and how it is: what an event says
 * @msg: to append to
 * @s: session
 *
 * Return: 0; else the message has no room.
 */
int rdmablk_netlink_put_id(struct sk_buff *msg, struct rdmablk_session *s)
{
	return nla_put_u32(msg, RDMABLK_ATTR_INDEX, s->index) ||
	       nla_put_string(msg, RDMABLK_ATTR_NAME, s->name) ||
	       nla_put_u32(msg, RDMABLK_ATTR_STATE, rdmablk_session_state(s)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_REASON, READ_ONCE(s->reason)) ||
	       (READ_ONCE(s->path.failing) &&
		nla_put_flag(msg, RDMABLK_ATTR_IO_FAILING));
}

/**
 * rdmablk_netlink_put_session() - all there is to say of a device
 * @msg: to append to
 * @hdr: header of the message, or NULL when it had no room
 * @s: session
 *
 * Return: 0 with a complete message; -EMSGSIZE.
 */
int rdmablk_netlink_put_session(struct sk_buff *msg, void *hdr, struct rdmablk_session *s)
{
	if (!hdr || rdmablk_netlink_put_id(msg, s) || rdmablk_nl_put_options(msg, s))
		return -EMSGSIZE;
	/* Pairs with the release in session.c: there is something to tell. */
	if (smp_load_acquire(&s->added) &&
	    (rdmablk_nl_put_agreed(msg, s) || rdmablk_nl_put_live(msg, s) ||
	     rdmablk_nl_put_counters(msg, s)))
		return -EMSGSIZE;
	genlmsg_end(msg, hdr);
	return 0;
}

static int rdmablk_nl_put_adapter(struct sk_buff *msg, struct rdmablk_session *s)
{
	struct rdmablk_agreed a;

	rdmablk_session_agreed(s, &a);
	return nla_put_string(msg, RDMABLK_ATTR_IBDEV, a.ibdev) ||
	       nla_put_u32(msg, RDMABLK_ATTR_IBPORT, a.port);
}

/**
 * rdmablk_netlink_put_stats() - what a device has done
 * @msg: to append to, with RDMABLK_NL_STATS_SIZE of room
 * @hdr: header of the message, or NULL when it had no room
 * @s: session
 *
 * Return: 0 with a complete message; -EMSGSIZE.
 */
int rdmablk_netlink_put_stats(struct sk_buff *msg, void *hdr, struct rdmablk_session *s)
{
	if (!hdr || rdmablk_netlink_put_id(msg, s))
		return -EMSGSIZE;
	/* As above. */
	if (smp_load_acquire(&s->added) &&
	    (rdmablk_nl_put_adapter(msg, s) || rdmablk_nl_put_live(msg, s) ||
	     rdmablk_nl_put_counters(msg, s) || rdmablk_nl_put_latency(msg, s)))
		return -EMSGSIZE;
	genlmsg_end(msg, hdr);
	return 0;
}

/**
 * rdmablk_netlink_addr() - copy an address out of an attribute
 * @info: command
 * @nr: number of the attribute
 * @port: what it has for a port when it names none
 * @ss: result
 *
 * Return: 0, or -EINVAL, and @info says why.
 */
int rdmablk_netlink_addr(struct genl_info *info, int nr, u16 port,
			 struct sockaddr_storage *ss)
{
	struct nlattr *attr = info->attrs[nr];
	const struct sockaddr *sa = nla_data(attr);
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (sa->sa_family == AF_INET && nla_len(attr) == sizeof(*in)) {
		const struct sockaddr_in *from = nla_data(attr);

		in->sin_family = AF_INET;
		in->sin_addr = from->sin_addr;
		in->sin_port = from->sin_port ?: htons(port);
		return 0;
	}
	if (sa->sa_family == AF_INET6 && nla_len(attr) == sizeof(*in6)) {
		const struct sockaddr_in6 *from = nla_data(attr);

		in6->sin6_family = AF_INET6;
		in6->sin6_addr = from->sin6_addr;
		in6->sin6_port = from->sin6_port ?: htons(port);
		in6->sin6_scope_id = from->sin6_scope_id;
		return 0;
	}
	NL_SET_ERR_MSG_ATTR(info->extack, attr, "neither an IPv4 nor an IPv6 address");
	return -EINVAL;
}
