// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last writer of each file, noted so that it is known after the end of the daemon.
 *
 * A device that comes back may go on if no other device has been allowed to write since. So
 * the name of the last writer must last as long as the contents do. Memory that is not kept
 * needs no note, and a kept arena has the name in its trailer. For a file there are notes.
 * Each note is a file with one line:
 *
 *  export-UUID	 the last device that was allowed to write this export. The note has the
 *		 name of the UUID, because a device asks for the UUID when it comes back,
 *		 whatever the export is called, and whatever the file is after a boot or a
 *		 move to another disk.
 *  file-PLACE	 the export as which the file was written last. The note has the name of the
 *		 file's identity, because the file may be exported under another UUID in
 *		 between.
 *  arena-PLACE	 the kept arena through which the file was written last. An arena whose daemon
 *		 was killed may have data that its file lacks. If the file has been written
 *		 without the arena since, as this export or another, the arena is out of date,
 *		 and must not be written over the file.
 *
 * Without a note no device may go on. So failing to write a note is safe, as long as no
 * older note stays in its place. Before a device is allowed to write
 *
 *  1. the file's note is read: if it names another export, the note of that export is
 *     removed, and the older note of this export, too;
 *  2. the file's arena is noted, or the note of an arena is removed;
 *  3. the file's note gets this export;
 *  4. the export's note gets the writer, or is removed when there are several.
 *
 * If 2, 3 or 4 fails, the export's own note is removed. If that fails, or 1, or if another
 * arena stays noted, the device is not allowed to write. Each step is durable before the
 * next, except the removal of an arena's note: an arena ends with the boot of its host, and
 * its note is worth nothing then. A note is replaced by renaming, so it is the old one or the
 * new one whenever the power fails. A device that is noted and then not granted anything has
 * written nothing, and keeps others from going on all the same: the safe side.
 *
 * If a file may have lost what was flushed, the note of the export is removed, and that of the
 * export as which the file was written last: no device may go on over the gap.
 *
 * Removing a note is safe, with one exception: the note of a file that lacks data of its
 * arena. If no arena is noted, the file's note says that the file was written without one.
 * The export's own note says so, too, if it names another writer than the arena does;
 * otherwise the arena counts. Daemons that serve the same files in turn need the same
 * directory, also on two hosts: an arena that is left on one of them is then out of date as
 * soon as the other has let a device write. The removal of its note is durable by then,
 * because the directory is synced for 3 or 4, at the latest when the first note is written
 * after an export was opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/state_file.h"
#include "base/util.h"
#include "export/last_writer.h"

#define LABEL		"rdmablk writer 1"
#define ID_TEXT		36
#define NOTE_LEN	(sizeof(LABEL) + 3 * (ID_TEXT + 1))	/* the NUL of LABEL: a blank */
#define NOTE_ROOM	(PATH_MAX + 64)

/**
 * struct dir_lock - one thread at a time changes the notes of a directory
 * @entry: in the list of all locks; a lock is never freed, because there are few directories
 * @lock: held for as long as the directory takes, which may be for good
 * @dir: path of the directory
 *
 * Exports of one file change each other's notes. Logins and the opening of an export need the
 * lock, in jobs of several kinds. A directory that hangs stops no export with another directory.
 */
struct dir_lock {
	LIST_ENTRY(dir_lock) entry;
	pthread_mutex_t lock;
	char dir[];
};

static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, dir_lock) list;
	pthread_mutex_t any;	/* for directories without a lock, because memory was short */
} locks = { .lock = PTHREAD_MUTEX_INITIALIZER, .any = PTHREAD_MUTEX_INITIALIZER };

/* Return: the lock of a directory, locked. */
static pthread_mutex_t *lock_dir(const char *dir)
{
	pthread_mutex_t *lock = &locks.any;
	size_t len = strlen(dir) + 1;
	struct dir_lock *d;

	pthread_mutex_lock(&locks.lock);
	LIST_FOREACH(d, &locks.list, entry)
		if (!strcmp(d->dir, dir))
			break;
	if (!d) {
		d = calloc(1, sizeof(*d) + len);
		if (d) {
			memcpy(d->dir, dir, len);
			pthread_mutex_init(&d->lock, NULL);
			LIST_INSERT_HEAD(&locks.list, d, entry);
		}
	}
	if (d)
		lock = &d->lock;
	pthread_mutex_unlock(&locks.lock);
	pthread_mutex_lock(lock);
	return lock;
}

