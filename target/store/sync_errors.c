// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that have lost writes that were acknowledged but not flushed.
 *
 * After a failed fdatasync it is unknown which writes are on the medium. The kernel reports
 * the error once: a process that opens the file later finds nothing wrong. So the file has
 * another epoch from then on. The disk of an initiator with unflushed writes fails and says
 * why; all other initiators go on.
 *
 * Each loss adds a line with a random number to the notes. The epoch of a file comes from its
 * identity and from all numbers that are noted with that identity, or with that of its disk:
 * the cache of a disk may have lost writes of any file on it, exported at that moment or not.
 * A boot of the host changes the identity. So the notes have to outlive the process, but not
 * the host: writing them to a file is enough, without a sync. A note is written before an
 * initiator hears of the failure. It goes to two places, both open from the start on, because
 * one may be on the medium that fails. If a process can write to neither, no other process
 * learns of the loss, so all its epochs include a random number of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/sync_errors.h"
#include "wire/mac.h"

#define PLACES	2
#define LABEL	"rdmablk losses 1"
#define DIGITS	(2 * RDMABLK_ID_LEN)
#define NOTE_S	2	/* most seconds for a note in a place that may hang */
#define HANGING	8	/* most threads that hang in one place */

static struct {
	pthread_mutex_t lock;
	char path[PLACES][PATH_MAX];	/* empty: there is none */
	bool open;
	bool none;			/* no place could be opened */
	bool said;			/* the log says so */
	atomic_uint opened;		/* counts how often the notes were read */
	int fd[PLACES];
	atomic_uint writers[PLACES];	/* threads in note_in_time() */
	uint8_t own[RDMABLK_ID_LEN];	/* for what is noted nowhere else; zero: nothing */
} losses = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.fd = { -1, -1 },
};

static void combine(uint8_t *sum, const uint8_t *number)
{
	for (size_t i = 0; i < RDMABLK_ID_LEN; i++)
		sum[i] ^= number[i];
}

static void draw(uint8_t *number)
{
	struct timespec now;

	if (!mac_random(number, RDMABLK_ID_LEN))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(number, 0, RDMABLK_ID_LEN);
	memcpy(number, &now, min_u64(sizeof(now), RDMABLK_ID_LEN));
}

