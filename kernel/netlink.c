// SPDX-License-Identifier: GPL-2.0-only
/*
 * Management over generic netlink: uapi/rdmablk_netlink.h says what each command
 * and attribute means.
 *
 * Types and simple ranges are in the policies of netlink_ops.h, so that the kernel's
 * netlink code refuses what does not fit and names the attribute.
 *
 * Generic netlink holds a lock while a command runs, and the registration of any other family
 * waits for that lock. A connect or disconnect takes time. So its command only starts a job,
 * and the job sends the reply when it ends. The command allocates the reply first: without
 * memory for a reply, nobody would learn of the new disk. A job holds a reference to the
 * module, and the module's exit waits for the work queue that the jobs run on.
 */
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/capability.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/key.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include "compat.h"
#include "io_tmo.h"
#include "keys.h"
#include "lifecycle.h"
#include "netlink.h"
#include "netlink_ops.h"
#include "param.h"
#include "reauth.h"
#include "recovery.h"
#include "registry.h"
#include "session.h"
#include "uapi/rdmablk_netlink.h"

/* Room for a message of rdmablk_nl_put_stats(), bytes */
#define RDMABLK_NL_STATS_SIZE	SZ_8K

static struct genl_family rdmablk_nl_family;
static bool rdmablk_nl_registered;
static DEFINE_MUTEX(rdmablk_nl_mutex);	/* protects rdmablk_nl_registered */

enum { RDMABLK_NL_EVENTS };

static const struct genl_multicast_group rdmablk_nl_groups[] = {
	[RDMABLK_NL_EVENTS] = { .name = RDMABLK_GENL_EVENTS, RDMABLK_MCAST_FLAGS },
};

/* NL_SET_ERR_MSG() for a text that is not a literal, but lives as long as the module */
static void rdmablk_nl_text(struct netlink_ext_ack *extack, const char *text)
{
	if (extack)
		extack->_msg = text;
}

static bool rdmablk_nl_is_ready(struct netlink_ext_ack *extack)
{
	if (READ_ONCE(rdmablk_ready))
		return true;
	rdmablk_nl_text(extack, "the module is still loading");
	return false;
}

/*
 * What messages say about a device
 */

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

static int rdmablk_nl_put_options(struct sk_buff *msg, struct rdmablk_session *s)
{
	const struct rdmablk_options *opt = &s->opt;
	char key[RDMABLK_KEY_NAME_LEN];

	rdmablk_keys_name(s, key);
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
	       nla_put_s32(msg, RDMABLK_ATTR_REAUTH_TMO, READ_ONCE(opt->reauth_tmo)) ||
	       nla_put_u8(msg, RDMABLK_ATTR_ACK_TIMEOUT, READ_ONCE(s->ack_timeout)) ||
	       nla_put_s32(msg, RDMABLK_ATTR_TOS, opt->route.tos) ||
	       (opt->ordered && nla_put_flag(msg, RDMABLK_ATTR_ORDERED)) ||
	       (key[0] && nla_put_string(msg, RDMABLK_ATTR_KEY, key)) ||
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
	       nla_put_u32(msg, RDMABLK_ATTR_AUTH,
			   a.proven ? RDMABLK_AUTH_PSK : RDMABLK_AUTH_NONE) ||
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
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_KEEPALIVES, READ_ONCE(s->keepalive.answers)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_STALE_ANSWERS,
				  READ_ONCE(s->ctrl.stale_answers)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_RECONNECTS, READ_ONCE(s->reconnects)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_HELD, READ_ONCE(s->held)) ||
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_OUTAGE_MS, rdmablk_session_outage_ms(s)) ||
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
	       nla_put_u32(msg, RDMABLK_ATTR_ATTEMPTS, READ_ONCE(s->outage.attempts)) ||
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

	/* A sum is too large for the stack, so it is made in the message. */
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
 * rdmablk_nl_put_id() - append the name and the state of a device, all that an event has
 * @msg: to append to
 * @s: session
 *
 * Return: 0; else the message has no room.
 */
