/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * Management of rdmablk devices over generic netlink: commands, attributes, states.
 */
#ifndef _UAPI_RDMABLK_NETLINK_H
#define _UAPI_RDMABLK_NETLINK_H

#include <linux/types.h>

/* Documentation/netlink/generate makes what is from here ... */

/*
 * Management of rdmablk devices, disks over one-sided RDMA, in the initial network
 * namespace only. Every command needs CAP_NET_ADMIN, and so does a socket that joins
 * the group of the events; kernels whose genetlink has no GENL_MCAST_CAP_NET_ADMIN let
 * any process join. Connect, disconnect, set and reconnect also need CAP_SYS_ADMIN. A
 * request with an attribute that its command does not take is refused. A failed command
 * carries a text (NLMSGERR_ATTR_MSG) and, where one attribute is to blame, its offset.
 *
 * Connect and disconnect take time. The command itself is acknowledged (NLM_F_ACK) or
 * refused at once. Its reply, with the sequence number of the request, follows to the
 * same socket when the work is done; if the work failed it has error and text. Closing
 * the socket before the reply of a connect gives the connect up.
 *
 * RDMABLK_CMD_CONNECT (do)
 *	Connects to an export and creates its disk. Target and export are required. The reply
 *	comes when the disk exists.
 *	EINVAL: an attribute is missing or wrong. ERANGE: one is out of its range. EAGAIN:
 *	the module is still loading. EEXIST: this export is connected on this host already.
 *	ENODEV: no RDMA device leads to the target. EHOSTUNREACH, ENETUNREACH: no route.
 *	ETIMEDOUT: no progress within CONNECT_TMO. ECONNREFUSED: nobody listens there, or the
 *	target refuses. ENOENT: no such export. EBUSY: the export is in use. EROFS: nobody
 *	may write to the export and READ_ONLY is absent. EPROTO: the peer does not follow the
 *	protocol. EPROTONOSUPPORT: no common version. EOPNOTSUPP: iWARP device. EXDEV: the
 *	route moved to another RDMA device. ECONNRESET, ECONNABORTED: the connection broke.
 *	ENOSPC: a limit of the target. EFBIG: the export is too large for its granule.
 *	EACCES: authentication. EPERM: no CAP_SYS_ADMIN; or no right to use the key, or it is
 *	not root's. ENOKEY, EKEYREVOKED, EKEYEXPIRED: no such key, or it has ended. EIO: the
 *	target has an internal error. ENOMEM. ECANCELED: the connect was given up.
 *	request: TARGET EXPORT SOURCE READ_ONLY STEAL QUEUES POLL_QUEUES QUEUE_DEPTH
 *		KEEP_ALIVE_TMO CONNECT_TMO RECONNECT_DELAY FAST_IO_FAIL_TMO DEV_LOSS_TMO
 *		ON_DATA_LOSS ACK_TIMEOUT HOST_ID IO_TMO TOS ORDERED KEY REAUTH_TMO
 *	reply: INDEX NAME ERROR TEXT
 *
 * RDMABLK_CMD_DISCONNECT (do)
 *	Logs out and removes the disk, or gives up its connect. Held I/O fails. Index is
 *	required. The reply comes when the disk is gone.
 *	ENODEV: no such device. EBUSY: the disk is open or mounted and force is absent.
 *	EALREADY: somebody else is disconnecting it. ENOMEM.
 *	request: INDEX FORCE
 *	reply: INDEX NAME ERROR TEXT
 *
 * RDMABLK_CMD_GET (do, dump)
 *	Describes one device, by index, or all of them. Unknown attributes are absent.
 *	ENODEV: no such device. EAGAIN (dump): the module is still loading.
 *	request: INDEX
 *	reply: INDEX NAME STATE REASON TARGET SOURCE EXPORT READ_ONLY QUEUES QUEUE_DEPTH
 *		KEEP_ALIVE_TMO CONNECT_TMO FAST_IO_FAIL_TMO ACK_TIMEOUT HOST_ID UUID EPOCH SIZE
 *		LOGICAL_BLOCK PHYSICAL_BLOCK MAX_IO MAX_SEGMENTS SGE_PER_WR READ_DEPTH REGIONS IBDEV
 *		IBPORT SESSION_ID TARGET_NAME SHARED OPENERS SESSION_TMO READS WRITES READ_BYTES
 *		WRITE_BYTES ERRORS WORK_REQUESTS KEEPALIVES STALE_ANSWERS RECONNECT_DELAY
 *		DEV_LOSS_TMO ON_DATA_LOSS IO_FAILING RECONNECTS ATTEMPTS HELD LAST_ERROR FLUSHES
 *		DISCARDS DISCARD_BYTES WRITE_CACHE STAGED UNFLUSHED POLL_QUEUES TIMED IN_FLIGHT BUSY
 *		REQUEUES FENCES RETRY_ERRORS RNR_ERRORS REMOTE_ERRORS OTHER_ERRORS IO_TMO
 *		KEEP_ALIVE_ASKED TOS ORDERED KEY AUTH REAUTH_TMO OUTAGE_MS DISCONNECT_MS
 *
 * RDMABLK_CMD_EVENT (multicast group "events")
 *	A device changed its state, or its I/O began to fail.
 *	event: INDEX NAME STATE REASON IO_FAILING
 *
 * RDMABLK_CMD_SET (do)
 *	Changes options of a device in use. Index is required. The options count at once,
 *	also for the present outage; KEEP_ALIVE_TMO is agreed with the target at the next
 *	login. With a key or REAUTH_TMO a connection that was made with a key proves it again
 *	now.
 *	ENODEV: no such device. EINVAL: FAST_IO_FAIL_TMO is not shorter than DEV_LOSS_TMO, or
 *	the key is wrong. ENOKEY, EKEYREVOKED, EKEYEXPIRED: no such key, or it has ended.
 *	EPERM: no CAP_SYS_ADMIN; or no right to use the key, or it is not root's. EOPNOTSUPP:
 *	a key for a device that was connected without one. ERANGE: an attribute is out of its
 *	range. ENOMEM.
 *	request: INDEX KEEP_ALIVE_TMO RECONNECT_DELAY FAST_IO_FAIL_TMO DEV_LOSS_TMO
 *		ON_DATA_LOSS TIMED IO_TMO KEY REAUTH_TMO
 *
 * RDMABLK_CMD_RECONNECT (do)
 *	Ends the connection of a live device and connects again; during an outage, tries at
 *	once; starts a failed device again. Index is required. The command does not wait: an
 *	event tells when the device is live.
 *	ENODEV: no such device. EALREADY: it is being disconnected. EAGAIN: it is still
 *	connecting, or reconnecting has ended and writes are still held. ENODATA: it failed
 *	because the store lost its contents, and ACCEPT_DATA_LOSS is absent.
 *	request: INDEX ACCEPT_DATA_LOSS
 *
 * RDMABLK_CMD_STATS_GET (do, dump)
 *	Returns the statistics of one device, by index, or of all. Histograms are zero while
 *	nothing has been timed.
 *	ENODEV: no such device. EAGAIN (dump): the module is still loading.
 *	request: INDEX
 *	reply: INDEX NAME STATE REASON IO_FAILING IBDEV IBPORT OPENERS IN_FLIGHT UNFLUSHED
 *		TIMED ATTEMPTS LAST_ERROR READS WRITES READ_BYTES WRITE_BYTES FLUSHES DISCARDS
 *		DISCARD_BYTES ERRORS WORK_REQUESTS BUSY REQUEUES FENCES KEEPALIVES STALE_ANSWERS
 *		RECONNECTS HELD RETRY_ERRORS RNR_ERRORS REMOTE_ERRORS OTHER_ERRORS LATENCY_READ
 *		LATENCY_WRITE LATENCY_FLUSH LATENCY_DISCARD OUTAGE_MS
 */

