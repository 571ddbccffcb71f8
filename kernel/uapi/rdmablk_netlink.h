/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * Management of rdmablk devices over generic netlink.
 *
 * Family "rdmablk", version 1. Every command needs CAP_NET_ADMIN; who listens to the
 * events needs nothing. All of it is of the initial network namespace only.
 * Attributes are flat, of enum rdmablk_attr; an
 * unknown one is refused. A failed command carries a text (NLMSGERR_ATTR_MSG) and,
 * where one attribute is to blame, its offset. The same description for machines
 * is Documentation/netlink/rdmablk.yaml.
 *
 * RDMABLK_CMD_CONNECT (do)
 *	Connects to an export and creates its disk; answers when the disk exists.
 *
 *	request:  TARGET EXPORT [SOURCE] [READ_ONLY] [STEAL] [QUEUES] [QUEUE_DEPTH]
 *		  [KEEP_ALIVE_TMO] [CONNECT_TMO] [FAST_IO_FAIL_TMO] [ACK_TIMEOUT]
 *		  [HOST_ID]
 *	reply:    INDEX NAME
 *	errors:   EINVAL an attribute is missing or wrong; ERANGE one is out of its
 *		  range; EAGAIN the module is still loading; EEXIST this export
 *		  is connected on this host already; ENODEV no RDMA device leads to
 *		  the target; EHOSTUNREACH, ENETUNREACH no route; ETIMEDOUT no answer
 *		  within CONNECT_TMO; ECONNREFUSED nobody listens there, or the target
 *		  refuses; ENOENT no such export; EBUSY the export is in use; EROFS the
 *		  export is read-only and write access was asked for; EPROTO the peer
 *		  does not follow the protocol; EPROTONOSUPPORT no common version;
 *		  EOPNOTSUPP iWARP device; EXDEV the route moved to another RDMA
 *		  device; ECONNRESET, ECONNABORTED the connection broke; ENOSPC a
 *		  limit of the target; EACCES authentication; EIO the target has an
 *		  internal error; ENOMEM; EINTR a fatal signal came
 *
 * RDMABLK_CMD_DISCONNECT (do)
 *	Logs out and removes the disk; answers when it is gone.
 *
 *	request:  INDEX [FORCE]
 *	errors:   ENODEV no such device; EBUSY the disk is open or mounted and FORCE
 *		  is absent; EAGAIN it is still connecting; EALREADY somebody else is
 *		  disconnecting it; EINTR a fatal signal came
 *
 * RDMABLK_CMD_GET (do, dump)
 *	request:  INDEX (do); nothing (dump)
 *	reply:    INDEX NAME STATE TARGET EXPORT and what is known of the others
 *	errors:   ENODEV no such device
 *
 * RDMABLK_CMD_EVENT (multicast group "events")
 *	A device changed its state: INDEX NAME STATE REASON.
 */
#ifndef _UAPI_RDMABLK_NETLINK_H
#define _UAPI_RDMABLK_NETLINK_H

#define RDMABLK_GENL_NAME	"rdmablk"
#define RDMABLK_GENL_VERSION	1
#define RDMABLK_GENL_EVENTS	"events"

/**
 * enum rdmablk_cmd - commands; see above
 * @RDMABLK_CMD_UNSPEC: unused
 * @RDMABLK_CMD_CONNECT: connect and create a disk
 * @RDMABLK_CMD_DISCONNECT: log out and remove a disk
 * @RDMABLK_CMD_GET: what is known of a disk, or of all
 * @RDMABLK_CMD_EVENT: a disk changed its state
 */
enum rdmablk_cmd {
	RDMABLK_CMD_UNSPEC,
	RDMABLK_CMD_CONNECT,
	RDMABLK_CMD_DISCONNECT,
	RDMABLK_CMD_GET,
	RDMABLK_CMD_EVENT,

	/* private: */
	__RDMABLK_CMD_MAX,
	RDMABLK_CMD_MAX = __RDMABLK_CMD_MAX - 1
};

