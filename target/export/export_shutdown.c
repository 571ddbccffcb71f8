// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exports at the end of the daemon: which devices are waited for, and in what order stores
 * are closed. A store is not left before its file has all that is in memory.
 */
#include "base/log.h"
#include "base/loop.h"
#include "export/export.h"
#include "store/store_thread.h"
#include "store/sync_errors.h"

/**
 * export_await - a device has lost its session, and may have unflushed writes
 * @export: it had
 * @until: when it will hardly come back any more, ms; a new writer ends that, too
 *
 * A memory store is not waited for: its contents are lost with the process anyway.
 */
void export_await(struct export *export, int64_t until)
{
	if (export->store.ops->behind)
		export->awaited = until;
}

/**
 * export_awaiting - look for exports whose device may come back to flush
 *
 * Return: how many there are.
 */
unsigned int export_awaiting(void)
{
	unsigned int nr = 0;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		nr += e->state == EXPORT_READY && e->awaited > loop_now();
	return nr;
}

static void *close_main(void *arg)
{
	struct export *e = arg;

	export_close(e);
	atomic_store(&e->closed, true);
	return NULL;
}

/* An export without a store thread has no file that lacks anything. */
static void close_begin(struct export *e)
{
	if (e->closing || !e->open || !e->store.thread)
		return;
	e->state = EXPORT_LEAVING;
	export_quiet(e);
	e->closing = !pthread_create(&e->closer, NULL, close_main, e);
	if (!e->closing)	/* then the loop has to wait */
		close_main(e);
}

/* A worker closes it, or lets it grow: it has in memory what its file may not have. */
static bool at_worker(const struct export *e)
{
	return e->store.ops->work && LIST_EMPTY(&e->leases) &&
	       ((e->state == EXPORT_LEAVING && !e->closing && !atomic_load(&e->closed)) ||
		e->growing);
}

/* A worker or a closer has it. */
static bool is_elsewhere(const struct export *e)
{
	return at_worker(e) || (e->closing && !atomic_load(&e->closed));
}

/**
 * export_close_unused - close the stores that neither a session nor a worker uses, at
 *	the end
 *
 * All at once: a file that does not answer shall not keep what is in memory from the
 * others. Does not wait.
 *
 * Return: how many are not closed yet, those that a worker has included.
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

/*
 * Its file may lack what is in memory, or will be. For one that no worker and no closer
 * has. A session that has not been granted the export has written nothing; the directory
 * where its writer is noted may never answer.
 */
static bool lacks(const struct export *e)
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
 * export_held - look for stores that cannot be closed before their sessions have ended
 *
 * A session that cannot be fenced may still write: what it has written is in memory, and
 * in the file only when that is compared afterwards.
 *
 * Return: how many of them have what their files may lack.
 */
unsigned int export_held(void)
{
	unsigned int nr = 0;
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e))
		nr += !LIST_EMPTY(&e->leases) && lacks(e);
	return nr;
}

/**
 * export_log_lost - say what is lost when the process ends now
 *
 * In the loop, before it has ended.
 */
void export_log_lost(void)
{
	struct export *e;

	for (e = export_next(NULL); e; e = export_next(e)) {
		bool ours = e->state == EXPORT_READY || !LIST_EMPTY(&e->leases);

		if (!e->cfg->read_only && e->store.ops->behind &&
		    (is_elsewhere(e) || (ours && lacks(e))))
			log_warn("export %s: %s may lack the last writes%s",
				 e->cfg->name, e->cfg->file,
				 e->cfg->arena ? "; its arena has it" : "");
	}
}

/**
 * export_close_all - close the stores; no session is left, and no worker
 */
void export_close_all(void)
{
	struct export *e;

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
		export_free(e);
	}
	sync_errors_exit();
}
