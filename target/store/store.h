/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of an export, and the interface of all stores.
 *
 * A one-sided store has its memory registered. Its commands go to the store thread: one per
 * export, and while sessions exist only that thread touches arena and file. A staged store has
 * threads of its own, which own the write queues of sessions with their commands: struct
 * staged_ops.
 */
#ifndef RDMABLKD_STORE_H
#define RDMABLKD_STORE_H

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

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

/* An unknown writer, or several: all ones. */
static inline struct store_writer store_writer_unknown(void)
{
	struct store_writer writer;

	memset(&writer, 0xff, sizeof(writer));
	return writer;
}

/**
 * struct store_limits - limits of a store, for LIMITS and GRANT
 * @ops: RDMABLK_OP_BIT() of each operation that the store does, except FENCE
 * @granule: granule of DIRTY, bytes, a power of two; 0: no DIRTY
 * @max_discard: largest DISCARD, bytes
 * @max_zeroes: largest WRITE_ZEROES, bytes
 * @max_erase: largest SECURE_ERASE, bytes
 * @discard_granularity: bytes, a power of two
 * @discard_alignment: bytes, below the granularity
 * @erase_granularity: bytes
 * @io_min: preferred smallest request, bytes, a multiple of the logical block, or 0
 * @io_opt: preferred largest sustained request, bytes, a multiple of the logical block, or 0
 * @max_io: largest request, bytes, a multiple of the logical block, at least 4096; 0: the
 *	store has no limit
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
 * store_limits_scope - copy the limits that commands of a session are checked against
 * @limits: limits of the store
 * @scope: gets the operations and their limits; the caller fills in the rest
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
 * struct store_status - status of a store, for the administrator
 * @failed: an fdatasync has failed, or may have failed inside a write with FUA. No FLUSH of an
 *	uncached file succeeds until the store is opened again; one of a cached file tries again
 * @dirty: the file has been changed and is not synced
 * @comparing: bytes of the file that are still to be compared
 * @errors: number of commands that have failed
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
 * struct store_counts - commands of one or more sessions; arrays by operation, from FENCE on
 * @done: commands that have been answered
 * @failed: commands that have been answered with an error
 * @bytes: bytes of commands without an error; FENCE, DIRTY and FLUSH have none
 * @begun: commands of all operations that have arrived
 * @flush: times from the arrival of a FLUSH that had something to do to its answer
 *
 * Has only counters of one type, because store_add_counts() takes the struct for an array.
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

/* Return: the index of an operation in struct store_counts; STORE_OPS: there is no such one */
static inline unsigned int store_op_index(uint16_t op)
{
	unsigned int i = (unsigned int)op - RDMABLK_OP_FENCE;

	return i < STORE_OPS ? i : STORE_OPS;
}

/* Counts a command that has arrived. Only one thread counts in @c; others may read. */
static inline void store_count_begun(struct store_counts *counts, uint16_t op)
{
	if (store_op_index(op) < STORE_OPS)
		store_bump(&counts->begun, 1);
}

/* Counts an answered command. Only one thread counts in @c; others may read. */
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
 * @bytes: number of bytes
 */
struct store_range {
	uint64_t offset;
	uint64_t bytes;
};

struct store_work;
TAILQ_HEAD(store_works, store_work);

/**
 * struct store_client - whose works take turns with those of others; zeroed, then the store
 *	thread's, as long as it has a work of this client
 * @entry: in the list of the clients that wait
 * @works: that wait, without FLUSHes
 * @waits: @works is not empty
 */
struct store_client {
	TAILQ_ENTRY(store_client) entry;
	struct store_works works;
	bool waits;
};

TAILQ_HEAD(store_clients, store_client);

/**
 * struct store_work - one thing for the store thread; see store_thread.h
 * @entry: the store thread's
 * @client: whose work it is; unused for a FLUSH. NULL: no session's
 * @op: FLUSH, DISCARD, WRITE_ZEROES, SECURE_ERASE
 * @flags: of the command
 * @offset: first byte; unused for a FLUSH
 * @bytes: number of bytes; unused for a FLUSH
 * @dirty: granules that a FLUSH has to write, numbered from 0. Only the store thread touches
 *	it while the work is under way. Cleared on success, unchanged after an error. NULL for
 *	other operations
 * @status: result, enum rdmablk_reason
 * @done: called once, in the store thread or in store_thread_cancel(), with a lock held that
 *	the functions of store_thread.h take: hands the work back to its owner; may free it
 * @cancelled: the owner waits for the end of the work, but not for its outcome: a long FLUSH
 *	may stop early, with any error. Any thread
 * @error: result of a FLUSH from the store: 0 or -errno
 * @queued: the store thread's
 * @at: the store thread's: bytes done
 */
