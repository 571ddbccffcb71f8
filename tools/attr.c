// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The attributes of enum rdmablk_attr as the tool shows them. The keys are part
 * of the JSON interface: Documentation/json/.
 */
#include "attr.h"

#define INFO(attr, key, column, kind, unit)	\
	[RDMABLK_ATTR_##attr] = { key, column, ATTR_##kind, unit }

const struct attr_info attr_table[RDMABLK_ATTR_MAX + 1] = {
	INFO(UNSPEC, "unspec", NULL, NONE, NULL),
	INFO(PAD, "pad", NULL, NONE, NULL),
	INFO(INDEX, "index", "INDEX", U32, NULL),
	INFO(NAME, "name", "NAME", STRING, NULL),
	INFO(STATE, "state", "STATE", STATE, NULL),
	INFO(REASON, "reason", "REASON", REASON, NULL),
	INFO(TARGET, "target", "TARGET", ADDR, NULL),
	INFO(SOURCE, "source", "SOURCE", ADDR, NULL),
	INFO(EXPORT, "export", "EXPORT", STRING, NULL),
	INFO(READ_ONLY, "read_only", "RO", FLAG, NULL),
	INFO(STEAL, "steal", NULL, NONE, NULL),
	INFO(FORCE, "force", NULL, NONE, NULL),
	INFO(QUEUES, "queues", "QUEUES", U32, NULL),
	INFO(QUEUE_DEPTH, "queue_depth", "QUEUE-DEPTH", U32, NULL),
	INFO(KEEP_ALIVE_TMO, "keep_alive_tmo", "KEEP-ALIVE-TMO", U32, "s"),
	INFO(CONNECT_TMO, "connect_tmo", "CONNECT-TMO", U32, "s"),
	INFO(FAST_IO_FAIL_TMO, "fast_io_fail_tmo", "FAST-IO-FAIL-TMO", TMO, "s"),
	INFO(ACK_TIMEOUT, "ack_timeout", "ACK-TIMEOUT", U8, NULL),
	INFO(HOST_ID, "host_id", "HOST-ID", UUID, NULL),
	INFO(UUID, "uuid", "UUID", UUID, NULL),
	INFO(EPOCH, "epoch", "EPOCH", UUID, NULL),
	INFO(SIZE, "size", "SIZE", U64, "bytes"),
	INFO(LOGICAL_BLOCK, "logical_block", "LOG-SEC", U32, "bytes"),
	INFO(PHYSICAL_BLOCK, "physical_block", "PHY-SEC", U32, "bytes"),
	INFO(MAX_IO, "max_io", "MAX-IO", U32, "bytes"),
	INFO(MAX_SEGMENTS, "max_segments", "MAX-SEGMENTS", U32, NULL),
	INFO(SGE_PER_WR, "sge_per_wr", "SGE-PER-WR", U32, NULL),
	INFO(READ_DEPTH, "read_depth", "READ-DEPTH", U32, NULL),
	INFO(REGIONS, "regions", "REGIONS", U32, NULL),
	INFO(IBDEV, "ibdev", "IBDEV", STRING, NULL),
	INFO(IBPORT, "ibport", "IBPORT", U32, NULL),
	INFO(SESSION_ID, "session_id", "SESSION-ID", ID64, NULL),
	INFO(TARGET_NAME, "target_name", "TARGET-NAME", STRING, NULL),
	INFO(SHARED, "shared", "SHARED", FLAG, NULL),
	INFO(OPENERS, "openers", "OPENERS", U32, NULL),
	INFO(SESSION_TMO, "session_tmo", "SESSION-TMO", U32, "ms"),
	INFO(READS, "reads", "READS", U64, NULL),
	INFO(WRITES, "writes", "WRITES", U64, NULL),
	INFO(READ_BYTES, "read_bytes", "READ-BYTES", U64, "bytes"),
	INFO(WRITE_BYTES, "write_bytes", "WRITE-BYTES", U64, "bytes"),
	INFO(ERRORS, "errors", "ERRORS", U64, NULL),
	INFO(WORK_REQUESTS, "work_requests", "WORK-REQUESTS", U64, NULL),
	INFO(KEEPALIVES, "keepalives", "KEEPALIVES", U64, NULL),
	INFO(STALE_ANSWERS, "stale_answers", "STALE-ANSWERS", U64, NULL),
	INFO(RECONNECT_DELAY, "reconnect_delay", "RECONNECT-DELAY", U32, "s"),
	INFO(DEV_LOSS_TMO, "dev_loss_tmo", "DEV-LOSS-TMO", TMO, "s"),
	INFO(ON_DATA_LOSS, "on_data_loss", "ON-DATA-LOSS", LOSS, NULL),
	INFO(ACCEPT_DATA_LOSS, "accept_data_loss", NULL, NONE, NULL),
	INFO(IO_FAILING, "io_failing", "IO-FAILING", FLAG, NULL),
	INFO(RECONNECTS, "reconnects", "RECONNECTS", U64, NULL),
	INFO(ATTEMPTS, "attempts", "ATTEMPTS", U32, NULL),
	INFO(HELD, "held", "HELD", U64, NULL),
	INFO(LAST_ERROR, "last_error", "LAST-ERROR", STRING, NULL),
	INFO(ERROR, "error", NULL, NONE, NULL),
	INFO(TEXT, "text", NULL, NONE, NULL),
	INFO(FLUSHES, "flushes", "FLUSHES", U64, NULL),
	INFO(DISCARDS, "discards", "DISCARDS", U64, NULL),
	INFO(DISCARD_BYTES, "discard_bytes", "DISCARD-BYTES", U64, "bytes"),
	INFO(WRITE_CACHE, "write_cache", "WRITE-CACHE", FLAG, NULL),
	INFO(STAGED, "staged", "STAGED", FLAG, NULL),
	INFO(UNFLUSHED, "unflushed", "UNFLUSHED", FLAG, NULL),
	INFO(POLL_QUEUES, "poll_queues", "POLL-QUEUES", U32, NULL),
	INFO(TIMED, "timed", "TIMED", BOOL, NULL),
	INFO(IN_FLIGHT, "in_flight", "IN-FLIGHT", U32, NULL),
	INFO(BUSY, "busy", "BUSY", U64, NULL),
	INFO(REQUEUES, "requeues", "REQUEUES", U64, NULL),
	INFO(FENCES, "fences", "FENCES", U64, NULL),
	INFO(RETRY_ERRORS, "retry_errors", "RETRY-ERRORS", U64, NULL),
	INFO(RNR_ERRORS, "rnr_errors", "RNR-ERRORS", U64, NULL),
	INFO(REMOTE_ERRORS, "remote_errors", "REMOTE-ERRORS", U64, NULL),
	INFO(OTHER_ERRORS, "other_errors", "OTHER-ERRORS", U64, NULL),
	INFO(LATENCY_READ, "latency_read", NULL, NONE, NULL),
	INFO(LATENCY_WRITE, "latency_write", NULL, NONE, NULL),
	INFO(LATENCY_FLUSH, "latency_flush", NULL, NONE, NULL),
	INFO(LATENCY_DISCARD, "latency_discard", NULL, NONE, NULL),
	INFO(IO_TMO, "io_tmo", "IO-TMO", TMO, "s"),
	INFO(KEEP_ALIVE_ASKED, "keep_alive_asked", "KEEP-ALIVE-ASKED", U32, "s"),
	INFO(TOS, "tos", "TOS", TMO, NULL),
	INFO(ORDERED, "ordered", "ORDERED", FLAG, NULL),
	INFO(KEY, "key", "KEY", STRING, NULL),
	INFO(AUTH, "auth", "AUTH", AUTH, NULL),
	INFO(REAUTH_TMO, "reauth_tmo", "REAUTH-TMO", TMO, "s"),
	INFO(OUTAGE_MS, "outage_ms", "OUTAGE-MS", U64, "ms"),
	INFO(DISCONNECT_MS, "disconnect_ms", "DISCONNECT-MS", U64, "ms"),
};

/**
 * attr_key() - name of an attribute
 * @attr: enum rdmablk_attr
 *
 * Returns NULL when no attribute has that number.
 */
const char *attr_key(unsigned int attr)
{
	return attr <= RDMABLK_ATTR_MAX ? attr_table[attr].key : NULL;
}