#define RDMABLK_GENL_NAME	"rdmablk"
#define RDMABLK_GENL_VERSION	1
#define RDMABLK_GENL_EVENTS	"events"

/**
 * enum rdmablk_cmd - commands; see above
 * @RDMABLK_CMD_UNSPEC: unused
 * @RDMABLK_CMD_CONNECT: connects to an export and creates its disk
 * @RDMABLK_CMD_DISCONNECT: logs out and removes the disk, or gives up its connect
 * @RDMABLK_CMD_GET: describes one device, by index, or all of them
 * @RDMABLK_CMD_EVENT: a device changed its state, or its I/O began to fail
 * @RDMABLK_CMD_SET: changes options of a device in use
 * @RDMABLK_CMD_RECONNECT: ends the connection of a live device and connects again;
 *	during an outage, tries at once; starts a failed device again
 * @RDMABLK_CMD_STATS_GET: returns the statistics of one device, by index, or of all
 */
enum rdmablk_cmd {
	RDMABLK_CMD_UNSPEC,
	RDMABLK_CMD_CONNECT,
	RDMABLK_CMD_DISCONNECT,
	RDMABLK_CMD_GET,
	RDMABLK_CMD_EVENT,
	RDMABLK_CMD_SET,
	RDMABLK_CMD_RECONNECT,
	RDMABLK_CMD_STATS_GET,

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
 * @RDMABLK_ATTR_REASON: u32, why the session failed, enum rdmablk_reason of
 *	rdmablk_proto.h; 0 while it has not failed
 * @RDMABLK_ATTR_TARGET: struct sockaddr_in or sockaddr_in6 of the target; port 0 means
 *	RDMABLK_PORT
 * @RDMABLK_ATTR_SOURCE: struct sockaddr_in or sockaddr_in6 to connect from
 * @RDMABLK_ATTR_EXPORT: string, 1 to 63 printable ASCII characters, no space, no slash,
 *	no comma
 * @RDMABLK_ATTR_READ_ONLY: flag; request: do not ask for write access; reply: the disk
 *	takes no writes
 * @RDMABLK_ATTR_STEAL: flag; end another host's session that writes
 * @RDMABLK_ATTR_FORCE: flag; disconnect although the disk is in use
 * @RDMABLK_ATTR_QUEUES: u32, hardware queues, 1 to 256; default one for each processor
 *	and completion vector, 16 at most
 * @RDMABLK_ATTR_QUEUE_DEPTH: u32, requests in flight per hardware queue, 1 to 1024;
 *	default 128
 * @RDMABLK_ATTR_KEEP_ALIVE_TMO: u32, seconds without an answer of the daemon after
 *	which the session has failed, 1 to 600; default 5
 * @RDMABLK_ATTR_CONNECT_TMO: u32, seconds without progress that end a login, 1 to 600;
 *	default 10
 * @RDMABLK_ATTR_FAST_IO_FAIL_TMO: s32, seconds that I/O is held after the connection
 *	was lost, 0 to 86400; -1, the default: until DEV_LOSS_TMO. Must be shorter than
 *	DEV_LOSS_TMO, unless one of them is -1 or both are 0.
 * @RDMABLK_ATTR_ACK_TIMEOUT: u8, exponent of the transport's retransmit timeout, 0 to
 *	22: from 8 on 4.096 us * 2^value; with 6 retries a dead link is noticed after about
 *	seven times this. 0: the value of the path record, the default on native InfiniBand;
 *	elsewhere the default is 16 (268 ms). Other values are refused.
 * @RDMABLK_ATTR_HOST_ID: 16 bytes, identity of this host; default the module's host_id
 * @RDMABLK_ATTR_UUID: 16 bytes, identity of the export
 * @RDMABLK_ATTR_EPOCH: 16 bytes, identity of the store's volatile contents
 * @RDMABLK_ATTR_SIZE: u64, bytes
 * @RDMABLK_ATTR_LOGICAL_BLOCK: u32, bytes
 * @RDMABLK_ATTR_PHYSICAL_BLOCK: u32, bytes
 * @RDMABLK_ATTR_MAX_IO: u32, largest request, bytes
 * @RDMABLK_ATTR_MAX_SEGMENTS: u32, segments of a request
 * @RDMABLK_ATTR_SGE_PER_WR: u32, scatter/gather elements of one work request
 * @RDMABLK_ATTR_READ_DEPTH: u32, RDMA READs in flight per queue pair
 * @RDMABLK_ATTR_REGIONS: u32, registered regions of the export
 * @RDMABLK_ATTR_IBDEV: string, RDMA device
 * @RDMABLK_ATTR_IBPORT: u32, port of the RDMA device
 * @RDMABLK_ATTR_SESSION_ID: u64, session as the target numbers it
 * @RDMABLK_ATTR_TARGET_NAME: string, the target's name for itself
 * @RDMABLK_ATTR_SHARED: flag; other hosts may write, too
 * @RDMABLK_ATTR_OPENERS: u32, open handles of the disk and its partitions
 * @RDMABLK_ATTR_SESSION_TMO: u32, milliseconds after which the target ends a silent
 *	session
 * @RDMABLK_ATTR_READS: u64, completed read requests
 * @RDMABLK_ATTR_WRITES: u64, completed write requests
 * @RDMABLK_ATTR_READ_BYTES: u64, bytes read
 * @RDMABLK_ATTR_WRITE_BYTES: u64, bytes written
 * @RDMABLK_ATTR_ERRORS: u64, requests ended with an error
 * @RDMABLK_ATTR_WORK_REQUESTS: u64, RDMA work requests posted for I/O
 * @RDMABLK_ATTR_KEEPALIVES: u64, keep-alive messages answered
 * @RDMABLK_ATTR_STALE_ANSWERS: u64, answers of an old generation, ignored
 * @RDMABLK_ATTR_RECONNECT_DELAY: u32, most seconds between two tries to reconnect, 1 to
 *	600; default 2. The first try is made at once, the pauses double up to this.
 * @RDMABLK_ATTR_DEV_LOSS_TMO: s32, seconds after the connection was lost when
 *	reconnecting ends, 0 to 1000000; the disk stays and fails all I/O. -1: never; default
 *	600
 * @RDMABLK_ATTR_ON_DATA_LOSS: u32, enum rdmablk_on_data_loss
 * @RDMABLK_ATTR_ACCEPT_DATA_LOSS: flag; go on although the store lost its contents
 * @RDMABLK_ATTR_IO_FAILING: flag; I/O fails, because of FAST_IO_FAIL_TMO or for good
 * @RDMABLK_ATTR_RECONNECTS: u64, times the connection was lost and came back
 * @RDMABLK_ATTR_ATTEMPTS: u32, tries since the connection was lost
 * @RDMABLK_ATTR_HELD: u64, requests that were in flight when a connection was lost
 * @RDMABLK_ATTR_LAST_ERROR: string, error of the last try
 * @RDMABLK_ATTR_ERROR: s32, negative errno of a failed command
 * @RDMABLK_ATTR_TEXT: string, error text
 * @RDMABLK_ATTR_FLUSHES: u64, completed flush requests
 * @RDMABLK_ATTR_DISCARDS: u64, completed discard, write-zeroes and secure-erase
 *	requests
 * @RDMABLK_ATTR_DISCARD_BYTES: u64, bytes of discards
 * @RDMABLK_ATTR_WRITE_CACHE: flag; written data is durable only after a flush
 * @RDMABLK_ATTR_STAGED: flag; the export is not in memory of the target: reads and
 *	writes are commands
 * @RDMABLK_ATTR_UNFLUSHED: flag; data has been written since the last flush
 * @RDMABLK_ATTR_POLL_QUEUES: u32, request: hardware queues for polled I/O, besides
 *	queues, 0 to 128; default 0; reply: how many of queues are polled
 * @RDMABLK_ATTR_TIMED: u8, 1: the latency of requests is measured; 0, the default: it
 *	is not
 * @RDMABLK_ATTR_IN_FLIGHT: u32, requests that the disk has not ended yet; during an
 *	outage the held ones
 * @RDMABLK_ATTR_BUSY: u64, times a request was returned to the block layer for a
 *	moment: no send slot, no tag, no memory to map it, or the connection was just lost
 * @RDMABLK_ATTR_REQUEUES: u64, requests posted again after the connection was lost
 * @RDMABLK_ATTR_FENCES: u64, FENCE commands
 * @RDMABLK_ATTR_RETRY_ERRORS: u64, queue pairs that ended because the target's adapter
 *	did not acknowledge (transport retry counter exceeded)
 * @RDMABLK_ATTR_RNR_ERRORS: u64, queue pairs that ended because the target had no
 *	receive posted for too long (RNR retry counter exceeded)
 * @RDMABLK_ATTR_REMOTE_ERRORS: u64, queue pairs that ended because the target's adapter
 *	refused a work request
 * @RDMABLK_ATTR_OTHER_ERRORS: u64, queue pairs that ended because of a local error
 * @RDMABLK_ATTR_LATENCY_READ: struct rdmablk_latency_histogram of reads, in the byte
 *	order of the host; from the start of a request in the disk to its end
 * @RDMABLK_ATTR_LATENCY_WRITE: struct rdmablk_latency_histogram of writes
 * @RDMABLK_ATTR_LATENCY_FLUSH: struct rdmablk_latency_histogram of flushes
 * @RDMABLK_ATTR_LATENCY_DISCARD: struct rdmablk_latency_histogram of discards,
 *	write-zeroes and secure erases
 * @RDMABLK_ATTR_IO_TMO: s32, seconds that a command to the daemon may take before the
 *	connection counts as lost, 0 to 86400; a FLUSH, DISCARD, WRITE ZEROES or durable
 *	write may take 20 times this; 0 or -1: no limit; default 30
 * @RDMABLK_ATTR_KEEP_ALIVE_ASKED: u32, seconds: the KEEP_ALIVE_TMO that the next login
 *	asks for; the present one may differ, because of RDMABLK_CMD_SET or of the target
 * @RDMABLK_ATTR_TOS: s32, type of service of all packets, 0 to 255: the traffic class
 *	on RoCE, the choice of the service level on InfiniBand; -1, the default: the value of
 *	rdma_cm
 * @RDMABLK_ATTR_ORDERED: flag; each RDMA WRITE is followed by a READ of its last bytes
 *	on the same queue pair, for targets whose adapter lets a READ overtake a WRITE of
 *	another queue pair
 * @RDMABLK_ATTR_KEY: string, name of the key to log in with, 1 to 63 letters, digits,
 *	dots, dashes and underscores, beginning with a letter, a digit or an underscore: a
 *	key of type logon whose description is "rdmablk:" and the name, in a keyring of the
 *	task that sends the command, or in .rdmablk, the keyring of the module. The key
 *	belongs to root. Without a key nobody proves anything.
 * @RDMABLK_ATTR_AUTH: u32, how the two sides of the last login have proved who they
 *	are, RDMABLK_AUTH_* of rdmablk_proto.h
 * @RDMABLK_ATTR_REAUTH_TMO: s32, seconds between two proofs of the key on a connection,
 *	0 to 604800; 0 or -1: none but that of the login, and those that the target asks for;
 *	default 3600
 * @RDMABLK_ATTR_OUTAGE_MS: u64, milliseconds of all outages since the first login, the
 *	present one included
 * @RDMABLK_ATTR_DISCONNECT_MS: u64, milliseconds since the device became "deleting";
 *	absent before that
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
	RDMABLK_ATTR_RECONNECT_DELAY,
	RDMABLK_ATTR_DEV_LOSS_TMO,
	RDMABLK_ATTR_ON_DATA_LOSS,
	RDMABLK_ATTR_ACCEPT_DATA_LOSS,
	RDMABLK_ATTR_IO_FAILING,
	RDMABLK_ATTR_RECONNECTS,
	RDMABLK_ATTR_ATTEMPTS,
	RDMABLK_ATTR_HELD,
	RDMABLK_ATTR_LAST_ERROR,
	RDMABLK_ATTR_ERROR,
	RDMABLK_ATTR_TEXT,
	RDMABLK_ATTR_FLUSHES,
	RDMABLK_ATTR_DISCARDS,
	RDMABLK_ATTR_DISCARD_BYTES,
	RDMABLK_ATTR_WRITE_CACHE,
	RDMABLK_ATTR_STAGED,
	RDMABLK_ATTR_UNFLUSHED,
	RDMABLK_ATTR_POLL_QUEUES,
	RDMABLK_ATTR_TIMED,
	RDMABLK_ATTR_IN_FLIGHT,
	RDMABLK_ATTR_BUSY,
	RDMABLK_ATTR_REQUEUES,
	RDMABLK_ATTR_FENCES,
	RDMABLK_ATTR_RETRY_ERRORS,
	RDMABLK_ATTR_RNR_ERRORS,
	RDMABLK_ATTR_REMOTE_ERRORS,
	RDMABLK_ATTR_OTHER_ERRORS,
	RDMABLK_ATTR_LATENCY_READ,
	RDMABLK_ATTR_LATENCY_WRITE,
	RDMABLK_ATTR_LATENCY_FLUSH,
	RDMABLK_ATTR_LATENCY_DISCARD,
	RDMABLK_ATTR_IO_TMO = 77,
	RDMABLK_ATTR_KEEP_ALIVE_ASKED,
	RDMABLK_ATTR_TOS,
	RDMABLK_ATTR_ORDERED,
	RDMABLK_ATTR_KEY,
	RDMABLK_ATTR_AUTH,
	RDMABLK_ATTR_REAUTH_TMO,
	RDMABLK_ATTR_OUTAGE_MS,
	RDMABLK_ATTR_DISCONNECT_MS,

