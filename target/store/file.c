// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening a file or block device for an export.
 *
 * Who may have it: one export of one daemon. A regular file carries an flock, a
 * block device is opened O_EXCL, which keeps mounts and other devices away as well.
 * Both belong to the open file itself, not to the process: O_DIRECT writes that
 * outlive a killed daemon hold it, and no successor opens the file before they end.
 * That is why the descriptor that has the lock is the one direct I/O goes through.
 *
 * Where the file system takes O_DIRECT there is a second descriptor without it, for
 * requests that are not aligned as O_DIRECT wants. What goes through it never
 * outlives the process: the threads that write to the page cache are the process's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/util.h"
#include "store/file.h"
#include "store/file_geometry.h"

#define LOCK_WAIT_MS	2000	/* for the writes of a killed daemon to end */
#define LOCK_STEP_MS	10

static int open_failed(const struct file *f, int ret)
{
	const char *hint = "";

	if (!f->read_only && (ret == -EROFS || ret == -EACCES || ret == -EPERM))
		hint = "; \"ro\" exports it read-only";
	log_err("export %s: cannot open %s: %s%s", f->name, f->path,
		strerror(-ret), hint);
	return ret;
}

static void identify(struct file *f, const struct stat *st)
{
	f->block_device = S_ISBLK(st->st_mode);
	f->dev = f->block_device ? 0 : st->st_dev;
	f->ino = f->block_device ? st->st_rdev : st->st_ino;
}

static int look_at(struct file *f, int fd)
{
	struct stat st;

	/* Not opened yet: opening a device of another kind may do things. */
	if (fd < 0 ? stat(f->path, &st) : fstat(fd, &st))
		return open_failed(f, -errno);
	identify(f, &st);
	if (f->block_device || S_ISREG(st.st_mode))
		return 0;
	log_err("export %s: %s is neither a file nor a block device", f->name,
		f->path);
	return -EINVAL;
}

static void pause_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

/**
 * struct file_claim - a file that an export of this process is made of
 * @entry: in the list of them
 * @dev: as in struct file
 * @ino: likewise
 * @block_device: likewise
 * @name: of the export
 */
struct file_claim {
	LIST_ENTRY(file_claim) entry;
	uint64_t dev;
	uint64_t ino;
	bool block_device;
	char name[RDMABLK_NAME_LEN];
};

static struct {
	pthread_mutex_t lock;
	LIST_HEAD(, file_claim) list;
} claims = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Its lock would keep others away, but not say who they are, and be waited for. */
static int claim_file(struct file *f)
{
	struct file_claim *c, *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return open_failed(f, -ENOMEM);
	mine->dev = f->dev;
	mine->ino = f->ino;
	mine->block_device = f->block_device;
	snprintf(mine->name, sizeof(mine->name), "%s", f->name);
	pthread_mutex_lock(&claims.lock);
	LIST_FOREACH(c, &claims.list, entry)
		if (c->dev == f->dev && c->ino == f->ino &&
		    c->block_device == f->block_device)
			break;
	if (c)
		log_err("export %s: %s is what export %s is made of already", f->name,
			f->path, c->name);
	else
		LIST_INSERT_HEAD(&claims.list, mine, entry);
	pthread_mutex_unlock(&claims.lock);
	if (c)
		free(mine);
	else
		f->claim = mine;
	return c ? -EBUSY : 0;
}

static void disclaim(struct file *f)
{
	if (!f->claim)
		return;
	pthread_mutex_lock(&claims.lock);
	LIST_REMOVE(f->claim, entry);
	pthread_mutex_unlock(&claims.lock);
	free(f->claim);
	f->claim = NULL;
}