static int rdmablk_nl_put_id(struct sk_buff *msg, struct rdmablk_session *s)
{
	return nla_put_u32(msg, RDMABLK_ATTR_INDEX, s->index) ||
	       nla_put_string(msg, RDMABLK_ATTR_NAME, s->name) ||
	       nla_put_u32(msg, RDMABLK_ATTR_STATE, rdmablk_session_state(s)) ||
	       nla_put_u32(msg, RDMABLK_ATTR_REASON, READ_ONCE(s->outage.reason)) ||
	       (READ_ONCE(s->path.failing) &&
		nla_put_flag(msg, RDMABLK_ATTR_IO_FAILING));
}

static int rdmablk_nl_put_end(struct sk_buff *msg, struct rdmablk_session *s)
{
	u64 ms;

	return rdmablk_session_disconnect_ms(s, &ms) &&
	       rdmablk_nl_put_u64(msg, RDMABLK_ATTR_DISCONNECT_MS, ms);
}

/**
 * rdmablk_nl_put_session() - append all that a message can say about a device
 * @msg: to append to
 * @hdr: header of the message, or NULL when it had no room
 * @s: session
 *
 * Return: 0 with a complete message; -EMSGSIZE.
 */
static int rdmablk_nl_put_session(struct sk_buff *msg, void *hdr, struct rdmablk_session *s)
{
	if (!hdr || rdmablk_nl_put_id(msg, s) || rdmablk_nl_put_options(msg, s))
		return -EMSGSIZE;
	/* Pairs with the release in lifecycle.c: the first login has succeeded. */
	if (smp_load_acquire(&s->added) &&
	    (rdmablk_nl_put_agreed(msg, s) || rdmablk_nl_put_live(msg, s) ||
	     rdmablk_nl_put_counters(msg, s) || rdmablk_nl_put_end(msg, s)))
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
 * rdmablk_nl_put_stats() - append the statistics of a device
 * @msg: to append to, with RDMABLK_NL_STATS_SIZE of room
 * @hdr: header of the message, or NULL when it had no room
 * @s: session
 *
 * Return: 0 with a complete message; -EMSGSIZE.
 */
static int rdmablk_nl_put_stats(struct sk_buff *msg, void *hdr, struct rdmablk_session *s)
{
	if (!hdr || rdmablk_nl_put_id(msg, s))
		return -EMSGSIZE;
	/* As in rdmablk_nl_put_session() */
	if (smp_load_acquire(&s->added) &&
	    (rdmablk_nl_put_adapter(msg, s) || rdmablk_nl_put_live(msg, s) ||
	     rdmablk_nl_put_counters(msg, s) || rdmablk_nl_put_latency(msg, s)))
		return -EMSGSIZE;
	genlmsg_end(msg, hdr);
	return 0;
}

/**
 * rdmablk_nl_addr() - copy an address out of an attribute
 * @info: command
 * @nr: number of the attribute
 * @port: port to use if the attribute has none
 * @ss: result
 *
 * Return: 0, or -EINVAL, and @info says why.
 */
static int rdmablk_nl_addr(struct genl_info *info, int nr, u16 port,
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

/*
 * Attributes of a command
 */

static u32 rdmablk_nl_u32(struct genl_info *info, int nr, u32 def)
{
	return info->attrs[nr] ? nla_get_u32(info->attrs[nr]) : def;
}

static int rdmablk_nl_required(struct genl_info *info, int nr, const char *why)
{
	if (info->attrs[nr])
		return 0;
	rdmablk_nl_text(info->extack, why);
	return -EINVAL;
}

static s32 rdmablk_nl_s32(struct genl_info *info, int nr, s32 def)
{
	return info->attrs[nr] ? nla_get_s32(info->attrs[nr]) : def;
}

/* Whether the options that may change while the device is in use fit together. */
static int rdmablk_nl_check_changeable(struct genl_info *info,
				       const struct rdmablk_options *opt)
{
	s32 fast = rdmablk_nl_s32(info, RDMABLK_ATTR_FAST_IO_FAIL_TMO,
				  opt->fast_io_fail_tmo);
	s32 loss = rdmablk_nl_s32(info, RDMABLK_ATTR_DEV_LOSS_TMO, opt->dev_loss_tmo);

	/* Both may be 0: then device and I/O fail as soon as a connection is lost. */
	if (fast >= 0 && loss >= 0 && fast >= loss && (fast || loss)) {
		rdmablk_nl_text(info->extack, "fast_io_fail_tmo is not shorter than dev_loss_tmo");
		return -EINVAL;
	}
	return 0;
}

static void rdmablk_nl_changeable(struct genl_info *info, struct rdmablk_options *opt)
{
	WRITE_ONCE(opt->keep_alive_tmo, rdmablk_nl_u32(info, RDMABLK_ATTR_KEEP_ALIVE_TMO,
						       opt->keep_alive_tmo));
	WRITE_ONCE(opt->reconnect_delay, rdmablk_nl_u32(info, RDMABLK_ATTR_RECONNECT_DELAY,
							opt->reconnect_delay));
	WRITE_ONCE(opt->fast_io_fail_tmo, rdmablk_nl_s32(info, RDMABLK_ATTR_FAST_IO_FAIL_TMO,
							 opt->fast_io_fail_tmo));
	WRITE_ONCE(opt->dev_loss_tmo, rdmablk_nl_s32(info, RDMABLK_ATTR_DEV_LOSS_TMO,
						     opt->dev_loss_tmo));
	WRITE_ONCE(opt->io_tmo, rdmablk_nl_s32(info, RDMABLK_ATTR_IO_TMO, opt->io_tmo));
	WRITE_ONCE(opt->reauth_tmo, rdmablk_nl_s32(info, RDMABLK_ATTR_REAUTH_TMO,
						   opt->reauth_tmo));
	WRITE_ONCE(opt->on_data_loss, rdmablk_nl_u32(info, RDMABLK_ATTR_ON_DATA_LOSS,
						     opt->on_data_loss));
}

static int rdmablk_nl_options(struct genl_info *info, struct rdmablk_options *opt)
{
	const char *why;
	int ret;

	rdmablk_session_options_init(opt);
	ret = rdmablk_nl_required(info, RDMABLK_ATTR_TARGET, "no target address given");
	if (!ret)
		ret = rdmablk_nl_required(info, RDMABLK_ATTR_EXPORT, "no export name given");
	if (!ret)
		ret = rdmablk_nl_addr(info, RDMABLK_ATTR_TARGET, RDMABLK_PORT,
				      &opt->target);
	if (!ret && info->attrs[RDMABLK_ATTR_SOURCE])
		ret = rdmablk_nl_addr(info, RDMABLK_ATTR_SOURCE, 0, &opt->source);
	if (ret)
		return ret;
	nla_strscpy(opt->export_name, info->attrs[RDMABLK_ATTR_EXPORT],
		    sizeof(opt->export_name));
	ret = rdmablk_param_check_name(opt->export_name, &why);
	if (ret) {
		rdmablk_nl_text(info->extack, why);
		return ret;
	}
	opt->read_only = nla_get_flag(info->attrs[RDMABLK_ATTR_READ_ONLY]);
	opt->steal = nla_get_flag(info->attrs[RDMABLK_ATTR_STEAL]);
	opt->queues = rdmablk_nl_u32(info, RDMABLK_ATTR_QUEUES, opt->queues);
	opt->poll_queues = rdmablk_nl_u32(info, RDMABLK_ATTR_POLL_QUEUES, opt->poll_queues);
	opt->queue_depth = rdmablk_nl_u32(info, RDMABLK_ATTR_QUEUE_DEPTH, opt->queue_depth);
	opt->connect_tmo = rdmablk_nl_u32(info, RDMABLK_ATTR_CONNECT_TMO,
					  opt->connect_tmo);
	if (info->attrs[RDMABLK_ATTR_ACK_TIMEOUT])
		opt->route.ack_timeout = nla_get_u8(info->attrs[RDMABLK_ATTR_ACK_TIMEOUT]);
	if (info->attrs[RDMABLK_ATTR_TOS])
		opt->route.tos = nla_get_s32(info->attrs[RDMABLK_ATTR_TOS]);
	opt->ordered = nla_get_flag(info->attrs[RDMABLK_ATTR_ORDERED]);
	if (info->attrs[RDMABLK_ATTR_HOST_ID])
		nla_memcpy(opt->host_id, info->attrs[RDMABLK_ATTR_HOST_ID],
			   sizeof(opt->host_id));
	if (opt->route.ack_timeout != RDMABLK_ACK_TIMEOUT_PATH &&
	    opt->route.ack_timeout < RDMABLK_MIN_ACK_TIMEOUT) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[RDMABLK_ATTR_ACK_TIMEOUT],
				    "ack_timeout is neither 0 nor 8 to 22");
		return -ERANGE;
	}
	if (!memchr_inv(opt->host_id, 0, sizeof(opt->host_id))) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[RDMABLK_ATTR_HOST_ID],
				    "the host id is all zero");
		return -EINVAL;
	}
	ret = rdmablk_nl_check_changeable(info, opt);
	if (!ret)
		rdmablk_nl_changeable(info, opt);
	return ret;
}