/**
 * enum rdmablk_attr - attributes
 * @RDMABLK_ATTR_UNSPEC: unused
 * @RDMABLK_ATTR_PAD: padding of 64-bit attributes
 * @RDMABLK_ATTR_INDEX: u32, N of rdmablkN
 * @RDMABLK_ATTR_NAME: string, "rdmablkN"
 * @RDMABLK_ATTR_STATE: u32, enum rdmablk_dev_state
 * @RDMABLK_ATTR_REASON: u32, why the session failed: enum rdmablk_reason of
 *	rdmablk_proto.h, 0 while it has not
 * @RDMABLK_ATTR_TARGET: struct sockaddr_in or sockaddr_in6 of the target; port 0
 *	means RDMABLK_PORT
 * @RDMABLK_ATTR_SOURCE: struct sockaddr_in or sockaddr_in6 to connect from
 * @RDMABLK_ATTR_EXPORT: string, 1 to 63 printable ASCII characters, no space, no
 *	slash, no comma
 * @RDMABLK_ATTR_READ_ONLY: flag; request: do not ask for write access; reply: the
 *	disk is read-only
 * @RDMABLK_ATTR_STEAL: flag; end another host's session that writes
 * @RDMABLK_ATTR_FORCE: flag; disconnect although the disk is in use
 * @RDMABLK_ATTR_QUEUES: u32, hardware queues, 1 to 256; default one per CPU
 * @RDMABLK_ATTR_QUEUE_DEPTH: u32, requests in flight per hardware queue, 1 to 1024;
 *	default 128
 * @RDMABLK_ATTR_KEEP_ALIVE_TMO: u32, seconds without an answer of the daemon after
 *	which the session has failed, 1 to 600; default 5
 * @RDMABLK_ATTR_CONNECT_TMO: u32, seconds for the whole connect, 1 to 600; default 10
 * @RDMABLK_ATTR_FAST_IO_FAIL_TMO: s32, seconds that I/O is held after a failure;
 *	0, the default, is the only value
 * @RDMABLK_ATTR_ACK_TIMEOUT: u8, transport retransmit timeout, 4.096 us * 2^value,
 *	8 to 22; default 16 (268 ms). With 6 retries a dead link is noticed after
 *	about seven times this.
 * @RDMABLK_ATTR_HOST_ID: 16 bytes, identity of this host; default the module's
 *	host_id
 * @RDMABLK_ATTR_UUID: 16 bytes, identity of the export
 * @RDMABLK_ATTR_EPOCH: 16 bytes, identity of the store's volatile contents
 * @RDMABLK_ATTR_SIZE: u64, bytes
 * @RDMABLK_ATTR_LOGICAL_BLOCK: u32, bytes
 * @RDMABLK_ATTR_PHYSICAL_BLOCK: u32, bytes
 * @RDMABLK_ATTR_MAX_IO: u32, largest request, bytes
 * @RDMABLK_ATTR_MAX_SEGMENTS: u32, of a request
 * @RDMABLK_ATTR_SGE_PER_WR: u32, scatter/gather elements of one work request
 * @RDMABLK_ATTR_READ_DEPTH: u32, RDMA READs in flight per queue pair
 * @RDMABLK_ATTR_REGIONS: u32, registered regions of the export
 * @RDMABLK_ATTR_IBDEV: string, RDMA device
 * @RDMABLK_ATTR_IBPORT: u32, its port
 * @RDMABLK_ATTR_SESSION_ID: u64
 * @RDMABLK_ATTR_TARGET_NAME: string, what the target calls itself
 * @RDMABLK_ATTR_SHARED: flag; other hosts may write, too
 * @RDMABLK_ATTR_OPENERS: u32, open handles of the disk and its partitions
 * @RDMABLK_ATTR_SESSION_TMO: u32, milliseconds after which the target ends a silent
 *	session
 * @RDMABLK_ATTR_READS: u64, completed read requests
 * @RDMABLK_ATTR_WRITES: u64, completed write requests
 * @RDMABLK_ATTR_READ_BYTES: u64
 * @RDMABLK_ATTR_WRITE_BYTES: u64
 * @RDMABLK_ATTR_ERRORS: u64, requests ended with an error
 * @RDMABLK_ATTR_WORK_REQUESTS: u64, RDMA work requests posted for I/O
 * @RDMABLK_ATTR_KEEPALIVES: u64, keep-alives answered
 * @RDMABLK_ATTR_STALE_ANSWERS: u64, answers of an old generation, ignored
 */
