// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file or block device behind an export: opening, geometry, size, and all operations
 * except reading and writing: search for data, discard, zero, erase.
 *
 * One export of one daemon may have the file. A regular file carries an flock; a block device
 * is opened with O_EXCL, which keeps mounts and other devices away, too. Both locks belong to
 * the open file, not to the process: O_DIRECT writes that outlive a killed daemon hold the
 * lock, and no other daemon opens the file before they end. For that, direct I/O must use the
 * descriptor that has the lock.
 *
 * If the file system takes O_DIRECT, there is a second descriptor without it, for requests
 * that are not aligned as O_DIRECT demands. Its I/O never outlives the process, because
 * threads of the process write to the page cache.
 *
 * The geometry of a device comes from ioctls and sysfs. For a file it comes from the file
 * system, or is found by trying operations that cannot change a byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/sandbox.h"
#include "base/util.h"
#include "store/disk_stack.h"
#include "store/file.h"

#define LOCK_WAIT_MS	2000	/* until the writes of a killed daemon must have ended */
#define LOCK_STEP_MS	10
#define AT_ONCE		(1ULL << 30)	/* bytes discarded or zeroed at a time, at most */
#define MAX_PHYSICAL	65536		/* largest value in GRANT */
#define MAX_IO_HINT	(1U << 30)
#define MIN_MAX_IO	4096		/* smallest value in GRANT */
#define DEFAULT_BLOCK	512
#define DEFAULT_ALIGN	4096		/* of O_DIRECT, if the kernel does not say */
#define ZEROES		(1U << 20)	/* written at once, bytes */

/*
 * Geometry
 */

/* File systems with checksums over data, and one that may have its files on such */
static const long checksummed[] = {
	BTRFS_SUPER_MAGIC, 0xca451a4e /* bcachefs */, 0x2fc12fc1 /* zfs */, OVERLAYFS_SUPER_MAGIC,
};