/* Return: a descriptor or -errno; -EBUSY: somebody has it */
static int open_locked(const struct file *f, int flags)
{
	int fd = open(f->path, flags | O_CLOEXEC | O_NOCTTY |
		      (f->read_only ? O_RDONLY : O_RDWR) |
		      (f->block_device ? O_EXCL : 0)), ret;

	if (fd < 0)
		return -errno;
	if (f->block_device || !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return ret;
}

static int open_waiting(const struct file *f, int flags)
{
	int fd = open_locked(f, flags);

	for (int ms = 0; fd == -EBUSY && ms < LOCK_WAIT_MS; ms += LOCK_STEP_MS) {
		pause_ms(LOCK_STEP_MS);
		fd = open_locked(f, flags);
	}
	if (fd == -EBUSY)
		log_err("export %s: %s is in use: %s", f->name, f->path,
			f->block_device ?
			"mounted, part of another device, or exported already" :
			"another daemon or export has locked it");
	return fd;
}

static int open_both(struct file *f)
{
	f->direct = true;
	f->fd = open_waiting(f, O_DIRECT);
	if (f->fd == -EINVAL) {
		f->direct = false;
		f->fd = open_waiting(f, 0);
	}
	f->buffered = f->fd;
	if (f->fd >= 0 && f->direct)
		f->buffered = open(f->path, O_CLOEXEC | O_NOCTTY |
				   (f->read_only ? O_RDONLY : O_RDWR));
	if (f->fd == -EBUSY)
		return f->fd;
	if (f->fd < 0)
		return open_failed(f, f->fd);
	return f->buffered < 0 ? open_failed(f, -errno) : 0;
}

/* The descriptors are what was looked at, both of them. */
static int check_identity(struct file *f)
{
	struct file seen = *f;
	int ret = look_at(&seen, f->fd);

	if (!ret && file_same(f, &seen))
		ret = look_at(&seen, f->buffered);
	if (ret || file_same(f, &seen))
		return ret;
	log_err("export %s: %s was replaced while it was opened", f->name, f->path);
	return -EAGAIN;
}

static int size_export(struct file *f, uint64_t wish)
{
	uint64_t have = 0;
	int ret = file_size(f, &have);

	if (ret)
		return open_failed(f, ret);
	f->size = wish ?: have;
	if (!have) {
		log_err("export %s: %s is empty", f->name, f->path);
	} else if (f->size > have) {
		log_err("export %s: %s has %llu bytes, not %llu", f->name, f->path,
			(unsigned long long)have, (unsigned long long)f->size);
	} else if (f->size % f->logical_block) {
		log_err("export %s: %s has %llu bytes, which is no multiple of a block of %u; size= takes less of it",
			f->name, f->path, (unsigned long long)f->size,
			f->logical_block);
	} else if (f->size > RDMABLK_MAX_SIZE) {
		log_err("export %s: %s is too large", f->name, f->path);
	} else {
		return 0;
	}
	return -EINVAL;
}

/**
 * file_open - open, lock and measure what an export is made of
 * @f: filled
 * @wish: how
 *
 * Waits for a moment when another process has it: that may be dying.
 *
 * Return: 0 or -errno, logged; -EBUSY: another has it. Nothing stays open then.
 */
int file_open(struct file *f, const struct file_wish *wish)
{
	int ret;

	*f = (struct file){
		.name = wish->name,
		.path = wish->path,
		.read_only = wish->read_only,
		.fd = -1,
		.buffered = -1,
	};
	ret = look_at(f, -1) ?: claim_file(f);
	if (ret)
		return ret;
	ret = store_fault_open(&f->fault, wish->fault) ?: open_both(f) ?:
	      check_identity(f) ?:
	      file_time(f, &f->found_sec, &f->found_nsec) ?:
	      file_geometry(f, wish->block) ?: size_export(f, wish->size);
	if (ret)
		file_close(f);
	else if (!f->direct)
		log_warn("export %s: %s takes no direct I/O; the page cache is used",
			 f->name, f->path);
	return ret;
}

/**
 * file_check - could file_open() have what an export is made of
 * @wish: how
 *
 * Takes no lock and changes nothing: a daemon may be serving the file.
 *
 * Return: 0 or -errno, logged.
 */
int file_check(const struct file_wish *wish)
{
	struct file f = {
		.name = wish->name,
		.path = wish->path,
		.read_only = wish->read_only,
		.fd = -1,
		.buffered = -1,
	};
	int ret = look_at(&f, -1);

	if (ret)
		return ret;
	if (!f.read_only && faccessat(AT_FDCWD, f.path, W_OK, AT_EACCESS))
		return open_failed(&f, -errno);
	f.fd = open(f.path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (f.fd < 0)
		return open_failed(&f, -errno);
	f.read_only = true;	/* what a writer needs to know is found out by writing */
	ret = file_geometry(&f, wish->block) ?: size_export(&f, wish->size);
	file_close(&f);
	return ret;
}

/**
 * file_close - close it and give up its lock
 * @f: file; closed already: nothing happens
 */
void file_close(struct file *f)
{
	if (f->buffered >= 0 && f->buffered != f->fd)
		close(f->buffered);
	if (f->fd >= 0)
		close(f->fd);
	disclaim(f);
	store_fault_close(f->fault);
	f->fault = NULL;
	f->fd = -1;
	f->buffered = -1;
}

/**
 * file_size - how large is it now
 * @f: open file
 * @size: bytes
 *
 * Return: 0 or -errno. Any thread.
 */
int file_size(const struct file *f, uint64_t *size)
{
	struct stat st;

	if (f->block_device)
		return ioctl(f->fd, BLKGETSIZE64, size) ? -errno : 0;
	if (fstat(f->fd, &st))
		return -errno;
	*size = (uint64_t)st.st_size;
	return 0;
}

/**
 * file_grown - how large may an export be by now
 * @f: open file
 * @fixed: the export was given its size, and has another one only when it is asked for
 * @size: wished for, or 0: all of the file; gets what it can have, bytes
 *
 * Return: 0; -ERANGE: the file has become smaller than the export; -errno. Logged.
 */
int file_grown(const struct file *f, bool fixed, uint64_t *size)
{
	uint64_t have = 0, wish = *size;
	int ret = file_size(f, &have);

	if (ret) {
		log_err("export %s: %s: %s", f->name, f->path, strerror(-ret));
		return ret;
	}
	have -= have % f->logical_block;
	*size = wish ?: fixed ? f->size : have;
	if (have < f->size) {
		log_err("export %s: %s has become shorter; it cannot be while it is exported",
			f->name, f->path);
		return -ERANGE;
	}
	if (*size < f->size) {
		log_err("export %s: it would get smaller than its %llu bytes", f->name,
			(unsigned long long)f->size);
		return -ERANGE;
	}
	if (*size % f->logical_block || *size > RDMABLK_MAX_SIZE) {
		log_err("export %s: it cannot have %llu bytes", f->name,
			(unsigned long long)*size);
		return -EINVAL;
	}
	if (*size > have) {
		log_err("export %s: %s has %llu bytes, not %llu", f->name, f->path,
			(unsigned long long)have, (unsigned long long)*size);
		return -EINVAL;
	}
	return 0;
}

/**
 * file_shrunk - is it too short for its export by now
 * @f: open file
 *
 * A write past the end would make a file longer again, as if what was cut off had
 * never been there: callers ask before they write. Logged once.
 *
 * Return: whether it is. Any thread.
 */
bool file_shrunk(struct file *f)
{
	uint64_t have = 0, size = __atomic_load_n(&f->size, __ATOMIC_RELAXED);

	if (!file_size(f, &have) && have >= size)
		return false;
	if (!__atomic_exchange_n(&f->shrunk_said, true, __ATOMIC_RELAXED))
		log_err("export %s: %s has become shorter than its export of %llu bytes",
			f->name, f->path, (unsigned long long)size);
	return true;
}

/**
 * file_aligned - does direct I/O take a request
 * @f: open file
 * @buf: of the request
 * @offset: in the file
 * @bytes: how many
 *
 * Return: whether it goes through @f->fd; else through @f->buffered.
 */
bool file_aligned(const struct file *f, const void *buf, uint64_t offset,
		  uint64_t bytes)
{
	return !f->direct || (!((offset | bytes) & (f->align - 1)) &&
			      !((uintptr_t)buf & (f->mem_align - 1)));
}

/**
 * file_same - are two the same file or device, whatever their paths
 * @a: looked at
 * @b: looked at
 *
 * Return: whether they are.
 */
bool file_same(const struct file *a, const struct file *b)
{
	return a->block_device == b->block_device && a->dev == b->dev &&
	       a->ino == b->ino;
}

/**
 * file_block - logical block of an export that is given none
 * @path: of its file; NULL: it has none
 *
 * Return: bytes: the device's, of a regular file 512; 0: it cannot be looked at.
 */
uint32_t file_block(const char *path)
{
	int fd __cleanup_close = -1, size = 0;
	struct stat st;

	if (!path || stat(path, &st))
		return 0;
	if (!S_ISBLK(st.st_mode))
		return 512;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 || ioctl(fd, BLKSSZGET, &size) ? 0 : (uint32_t)size;
}

/**
 * file_time - when was it last written
 * @f: open file
 * @sec: since the epoch of Unix
 * @nsec: of that second
 *
 * Nobody knows it of a block device: never the same twice.
 *
 * Return: 0 or -errno.
 */
int file_time(const struct file *f, int64_t *sec, int64_t *nsec)
{
	struct timespec now;
	struct stat st;

	if (f->block_device) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		*sec = -1 - now.tv_sec;
		*nsec = now.tv_nsec;
		return 0;
	}
	if (fstat(f->fd, &st))
		return -errno;
	*sec = st.st_mtim.tv_sec;
	*nsec = st.st_mtim.tv_nsec;
	return 0;
}