/* Return: key with a reference; NULL when the command names none; or an ERR_PTR. */
static struct key *rdmablk_nl_key(struct genl_info *info, char *name)
{
	struct nlattr *attr = info->attrs[RDMABLK_ATTR_KEY];
	struct key *key;
	const char *why;

	if (!attr)
		return NULL;
	nla_strscpy(name, attr, RDMABLK_KEY_NAME_LEN);
	if (rdmablk_param_check_key(name, &why)) {
		rdmablk_nl_text(info->extack, why);
		return ERR_PTR(-EINVAL);
	}
	key = rdmablk_keys_find(name);
	if (IS_ERR(key))
		rdmablk_nl_text(info->extack, rdmablk_keys_text(PTR_ERR(key)));
	return key;
}

/* Takes over the reference of @key; NULL: the session keeps the key that it has. */
static int rdmablk_nl_give(struct genl_info *info, struct rdmablk_session *s,
			   const char *name, struct key *key)
{
	int ret = key ? rdmablk_keys_give(s, name, key) : 0;

	if (ret)
		rdmablk_nl_text(info->extack, rdmablk_keys_text(ret));
	return ret;
}

/*
 * CAP_NET_ADMIN, which the table of commands demands, is a right over networks. A container with
 * the network of the host may have it, and must not connect or remove disks of the host.
 */
