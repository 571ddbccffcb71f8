// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last writer: the device that was the last to be let write an export, and may
 * therefore go on after an outage.
 *
 * The last writer is known as long as the contents last: in this process, in the trailer of a
 * kept arena, and for a file in notes (last_writer.c) that are written before GRANT is sent.
 * If a file has no note, no device may go on. If memory has not been written since it was
 * zeroed, every device may: the epoch says which memory it is.
 */
#include <errno.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "export/export.h"
#include "export/last_writer.h"

static const struct store_writer nobody;

/* An unknown writer, or several. */
static struct store_writer unknown(void)
{
	struct store_writer writer;

	memset(&writer, 0xff, sizeof(writer));
	return writer;
}

static struct last_writer_of notes_of(struct export *e)
{
	return (struct last_writer_of){
		.dir = config_state_dir(e->daemon, e->cfg),
		.known = &e->notes,
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
 * An instance is one device, whatever its host is called. A disk that was connected without a
 * key has left the identity that HELLO says, and goes on when its host has got a key.
 */
static bool is_writer(const struct store_writer *last, const struct lease *claim)
{
	struct store_writer proven = writer_of(claim), said = proven;

	memcpy(said.host_id, claim->said_id, sizeof(said.host_id));
	return same_writer(last, &proven) || same_writer(last, &said);
}

/* The note for the session with this lease. A writer without a name may be any host. */
static struct store_writer note_for(const struct export *export, const struct lease *lease)
{
	struct store_writer writer = writer_of(lease);

	return export->cfg->shared || same_writer(&writer, &nobody) ? unknown() : writer;
}

/* An arena that was not written back to its file must not be once others wrote the file. */
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
 * @export: its store is open, its UUID known; @store.writer is the one that a kept arena or
 *	this process knows
 *
 * This process knows the writer from before the file was closed. Every daemon that wrote the
 * file since has removed the note, so that without a note this knowledge does not count. The
 * writer in a kept arena counts: the arena has what the file had when it had that writer,
 * or it is refused.
 *
 * Blocks. In a worker, as export_open().
 *
 * Return: 0; -errno, logged: it must not be had.
 */
int export_recall(struct export *export)
{
	struct store_writer none = unknown(), *last = &export->store.writer, kept, by = *last;
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
		if (same_writer(last, &nobody) || same_writer(last, &none))
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
 * export_resumable - may a device go on from an earlier session
 * @export: it had
 * @claim: of the device
 *
 * Not when another was let write in between: what the device's host has cached
 * is stale, and what it writes back would destroy what the other wrote. Nor when nobody
 * knows whether one was.
 *
 * Return: whether it may.
 */
bool export_resumable(const struct export *export, const struct lease *claim)
{
	const struct store_writer *last = &export->store.writer;
	struct store_writer none = unknown();

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
 * @export: admitted to
 * @lease: the session's; held until export_release()
 *
 * Before the session learns of any key.
 */
void export_lease(struct export *export, struct lease *lease)
{
	LIST_INSERT_HEAD(&export->leases, lease, entry);
	if (lease->writer)
		export->awaited = 0;
}

/**
 * export_let_write - the session is about to learn of the keys
 * @export: its lease is held, and what was due is noted
 * @lease: of the session
 *
 * Not before that: a login that fails has written nothing, so that another device may still
 * go on. A shared export has several writers. None of them has seen what the others wrote, so
 * that none may go on when the export is shared no longer. In the loop.
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
 * export_note_due - does it have to be noted who is about to write
 * @export: its lease is held
 * @lease: of the session
 *
 * Not again while the export is open: who comes back does not depend on the place where
 * that is noted. In the loop.
 *
 * Return: whether export_note_writer() has to be called before the session learns of any
 * key, and then export_noted().
 */
bool export_note_due(struct export *export, const struct lease *lease)
{
	struct store_writer note = note_for(export, lease);

	if (!lease->writer || !export->store.marked || same_writer(&export->noted, &note))
		return false;
	export->noted = nobody;
	return true;
}

/**
 * export_note_writer - have it noted who is about to write
 * @export: its lease is held, so that it stays open
 * @lease: of the session
 *
 * Blocks. In a worker.
 *
 * Return: 1: done; 0: it is not, but nobody else is noted; -errno, logged: the session
 * must not have the export.
 */
int export_note_writer(struct export *export, const struct lease *lease)
{
	struct store_writer writer = note_for(export, lease), none = unknown();
	const struct last_writer_of of = notes_of(export);

	return last_writer_note(&of, same_writer(&writer, &none) ? NULL : &writer);
}

/**
 * export_noted - it is noted who is about to write
 * @export: as for export_note_writer(), which has returned 1
 * @lease: likewise
 *
 * In the loop.
 */
void export_noted(struct export *export, const struct lease *lease)
{
	export->noted = note_for(export, lease);
}