static void to_hex(const uint8_t *id, char *text)
{
	for (size_t i = 0; i < RDMABLK_ID_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static bool from_hex(const char *text, uint8_t *id)
{
	if (strspn(text, "0123456789abcdef") < DIGITS)
		return false;
	for (size_t i = 0; i < RDMABLK_ID_LEN; i++)
		if (sscanf(text + 2 * i, "%2hhx", &id[i]) != 1)
			return false;
	return true;
}

/* Return: whether @fd is a regular file, and not the place that is open already. */
static bool is_place(int fd)
{
	struct stat st, first;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       (losses.fd[0] < 0 || fstat(losses.fd[0], &first) ||
		first.st_dev != st.st_dev || first.st_ino != st.st_ino);
}

static int open_place(const char *path)
{
	char dir[PATH_MAX];
	int fd;

	if (!path[0])
		return -1;
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (mkdir(dir, 0755) && errno != EEXIST)
		log_debug("cannot make %s: %s", dir, strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		  0644);
	if (fd >= 0 && is_place(fd))
		return fd;
	log_debug("%s is not used", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Opens the places when the first file needs them. The lock is held. */
static void open_places(void)
{
	bool any = false;

	if (losses.open)
		return;
	losses.open = true;
	for (size_t i = 0; i < PLACES; i++) {
		losses.fd[i] = open_place(losses.path[i]);
		any = any || losses.fd[i] >= 0;
	}
	losses.none = !any;
	if (!any)
		draw(losses.own);
}

/* The epoch of an uncached file depends on the places. The lock is held. */
static void warn_of_none(const char *name)
{
	if (!losses.none || losses.said)
		return;
	losses.said = true;
	log_warn("export %s: cannot write %s: initiators with unflushed writes will not go on when the daemon has been restarted (--state-dir)",
		 name, losses.path[0]);
}

/**
 * sync_errors_init - choose the places, before the first file is opened
 * @dir: first directory for notes
 * @other: second directory for notes
 */
void sync_errors_init(const char *dir, const char *other)
{
	const char *dirs[PLACES] = { dir, other };

	for (size_t i = 0; i < PLACES; i++)
		if ((size_t)snprintf(losses.path[i], PATH_MAX, "%s/" SYNC_ERRORS_FILE,
				     dirs[i]) >= PATH_MAX)
			losses.path[i][0] = '\0';
}

/**
 * sync_errors_exit - undo sync_errors_init(); no file is open
 */
void sync_errors_exit(void)
{
	for (size_t i = 0; i < PLACES; i++) {
		/* A write that still hangs would go to another file that gets the number. */
		if (losses.fd[i] >= 0 && !atomic_load(&losses.writers[i]))
			close(losses.fd[i]);
		losses.fd[i] = -1;
	}
	losses.open = false;
	losses.none = false;
	losses.said = false;
	memset(losses.own, 0, sizeof(losses.own));
}

/**
 * sync_errors_open - open the places for a cached file
 *
 * It has no epoch from here, but a sync of it may be the one that reports a loss of the disk. That
 * is noted for uncached files of other processes, and for those exported later.
 */
void sync_errors_open(void)
{
	pthread_mutex_lock(&losses.lock);
	open_places();
	pthread_mutex_unlock(&losses.lock);
}

/**
 * sync_errors_opened - tell whether notes were read since another call
 *
 * They are read when an uncached file is opened.
 *
 * Return: a number that changes with each one. Never 0 when there has been one.
 */
unsigned int sync_errors_opened(void)
{
	return atomic_load(&losses.opened);
}

/* Combines all numbers that a place has for either identity. Ignores lines cut short. */
static int read_notes(const char *path, const uint8_t *identity, const uint8_t *disk,
		      uint8_t *sum)
{
	uint8_t id[RDMABLK_ID_LEN], number[RDMABLK_ID_LEN];
	char line[128];
	FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (strlen(line) == 2 * DIGITS + 2 && line[DIGITS] == ' ' &&
		    from_hex(line, id) && from_hex(line + DIGITS + 1, number) &&
		    (!memcmp(id, identity, sizeof(id)) || !memcmp(id, disk, sizeof(id))))
			combine(sum, number);
	if (ferror(file)) {
		fclose(file);
		return -EIO;
	}
	fclose(file);
	return 0;
}

static int epoch_of(const uint8_t *identity, const uint8_t *sum, uint8_t *epoch)
{
	static const uint8_t none[RDMABLK_ID_LEN];
	uint8_t both[2 * RDMABLK_ID_LEN], digest[MAC_DIGEST_LEN];
	int ret;

	memcpy(epoch, identity, RDMABLK_ID_LEN);
	if (!memcmp(sum, none, sizeof(none)))
		return 0;
	memcpy(both, identity, RDMABLK_ID_LEN);
	memcpy(both + RDMABLK_ID_LEN, sum, RDMABLK_ID_LEN);
	ret = mac_digest(LABEL, both, sizeof(both), digest);
	if (!ret)
		memcpy(epoch, digest, RDMABLK_ID_LEN);
	return ret;
}

/**
 * sync_errors_epoch - the epoch of a file that is being opened
 * @name: name of the export, for messages
 * @identity: identity of the file, from file_epoch()
 * @disk: identity of its disk, from file_disk()
 * @epoch: result, RDMABLK_ID_LEN bytes; sync_errors_note() with either identity changes it
 *
 * Return: 0 or -errno, logged.
 */
int sync_errors_epoch(const char *name, const uint8_t *identity, const uint8_t *disk,
		      uint8_t *epoch)
{
	uint8_t sum[RDMABLK_ID_LEN];
	int ret = 0;

	pthread_mutex_lock(&losses.lock);
	open_places();
	warn_of_none(name);
	atomic_fetch_add(&losses.opened, 1);
	memcpy(sum, losses.own, sizeof(sum));
	for (size_t i = 0; !ret && i < PLACES; i++) {
		if (losses.fd[i] < 0)
			continue;
		ret = read_notes(losses.path[i], identity, disk, sum);
		if (ret)
			log_err("export %s: cannot read %s: %s", name, losses.path[i],
				strerror(-ret));
	}
	pthread_mutex_unlock(&losses.lock);
	return ret ?: epoch_of(identity, sum, epoch);
}

/* Writes a line; begins with a line feed, because the last line may have been cut short. */
static bool append(int fd, const uint8_t *identity, const uint8_t *number)
{
	char line[2 * DIGITS + 8] = "\n";

	if (fd < 0)
		return false;
	to_hex(identity, line + 1);
	line[1 + DIGITS] = ' ';
	to_hex(number, line + 2 + DIGITS);
	line[2 + 2 * DIGITS] = '\n';
	return write(fd, line, 2 * DIGITS + 3) == 2 * DIGITS + 3;
}

/*
 * Notes a loss in one place. Each note has a number of its own, because equal numbers would
 * cancel each other when all are combined. Takes no lock, because a write to a disk that hangs
 * may never return. None is needed: there are files, so the places are open, and their
 * descriptors do not change.
 */
static bool note_in(int fd, const uint8_t *identity)
{
	uint8_t number[RDMABLK_ID_LEN];

	draw(number);
	return append(fd, identity, number);
}

static void cannot_note(const char *name)
{
	log_err("export %s: its loss cannot be noted: restart every initiator of it before it is exported by another process",
		name);
}

static void cannot_note_disk(const char *name)
{
	log_err("export %s: a loss of its disk cannot be noted: if uncached files of that disk were exported before, restart their initiators",
		name);
}

/*
 * A write of a note by a thread that may hang: its place may be on the disk that fails. users:
 * the thread, and the thread that waits for it; the last one frees the struct. It is not a job of
 * a worker (worker.h), because a worker whose job hangs cannot be freed.
 */
struct timed_note {
	uint8_t identity[RDMABLK_ID_LEN];
	size_t place;
	int fd;
	bool noted;
	atomic_uint users;
};

static void timed_note_put(struct timed_note *timed)
{
	if (atomic_fetch_sub(&timed->users, 1) == 1)
		free(timed);
}

static void *timed_note_run(void *data)
{
	struct timed_note *timed = data;

	timed->noted = note_in(timed->fd, timed->identity);
	atomic_fetch_sub(&losses.writers[timed->place], 1);
	timed_note_put(timed);
	return NULL;
}

/* Return: whether the place has the note; also false if the write hangs. */
static bool note_in_time(size_t place, const uint8_t *identity)
{
	struct timed_note *timed = calloc(1, sizeof(*timed));
	struct timespec end;
	pthread_t thread;
	bool noted = false;

	if (!timed)
		return false;
	memcpy(timed->identity, identity, sizeof(timed->identity));
	timed->place = place;
	timed->fd = losses.fd[place];
	atomic_init(&timed->users, 2);
	if (atomic_fetch_add(&losses.writers[place], 1) >= HANGING ||
	    thread_start(&thread, "loss-note", timed_note_run, timed)) {
		atomic_fetch_sub(&losses.writers[place], 1);
		free(timed);
		return false;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += NOTE_S;
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end))
		pthread_detach(thread);
	else
		noted = timed->noted;
	timed_note_put(timed);
	return noted;
}

/* Notes a loss in all places. Return: whether another process can learn of it. */
static bool note(const uint8_t *identity)
{
	uint8_t number[RDMABLK_ID_LEN];
	/* In memory, so it does not hang. */
	bool noted = note_in(losses.fd[PLACES - 1], identity);

	for (size_t i = PLACES - 1; i--;)
		noted |= losses.fd[i] >= 0 && note_in_time(i, identity);
	if (noted)
		return true;
	draw(number);
	pthread_mutex_lock(&losses.lock);
	combine(losses.own, number);
	pthread_mutex_unlock(&losses.lock);
	return false;
}

/**
 * sync_errors_note - note that a file, or files of a disk, may have lost acknowledged writes
 * @name: name of the export, for messages
 * @identity: @identity or @disk, as for sync_errors_epoch()
 *
 * Any thread but the loop's: waits for the state directory NOTE_S seconds at most.
 */
void sync_errors_note(const char *name, const uint8_t *identity)
{
	if (!note(identity))
		cannot_note(name);
}

/**
 * sync_errors_note_disk - as sync_errors_note(), of a loss that a cached file's sync has reported
 * @name: name of its export, which has lost nothing
 * @disk: @disk, as for sync_errors_epoch()
 */
void sync_errors_note_disk(const char *name, const uint8_t *disk)
{
	if (!note(disk))
		cannot_note_disk(name);
}

/*
 * One place is enough: the next process reads both. The second is written only when the first,
 * in memory, has failed, and is waited for NOTE_S seconds at most.
 */
static bool note_last(const uint8_t *identity)
{
	for (size_t i = PLACES; i--;)
		if (losses.fd[i] >= 0 && note_in_time(i, identity))
			return true;
	return false;
}

/**
 * sync_errors_note_last - as sync_errors_note(), in a process that ends at once
 * @name: name of the export, for messages
 * @identity: @identity or @disk, as for sync_errors_epoch()
 *
 * Any thread.
 */
void sync_errors_note_last(const char *name, const uint8_t *identity)
{
	if (!note_last(identity))
		cannot_note(name);
}

/**
 * sync_errors_note_disk_last - as sync_errors_note_disk(), in a process that ends at once
 * @name: name of its export
 * @disk: @disk, as for sync_errors_epoch()
 *
 * Any thread.
 */
void sync_errors_note_disk_last(const char *name, const uint8_t *disk)
{
	if (!note_last(disk))
		cannot_note_disk(name);
}