static bool rdmablk_nl_may_change(const struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return true;
	rdmablk_nl_text(info->extack, "not permitted: this also needs CAP_SYS_ADMIN");
	return false;
}

static struct rdmablk_session *rdmablk_nl_session(struct genl_info *info)
{
	struct rdmablk_session *s = NULL;

	if (rdmablk_nl_required(info, RDMABLK_ATTR_INDEX, "no device given"))
		return ERR_PTR(-EINVAL);
	s = rdmablk_registry_find(nla_get_u32(info->attrs[RDMABLK_ATTR_INDEX]));
	if (s)
		return s;
	rdmablk_nl_text(info->extack, "no such device");
	return ERR_PTR(-ENODEV);
}

static struct rdmablk_session *rdmablk_nl_session_to_change(const struct sk_buff *skb,
							    struct genl_info *info)
{
	return rdmablk_nl_may_change(skb, info) ? rdmablk_nl_session(info) : ERR_PTR(-EPERM);
}

/**
 * struct rdmablk_nl_job - a connect or disconnect that a command has started
 * @work: runs the job
 * @s: session, with a reference
 * @msg: reply, with the name of the session
 * @hdr: header of @msg
 * @portid: socket that @msg goes to
 * @wait: the session removes itself; the job only waits for that
 */
struct rdmablk_nl_job {
	struct work_struct work;
	struct rdmablk_session *s;
	struct sk_buff *msg;
	void *hdr;
	u32 portid;
	bool wait;
};

static const char rdmablk_nl_no_job[] = "out of memory, or the module is being unloaded";

