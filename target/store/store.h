/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind an export, and what the rooms above it ask of it.
 *
 * Of a one-sided store (the memory of the export is registered) commands go to the
 * store thread: one per export, which alone touches arena and file while sessions
 * exist. Of a staged store the write queues of a session, with their commands, belong
 * to the store's own threads: struct staged_ops.
 */
#ifndef RDMABLKD_STORE_H
#define RDMABLKD_STORE_H

#include <assert.h>
#include <stdatomic.h>

#include "base/bitmap.h"
#include "base/latency.h"
#include "base/loop.h"
#include "config/config.h"
#include "rdma/numa.h"
#include "store/file_identity.h"
#include "wire/wire.h"

struct arena_guard;
struct ibv_pd;
struct store_thread;
struct store;
struct staged;

/**
 * struct store_writer - a device of a host; all zero: nobody
 * @host_id: identity of the host
 * @instance_id: of its device
 */
struct store_writer {
	uint8_t host_id[RDMABLK_ID_LEN];
	uint8_t instance_id[RDMABLK_ID_LEN];
};

/**
 * struct store_limits - what LIMITS and GRANT say of a store
 * @ops: RDMABLK_OP_BIT() of each operation it does, but FENCE
 * @granule: of DIRTY, bytes, a power of two; 0: none
 * @max_discard: bytes of a DISCARD
 * @max_zeroes: bytes of a WRITE_ZEROES
 * @max_erase: bytes of a SECURE_ERASE
 * @discard_granularity: bytes, a power of two
 * @discard_alignment: bytes, below the granularity
 * @erase_granularity: bytes
 * @io_min: preferred smallest request, bytes, a multiple of the logical block, or 0
 * @io_opt: preferred largest sustained request, likewise
 * @max_io: largest request, likewise; at least 4096, or 0: of its own it has none
 * @flags: RDMABLK_GRANT_CACHE, _STAGED, _ROTATIONAL
 */
struct store_limits {
	uint32_t ops;
	uint32_t granule;
	uint64_t max_discard;
	uint64_t max_zeroes;
	uint64_t max_erase;
	uint32_t discard_granularity;
	uint32_t discard_alignment;
	uint32_t erase_granularity;
	uint32_t io_min;
	uint32_t io_opt;
	uint32_t max_io;
	uint32_t flags;
};

/**
 * store_limits_scope - what of a store's limits the commands of a session are checked by
 * @limits: of the store
 * @scope: gets the operations and their limits; the rest is the caller's to fill
 */
static inline void store_limits_scope(const struct store_limits *limits,
				      struct wire_scope *scope)
{
	scope->ops = limits->ops;
	scope->granule = limits->granule;
	scope->max_discard = limits->max_discard;
	scope->max_zeroes = limits->max_zeroes;
	scope->max_erase = limits->max_erase;
	scope->discard_granularity = limits->discard_granularity;
	scope->discard_alignment = limits->discard_alignment;
	scope->erase_granularity = limits->erase_granularity;
}

/**
 * struct store_status - how a store is, for the administrator
 * @failed: an fdatasync has failed, or may have with a write with FUA, and no FLUSH
 *	succeeds until it is opened again
 * @dirty: the file has been changed and is not synced
 * @comparing: bytes of the file that are still to be compared
 * @errors: commands that have failed
 */
struct store_status {
	bool failed;
	bool dirty;
	uint64_t comparing;
	uint64_t errors;
};

/* Operations of write queues, in the order of their numbers */
#define STORE_OPS	(RDMABLK_OP_WRITE - RDMABLK_OP_FENCE + 1)

/**
 * struct store_counts - commands of a session, or of several, by operation from FENCE on
 * @done: that have been answered
 * @failed: of these, with an error
 * @bytes: of those without one; FENCE, DIRTY and FLUSH have none
 * @begun: commands of all operations that have come
 * @flush: from a FLUSH that there was something to do for to its answer
 *
 * Nothing but numbers that grow: store_add_counts() takes it for an array of them.
 */
struct store_counts {
	uint64_t done[STORE_OPS];
	uint64_t failed[STORE_OPS];
	uint64_t bytes[STORE_OPS];
	uint64_t begun;
	struct latency flush;
};

#define STORE_NUMBERS	(sizeof(struct store_counts) / sizeof(uint64_t))

static_assert(sizeof(struct store_counts) % sizeof(uint64_t) == 0, "numbers and nothing else");

static inline void store_bump(uint64_t *number, uint64_t by)
{
	__atomic_store_n(number, *number + by, __ATOMIC_RELAXED);
}

/* Return: the index of an operation in struct store_counts; STORE_OPS: a peer has made it up */
static inline unsigned int store_op_index(uint16_t op)
{
	unsigned int i = (unsigned int)op - RDMABLK_OP_FENCE;

	return i < STORE_OPS ? i : STORE_OPS;
}

/* A command has come; for the one thread that counts there, while others may look. */
static inline void store_count_begun(struct store_counts *counts, uint16_t op)
{
	if (store_op_index(op) < STORE_OPS)
		store_bump(&counts->begun, 1);
}