/* Return: a number that sysfs has for a block device or its disk; or 0. */
static uint64_t attribute_of(dev_t dev, const char *name)
{
	char text[32];

	return disk_attribute(dev, name, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

static uint64_t attribute(const struct file *f, const char *name)
{
	return attribute_of(f->ino, name);
}

static uint32_t block_size(const struct file *f, unsigned long request)
{
	unsigned int size = 0;

	if (ioctl(f->fd, request, &size) || !is_power_of_two(size))
		return DEFAULT_BLOCK;
	return size;
}

/* Asks to erase an invalid range: a device that cannot erase has another error than EINVAL. */
static bool can_erase(const struct file *f)
{
	uint64_t range[2] = { 1, 1 };

	return ioctl(f->fd, BLKSECDISCARD, range) && errno == EINVAL;
}

static void device_discard(struct file *f)
{
	uint64_t granularity = attribute(f, "queue/discard_granularity");

	f->max_discard = min_u64(attribute(f, "queue/discard_max_bytes"), AT_ONCE);
	f->max_discard -= f->max_discard % f->logical_block;
	if (!f->max_discard)
		return;
	if (!is_power_of_two(granularity) || granularity > UINT_MAX ||
	    granularity < f->logical_block)
		granularity = f->logical_block;
	f->discard_granularity = (uint32_t)granularity;
	f->discard_alignment = (uint32_t)(attribute(f, "discard_alignment") &
					  (granularity - 1));
	f->discard_alignment -= f->discard_alignment % f->logical_block;
}

static int device_geometry(struct file *f, uint32_t block)
{
	uint32_t logical = block_size(f, BLKSSZGET);

	f->logical_block = block ?: logical;
	if (f->logical_block != 512 && f->logical_block != 4096) {
		log_err("export %s: %s has blocks of %u bytes; 512 and 4096 can be exported",
			f->name, f->path, f->logical_block);
		return -EINVAL;
	}
	if (f->logical_block < logical) {
		log_err("export %s: %s has blocks of %u bytes, an export cannot have smaller ones",
			f->name, f->path, logical);
		return -EINVAL;
	}
	f->align = logical;
	f->mem_align = logical;
	f->physical_block = block_size(f, BLKPBSZGET);
	/* A stacked device says that it has FUA, and flushes a cache below instead. */
	f->fua = attribute(f, "queue/fua") && !disk_stacked(f->ino);
	f->rotational = attribute(f, "queue/rotational");
	f->stable = attribute(f, "queue/stable_writes");
	f->copies = disk_copies(f->ino);
	f->io_min = (uint32_t)min_u64(attribute(f, "queue/minimum_io_size"), MAX_IO_HINT);
	f->io_opt = (uint32_t)min_u64(attribute(f, "queue/optimal_io_size"), MAX_IO_HINT);
	f->max_io = (uint32_t)min_u64(attribute(f, "queue/max_hw_sectors_kb") << 10,
				      MAX_IO_HINT);
	if (f->read_only)
		return 0;
	device_discard(f);
	f->max_zeroes = AT_ONCE;
	if (can_erase(f)) {
		f->max_erase = AT_ONCE;
		f->erase_granularity = f->discard_granularity ?: f->logical_block;
	}
	return 0;
}

/*
 * Without an alignment O_DIRECT does nothing: a file of ext4 that is encrypted, or whose data is
 * journalled, for example, then uses the page cache.
 */
static void file_direct_align(struct file *f)
{
	struct statx stx;

	f->align = DEFAULT_ALIGN;
	f->mem_align = DEFAULT_ALIGN;
	if (syscall(SYS_statx, f->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) ||
	    !(stx.stx_mask & STATX_DIOALIGN))
		return;
	if (!stx.stx_dio_offset_align && f->direct) {
		f->direct = false;
		fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_DIRECT);
	}
	if (is_power_of_two(stx.stx_dio_offset_align) &&
	    is_power_of_two(stx.stx_dio_mem_align)) {
		f->align = stx.stx_dio_offset_align;
		f->mem_align = stx.stx_dio_mem_align;
	}
}

/* Whether holes can be punched. Tries it behind the end of the file, where no data is. */
static bool can_punch(const struct file *f)
{
	struct stat st;

	return !fstat(f->fd, &st) &&
	       !fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)round_up((uint64_t)st.st_size, f->unit), f->unit);
}

static int regular_geometry(struct file *f, uint32_t block)
{
	struct statfs fs;

	if (fstatfs(f->fd, &fs))
		fs.f_bsize = 0;
	f->unit = DEFAULT_ALIGN;
	if (fs.f_bsize >= 512 && is_power_of_two((uint64_t)fs.f_bsize))
		f->unit = (uint32_t)min_u64((uint64_t)fs.f_bsize, 1U << 30);
	f->stable = attribute_of(f->dev, "queue/stable_writes");
	f->copies = disk_copies(f->dev);
	for (size_t i = 0; i < ARRAY_SIZE(checksummed); i++)
		if (fs.f_bsize && fs.f_type == checksummed[i])
			f->stable = true;
	f->logical_block = block ?: DEFAULT_BLOCK;
	file_direct_align(f);
	if (f->direct && f->align > f->logical_block)
		log_warn("export %s: direct I/O on %s wants blocks of %u bytes; the export uses the page cache, too",
			 f->name, f->path, f->align);
	f->physical_block = f->unit > f->align ? f->unit : f->align;
	if (!f->read_only)
		f->max_zeroes = AT_ONCE;
	return 0;
}

static uint32_t hint(uint32_t value, uint32_t block)
{
	return value % block ? 0 : value;
}

/*
 * Fills in what an open file can do; @block: logical block of the export, bytes, or 0.
 *
 * Return: 0 or -errno, logged.
 */