static struct rdmablk_nl_job *rdmablk_nl_job_create(struct genl_info *info, u8 cmd,
						    struct rdmablk_session *s,
						    work_func_t fn)
{
	struct rdmablk_nl_job *job;

	/* The lock of generic netlink does not hold the module, which may be unloading. */
	if (!try_module_get(THIS_MODULE))
		return NULL;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		goto err_module;
	job->msg = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!job->msg)
		goto err_job;
	job->hdr = genlmsg_put_reply(job->msg, info, &rdmablk_nl_family, 0, cmd);
	if (!job->hdr || nla_put_u32(job->msg, RDMABLK_ATTR_INDEX, s->index) ||
	    nla_put_string(job->msg, RDMABLK_ATTR_NAME, s->name))
		goto err_msg;
	INIT_WORK(&job->work, fn);
	job->portid = info->snd_portid;
	job->s = s;
	kref_get(&s->ref);
	return job;
err_msg:
	nlmsg_free(job->msg);
err_job:
	kfree(job);
err_module:
	module_put(THIS_MODULE);
	return NULL;
}

static void rdmablk_nl_job_free(struct rdmablk_nl_job *job)
{
	rdmablk_session_put(job->s);
	nlmsg_free(job->msg);
	kfree(job);
	/* The module's exit waits for the caller to return. */
	module_put(THIS_MODULE);
}

static void rdmablk_nl_job_start(struct rdmablk_nl_job *job)
{
	queue_work(rdmablk_login_wq, &job->work);
}

static void rdmablk_nl_job_end(struct rdmablk_nl_job *job, int ret, const char *why)
{
	/* The message has room. If the socket is gone, nobody needs the reply. */
	if (ret)
		(void)(nla_put_s32(job->msg, RDMABLK_ATTR_ERROR, ret) ||
		       nla_put_string(job->msg, RDMABLK_ATTR_TEXT, why));
	genlmsg_end(job->msg, job->hdr);
	genlmsg_unicast(&init_net, job->msg, job->portid);
	job->msg = NULL;
	rdmablk_nl_job_free(job);
}

/* Number of first connects under way for a socket, which may close and give its connect up */
static atomic_t rdmablk_nl_connects;

static void rdmablk_nl_connect_work(struct work_struct *work)
{
	struct rdmablk_nl_job *job = container_of(work, struct rdmablk_nl_job, work);
	struct rdmablk_session *s = job->s;
	const char *why;
	int ret;

	ret = rdmablk_lifecycle_connect(s);
	if (!ret)
		ret = rdmablk_lifecycle_publish(s);
	atomic_dec(&rdmablk_nl_connects);
	if (ret < 0) {
		rdmablk_lifecycle_abort(s);
		return rdmablk_nl_job_end(job, ret, s->why);
	}
	if (ret && !rdmablk_lifecycle_claim(s, true, &why))
		rdmablk_lifecycle_remove(s);
	rdmablk_nl_job_end(job, ret ? -ECANCELED : 0, "the connect was given up");
}

/* Return: as for rdmablk_nl_key(). */
static struct key *rdmablk_nl_connect_key(struct genl_info *info, char *name)
{
	if (info->attrs[RDMABLK_ATTR_KEY] || !rdmablk_require_key)
		return rdmablk_nl_key(info, name);
	rdmablk_nl_text(info->extack,
			"the module is loaded with require_key: connect with --key NAME");
	return ERR_PTR(-ENOKEY);
}

