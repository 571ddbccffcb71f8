// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exports: their list, the life of their stores, and the leases of sessions.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/state_file.h"
#include "base/thread.h"
#include "base/util.h"
#include "export/export.h"
#include "export/identity.h"
#include "staged/lane.h"
#include "store/arena.h"
#include "store/file.h"
#include "store/store_thread.h"
#include "store/sync_errors.h"

#define REGION_MAX	(1ULL << 40)
#define CUT_SHORT	"another process has cut its file short, or the host's memory has an error"

static TAILQ_HEAD(, export) exports = TAILQ_HEAD_INITIALIZER(exports);

static const struct store_ops *ops_of(const struct export_config *ec)
{
	if (!ec->file)
		return &store_memory_ops;
	return ec->cache == CACHE_FULL ? &store_full_ops : &store_none_ops;
}

/**
 * export_new - make an export whose store is not open yet, and put it into the list
 * @daemon: configuration of the daemon, outlives the export
 * @ec: configuration of the export, which owns it from now on; not after an error
 *
 * Return: the export in the state EXPORT_OPENING; or NULL.
 */
struct export *export_new(const struct config *daemon, struct export_config *ec)
{
	struct export *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->daemon = daemon;
	e->state_lock = -1;
	LIST_INIT(&e->leases);
	export_renew(e, ec);
	TAILQ_INSERT_TAIL(&exports, e, entry);
	return e;
}

/**
 * export_renew - get an export ready to be opened, for the first time or again
 * @e: not open, without sessions
 * @ec: its configuration from now on
 *
 * Keeps the last writer, because no other device may resume.
 */
void export_renew(struct export *e, struct export_config *ec)
{
	if (e->cfg != ec)
		config_export_free(e->cfg);
	e->cfg = ec;
	e->store = (struct store){ .ops = ops_of(ec), .writer = e->store.writer };
	memset(&e->noted_writer, 0, sizeof(e->noted_writer));
	memset(&e->notes, 0, sizeof(e->notes));
	e->awaited = 0;
	e->broken = false;
	e->state = EXPORT_OPENING;
}

/*
 * The UUID and the notes of an export belong to one daemon at a time. A missing directory is not
 * made: its file system may not be mounted yet, and the next daemon would not find what this one
 * keeps below the mount point.
 */
static int lock_state(struct export *e)
{
	const struct export_config *ec = e->cfg;
	char path[PATH_MAX];

	if (!ec->state)
		return 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s.lock", ec->state, ec->name) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	e->state_lock = state_file_lock(path);
	if (e->state_lock >= 0)
		return 0;
	log_err("export %s: cannot lock %s: %s", ec->name, path, e->state_lock == -EBUSY ?
		"another daemon has it" : strerror(-e->state_lock));
	return e->state_lock;
}

static void unlock_state(struct export *e)
{
	if (e->state_lock >= 0)
		close(e->state_lock);
	e->state_lock = -1;
}

/*
 * If the file may lack flushed data, the last writer is forgotten: an initiator that has flushed
 * everything would go on, and take the file for complete. A kept arena has the writer in its
 * trailer, so the initiator goes on as long as there is the arena, which a reboot ends.
 * Return: as export_close()
 */
static int close_store(struct export *e)
{
	int ret = e->store.ops->close(&e->store);

	if (e->store.lost || e->store.doubtful)
		export_forget_writer(e);
	unlock_state(e);
	return ret;
}

/**
 * export_open - open and fill the store of an export
 * @e: in the state EXPORT_OPENING. If no block is configured, it gets that of its device
 *
 * Blocks. In a worker, which owns @cfg, @store and @open of the export meanwhile.
 *
 * Return: 0 or -errno, logged.
 */
int export_open(struct export *e)
{
	struct export_config *ec = e->cfg;
	bool known;
	int ret;

	if (!ec->block)
		ec->block = file_block(ec->file) ?: 512;
	ret = lock_state(e) ?: numa_find(e->daemon, ec, &e->store.place) ?:
	      identity_known(e->daemon, ec, e->store.uuid, &known) ?:
	      identity_device(e->daemon, ec, e->store.uuid) ?:
	      e->store.ops->open(&e->store, ec);
	if (ret) {
		unlock_state(e);
		return ret;
	}
	if (fault(FAULT_SAME_EPOCH))
		memset(e->store.epoch, 1, sizeof(e->store.epoch));
	if (!known)
		ret = identity_keep(e->daemon, ec, e->store.uuid);
	ret = ret ?: export_recall(e) ?: e->store.ops->publish(&e->store);
	if (!ret && arena_guard_broken(e->store.guard)) {
		log_err("export %s: a page of its arena is missing; " CUT_SHORT, ec->name);
		ret = -EIO;
	}
	if (!ret && e->store.ops->work) {
		e->commands = iothread_pool_start(ec->name, NULL, 1, lane_turn);
		ret = e->commands ? 0 : -EIO;
	}
	e->open = !ret;
	if (ret)
		close_store(e);
	else
		identity_device_keep(e->daemon, ec, e->store.uuid);
	return ret;
}