struct store_work {
	TAILQ_ENTRY(store_work) entry;
	struct store_client *client;
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

/**
 * struct staged_plan - resources of a session with a staged store
 * @pd: in, for open(): protection domain of the session
 * @max_mr_size: in: largest registration of the device, bytes
 * @max_cqe: in: most completions in a queue of the device
 * @nr_queues: in, for open(): hardware queues granted. For plan() in: hardware queues wished
 *	for; out: as many as there is memory for, at least 1
 * @logical_block: in: bytes
 * @writer: in: the session may write
 * @lists: in: several answers may go in one SEND
 * @implied: in: a WRITE may consist of its data only
 * @size: in: size of the export, bytes
 * @owner: in: argument of the upcalls
 * @failed: in: upcall, see &struct lanes
 * @stopped: in: upcall, see &struct lanes
 * @idle: in: upcall, see &struct lanes
 * @queue_depth: in: wished for; out: granted, at least 1
 * @cmd_depth: out: commands in flight on each write queue
 * @trailer_bytes: out: most data behind a command or in an answer, bytes
 * @slot_bytes: out: size of a slot, bytes
 * @pinned: out: bytes that will be registered, for the limits of the host
 * @slot_iova: out, of open(): address of the slots
 * @slot_rkey: out, of open(): key of the slots
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
 * struct staged_ops - operations on sessions with a staged store; see lane.h for their write
 *	queues
 * @plan: in the loop, at admission: fill the outputs for @plan->nr_queues. Called again
 *	when fewer queues were granted than wished for. enum rdmablk_reason
 * @open: in a worker, after plan(): slots, their registration, completion queues,
 *	buffers of commands. 0 or -errno. Even after an error @staged may have been set; then
 *	it has to be stopped, closed and freed. @plan is valid only during the call, and gets
 *	the place of the slots
 * @close: in a worker, after @stopped of the plan, and after the queue pairs are destroyed:
 *	undo registrations and destroy all objects of verbs. 0; or -errno: @close has to be
 *	called again
 * @free: in a worker, after @close and after @idle of the plan: free the rest
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
 * @ops: operations of its kind
 * @thread: store thread; NULL: there is none
 * @base: arena in this process, aligned to @page_size; NULL: staged
 * @size: bytes; may grow, in the loop
 * @mapped: bytes mapped from @base on
 * @guard: knows whether pages of the arena are missing; NULL: no arena is mapped
 * @page_size: size of the arena's pages, bytes
 * @physical_block: preferred unit of I/O, bytes
 * @uuid: identity of the export; all zero until it is known
 * @epoch: identity of the volatile contents
 * @writer: the last writer; all ones: unknown, or several
 * @mark: identity of the file in notes
 * @marked: @mark is known, so the last writer is noted
 * @kept: the arena outlives this process
 * @newer: the kept arena may have writes that its file lacks. Valid until @publish of
 *	&struct store_ops; from then on the store thread brings the file up to date
 * @place: place of the memory
 * @overcommit: the memory is taken even if too little is free
 * @fd: file of the arena; holds its lock
 * @lost: after @close of &struct store_ops has failed: no kept arena has what the file lacks
 * @doubtful: after @close of &struct store_ops: flushed data may be missing in the file. A kept
 *	arena may have it, unless @lost is set, too
 * @cancelled: nobody waits any more until the store is open. Any thread
 * @priv: data of its kind
 *
 * From open to close the arena is neither punched, truncated nor remapped, because adapters
 * write to it. The exception is the new part of a growth that has failed.
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
	bool lost;
	bool doubtful;
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
 * @written_by: in the loop: @store->writer is about to write; to be noted in the memory that
 *	outlives the process. NULL: there is no such memory
 * @attach: in the loop, after @publish: watch the store's own threads. NULL: it has none
 * @detach: in the loop, when no session is left, before @close, perhaps without
 *	@attach: take no notes from the store's own threads, and watch them no more
 * @close: undo @open, when no session is left and the store thread has stopped; in a worker.
 *	0; or -errno, logged: the file lacks data that was written, or may lack it. Then
 *	@store->lost says whether anything else has the data
 * @status: in the loop: fill in the status; does not wait. NULL: there is nothing to say
 * @limits: fill in the limits; NULL: only READs and WRITEs of the arena
 * @work: in the store thread: @bytes from @offset of @w, which is a DISCARD,
 *	WRITE_ZEROES or SECURE_ERASE: one piece of it; enum rdmablk_reason. NULL: the
 *	store has no thread
 * @flush: in the store thread: do all FLUSHes of a list, and fill their @status. NULL:
 *	@limits offers no FLUSH
 * @idle: in the store thread when there is nothing else to do: one short step, 10 ms
 *	at most, of work in the background; false: nothing is left, and it is called again
 *	after other work, and once a minute. What it has left is for @close. NULL: none
 * @ended: in the loop, after the fence of a session that could write, before the next one
 *	is admitted. @clean: all its writes were flushed. Afterwards the store thread calls
 *	idle() again. NULL: the store does not need to know
 * @behind: in the loop: whether the file may lack writes of the arena that no session will
 *	write again; does not wait. NULL: there is no file that has to have them
 * @grow: in a worker, one at a time: make room for the present size of the file or, if @size
 *	is not 0, for @size bytes, but in an arena for @most bytes at most. @size gets the new
 *	size, which the loop then stores in @store->size. 0 or -errno, logged: the size does
 *	not change; -ERANGE: the file has become smaller. NULL: the store cannot grow
 * @staged: of a store without an arena; NULL: one-sided
 */
struct store_ops {
	const char *type;
	int (*open)(struct store *store, const struct export_config *ec);
	int (*publish)(struct store *store);
	void (*written_by)(struct store *store);
	void (*attach)(struct store *store);
	void (*detach)(struct store *store);
	int (*close)(struct store *store);
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
 * Finds the identity of the file that a store is made of, under which the file's last writer
 * is noted. For a store that is being opened, in a worker. Return: 0 or -errno.
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