static int rdmablk_nl_connect(struct sk_buff *skb, struct genl_info *info)
{
	struct rdmablk_options opt;
	struct rdmablk_nl_job *job;
	struct rdmablk_session *s;
	const char *why;
	struct key *key;
	int ret;

	if (!rdmablk_nl_may_change(skb, info))
		return -EPERM;
	if (!rdmablk_nl_is_ready(info->extack))
		return -EAGAIN;
	ret = rdmablk_nl_options(info, &opt);
	if (ret)
		return ret;
	key = rdmablk_nl_connect_key(info, opt.key_name);
	if (IS_ERR(key))
		return PTR_ERR(key);
	s = rdmablk_lifecycle_create(&opt, info->snd_portid, &why);
	if (IS_ERR(s)) {
		rdmablk_nl_text(info->extack, why);
		key_put(key);
		return PTR_ERR(s);
	}
	ret = rdmablk_nl_give(info, s, opt.key_name, key);
	if (ret) {
		rdmablk_lifecycle_abort(s);
		return ret;
	}
	job = rdmablk_nl_job_create(info, RDMABLK_CMD_CONNECT, s, rdmablk_nl_connect_work);
	if (!job) {
		rdmablk_nl_text(info->extack, rdmablk_nl_no_job);
		rdmablk_lifecycle_abort(s);
		return -ENOMEM;
	}
	/* The socket stays open until this function has returned. */
	atomic_inc(&rdmablk_nl_connects);
	rdmablk_nl_job_start(job);
	return 0;
}

/* A socket has been closed: its connect is given up. */
static int rdmablk_nl_released(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *n = data;
	struct rdmablk_session *s = NULL;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC ||
	    n->net != &init_net || !n->portid || !atomic_read(&rdmablk_nl_connects))
		return NOTIFY_DONE;
	while (rdmablk_registry_step(&s)) {
		if (s->nl_portid == n->portid)
			rdmablk_lifecycle_unwanted(s);
	}
	return NOTIFY_DONE;
}

static struct notifier_block rdmablk_nl_notifier = {
	.notifier_call = rdmablk_nl_released,
};

static void rdmablk_nl_disconnect_work(struct work_struct *work)
{
	struct rdmablk_nl_job *job = container_of(work, struct rdmablk_nl_job, work);

	if (job->wait)
		wait_for_completion(&job->s->gone);
	else
		rdmablk_lifecycle_remove(job->s);
	rdmablk_nl_job_end(job, 0, NULL);
}

static int rdmablk_nl_disconnect(struct sk_buff *skb, struct genl_info *info)
{
	struct rdmablk_session *s = rdmablk_nl_session_to_change(skb, info);
	struct rdmablk_nl_job *job;
	const char *why = rdmablk_nl_no_job;
	int ret = -ENOMEM;

	if (IS_ERR(s))
		return PTR_ERR(s);
	job = rdmablk_nl_job_create(info, RDMABLK_CMD_DISCONNECT, s,
				    rdmablk_nl_disconnect_work);
	if (job)
		ret = rdmablk_lifecycle_claim(s, nla_get_flag(info->attrs[RDMABLK_ATTR_FORCE]),
					      &why);
	if (ret >= 0) {
		job->wait = ret;
		rdmablk_nl_job_start(job);
		ret = 0;
	} else {
		rdmablk_nl_text(info->extack, why);
		if (job)
			rdmablk_nl_job_free(job);
	}
	rdmablk_session_put(s);
	return ret;
}

/*
 * Finds another key for a disk that has a key. A disk of version 1 cannot change to version 2:
 * version 2 needs memory and modules of the crypto layer, and only a first login may allocate
 * and load them.
 */
static struct key *rdmablk_nl_other_key(struct genl_info *info, struct rdmablk_session *s,
					char *name)
{
	rdmablk_keys_name(s, name);
	if (!info->attrs[RDMABLK_ATTR_KEY] || *name)
		return rdmablk_nl_key(info, name);
	rdmablk_nl_text(info->extack,
			"the disk has no key: disconnect it, and connect it with one");
	return ERR_PTR(-EOPNOTSUPP);
}

/* Does the steps that can fail first, so that a command changes everything or nothing. */
static int rdmablk_nl_change(struct genl_info *info, struct rdmablk_session *s)
{
	struct nlattr *timed = info->attrs[RDMABLK_ATTR_TIMED];
	struct rdmablk_timing *t = &s->path.timing;
	char name[RDMABLK_KEY_NAME_LEN];
	bool was = READ_ONCE(t->on);
	struct key *key;
	int ret = 0;

	key = rdmablk_nl_other_key(info, s, name);
	if (IS_ERR(key))
		return PTR_ERR(key);
	if (timed)
		ret = rdmablk_stats_timing_set(t, nla_get_u8(timed));
	if (ret) {
		rdmablk_nl_text(info->extack, "out of memory");
		key_put(key);
		return ret;
	}
	ret = rdmablk_nl_check_changeable(info, &s->opt);
	if (ret)
		key_put(key);
	else
		ret = rdmablk_nl_give(info, s, name, key);
	if (!ret)
		rdmablk_nl_changeable(info, &s->opt);
	else if (timed)
		rdmablk_stats_timing_set(t, was);
	return ret;
}