/*
 * An initiator that comes back recognises an export by its UUID, so two exports that are ready
 * never have the same one. config_finish() sees only UUIDs of the configuration. Others come
 * from state files and arenas, which may be copies.
 */
static int check_unique(const struct export *e)
{
	struct export *other;
	char text[40];

	TAILQ_FOREACH(other, &exports, entry)
		if (other != e && other->state == EXPORT_READY &&
		    !memcmp(other->store.uuid, e->store.uuid, RDMABLK_ID_LEN))
			break;
	if (!other)
		return 0;
	value_uuid_text(e->store.uuid, text);
	log_err("export %s: UUID %s is that of export %s already; give one of them another (uuid=)",
		e->cfg->name, text, other->cfg->name);
	return -EEXIST;
}

/**
 * export_begin - make an export ready for sessions
 * @e: opened
 *
 * In the loop.
 *
 * Return: 0 or -errno, logged; after an error the caller calls export_close().
 */
int export_begin(struct export *e)
{
	const struct store_ops *ops = e->store.ops;
	int ret = check_unique(e);
	char text[40];

	if (ret)
		return ret;
	if (ops->attach)
		ops->attach(&e->store);
	if (e->commands)
		iothread_pool_attach(e->commands);
	ret = store_thread_start(&e->store);
	if (ret) {
		log_err("export %s: %s", e->cfg->name, strerror(-ret));
		export_quiet(e);
		return ret;
	}
	e->state = EXPORT_READY;
	value_uuid_text(e->store.uuid, text);
	log_info("export %s: UUID %s%s%s", e->cfg->name, text,
		 e->cfg->read_only ? ", read-only" : "", e->cfg->shared ? ", shared" : "");
	if (e->daemon->auth == AUTH_PSK && !e->cfg->allow)
		log_warn("export %s: no host may use it: \"allow\" names those that may",
			 e->cfg->name);
	return 0;
}

/**
 * export_quiet - take no more notes from the threads of a store; before export_close()
 * @e: open, without sessions
 *
 * In the loop.
 */
void export_quiet(struct export *e)
{
	if (e->commands)
		iothread_pool_detach(e->commands);
	if (e->store.ops->detach)
		e->store.ops->detach(&e->store);
}

/**
 * export_close - close the store of an export
 * @e: open and quiet
 *
 * Blocks, for as long as it takes to bring a file up to date. In a worker: as with
 * export_open().
 *
 * Return: 0; -errno, logged: the export is closed, and its file lacks data that was written, or
 * may lack it. @e->store.lost: nothing else has the data, and without a kept arena no device goes
 * on.
 */
int export_close(struct export *e)
{
	int ret;

	store_thread_stop(&e->store);
	if (e->commands)
		iothread_pool_stop(e->commands);
	e->commands = NULL;
	ret = close_store(e);
	e->open = false;
	return ret;
}

/**
 * export_free - forget an export
 * @e: not open, without sessions
 */
void export_free(struct export *e)
{
	TAILQ_REMOVE(&exports, e, entry);
	config_export_free(e->cfg);
	free(e);
}

static int open_one(struct config *cfg, struct export_config *ec)
{
	struct export *e = export_new(cfg, ec);

	if (!e)
		return -ENOMEM;
	config_export_take(cfg, ec);
	return export_open(e) ?: export_begin(e);
}

/**
 * export_open_all - open and fill every export
 * @cfg: configuration, outlives the exports, which own their parts of it from now on
 *
 * Return: 0 or -errno, logged.
 */
int export_open_all(struct config *cfg)
{
	struct export_config *ec;
	int ret = 0;

	store_none_setup((unsigned int)cfg->io_threads);
	sync_errors_init(cfg->state_dir, CONFIG_RUN_DIR);
	while (!ret && (ec = TAILQ_FIRST(&cfg->exports)))
		ret = open_one(cfg, ec);
	return ret;
}

/* The default limit of one export: half of the limit for all, or all of it if it is alone. */
static uint64_t cap_of(uint64_t given, uint64_t all, bool alone)
{
	if (given || alone)
		return given ?: all;
	return all > 1 ? all / 2 : 1;
}

