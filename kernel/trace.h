/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdmablk

#if !defined(RDMABLK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDMABLK_TRACE_H

#include <linux/blk_types.h>
#include <linux/tracepoint.h>
#include "uapi/rdmablk_netlink.h"

#define rdmablk_show_state(s)						\
	__print_symbolic(s,						\
		{ RDMABLK_DEV_NEW,		"new" },		\
		{ RDMABLK_DEV_CONNECTING,	"connecting" },		\
		{ RDMABLK_DEV_LIVE,		"live" },		\
		{ RDMABLK_DEV_RECOVERING,	"recovering" },		\
		{ RDMABLK_DEV_FAILED,		"failed" },		\
		{ RDMABLK_DEV_DELETING,		"deleting" })

#define rdmablk_show_op(op)						\
	__print_symbolic(op,						\
		{ (__force u32)REQ_OP_READ, "read" },			\
		{ (__force u32)REQ_OP_WRITE, "write" },			\
		{ (__force u32)REQ_OP_FLUSH, "flush" },			\
		{ (__force u32)REQ_OP_DISCARD, "discard" },		\
		{ (__force u32)REQ_OP_SECURE_ERASE, "secure-erase" },	\
		{ (__force u32)REQ_OP_WRITE_ZEROES, "write-zeroes" })

#define RDMABLK_TRACE_COMMAND	1	/* the request is, or has, a command */
#define RDMABLK_TRACE_AGAIN	2	/* the request was held in an outage */

/*
 * The block layer has sent a request. Tags count per hardware queue of the block layer
 * (queue); several of these may share the queue pairs of one granted hardware queue (hwq).
 */
TRACE_EVENT(rdmablk_queue,
	TP_PROTO(int index, u32 queue, int tag, u32 hwq, u32 op, u64 sector, u32 bytes,
		 u32 wrs, u32 flags),
	TP_ARGS(index, queue, tag, hwq, op, sector, bytes, wrs, flags),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u32, queue)
		__field(int, tag)
		__field(u32, hwq)
		__field(u32, op)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u32, wrs)
		__field(u32, flags)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->hwq = hwq;
		__entry->op = op;
		__entry->sector = sector;
		__entry->bytes = bytes;
		__entry->wrs = wrs;
		__entry->flags = flags;
	),
	TP_printk("rdmablk%d queue=%u tag=%d hwq=%u op=%s sector=%llu bytes=%u wrs=%u flags=%s",
		  __entry->index, __entry->queue, __entry->tag, __entry->hwq,
		  rdmablk_show_op(__entry->op),
		  __entry->sector, __entry->bytes, __entry->wrs,
		  __print_flags(__entry->flags, "|",
				{ RDMABLK_TRACE_COMMAND, "command" },
				{ RDMABLK_TRACE_AGAIN, "again" }))
);

/* Work requests go to the adapter with one doorbell; write: on the write queue pair. */
TRACE_EVENT(rdmablk_post,
	TP_PROTO(int index, u32 hwq, bool write, u32 wrs),
	TP_ARGS(index, hwq, write, wrs),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u32, hwq)
		__field(bool, write)
		__field(u32, wrs)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->hwq = hwq;
		__entry->write = write;
		__entry->wrs = wrs;
	),
	TP_printk("rdmablk%d hwq=%u write=%d wrs=%u", __entry->index, __entry->hwq,
		  __entry->write, __entry->wrs)
);

DECLARE_EVENT_CLASS(rdmablk_outcome,
	TP_PROTO(int index, u32 queue, int tag, int error),
	TP_ARGS(index, queue, tag, error),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u32, queue)
		__field(int, tag)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->error = error;
	),
	TP_printk("rdmablk%d queue=%u tag=%d error=%d",
		  __entry->index, __entry->queue, __entry->tag, __entry->error)
);

/* The adapter, or the target, is done with a request; error: 0 or a negative errno. */
DEFINE_EVENT(rdmablk_outcome, rdmablk_complete,
	TP_PROTO(int index, u32 queue, int tag, int error),
	TP_ARGS(index, queue, tag, error)
);

/* A request ends; error: 0 or a negative errno. */
DEFINE_EVENT(rdmablk_outcome, rdmablk_end,
	TP_PROTO(int index, u32 queue, int tag, int error),
	TP_ARGS(index, queue, tag, error)
);

/* A device has moved to another state; reason: enum rdmablk_reason. */
TRACE_EVENT(rdmablk_state,
	TP_PROTO(int index, u32 from, u32 to, u32 reason),
	TP_ARGS(index, from, to, reason),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u32, from)
		__field(u32, to)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = reason;
	),
	TP_printk("rdmablk%d %s -> %s reason=%u", __entry->index,
		  rdmablk_show_state(__entry->from), rdmablk_show_state(__entry->to),
		  __entry->reason)
);

#endif /* RDMABLK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