static int rdmablk_nl_set(struct sk_buff *skb, struct genl_info *info)
{
	struct rdmablk_session *s = rdmablk_nl_session_to_change(skb, info);
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = rdmablk_nl_change(info, s);
	if (!ret)
		rdmablk_recovery_changed(s);
	if (!ret && info->attrs[RDMABLK_ATTR_IO_TMO])
		rdmablk_io_tmo_changed(s);
	/* Prove the key now; a changed reauth_tmo counts from this proof. */
	if (!ret && (info->attrs[RDMABLK_ATTR_KEY] || info->attrs[RDMABLK_ATTR_REAUTH_TMO]))
		rdmablk_reauth_now(s);
	rdmablk_session_put(s);
	return ret;
}

static int rdmablk_nl_reconnect(struct sk_buff *skb, struct genl_info *info)
{
	struct rdmablk_session *s = rdmablk_nl_session_to_change(skb, info);
	const char *why;
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = rdmablk_recovery_again(s, nla_get_flag(info->attrs[RDMABLK_ATTR_ACCEPT_DATA_LOSS]),
				     &why);
	if (ret)
		rdmablk_nl_text(info->extack, why);
	rdmablk_session_put(s);
	return ret;
}

typedef int (*rdmablk_nl_put_fn)(struct sk_buff *msg, void *hdr,
				 struct rdmablk_session *s);

static int rdmablk_nl_reply(struct genl_info *info, u8 cmd, size_t size,
			    rdmablk_nl_put_fn put)
{
	struct rdmablk_session *s = rdmablk_nl_session(info);
	struct sk_buff *msg;
	int ret = -ENOMEM;

	if (IS_ERR(s))
		return PTR_ERR(s);
	msg = genlmsg_new(size, GFP_KERNEL);
	if (msg) {
		ret = put(msg, genlmsg_put_reply(msg, info, &rdmablk_nl_family, 0, cmd), s);
		if (ret)
			nlmsg_free(msg);
		else
			ret = genlmsg_reply(msg, info);
	}
	rdmablk_session_put(s);
	return ret;
}

/* cb->args[0]: number of the session to go on with */
static int rdmablk_nl_dump_all(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			       rdmablk_nl_put_fn put)
{
	struct rdmablk_session *s;
	void *hdr;
	int ret;

	while ((s = rdmablk_registry_next(cb->args[0]))) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				  &rdmablk_nl_family, NLM_F_MULTI, cmd);
		ret = put(skb, hdr, s);
		if (ret && hdr)
			genlmsg_cancel(skb, hdr);
		if (!ret)
			cb->args[0] = s->index + 1;
		rdmablk_session_put(s);
		if (ret)
			return skb->len ?: ret;
	}
	return skb->len;
}

static int rdmablk_nl_get(struct sk_buff *skb, struct genl_info *info)
{
	return rdmablk_nl_reply(info, RDMABLK_CMD_GET, NLMSG_GOODSIZE,
				rdmablk_nl_put_session);
}

static int rdmablk_nl_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rdmablk_nl_dump_all(skb, cb, RDMABLK_CMD_GET, rdmablk_nl_put_session);
}

static int rdmablk_nl_stats_get(struct sk_buff *skb, struct genl_info *info)
{
	return rdmablk_nl_reply(info, RDMABLK_CMD_STATS_GET, RDMABLK_NL_STATS_SIZE,
				rdmablk_nl_put_stats);
}

static int rdmablk_nl_stats_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rdmablk_nl_dump_all(skb, cb, RDMABLK_CMD_STATS_GET, rdmablk_nl_put_stats);
}