/**
 * export_caps - what the sessions of an export may take
 * @export: export
 *
 * The defaults follow the limits of the daemon and the number of its exports.
 *
 * Return: the limits from now on; sessions may have taken more already.
 */
struct quota_caps export_caps(const struct export *export)
{
	bool alone = TAILQ_FIRST(&exports) == export && !TAILQ_NEXT(export, entry);
	const struct export_config *ec = export->cfg;
	const struct config *all = export->daemon;

	return (struct quota_caps){
		.sessions = cap_of(ec->max_sessions, all->max_sessions_all, alone),
		.queues = cap_of(ec->max_queues, all->max_queues_all, alone),
		.bytes = ec->max_pinned,
	};
}

/**
 * export_find - an export that is ready for sessions
 * @name: name in HELLO
 *
 * Return: the export or NULL.
 */
struct export *export_find(const char *name)
{
	struct export *e = export_by_name(name);

	return e && e->state == EXPORT_READY ? e : NULL;
}

/**
 * export_by_name - an export, whatever its state
 * @name: its name
 *
 * Return: the export or NULL.
 */
struct export *export_by_name(const char *name)
{
	struct export *e;

	TAILQ_FOREACH(e, &exports, entry)
		if (!strcmp(e->cfg->name, name))
			return e;
	return NULL;
}

/**
 * export_next - all exports, one by one
 * @e: the one before, or NULL
 *
 * Return: the export or NULL.
 */
struct export *export_next(const struct export *e)
{
	return e ? TAILQ_NEXT(e, entry) : TAILQ_FIRST(&exports);
}

/**
 * export_broken - look for an export whose arena has lost a page
 *
 * In the loop. Each such export is found once.
 *
 * Return: the export, whose sessions the caller has to end; or NULL.
 */
struct export *export_broken(void)
{
	struct export *e;

	TAILQ_FOREACH(e, &exports, entry)
		if (e->state == EXPORT_READY && !e->broken &&
		    arena_guard_broken(e->store.guard))
			break;
	if (!e)
		return NULL;
	e->broken = true;
	log_err("export %s: a page of its arena is missing: " CUT_SHORT
		"; its sessions end, and nobody may log in until it is reopened",
		e->cfg->name);
	return e;
}

static void grow_run(struct job *job)
{
	struct export *e = container_of(job, struct export, grow);

	log_keep(e->grow_why, sizeof(e->grow_why));
	e->grow_ret = e->store.ops->grow(&e->store, &e->grow_size, e->grow_most);
	log_keep(NULL, 0);
}

static void grow_done(struct job *job)
{
	struct export *e = container_of(job, struct export, grow);
	int ret = e->grow_ret;

	if (!ret && e->grow_size != e->store.size) {
		log_info("export %s: has grown from %llu to %llu bytes", e->cfg->name,
			 (unsigned long long)e->store.size,
			 (unsigned long long)e->grow_size);
		e->store.size = e->grow_size;
		ret = 1;
	}
	e->growing = false;
	e->grown(e, ret);
}

/**
 * export_grow - let an export grow after its file has grown
 * @export: export; it is not growing already
 * @size: size wanted, bytes; 0: all of the file
 * @most: largest size that the export may get, bytes
 * @grown: called in the loop with the result. 1: @export->store.size has grown, and the
 *	sessions have not been told yet; 0: the size is as before; -errno, logged, with the
 *	text in @export->grow_why
 *
 * Return: 0: @grown will be called; -EOPNOTSUPP: the store cannot grow.
 */
int export_grow(struct export *export, uint64_t size, uint64_t most,
		void (*grown)(struct export *export, int ret))
{
	if (!export->store.ops->grow)
		return -EOPNOTSUPP;
	export->growing = true;
	export->grow_size = size;
	export->grow_most = most;
	export->grown = grown;
	export->grow = (struct job){ .run = grow_run, .done = grow_done, .kind = JOB_GROW };
	worker_submit(&export->grow);
	return 0;
}

static bool same_host(const struct lease *a, const struct lease *b)
{
	return !memcmp(a->host_id, b->host_id, RDMABLK_ID_LEN) &&
	       !memcmp(a->said_id, b->said_id, RDMABLK_ID_LEN);
}

/**
 * export_same_section - whether two machines use the key of one host
 * @a: lease
 * @b: lease
 *
 * Return: true: both leases come from one [host] section, but the machines give different
 * identities. One of them is a clone, or has a copy of the key.
 */
bool export_same_section(const struct lease *a, const struct lease *b)
{
	return !same_host(a, b) && !memcmp(a->host_id, b->host_id, RDMABLK_ID_LEN);
}