static int file_geometry(struct file *f, uint32_t block)
{
	int ret = f->block_device ? device_geometry(f, block) :
				    regular_geometry(f, block);

	if (ret)
		return ret;
	if (f->physical_block < f->logical_block)
		f->physical_block = f->logical_block;
	if (f->physical_block > MAX_PHYSICAL)
		f->physical_block = MAX_PHYSICAL;
	f->io_min = hint(f->io_min, f->logical_block);
	f->io_opt = hint(f->io_opt, f->logical_block);
	f->max_io -= f->max_io % f->logical_block;
	if (f->max_io < MIN_MAX_IO)
		f->max_io = 0;
	return 0;
}

/*
 * Opening
 */

static int open_failed(const struct file *f, int ret)
{
	const char *hint = "";

	if (!f->read_only && (ret == -EROFS || ret == -EACCES || ret == -EPERM))
		hint = "; \"ro\" exports it read-only";
	log_err("export %s: cannot open %s: %s%s%s", f->name, f->path,
		strerror(-ret), sandbox_hint(-ret), hint);
	return ret;
}

static void identify(struct file *f, const struct stat *st)
{
	f->block_device = S_ISBLK(st->st_mode);
	f->dev = f->block_device ? 0 : st->st_dev;
	f->ino = f->block_device ? st->st_rdev : st->st_ino;
	f->named = !f->block_device && st->st_nlink;
}

static int look_at(struct file *f, int fd)
{
	struct stat st;

	/* Look before opening: opening another kind of device may have effects. */
	if (fd < 0 ? stat(f->path, &st) : fstat(fd, &st))
		return open_failed(f, -errno);
	identify(f, &st);
	if (f->block_device || S_ISREG(st.st_mode))
		return 0;
	log_err("export %s: %s is neither a file nor a block device", f->name,
		f->path);
	return -EINVAL;
}

/**
 * struct file_claim - a file that an export of this process is made of
 * @entry: in the list of claims
 * @dev: as in struct file
 * @ino: as in struct file
 * @block_device: as in struct file
 * @name: name of the export
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

/*
 * Claims a file for one export of this process. The lock of the file would keep other exports
 * away, too, but they would wait for it, and could not say which export has the file.
 */
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