/**
 * struct note - contents of a note
 * @key: UUID or place, as in the name of the note
 * @a: note of an export: the host; of a file or arena: @id of the file's mark
 * @b: note of an export: the device; of a file: UUID of the export; of an arena: its epoch
 */
struct note {
	uint8_t key[RDMABLK_ID_LEN];
	uint8_t a[RDMABLK_ID_LEN];
	uint8_t b[RDMABLK_ID_LEN];
};

static struct note make_note(const uint8_t *key, const uint8_t *a, const uint8_t *b)
{
	struct note note;

	memcpy(note.key, key, sizeof(note.key));
	memcpy(note.a, a, sizeof(note.a));
	memcpy(note.b, b, sizeof(note.b));
	return note;
}

static void note_path(const struct last_writer_of *of, const char *kind, const uint8_t *key,
		      char *path)
{
	char text[ID_TEXT + 1];

	value_uuid_text(key, text);
	snprintf(path, NOTE_ROOM, "%s/" LAST_WRITER_DIR "/%s-%s", of->dir, kind, text);
}

static void note_text(const struct note *note, char *text)
{
	char key[ID_TEXT + 1], a[ID_TEXT + 1], b[ID_TEXT + 1];

	value_uuid_text(note->key, key);
	value_uuid_text(note->a, a);
	value_uuid_text(note->b, b);
	snprintf(text, NOTE_LEN + 1, LABEL " %s %s %s\n", key, a, b);
}

/* Return: whether @text is a note, to the last byte. */
static bool parse(const char *text, struct note *note)
{
	uint8_t *const id[] = { note->key, note->a, note->b };
	char copy[NOTE_LEN + 1], again[NOTE_LEN + 1];

	if (strlen(text) != NOTE_LEN)
		return false;
	memcpy(copy, text, sizeof(copy));
	for (size_t i = 0; i < ARRAY_SIZE(id); i++) {
		char *p = copy + sizeof(LABEL) + i * (ID_TEXT + 1);

		p[ID_TEXT] = '\0';
		if (value_uuid(p, id[i]))
			return false;
	}
	note_text(note, again);
	return !strcmp(text, again);
}

/* Return: 1: read; 0: there is no note; -EBADMSG: the file is not a note; -errno */
static int get(const char *path, const uint8_t *key, struct note *note)
{
	int fd __cleanup_close = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[NOTE_LEN + 2] = "";
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	return parse(text, note) && !memcmp(note->key, key, sizeof(note->key)) ? 1 :
	       -EBADMSG;
}

static int sync_notes(const struct last_writer_of *of)
{
	char path[NOTE_ROOM];
	int ret;

	snprintf(path, sizeof(path), "%s/" LAST_WRITER_DIR, of->dir);
	ret = state_file_sync_dir(path);
	of->dir_state->settled = !ret;
	return ret;
}

static int make_dirs(const struct last_writer_of *of)
{
	char path[NOTE_ROOM];

	snprintf(path, sizeof(path), "%s/" LAST_WRITER_DIR, of->dir);
	return state_file_make_dir(of->dir) ?: state_file_make_dir(path);
}

/* The directories are made again if somebody has removed them. */
static int replace(const struct last_writer_of *of, const char *path, const char *text)
{
	int ret = of->dir_state->made ? state_file_replace(path, text) : -ENOENT;

	if (ret != -ENOENT)
		return ret;
	ret = make_dirs(of);
	of->dir_state->made = !ret;
	return ret ?: state_file_replace(path, text);
}

/* Writes a note, unless it is there already. It is durable when 0 is returned. */
static int put(const struct last_writer_of *of, const char *path, const struct note *note)
{
	char text[NOTE_LEN + 1];
	struct note old;
	int ret;

	if (get(path, note->key, &old) == 1 && !memcmp(&old, note, sizeof(old)))
		return of->dir_state->settled ? 0 : sync_notes(of);
	note_text(note, text);
	ret = replace(of, path, text);
	of->dir_state->settled = !ret;	/* replace() syncs the directory as its last step */
	return ret;
}