/* One has been answered; likewise. */
static inline void store_count(struct store_counts *counts, uint16_t op, uint64_t bytes,
			       bool failed)
{
	unsigned int i = store_op_index(op);

	if (i == STORE_OPS)
		return;
	store_bump(&counts->done[i], 1);
	if (failed)
		store_bump(&counts->failed[i], 1);
	else if (op > RDMABLK_OP_FLUSH)
		store_bump(&counts->bytes[i], bytes);
}

/* Any thread. */
static inline void store_add_counts(struct store_counts *sum,
				    const struct store_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *to = (uint64_t *)sum;

	for (unsigned int i = 0; i < STORE_NUMBERS; i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/**
 * struct store_range - a piece of an export
 * @offset: first byte
 * @bytes: how many
 */
struct store_range {
	uint64_t offset;
	uint64_t bytes;
};

/**
 * struct store_work - one thing for the store thread; see store_thread.h
 * @entry: the store thread's
 * @op: FLUSH, DISCARD, WRITE_ZEROES, SECURE_ERASE
 * @flags: of the command
 * @offset: first byte; not of a FLUSH
 * @bytes: how many; not of a FLUSH
 * @dirty: FLUSH: granules to write, numbered from 0; belongs to the work alone while
 *	it is under way, and none of its owner's threads looks at it. Kept set on
 *	error, cleared on success. Else NULL
 * @status: enum rdmablk_reason, when it is done
 * @done: called once, in the store thread or in store_thread_cancel(), with a lock held that
 *	the functions of store_thread.h take: hands the work back to its owner; may free it
 * @cancelled: nobody waits for the outcome any more but for the end of it: a long FLUSH
 *	may stop early, with any error. Any thread
 * @error: FLUSH: the store's: 0 or -errno
 * @queued: the store thread's
 * @at: the store thread's: bytes done
 */
struct store_work {
	TAILQ_ENTRY(store_work) entry;
	uint16_t op;
	uint16_t flags;
	uint64_t offset;
	uint64_t bytes;
	struct bitmap *dirty;
	unsigned int status;
	void (*done)(struct store_work *w);
	atomic_bool cancelled;
	int error;
	bool queued;
	uint64_t at;
};

TAILQ_HEAD(store_works, store_work);

/**
 * struct staged_plan - what a session with a staged store gets
 * @pd: in, for open(): its domain
 * @max_mr_size: in: bytes, of the device
 * @max_cqe: in: completions that a queue of the device has room for
 * @nr_queues: in: hardware queues granted; for plan() those wished for, and out: as many
 *	as there is memory for, at least 1
 * @logical_block: in: bytes
 * @writer: in: the session may write
 * @lists: in: several answers may go in one SEND
 * @implied: in: a WRITE may be nothing but its data
 * @size: in: of the export, bytes
 * @owner: in: argument of the upcalls
 * @failed: in: as that of &struct lanes
 * @stopped: in: likewise
 * @idle: in: likewise
 * @queue_depth: in: wished for; out: granted, at least 1
 * @cmd_depth: out: commands in flight on each write queue
 * @trailer_bytes: out: what may follow a command or answer it
 * @slot_bytes: out: of a slot
 * @pinned: out: bytes that will be registered, for the limits of the host
 * @slot_iova: out of open()
 * @slot_rkey: out of open()
 */
struct staged_plan {
	struct ibv_pd *pd;
	uint64_t max_mr_size;
	unsigned int max_cqe;
	unsigned int nr_queues;
	uint32_t logical_block;
	bool writer;
	bool lists;
	bool implied;
	uint64_t size;
	void *owner;
	void (*failed)(void *owner, unsigned int reason);
	void (*stopped)(void *owner);
	void (*idle)(void *owner);
	uint16_t queue_depth;
	uint16_t cmd_depth;
	uint32_t trailer_bytes;
	uint32_t slot_bytes;
	uint64_t pinned;
	uint64_t slot_iova;
	uint32_t slot_rkey;
};

/**
 * struct staged_ops - what is special of sessions with a staged store; see lane.h for their
 *	write queues
 * @plan: in the loop, at admission: fill the outputs for @plan->nr_queues. Called again
 *	when fewer queues were granted than wished for. enum rdmablk_reason
 * @open: in a worker, after plan(): slots, their registration, completion queues,
 *	buffers of commands. 0 or -errno; with -errno, too, @staged may have been set,
 *	and then has to be stopped, closed and freed. @plan is valid during the call
 *	only and gets the place of the slots
 * @close: in a worker, after @stopped of the plan, and after the queue pairs are
 *	destroyed: deregister, destroy what is of verbs. 0, or -errno: something could
 *	not be undone, and @close is called again
 * @free: in a worker, after @close and after @idle of the plan: the rest
 */
struct staged_ops {
	unsigned int (*plan)(struct store *store, struct staged_plan *plan);
	int (*open)(struct store *store, struct staged_plan *plan,
		    struct staged **staged);
	int (*close)(struct staged *staged);
	void (*free)(struct staged *staged);
};

/**
 * struct store - the contents of an export
 * @ops: of its kind
 * @thread: its thread; NULL: it has none
 * @base: its arena in this process, aligned to @page_size; NULL: staged
 * @size: bytes; may grow, in the loop
 * @mapped: bytes mapped from @base on
 * @guard: of its arena: whether all of its pages are there; NULL: no arena is mapped
 * @page_size: of the pages behind it, bytes
 * @physical_block: preferred unit of I/O, bytes
 * @uuid: identity of the export; all zero until it is known
 * @epoch: identity of the volatile contents
 * @writer: who was the last to be let write; all ones: somebody, nobody knows who
 * @mark: of its file
 * @marked: @mark is known: who is let write is noted
 * @kept: the arena outlives this process
 * @newer: an arena that is kept may have what its file lacks; until @publish of
 *	&struct store_ops: from then on that is for the store thread to mend
 * @place: where its memory is
 * @overcommit: its memory is taken even if too little is free
 * @fd: of the arena; holds its lock
 * @cancelled: nobody waits for it to be opened any more. Any thread
 * @priv: its kind's own
 *
 * From open to close the arena is neither punched, truncated nor remapped, adapters
 * write to it; but for what a growth got that has failed.
 */
struct store {
	const struct store_ops *ops;
	struct store_thread *thread;
	void *base;
	uint64_t size;
	uint64_t mapped;
	struct arena_guard *guard;
	uint64_t page_size;
	uint32_t physical_block;
	uint8_t uuid[RDMABLK_ID_LEN];
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store_writer writer;
	struct file_mark mark;
	bool marked;
	bool kept;
	bool newer;
	struct numa_place place;
	bool overcommit;
	int fd;
	atomic_bool cancelled;
	void *priv;
};

/**
 * struct store_ops - a kind of store
 * @type: its name in the configuration
 * @open: in a worker: fill @store, arena included, as long as @cancelled is not set; logs
 *	what is wrong; 0 or -errno. With @store->uuid set it is checked against what is
 *	kept with the contents; not set, it may come from there
 * @publish: the export is complete, with its UUID; 0 or -errno
 * @written_by: in the loop: @store->writer is about to write; it is kept in memory that
 *	outlives the process. NULL: there is none
 * @attach: in the loop, after @publish: watch the store's own threads. NULL: it has none
 * @detach: in the loop, when no session is left, before @close, perhaps without
 *	@attach: take no notes from the store's own threads, and watch them no more
 * @close: undo @open, when no session is left and the store thread has stopped; in a worker
 * @status: in the loop: how it is; does not wait. NULL: there is nothing to say
 * @limits: what it can do; NULL: nothing but READs and WRITEs of its arena
 * @work: in the store thread: @bytes from @offset of @w, which is a DISCARD,
 *	WRITE_ZEROES or SECURE_ERASE: one piece of it; enum rdmablk_reason. NULL: the
 *	store has no thread
 * @flush: in the store thread: do all FLUSHes of a list, and fill their @status. NULL:
 *	@limits offers no FLUSH
 * @idle: in the store thread when there is nothing else to do: one short step, 10 ms
 *	at most, of work in the background; false: nothing is left. NULL: none
 * @ended: in the loop, after the fence of a session that could write, before the next
 *	is admitted. @clean: everything it wrote was flushed before. Afterwards the
 *	store thread asks idle() again. NULL: of no interest
 * @behind: in the loop: may what is behind the store lack something of the arena that no
 *	session will write again; does not wait. NULL: nothing has to have what it has
 * @grow: in a worker, one at a time: look how large what is behind the store has
 *	become, and make room, for all of it or, with @size not 0, for so much, but with
 *	an arena not more than @most; @size gets what @store->size shall be, in the loop,
 *	afterwards. 0 or -errno, logged: it stays as it is; -ERANGE: what is behind it has
 *	become smaller. NULL: cannot
 * @staged: of a store without an arena; NULL: one-sided
 */
struct store_ops {
	const char *type;
	int (*open)(struct store *store, const struct export_config *ec);
	int (*publish)(struct store *store);
	void (*written_by)(struct store *store);
	void (*attach)(struct store *store);
	void (*detach)(struct store *store);
	void (*close)(struct store *store);
	void (*status)(struct store *store, struct store_status *out);
	void (*limits)(const struct store *store, struct store_limits *out);
	unsigned int (*work)(struct store *store, struct store_work *w,
			     uint64_t offset, uint64_t bytes);
	void (*flush)(struct store *store, struct store_works *works);
	bool (*idle)(struct store *store);
	void (*ended)(struct store *store, bool clean);
	bool (*behind)(const struct store *store);
	int (*grow)(struct store *store, uint64_t *size, uint64_t most);
	const struct staged_ops *staged;
};

/*
 * In a worker, by a store that is being opened. Its contents are those of an open file, and
 * the last writer of that file must be known. Return: 0 or -errno.
 */
static inline int store_mark(struct store *store, const struct file *f)
{
	store->marked = !f->read_only;
	return store->marked ? file_mark(f, &store->mark) : 0;
}

extern const struct store_ops store_memory_ops;
extern const struct store_ops store_full_ops;
extern const struct store_ops store_none_ops;

void store_none_setup(unsigned int threads);

#endif
