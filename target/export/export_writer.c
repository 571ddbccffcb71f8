// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last writer: the device that last got the right to write an export. Only that device may
 * go on after an outage.
 *
 * The last writer is known as long as the contents last: in this process, in the trailer of a
 * kept arena, and for a file in notes (last_writer.c) that are written before GRANT is sent.
 * If a file has no note, no device may go on. If memory has not been written since it was
 * zeroed, every device may: the epoch says which memory it is.
 *
 * A device that has flushed everything goes on over a new epoch, because the file has what it
 * flushed. So if a file may lack flushed data, the last writer is forgotten.
 */
#include <errno.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "export/export.h"
#include "export/last_writer.h"

static const struct store_writer nobody;

static struct last_writer_of notes_of(struct export *e)
{
	return (struct last_writer_of){
		.dir = config_state_dir(e->daemon, e->cfg),
		.dir_state = &e->notes,
		.name = e->cfg->name,
		.uuid = e->store.uuid,
		.mark = &e->store.mark,
		.arena = e->store.kept ? e->store.epoch : NULL,
	};
}

static bool same_writer(const struct store_writer *a, const struct store_writer *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct store_writer writer_of(const struct lease *lease)
{
	struct store_writer writer;

	memcpy(writer.host_id, lease->host_id, sizeof(writer.host_id));
	memcpy(writer.instance_id, lease->instance_id, sizeof(writer.instance_id));
	return writer;
}

/*
 * Whether a claim is that of the last writer. A disk that was connected without a key was
 * noted with the identity in HELLO. It may go on after its host has got a key, so both
 * identities count. A host that states the identity of another one gains nothing: its key has
 * proven the right to write the export, and only its own caches are stale.
 */
static bool is_writer(const struct store_writer *last, const struct lease *claim)
{
	struct store_writer proven = writer_of(claim), said = proven;

	memcpy(said.host_id, claim->said_id, sizeof(said.host_id));
	return same_writer(last, &proven) || same_writer(last, &said);
}

/* The writer to note for a lease: unknown on a shared export, or without an identity */
static struct store_writer note_for(const struct export *export, const struct lease *lease)
{
	struct store_writer writer = writer_of(lease);

	return export->cfg->shared || same_writer(&writer, &nobody) ? store_writer_unknown() :
	       writer;
}

/* A kept arena must not be written back to its file if others have written the file since. */
static int check_arena(const struct export *export, const struct last_writer_of *of,
		       const struct store_writer *by)
{
	const struct export_config *ec = export->cfg;
	int ret = export->store.newer ? last_writer_missed(of, by) : 0;

	if (ret == -ESTALE)
		log_err("export %s: %s was written without arena %s since, or may have been: move the arena elsewhere to go on with the file, which lacks what only the arena has",
			ec->name, ec->file, ec->arena);
	return ret;
}

/**
 * export_recall - find out which device wrote an export last
 * @export: its store is open and its UUID known; @store.writer comes from a kept arena, or
 *	from this process
 *
 * If this process had the file open before, it knows the writer of that time. Every daemon
 * that has written the file since has removed the note, so without a note that knowledge does
 * not count. The writer in a kept arena counts in any case: an arena that does not belong to
 * the present contents of the file is refused.
 *
 * Blocks. In a worker, as export_open().
 *
 * Return: 0; -errno, logged: no session must have the export.
 */
int export_recall(struct export *export)
{
	struct store_writer *last = &export->store.writer, kept, by = *last;
	struct store_writer none = store_writer_unknown();
	const struct last_writer_of of = notes_of(export);

	if (fault(FAULT_FORGET_WRITER))
		*last = nobody;
	if (!export->store.marked || fault(FAULT_FORGET_WRITER))
		return 0;
	switch (last_writer_read(&of, &kept)) {
	case LAST_WRITER_NONE:
		if (!export->store.kept || same_writer(last, &nobody))
			*last = none;
		break;
	case LAST_WRITER_KNOWN:
		if (same_writer(last, &nobody) ||
		    (same_writer(last, &none) && !export->store.kept))
			*last = kept;
		else if (!same_writer(last, &kept))
			*last = none;
		break;
	case LAST_WRITER_OTHER:
		*last = none;
		break;
	}
	return check_arena(export, &of, &by);
}

/**
 * export_forget_writer - let no device go on, because the file may lack flushed data
 * @export: its store has been closed
 *
 * The trailer of a kept arena still has its writer.
 *
 * Blocks. In a worker, as export_close().
 */
void export_forget_writer(struct export *export)
{
	const struct last_writer_of of = notes_of(export);
	int ret = export->store.marked ? last_writer_forget(&of) : 0;

	export->store.writer = store_writer_unknown();
	if (ret)
		log_err("export %s: cannot remove the note of its last writer: %s; flushed data may be missing in %s, and a disk of this export may go on all the same: disconnect its disks",
			export->cfg->name, strerror(-ret), export->cfg->file);
}

/**
 * export_resumable - whether a device may go on from an earlier session
 * @export: export of that session
 * @claim: lease that the device wants
 *
 * It may not if another device got the right to write in between, or if that is unknown: the
 * caches of the device's host are stale, and writing them back would destroy the other's
 * writes.
 *
 * Return: true: it may.
 */
bool export_resumable(const struct export *export, const struct lease *claim)
{
	const struct store_writer *last = &export->store.writer;
	struct store_writer none = store_writer_unknown();

	if (!claim->writer || export->cfg->shared || same_writer(last, &nobody))
		return true;
	if (same_writer(last, &none)) {
		log_peer(NULL, LOG_WARNING,
			 "export %s: who wrote it last is not known; a disk of it does not go on",
			 export->cfg->name);
		return false;
	}
	return is_writer(last, claim);
}

/**
 * export_lease - give a session its lease
 * @export: export that has admitted the session
 * @lease: lease of the session; held until export_release()
 *
 * To be called before the session learns any key.
 */
void export_lease(struct export *export, struct lease *lease)
{
	LIST_INSERT_HEAD(&export->leases, lease, entry);
	if (lease->writer)
		export->awaited = 0;
}

/**
 * export_let_write - make a session the last writer, because it is about to learn the keys
 * @export: export whose lease is held; notes that were due are written
 * @lease: lease of the session
 *
 * Not earlier: a login that fails has written nothing, so another device may still go on. A
 * shared export has several writers, which have not seen each other's writes. So none of them
 * may go on when the export is not shared any more. In the loop.
 */
void export_let_write(struct export *export, struct lease *lease)
{
	const struct store_ops *ops = export->store.ops;

	if (!lease->writer)
		return;
	lease->let_write = true;
	export->store.writer = note_for(export, lease);
	if (ops->written_by)
		ops->written_by(&export->store);
}

/**
 * export_note_due - whether the writer of a session has to be noted
 * @export: export whose lease is held
 * @lease: lease of the session
 *
 * A writer that was noted since the export was opened is not noted again, so that its
 * reconnect does not depend on the state directory. Otherwise the one that was noted is
 * forgotten, because from now on the note may change, however the attempt ends. In the loop.
 *
 * Return: true: export_note_writer() has to be called before the session learns any key, and
 * then export_noted().
 */
bool export_note_due(struct export *export, const struct lease *lease)
{
	struct store_writer note = note_for(export, lease);

	if (!lease->writer || !export->store.marked || same_writer(&export->noted_writer, &note))
		return false;
	export->noted_writer = nobody;
	return true;
}

/**
 * export_note_writer - note the device that is about to write
 * @export: export whose lease is held, so that it stays open
 * @lease: lease of the session
 *
 * Blocks. In a worker.
 *
 * Return: 1: the device is noted; 0: it is not, but neither is another one; -errno, logged:
 * the session must not have the export.
 */
int export_note_writer(struct export *export, const struct lease *lease)
{
	struct store_writer writer = note_for(export, lease), none = store_writer_unknown();
	const struct last_writer_of of = notes_of(export);

	return last_writer_note(&of, same_writer(&writer, &none) ? NULL : &writer);
}

/**
 * export_noted - remember that the device of a session is noted
 * @export: as for export_note_writer(), which has returned 1
 * @lease: as for export_note_writer()
 *
 * In the loop.
 */
void export_noted(struct export *export, const struct lease *lease)
{
	export->noted_writer = note_for(export, lease);
}