	/* private: */
	__RDMABLK_ATTR_MAX,
	RDMABLK_ATTR_MAX = __RDMABLK_ATTR_MAX - 1
};

/* ... to here. */

/**
 * enum rdmablk_dev_state - states of a device; the names are part of the interface
 * @RDMABLK_DEV_NEW: "new": being set up, no connection yet
 * @RDMABLK_DEV_CONNECTING: "connecting": logging in
 * @RDMABLK_DEV_LIVE: "live": I/O flows
 * @RDMABLK_DEV_RECOVERING: "recovering": the connection was lost and is being
 *	brought back; I/O is held, or fails once FAST_IO_FAIL_TMO has passed
 * @RDMABLK_DEV_FAILED: "failed": reconnecting has ended; all I/O fails until the
 *	administrator reconnects or disconnects
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

/**
 * enum rdmablk_on_data_loss - what to do when the store has lost its contents
 * @RDMABLK_DATA_LOSS_FAIL: the device fails until the administrator acknowledges the
 *	loss with RECONNECT and ACCEPT_DATA_LOSS; the default
 * @RDMABLK_DATA_LOSS_CONTINUE: go on with what is there: for swap, scratch and caches
 *	whose users notice or do not care
 */
enum rdmablk_on_data_loss {
	RDMABLK_DATA_LOSS_FAIL,
	RDMABLK_DATA_LOSS_CONTINUE,
};