/*
 * Decides whether a held lease conflicts with a claim. Two machines with one key count as two
 * hosts here: otherwise the login of one would look like a reboot of the other.
 *
 * Return: RDMABLK_OK: no conflict; RDMABLK_R_REPLACED or RDMABLK_R_STOLEN: the held lease must
 * end for that reason; else the reason to refuse the claim.
 */
static unsigned int conflict(const struct lease *held, const struct lease *claim,
			     bool shared, bool steal)
{
	bool host = same_host(held, claim);
	bool boot = !memcmp(held->boot_nonce, claim->boot_nonce, RDMABLK_ID_LEN);
	bool instance = !memcmp(held->instance_id, claim->instance_id,
				RDMABLK_ID_LEN);

	if (host && !boot)	/* the host has rebooted: its old session is lost */
		return RDMABLK_R_REPLACED;
	if (host && instance)
		return claim->generation > held->generation ?
		       RDMABLK_R_REPLACED : RDMABLK_R_STATE;
	if (shared || !held->writer || !claim->writer)
		return RDMABLK_OK;
	if (host)
		return RDMABLK_R_BUSY_INSTANCE;
	return steal ? RDMABLK_R_STOLEN : RDMABLK_R_BUSY;
}

/**
 * export_admit - whether a session may have an export
 * @leases: leases held on the export; each gets its @verdict
 * @claim: lease that the session wants
 * @shared: several hosts may write
 * @steal: the session of another host's writer shall end
 *
 * Only decides: the caller ends the sessions whose lease has a verdict.
 *
 * Return: RDMABLK_OK: yes; RDMABLK_R_FENCING: yes, as soon as the leases with a verdict, and
 * those that are ending, are gone; else the reason to refuse, and no lease has a verdict.
 */
unsigned int export_admit(struct lease_list *leases, const struct lease *claim,
			  bool shared, bool steal)
{
	unsigned int refused = RDMABLK_OK;
	bool fencing = false;
	struct lease *held;

	LIST_FOREACH(held, leases, entry) {
		held->verdict = conflict(held, claim, shared, steal);
		if (!held->verdict)
			continue;
		fencing = true;
		if (held->ending)	/* ends already, whatever the conflict */
			held->verdict = RDMABLK_OK;
		else if (held->verdict != RDMABLK_R_REPLACED &&
			 held->verdict != RDMABLK_R_STOLEN)
			refused = held->verdict;
	}
	if (refused) {
		LIST_FOREACH(held, leases, entry)
			held->verdict = RDMABLK_OK;
		return refused;
	}
	return fencing ? RDMABLK_R_FENCING : RDMABLK_OK;
}

/**
 * export_release - take a lease back, after the fence
 * @lease: held
 */
void export_release(struct lease *lease)
{
	LIST_REMOVE(lease, entry);
	memset(&lease->entry, 0, sizeof(lease->entry));	/* leave no pointer into the list */
}

/* Return: the region size for an export of @size bytes; above @max_mr_size: none fits. */
static uint64_t region_for(const struct export *export, uint64_t size,
			   uint64_t max_mr_size)
{
	uint64_t max = min_u64(export->cfg->region ?: REGION_MAX, max_mr_size);
	uint64_t region = RDMABLK_MIN_REGION;

	if (export->cfg->region && export->cfg->region <= max_mr_size)
		return export->cfg->region;
	while (region < size && region * 2 <= max)
		region *= 2;
	return region;
}

/**
 * export_region_bytes - size of the regions of an export on a device
 * @export: the export
 * @max_mr_size: largest registration of the device, bytes
 *
 * Return: bytes, a power of two; 0: there would be too many regions.
 */
uint64_t export_region_bytes(const struct export *export, uint64_t max_mr_size)
{
	uint64_t size = export->store.size;
	uint64_t region = region_for(export, size, max_mr_size);

	if (region > max_mr_size || (size - 1) / region >= RDMABLK_MAX_REGIONS)
		return 0;
	return region;
}

/**
 * export_region_max - the size up to which an export has one region on a device
 * @export: the export
 * @max_mr_size: largest registration of the device, bytes
 *
 * Return: bytes.
 */
uint64_t export_region_max(const struct export *export, uint64_t max_mr_size)
{
	return region_for(export, RDMABLK_MAX_SIZE, max_mr_size);
}

/*
 * The end of the daemon: it waits for devices that have to flush, then closes the stores. A
 * cached file is closed only when the file has all that is in memory.
 */