/* Return: a descriptor or -errno; -EBUSY: another process has the file */
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
	int64_t until = loop_now() + LOCK_WAIT_MS;
	int fd = open_locked(f, flags);

	/* By the clock: in a network file system a try alone takes some milliseconds. */
	while (fd == -EBUSY && loop_now() < until) {
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

/* Checks that both descriptors are of the file that look_at() has seen. */
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

static int size_export(struct file *f, uint64_t size)
{
	uint64_t have = 0;
	int ret = file_size(f, &have);

	if (ret)
		return open_failed(f, ret);
	f->size = size ?: have;
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

static int measure(struct file *f, const struct file_params *params)
{
	file_stamp(f, &f->stamp);
	return file_geometry(f, params->block) ?: size_export(f, params->size);
}

/**
 * file_open - open, lock and measure the file or block device of an export
 * @f: result
 * @params: how to open it
 *
 * Waits up to 2 s for another process that has the file and may be dying.
 *
 * Return: 0 or -errno, logged; -EBUSY: another process has the file. After an error nothing
 * stays open.
 */
int file_open(struct file *f, const struct file_params *params)
{
	int ret;

	*f = (struct file){
		.name = params->name,
		.path = params->path,
		.read_only = params->read_only,
		.fd = -1,
		.buffered = -1,
	};
	ret = look_at(f, -1) ?: claim_file(f);
	if (ret)
		return ret;
	ret = store_fault_open(&f->fault, params->fault) ?: open_both(f) ?:
	      check_identity(f) ?: measure(f, params);
	if (ret)
		file_close(f);
	else if (!f->direct)
		log_warn("export %s: %s takes no direct I/O; the page cache is used",
			 f->name, f->path);
	return ret;
}

/**
 * file_probe - find out whether holes can be punched in a file, by punching one
 * @f: open file; gets its limits for discards, and its stamp
 *
 * Changes the times of the file. An open that fails before this call has changed nothing, so the
 * stamp in a kept arena is still right.
 */
void file_probe(struct file *f)
{
	if (f->block_device || f->read_only)
		return;
	if (can_punch(f)) {
		f->max_discard = AT_ONCE;
		f->discard_granularity = f->unit > f->logical_block ? f->unit : f->logical_block;
	}
	file_stamp(f, &f->stamp);
}

/**
 * file_check - whether file_open() could open the file or block device of an export
 * @params: how to open it
 *
 * Takes no lock and changes nothing: a daemon may be serving the file.
 *
 * Return: 0 or -errno, logged.
 */
int file_check(const struct file_params *params)
{
	struct file f = {
		.name = params->name,
		.path = params->path,
		.read_only = params->read_only,
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
	f.read_only = true;	/* the limits for writing are not needed */
	ret = file_geometry(&f, params->block) ?: size_export(&f, params->size);
	file_close(&f);
	return ret;
}

/**
 * file_close - close a file and release its lock
 * @f: file; if it is closed already nothing happens
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
 * file_drop_cached - drop what the page cache has of a part of a file
 * @f: open file
 * @at: first byte
 * @bytes: number of bytes
 *
 * After a failed write-back the page cache may have data that the disk does not have, and nothing
 * writes that data any more. Data that is still to be written stays.
 */
void file_drop_cached(const struct file *f, uint64_t at, uint64_t bytes)
{
	posix_fadvise(f->buffered, (off_t)at, (off_t)bytes, POSIX_FADV_DONTNEED);
}

/*
 * Size and identity
 */

/**
 * file_size - the size of a file now
 * @f: open file
 * @size: result, bytes
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
 * file_grown - the size that an export can have after its file has grown
 * @f: open file
 * @fixed: the export's size is configured, and changes only to a size that is asked for
 * @size: in: size asked for, or 0: all of the file; out: size that the export can have, bytes
 *
 * Return: 0; -ERANGE: the file has become smaller than the export; -errno. Logged.
 */
int file_grown(const struct file *f, bool fixed, uint64_t *size)
{
	uint64_t have = 0, asked = *size;
	int ret = file_size(f, &have);

	if (ret) {
		log_err("export %s: %s: %s", f->name, f->path, strerror(-ret));
		return ret;
	}
	have -= have % f->logical_block;
	*size = asked ?: fixed ? f->size : have;
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
 * file_shrunk - whether a file has become too short for its export
 * @f: open file
 *
 * Callers ask before they write: a write past the end would make the file longer again, with
 * zeroes in the place of the data that was cut off. Logged once.
 *
 * Return: true: too short. Any thread.
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
 * file_removed - whether the file of an export has lost its last name
 * @f: open file
 *
 * It was removed, or another file was renamed over it. Data written to it is durable only until
 * it is closed, so no FLUSH may succeed. Logged once.
 *
 * Return: true: removed. Any thread.
 */
bool file_removed(struct file *f)
{
	struct stat st;

	if (!f->named || fstat(f->fd, &st) || st.st_nlink)
		return false;
	if (!__atomic_exchange_n(&f->removed_said, true, __ATOMIC_RELAXED))
		log_err("export %s: %s was removed or replaced; what is written to it is lost when it is closed, and no FLUSH succeeds",
			f->name, f->path);
	return true;
}

/**
 * file_aligned - whether direct I/O takes a request
 * @f: open file
 * @buf: memory of the request
 * @offset: offset in the file, bytes
 * @bytes: number of bytes
 *
 * Return: true: the request may use @f->fd; false: it uses @f->buffered.
 */
bool file_aligned(const struct file *f, const void *buf, uint64_t offset,
		  uint64_t bytes)
{
	return !f->direct || (!((offset | bytes) & (f->align - 1)) &&
			      !((uintptr_t)buf & (f->mem_align - 1)));
}

/**
 * file_same - whether two are the same file or device, whatever their paths
 * @a: looked at
 * @b: looked at
 *
 * Return: true: the same.
 */
bool file_same(const struct file *a, const struct file *b)
{
	return a->block_device == b->block_device && a->dev == b->dev &&
	       a->ino == b->ino;
}

/**
 * file_block - logical block of an export whose configuration names none
 * @path: path of its file; NULL: there is no file
 *
 * Return: bytes: that of the device, or 512 for a regular file; 0: no file, or an error.
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
 * file_stamp - the state of a file now
 * @f: open file
 * @out: result; that of a block device is not known
 */
void file_stamp(const struct file *f, struct file_stamp *out)
{
	struct stat st;

	*out = (struct file_stamp){ .nsec = -1 };
	if (f->block_device || fstat(f->fd, &st))
		return;
	*out = (struct file_stamp){
		.sec = st.st_mtim.tv_sec,
		.nsec = st.st_mtim.tv_nsec,
		.changed_sec = st.st_ctim.tv_sec,
		.changed_nsec = st.st_ctim.tv_nsec,
		.bytes = (uint64_t)st.st_size,
	};
}

/**
 * file_stamp_same - whether two stamps of a file are known and equal
 * @a: stamp
 * @b: stamp
 *
 * Return: true: the file has not changed between them, or has in one tick of the clock.
 */
bool file_stamp_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->nsec >= 0 && !memcmp(a, b, sizeof(*a));
}

/*
 * Operations other than reading and writing
 */

/**
 * file_data - find the next piece that may have data other than zeroes
 * @f: open file
 * @from: offset from which to search
 * @start: result, offset of the piece; the end of the export: there is no such piece
 * @end: result, offset behind the piece; at most the end of the export
 *
 * If the file system or device does not know holes, all of the file is one piece.
 *
 * Return: 0 or -errno.
 */
int file_data(const struct file *f, uint64_t from, uint64_t *start, uint64_t *end)
{
	off_t data, hole;

	*start = from;
	*end = f->size;
	if (f->block_device || from >= f->size)
		return 0;
	data = lseek(f->buffered, (off_t)from, SEEK_DATA);
	if (data < 0 && errno == ENXIO) {
		*start = f->size;
		return 0;
	}
	if (data < 0)
		return errno == EINVAL || errno == EOPNOTSUPP ? 0 : -errno;
	hole = lseek(f->buffered, data, SEEK_HOLE);
	if (hole < 0)
		return errno == ENXIO ? 0 : -errno;
	*start = min_u64((uint64_t)data, f->size);
	*end = min_u64((uint64_t)hole, f->size);
	return 0;
}

static int ioctl_range(const struct file *f, unsigned long request,
		       uint64_t offset, uint64_t bytes)
{
	uint64_t range[2] = { offset, bytes };

	return ioctl(f->fd, request, range) ? -errno : 0;
}

static int allocate(const struct file *f, int mode, uint64_t offset, uint64_t bytes)
{
	int ret;

	do {
		ret = fallocate(f->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)offset,
				(off_t)bytes) ? -errno : 0;
	} while (ret == -EINTR);
	return ret;
}

/* Applies the rules of faults. A rule cannot shorten these operations. */
static int faulty(const struct file *f, enum store_fault_op op, uint64_t offset,
		  uint64_t bytes)
{
	return store_fault(f->fault, op, offset, &bytes);
}

/**
 * file_discard - free the space of a range
 * @f: open file
 * @offset: multiple of the logical block
 * @bytes: multiple of the logical block, at most @f->max_discard
 *
 * Afterwards the range of a regular file reads as zeroes; that of a device may read as
 * anything.
 *
 * Return: 0 or -errno. Any thread; may take long.
 */
int file_discard(struct file *f, uint64_t offset, uint64_t bytes)
{
	int ret = faulty(f, STORE_FAULT_DISCARD, offset, bytes);

	if (ret)
		return ret;
	if (f->block_device)
		return ioctl_range(f, BLKDISCARD, offset, bytes);
	return file_shrunk(f) ? -EIO : allocate(f, FALLOC_FL_PUNCH_HOLE, offset, bytes);
}

/* Writes zeroes as data, if there is no other way. */
static int write_zeroes(const struct file *f, uint64_t offset, uint64_t bytes)
{
	void *zeroes __cleanup_free = calloc(1, ZEROES);

	if (!zeroes)
		return -ENOMEM;
	while (bytes) {
		ssize_t n = pwrite(f->buffered, zeroes, min_u64(bytes, ZEROES),
				   (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static bool unsupported(int ret)
{
	return ret == -EOPNOTSUPP || ret == -EINVAL;
}

/*
 * Tries one way to zero. @refused: set if this way does not work for the file, so that it is
 * not tried again.
 *
 * Return: 0; -errno; or 1: the caller has to try another way.
 */
static int try_zero(struct file *f, bool *refused, int mode, uint64_t offset,
		    uint64_t bytes)
{
	int ret;

	if (__atomic_load_n(refused, __ATOMIC_RELAXED))
		return 1;
	ret = allocate(f, mode, offset, bytes);
	if (!unsupported(ret))
		return ret;
	__atomic_store_n(refused, true, __ATOMIC_RELAXED);
	return 1;
}

/**
 * file_zero - make a range read as zeroes
 * @f: open file
 * @offset: multiple of the logical block
 * @bytes: multiple of the logical block, at most @f->max_zeroes
 * @keep: the range keeps its space
 *
 * Never uses BLKDISCARD, after which a range may read as anything. PUNCH_HOLE on a block
 * device either leaves zeroes or is refused.
 *
 * Return: 0 or -errno. Any thread; may take long.
 */
int file_zero(struct file *f, uint64_t offset, uint64_t bytes, bool keep)
{
	int ret = faulty(f, STORE_FAULT_ZERO, offset, bytes);

	if (ret || file_shrunk(f))
		return ret ?: -EIO;
	ret = 1;
	if (!keep)
		ret = try_zero(f, &f->no_punch, FALLOC_FL_PUNCH_HOLE, offset, bytes);
	if (ret == 1 && f->block_device)
		return ioctl_range(f, BLKZEROOUT, offset, bytes);
	if (ret == 1)
		ret = try_zero(f, &f->no_range, FALLOC_FL_ZERO_RANGE, offset, bytes);
	return ret == 1 ? write_zeroes(f, offset, bytes) : ret;
}

/**
 * file_erase - make the contents of a range irretrievable
 * @f: open block device with @f->max_erase
 * @offset: multiple of the logical block
 * @bytes: multiple of the logical block
 *
 * Return: 0 or -errno. Any thread; may take long.
 */
int file_erase(struct file *f, uint64_t offset, uint64_t bytes)
{
	int ret = faulty(f, STORE_FAULT_DISCARD, offset, bytes);

	if (ret)
		return ret;
	return f->block_device ? ioctl_range(f, BLKSECDISCARD, offset, bytes) : -EOPNOTSUPP;
}

/**
 * file_reason - reason on the wire for an error of the store
 * @ret: 0 or -errno
 *
 * Return: enum rdmablk_reason.
 */
unsigned int file_reason(int ret)
{
	switch (-ret) {
	case 0:
		return RDMABLK_OK;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return RDMABLK_R_STORE_SPACE;
	case EROFS:
	case EPERM:
	case EACCES:
		return RDMABLK_R_STORE_READ_ONLY;
	case EOPNOTSUPP:
		return RDMABLK_R_UNSUPPORTED;
	default:
		return RDMABLK_R_STORE_IO;
	}
}