/* Removes a note, not durably. On a read-only file system, too, a missing note is no error. */
static int forget(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/*
 * Removes a note. When 0 is returned, the removal is durable. It syncs also if there is no note,
 * because an earlier call may have removed it and failed to sync.
 */
static int drop(const struct last_writer_of *of, const char *path)
{
	return forget(path) ?: sync_notes(of);
}

static void cannot(const struct last_writer_of *of, const char *what, const char *path, int ret)
{
	log_peer(NULL, LOG_ERR, "export %s: cannot %s %s: %s; nobody is let write (--state-dir)",
		 of->name, what, path, strerror(-ret));
}

/*
 * Step 1. If the file was written as another export, this export's own note is from before that,
 * and would count again after step 3. So both notes are removed.
 */
static int drop_other(const struct last_writer_of *of, const char *path, const char *own)
{
	char other[NOTE_ROOM];
	struct note is;
	int ret;

	ret = get(path, of->mark->place, &is);
	if (ret < 0 && ret != -EBADMSG) {
		cannot(of, "read", path, ret);
		return ret;
	}
	/* Neither a file that is not a note, nor the note of another file, says anything. */
	if (ret != 1 || memcmp(is.a, of->mark->id, sizeof(is.a)) ||
	    !memcmp(is.b, of->uuid, sizeof(is.b)))
		return 0;
	note_path(of, "export", is.b, other);
	ret = drop(of, other);
	if (ret) {
		cannot(of, "remove", other, ret);
		return ret;
	}
	ret = drop(of, own);
	if (ret)
		cannot(of, "remove", own, ret);
	return ret;
}

/*
 * Step 2. Return: 0; -errno: this arena is not noted. @stays: set if another arena may still be
 * noted, which is logged.
 */
static int put_arena(const struct last_writer_of *of, const char *path, bool *stays)
{
	struct note arena;
	int ret = 0, gone;

	if (of->arena) {
		arena = make_note(of->mark->place, of->mark->id, of->arena);
		ret = put(of, path, &arena);
		if (!ret)
			return 0;
	}
	gone = forget(path);
	*stays = gone;
	if (gone)
		cannot(of, "remove", path, gone);
	return gone ?: ret;
}

/* Steps 3 and 4. Return: 0; -errno: @path is not noted */
static int put_writer(const struct last_writer_of *of, const struct store_writer *writer,
		      const char *file_path, const char *own_path, const char **path)
{
	struct note file = make_note(of->mark->place, of->mark->id, of->uuid), own;
	int ret;

	*path = file_path;
	ret = put(of, file_path, &file);
	if (ret || !writer)
		return ret;
	*path = own_path;
	own = make_note(of->uuid, writer->host_id, writer->instance_id);
	return put(of, own_path, &own);
}

/*
 * Logs what the failure costs. If the arena is not noted, an older note of the file says that the
 * file was written without an arena; this counts if the daemon does not end in order.
 */
static void cannot_note(const struct last_writer_of *of, bool last, bool arena, const char *path,
			int ret)
{
	log_peer(NULL, LOG_WARNING, "export %s: cannot write %s: %s%s%s (--state-dir)", of->name,
		 path, strerror(-ret), last ?
		 "; nobody will go on with a disk of it when the daemon has been restarted" : "",
		 arena ? "; its arena may be refused when the daemon has been killed" : "");
}

/**
 * last_writer_note - note a device that is about to be allowed to write
 * @of: the export
 * @writer: the device; NULL: several, which may not go on when the export is no longer shared
 *
 * Blocks. Any thread but the loop's.
 *
 * Return: 1: the note is written; 0, logged: no device is noted. In both cases no device but
 * @writer may go on, not even with another process. -errno, logged: @writer must not be
 * allowed to write.
 */
int last_writer_note(const struct last_writer_of *of, const struct store_writer *writer)
{
	char file_path[NOTE_ROOM], own_path[NOTE_ROOM], arena_path[NOTE_ROOM];
	const char *path = arena_path;
	pthread_mutex_t *lock;
	bool stays = false;
	int ret, gone = 0;

	note_path(of, "file", of->mark->place, file_path);
	note_path(of, "arena", of->mark->place, arena_path);
	note_path(of, "export", of->uuid, own_path);
	lock = lock_dir(of->dir);
	ret = drop_other(of, file_path, own_path);
	if (ret)
		goto unlock;
	ret = put_arena(of, arena_path, &stays);
	if (stays)
		goto unlock;
	ret = ret ?: put_writer(of, writer, file_path, own_path, &path);
	if (ret || !writer)
		gone = drop(of, own_path);
	if (gone)
		cannot(of, "remove", own_path, gone);
	else if (ret && (writer || path == arena_path))
		cannot_note(of, writer, path == arena_path, path, ret);
	ret = gone ?: !ret;
unlock:
	pthread_mutex_unlock(lock);
	return ret;
}

/**
 * last_writer_forget - let no device go on with a file, as whatever export it wrote the file
 * @of: the export
 *
 * The notes of the file and its arena stay: they say which of the two counts.
 *
 * Blocks. Any thread but the loop's.
 *
 * Return: 0: no device may go on, not even with another process; -errno: one may.
 */
int last_writer_forget(const struct last_writer_of *of)
{
	char file_path[NOTE_ROOM], own_path[NOTE_ROOM];
	pthread_mutex_t *lock;
	int ret;

	note_path(of, "file", of->mark->place, file_path);
	note_path(of, "export", of->uuid, own_path);
	lock = lock_dir(of->dir);
	ret = drop_other(of, file_path, own_path) ?: drop(of, own_path);
	pthread_mutex_unlock(lock);
	return ret;
}

/**
 * last_writer_missed - was a file written without its arena
 * @of: which export, with an arena whose daemon did not end in order
 * @by: last device that was allowed to write the arena
 *
 * Blocks. Any thread.
 *
 * Return: 0: it was not, or no note says so; -ESTALE: it may have been, through another arena
 * or none; -errno, logged: a note cannot be read.
 */
int last_writer_missed(const struct last_writer_of *of, const struct store_writer *by)
{
	char path[NOTE_ROOM];
	pthread_mutex_t *lock;
	struct note is;
	bool known;
	int ret;

	lock = lock_dir(of->dir);
	note_path(of, "arena", of->mark->place, path);
	ret = get(path, of->mark->place, &is);
	known = ret == 1 && !memcmp(is.a, of->mark->id, sizeof(is.a)) &&
		!memcmp(is.b, of->arena, sizeof(is.b));
	if (!ret) {
		/* No arena was ever noted, or a daemon without one has removed the note. */
		note_path(of, "file", of->mark->place, path);
		ret = get(path, of->mark->place, &is);
	}
	if (!ret) {
		note_path(of, "export", of->uuid, path);
		ret = get(path, of->uuid, &is);
		known = ret == 1 && !memcmp(is.a, by->host_id, sizeof(is.a)) &&
			!memcmp(is.b, by->instance_id, sizeof(is.b));
	}
	if (known)
		ret = 0;
	else if (ret == 1 || ret == -EBADMSG)
		ret = -ESTALE;
	pthread_mutex_unlock(lock);
	if (ret && ret != -ESTALE)
		log_err("export %s: cannot read %s: %s; nobody knows whether its file was written without its arena",
			of->name, path, strerror(-ret));
	return ret;
}

static int get_logged(const struct last_writer_of *of, const char *path, const uint8_t *key,
		      struct note *note)
{
	int ret = get(path, key, note);

	if (ret < 0)
		log_err("export %s: cannot read %s: %s; who wrote it last is not known, and nobody goes on with a disk of it",
			of->name, path, strerror(-ret));
	return ret;
}

/**
 * last_writer_read - which device was the last that was allowed to write
 * @of: which export
 * @last: filled with LAST_WRITER_KNOWN
 *
 * Blocks. Any thread.
 *
 * Return: what is known. A note that cannot be read is logged.
 */
enum last_writer_state last_writer_read(const struct last_writer_of *of, struct store_writer *last)
{
	char path[NOTE_ROOM], uuid[ID_TEXT + 1];
	struct note file, own;
	pthread_mutex_t *lock;
	int as, ret;

	lock = lock_dir(of->dir);
	note_path(of, "file", of->mark->place, path);
	as = get_logged(of, path, of->mark->place, &file);
	note_path(of, "export", of->uuid, path);
	ret = get_logged(of, path, of->uuid, &own);
	pthread_mutex_unlock(lock);
	if (as == 1 && !memcmp(file.a, of->mark->id, sizeof(file.a)) &&
	    memcmp(file.b, of->uuid, sizeof(file.b))) {
		value_uuid_text(file.b, uuid);
		log_info("export %s: its file was written as export %s since; nobody goes on with a disk of it",
			 of->name, uuid);
		return LAST_WRITER_OTHER;
	}
	if (as < 0 || ret != 1)
		return LAST_WRITER_NONE;
	memcpy(last->host_id, own.a, sizeof(last->host_id));
	memcpy(last->instance_id, own.b, sizeof(last->instance_id));
	return LAST_WRITER_KNOWN;
}