/**
 * export_await - note that a device has lost its session, and is expected back
 * @export: export of the session
 * @until: time until which the daemon's end waits for the device, and the export counts as in
 *	use, ms of loop_now(); a new writer ends the wait, too
 */
void export_await(struct export *export, int64_t until)
{
	export->awaited = until;
}

/**
 * export_awaiting - look for exports whose device may come back to flush
 *
 * The end of the daemon does not wait for the device of a memory store, whose contents are lost
 * with the process anyway.
 *
 * Return: how many there are.
 */
unsigned int export_awaiting(void)
{
	unsigned int nr = 0;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		nr += e->state == EXPORT_READY && e->store.ops->behind &&
		      e->awaited > loop_now();
	return nr;
}

/* The closing thread of one export. One worker for all could hang in the first file. */
static void *close_main(void *arg)
{
	struct export *e = arg;

	export_close(e);
	atomic_store(&e->closed, true);
	return NULL;
}

/* Begins to close a store. Skips one without a store thread, whose file lacks nothing. */
static void close_begin(struct export *e)
{
	if (e->closing || !e->open || !e->store.thread)
		return;
	e->state = EXPORT_LEAVING;
	export_quiet(e);
	e->closing = !thread_start(&e->closer, "close", close_main, e);
	if (!e->closing)	/* no thread: the loop itself closes, and waits */
		close_main(e);
}

/* Whether a worker closes the store or lets it grow, and its file may lack writes */
static bool at_worker(const struct export *e)
{
	return e->store.ops->work && LIST_EMPTY(&e->leases) &&
	       ((e->state == EXPORT_LEAVING && !e->closing && !atomic_load(&e->closed)) ||
		e->growing);
}

/* Whether a worker or a closing thread has the store */
static bool is_elsewhere(const struct export *e)
{
	return at_worker(e) || (e->closing && !atomic_load(&e->closed));
}

/**
 * export_close_unused - close the stores that neither a session nor a worker uses, at
 *	the end
 *
 * Closes all at once, so that a file that does not answer does not keep the others from being
 * brought up to date. Does not wait.
 *
 * Return: number of stores that are not closed yet, those that a worker has included.
 */
unsigned int export_close_unused(void)
{
	unsigned int left = 0;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		if (e->state == EXPORT_READY && !e->growing && LIST_EMPTY(&e->leases))
			close_begin(e);
		left += is_elsewhere(e);
	}
	return left;
}

/**
 * export_lacks - whether the file of an export may lack writes that are in memory, or will be
 * @e: export that neither a worker nor a closing thread has
 *
 * Only sessions with @let_write count. Any other has written nothing, and its login may wait for
 * a state directory that does not answer. In the loop; does not wait.
 *
 * Return: true: it may.
 */
bool export_lacks(const struct export *e)
{
	const struct lease *lease;

	if (!e->store.ops->behind)
		return false;
	LIST_FOREACH(lease, &e->leases, entry)
		if (lease->let_write)
			return true;
	return e->store.ops->behind(&e->store);
}

/**
 * export_held - count the stores that cannot be closed before their sessions have ended
 *
 * A session that cannot be fenced may still write to memory. Only a comparison after its end
 * brings these writes to the file.
 *
 * Return: number of such stores whose files may lack writes.
 */
unsigned int export_held(void)
{
	unsigned int nr = 0;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		nr += !LIST_EMPTY(&e->leases) && export_lacks(e);
	return nr;
}

/**
 * export_log_lost - log which writes are lost if the process ends now
 *
 * In the loop.
 */
void export_log_lost(void)
{
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		bool ours = e->state == EXPORT_READY || !LIST_EMPTY(&e->leases);

		if (!e->cfg->read_only && e->store.ops->behind &&
		    (is_elsewhere(e) || (ours && export_lacks(e))))
			log_warn("export %s: %s may lack the last writes%s",
				 e->cfg->name, e->cfg->file,
				 e->cfg->arena ? "; its arena has it" : "");
	}
}

/**
 * export_close_all - close the stores when no session and no worker is left
 *
 * Return: whether all data of the exports is in their files or in kept arenas.
 */
bool export_close_all(void)
{
	struct export *e;
	bool lost = false;

	for (e = export_next(NULL); e; e = export_next(e))
		close_begin(e);
	for (e = export_next(NULL); e; e = export_next(e))
		if (e->closing)
			pthread_join(e->closer, NULL);
	while ((e = export_next(NULL))) {
		if (e->open) {
			export_quiet(e);
			export_close(e);
		}
		lost |= e->store.lost;
		export_free(e);
	}
	sync_errors_exit();
	return !lost;
}