/*
 * A dump goes on whenever its reader reads again, perhaps after an hour. For that it holds a
 * reference to the module. A load that fails does not wait for references, so no dump begins
 * before the load has succeeded.
 */
static int rdmablk_nl_dump_start(struct netlink_callback *cb)
{
	return rdmablk_nl_is_ready(cb->extack) ? 0 : -EAGAIN;
}

static int rdmablk_nl_stats_start(struct netlink_callback *cb)
{
	/* Room for all of a disk's histograms in one message */
	cb->min_dump_alloc = RDMABLK_NL_STATS_SIZE;
	return rdmablk_nl_dump_start(cb);
}

/*
 * Recoveries announce events. Memory may become free only by I/O that a recovery has to bring
 * back, so an event never waits for memory.
 */
#define RDMABLK_NL_EVENT_GFP	(GFP_NOWAIT | __GFP_NOWARN)

static struct sk_buff *rdmablk_nl_new_event(struct rdmablk_session *s)
{
	struct sk_buff *msg = genlmsg_new(NLMSG_DEFAULT_SIZE, RDMABLK_NL_EVENT_GFP);
	void *hdr;

	if (!msg)
		return NULL;
	hdr = genlmsg_put(msg, 0, 0, &rdmablk_nl_family, 0, RDMABLK_CMD_EVENT);
	if (!hdr || rdmablk_nl_put_id(msg, s)) {
		nlmsg_free(msg);
		return NULL;
	}
	genlmsg_end(msg, hdr);
	return msg;
}

/*
 * Announces the state of a device. May sleep, but waits neither for memory nor for I/O.
 * Without memory the event is lost, and each listener reads ENOBUFS, as when events come
 * faster than it reads them. While the module is being unloaded, nobody hears of the loss.
 */
static void rdmablk_nl_event(struct rdmablk_session *s)
{
	struct sk_buff *msg = rdmablk_nl_new_event(s);

	/* Once the family is gone, another family may get the number of the group. */
	mutex_lock(&rdmablk_nl_mutex);
	if (!rdmablk_nl_registered)
		nlmsg_free(msg);
	else if (msg)
		genlmsg_multicast(&rdmablk_nl_family, msg, 0, RDMABLK_NL_EVENTS,
				  RDMABLK_NL_EVENT_GFP);
	else
		genl_set_err(&rdmablk_nl_family, &init_net, 0, RDMABLK_NL_EVENTS, -ENOBUFS);
	mutex_unlock(&rdmablk_nl_mutex);
}

static struct genl_family rdmablk_nl_family __ro_after_init = {
	.name		= RDMABLK_GENL_NAME,
	.version	= RDMABLK_GENL_VERSION,
	.module		= THIS_MODULE,
	.ops		= rdmablk_nl_ops,
	.n_ops		= ARRAY_SIZE(rdmablk_nl_ops),
	.mcgrps		= rdmablk_nl_groups,
	.n_mcgrps	= ARRAY_SIZE(rdmablk_nl_groups),
	.parallel_ops	= true,
};

/**
 * rdmablk_netlink_init() - register the family
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_netlink_init(void)
{
	int ret = genl_register_family(&rdmablk_nl_family);

	if (ret)
		return ret;
	ret = netlink_register_notifier(&rdmablk_nl_notifier);
	if (ret) {
		genl_unregister_family(&rdmablk_nl_family);
		return ret;
	}
	rdmablk_session_event = rdmablk_nl_event;
	mutex_lock(&rdmablk_nl_mutex);
	rdmablk_nl_registered = true;
	mutex_unlock(&rdmablk_nl_mutex);
	return 0;
}

/**
 * rdmablk_netlink_exit() - unregister the family; waits for commands under way
 */
void rdmablk_netlink_exit(void)
{
	mutex_lock(&rdmablk_nl_mutex);
	rdmablk_nl_registered = false;
	mutex_unlock(&rdmablk_nl_mutex);
	netlink_unregister_notifier(&rdmablk_nl_notifier);
	genl_unregister_family(&rdmablk_nl_family);
}