/* Bytes of the name of a key, with its NUL */
#define RDMABLK_KEY_NAME_LEN	64

#define RDMABLK_LATENCY_BUCKETS	128

/**
 * struct rdmablk_latency_histogram - how long requests have taken
 * @sum: nanoseconds of all of them
 * @count: requests by duration. Bucket i begins at rdmablk_latency_begin(i): four buckets to
 *	a power of two, from 256 ns on; the last has no end.
 */
struct rdmablk_latency_histogram {
	__u64 sum;
	__u64 count[RDMABLK_LATENCY_BUCKETS];
};

/**
 * rdmablk_latency_bucket() - which bucket a duration is counted in
 * @ns: nanoseconds
 */
static inline unsigned int rdmablk_latency_bucket(__u64 ns)
{
	__u64 v = ns >> 8;
	unsigned int log = 0, i;

	if (v < 4)
		return v;
	log = 63 - __builtin_clzll(v);
	i = 4 * (log - 1) + ((v >> (log - 2)) & 3);
	return i < RDMABLK_LATENCY_BUCKETS ? i : RDMABLK_LATENCY_BUCKETS - 1;
}

/**
 * rdmablk_latency_begin() - the shortest duration that is counted in a bucket
 * @bucket: less than RDMABLK_LATENCY_BUCKETS, or that: where the last would end if there
 *	were another
 *
 * Returns nanoseconds.
 */
static inline __u64 rdmablk_latency_begin(unsigned int bucket)
{
	if (bucket < 4)
		return (__u64)bucket << 8;
	return (__u64)(4 + bucket % 4) << (bucket / 4 + 7);
}

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
