// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a file or block device is told besides reading and writing: where its data
 * is, to discard, zero and erase, and what its errors mean.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "store/file.h"

#define ZEROES		(1U << 20)	/* written at once, bytes */

/**
 * file_data - the next piece that may hold other than zeroes
 * @f: open file
 * @from: where to look from
 * @start: where it begins; the end of the export: there is none
 * @end: behind its last byte; at most the end of the export
 *
 * Return: 0 or -errno. A file system or device that knows no holes has none.
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

/* A fault on demand; there are no half operations of these kinds. */
static int faulty(const struct file *f, enum store_fault_op op, uint64_t offset,
		  uint64_t bytes)
{
	return store_fault(f->fault, op, offset, &bytes);
}

/**
 * file_discard - give space back
 * @f: open file
 * @offset: multiple of the logical block
 * @bytes: too; at most @f->max_discard
 *
 * The range reads as anything afterwards, of a regular file as zeroes.
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

/* Zeroes as data, where there is no other way. */
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
 * One way to zero; @refused: it is none here, and need not be tried again.
 *
 * Return: 0, -errno, or 1: another way has to be found
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
 * @bytes: too; at most @f->max_zeroes
 * @keep: its space stays its own
 *
 * Never by BLKDISCARD, after which a range may read as anything. PUNCH_HOLE on a
 * block device either leaves zeroes or is refused.
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
 * @bytes: too
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
 * file_reason - what an error of the store is called on the wire
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