enum rdmablk_attr {
	RDMABLK_ATTR_UNSPEC,
	RDMABLK_ATTR_PAD,
	RDMABLK_ATTR_INDEX,
	RDMABLK_ATTR_NAME,
	RDMABLK_ATTR_STATE,
	RDMABLK_ATTR_REASON,
	RDMABLK_ATTR_TARGET,
	RDMABLK_ATTR_SOURCE,
	RDMABLK_ATTR_EXPORT,
	RDMABLK_ATTR_READ_ONLY,
	RDMABLK_ATTR_STEAL,
	RDMABLK_ATTR_FORCE,
	RDMABLK_ATTR_QUEUES,
	RDMABLK_ATTR_QUEUE_DEPTH,
	RDMABLK_ATTR_KEEP_ALIVE_TMO,
	RDMABLK_ATTR_CONNECT_TMO,
	RDMABLK_ATTR_FAST_IO_FAIL_TMO,
	RDMABLK_ATTR_ACK_TIMEOUT,
	RDMABLK_ATTR_HOST_ID,
	RDMABLK_ATTR_UUID,
	RDMABLK_ATTR_EPOCH,
	RDMABLK_ATTR_SIZE,
	RDMABLK_ATTR_LOGICAL_BLOCK,
	RDMABLK_ATTR_PHYSICAL_BLOCK,
	RDMABLK_ATTR_MAX_IO,
	RDMABLK_ATTR_MAX_SEGMENTS,
	RDMABLK_ATTR_SGE_PER_WR,
	RDMABLK_ATTR_READ_DEPTH,
	RDMABLK_ATTR_REGIONS,
	RDMABLK_ATTR_IBDEV,
	RDMABLK_ATTR_IBPORT,
	RDMABLK_ATTR_SESSION_ID,
	RDMABLK_ATTR_TARGET_NAME,
	RDMABLK_ATTR_SHARED,
	RDMABLK_ATTR_OPENERS,
	RDMABLK_ATTR_SESSION_TMO,
	RDMABLK_ATTR_READS,
	RDMABLK_ATTR_WRITES,
	RDMABLK_ATTR_READ_BYTES,
	RDMABLK_ATTR_WRITE_BYTES,
	RDMABLK_ATTR_ERRORS,
	RDMABLK_ATTR_WORK_REQUESTS,
	RDMABLK_ATTR_KEEPALIVES,
	RDMABLK_ATTR_STALE_ANSWERS,

	/* private: */
	__RDMABLK_ATTR_MAX,
	RDMABLK_ATTR_MAX = __RDMABLK_ATTR_MAX - 1
};

/**
 * enum rdmablk_dev_state - states of a device; the names are part of the interface
 * @RDMABLK_DEV_NEW: "new": being set up, no connection yet
 * @RDMABLK_DEV_CONNECTING: "connecting": logging in
 * @RDMABLK_DEV_LIVE: "live": I/O flows
 * @RDMABLK_DEV_RECOVERING: "recovering": the connection failed; queue pairs come
 *	down, writes that were under way are held until the target's session has
 *	ended
 * @RDMABLK_DEV_FAILED: "failed": all I/O fails until the disk is disconnected
 * @RDMABLK_DEV_DELETING: "deleting": the disk is being removed
 */
enum rdmablk_dev_state {
	RDMABLK_DEV_NEW,
	RDMABLK_DEV_CONNECTING,
	RDMABLK_DEV_LIVE,
	RDMABLK_DEV_RECOVERING,
	RDMABLK_DEV_FAILED,
	RDMABLK_DEV_DELETING,
};

#define RDMABLK_DEV_STATES	6

static inline const char *rdmablk_dev_state_text(unsigned int state)
{
	switch (state) {
	case RDMABLK_DEV_NEW:		return "new";
	case RDMABLK_DEV_CONNECTING:	return "connecting";
	case RDMABLK_DEV_LIVE:		return "live";
	case RDMABLK_DEV_RECOVERING:	return "recovering";
	case RDMABLK_DEV_FAILED:	return "failed";
	case RDMABLK_DEV_DELETING:	return "deleting";
	default:			return "unknown";
	}
}

#endif /* _UAPI_RDMABLK_NETLINK_H */
