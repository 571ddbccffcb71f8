// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identities of a file or block device: one that lasts for this boot of the host, as the
 * host's caches do; and one that lasts longer, for notes.
 *
 * Also whether the contents of a file have changed. The times of the file tell, but two
 * changes in one tick of the clock have the same time. So if a file has changed a moment ago,
 * this code waits until a further change is sure to have another time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "store/file_identity.h"
#include "wire/mac.h"

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"
#define TICK_MS		40	/* times of files have the resolution of a tick */
#define SECOND_MS	2100	/* or of one or two seconds, on some file systems */
#define STEP_MS		10

/* Return: the number of a file's device; if that is a partition, of the whole disk. */
static uint64_t disk_number(const struct file *f)
{
	uint64_t dev = f->block_device ? f->ino : f->dev;
	unsigned int whole[2];
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(dev),
		 minor(dev));
	if (access(path, F_OK))
		return dev;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major(dev), minor(dev));
	file = fopen(path, "re");
	if (!file)
		return dev;
	if (fscanf(file, "%u:%u", &whole[0], &whole[1]) == 2)
		dev = makedev(whole[0], whole[1]);
	fclose(file);
	return dev;
}

static int boot_id(char *boot, size_t size)
{
	int fd __cleanup_close = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	return fd < 0 || read(fd, boot, size) < 36 ? -EIO : 0;
}

static int digest_id(const char *label, const void *data, size_t size, uint8_t *id)
{
	uint8_t digest[MAC_DIGEST_LEN];
	int ret = mac_digest(label, data, size, digest);

	if (!ret)
		memcpy(id, digest, RDMABLK_ID_LEN);
	return ret;
}

/**
 * file_disk - identity of the disk whose cache an fdatasync of a file flushes
 * @f: open file
 * @id: result, RDMABLK_ID_LEN bytes; a reboot changes it. Two files with one identity are on
 *	one disk. Two files with different ones may be, too, on devices made of others.
 *
 * Return: 0 or -errno.
 */
int file_disk(const struct file *f, uint8_t *id)
{
	struct {
		char boot[40];
		uint64_t disk;
	} disk = { .disk = disk_number(f) };

	return boot_id(disk.boot, sizeof(disk.boot)) ?:
	       digest_id("rdmablk disk   1", &disk, sizeof(disk), id);
}

/* Finds the time at which a file was made. Return: false: the file system does not know it. */
static bool birth(const struct file *f, uint64_t *sec, uint64_t *nsec)
{
	struct statx stx;

	if (statx(f->fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) ||
	    !(stx.stx_mask & STATX_BTIME))
		return false;
	*sec = (uint64_t)stx.stx_btime.tv_sec;
	*nsec = stx.stx_btime.tv_nsec;
	return true;
}

/**
 * file_epoch - identity of the data that the host's caches hold of a file
 * @f: open file
 * @epoch: result, RDMABLK_ID_LEN bytes; a reboot changes it, and each file has its own
 *
 * Return: 0 or -errno.
 */
int file_epoch(const struct file *f, uint8_t *epoch)
{
	struct {
		char boot[40];
		uint64_t dev, ino, born_sec, born_nsec, disk_seq;
	} id = { .dev = f->dev, .ino = f->ino };
	int ret = boot_id(id.boot, sizeof(id.boot));

	if (ret)
		return ret;
	if (!f->block_device)
		birth(f, &id.born_sec, &id.born_nsec);
	/* Another device may have got the same number meanwhile; the sequence differs. */
	else if (ioctl(f->fd, BLKGETDISKSEQ, &id.disk_seq))
		id.disk_seq = 0;
	return digest_id("rdmablk file   1", &id, sizeof(id), epoch);
}

/**
 * file_stable_epoch - identity of a file that has all of what was acknowledged
 * @f: open file
 * @epoch: RDMABLK_ID_LEN bytes: the same on every host and after every boot; of a regular file
 *	another one when it is replaced
 *
 * A block device has no name that is the same on two hosts.
 *
 * Return: 0 or -errno.
 */
int file_stable_epoch(const struct file *f, uint8_t *epoch)
{
	struct {
		uint64_t block_device, ino;
	} id = { .block_device = f->block_device, .ino = f->block_device ? 0 : f->ino };

	return digest_id("rdmablk stable 1", &id, sizeof(id), epoch);
}

/**
 * file_mark - identity of a file in notes that outlive a boot of the host
 * @f: open file
 * @mark: result
 *
 * A regular file keeps its number and its time of birth, whatever number its file system has
 * after the next boot; a copy of a file system has the same files. A device keeps nothing:
 * another device may have its number after a boot. That is also true of a file without a
 * time of birth.
 *
 * Return: 0 or -errno.
 */
int file_mark(const struct file *f, struct file_mark *mark)
{
	struct {
		uint64_t block_device, dev, ino, born_sec, born_nsec;
	} place = { .block_device = f->block_device, .dev = f->dev, .ino = f->ino };
	bool born = !f->block_device && birth(f, &place.born_sec, &place.born_nsec);
	int ret;

	if (born)
		place.dev = 0;
	ret = digest_id("rdmablk place  1", &place, sizeof(place), mark->place);
	if (ret || !born)
		return ret ?: file_epoch(f, mark->id);
	memcpy(mark->id, mark->place, sizeof(mark->id));
	return 0;
}

/*
 * Contents
 */

static int64_t ms_of(const struct timespec *t)
{
	return t->tv_sec * 1000LL + t->tv_nsec / 1000000;
}

static const struct timespec *newer(const struct timespec *a, const struct timespec *b)
{
	return ms_of(a) > ms_of(b) ? a : b;
}

/* Return: ms since @t; negative: @t is in the future. */
static int64_t age(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ms_of(&now) - ms_of(t);
}

/*
 * Waits until the next change of a file is sure to have another time. @st: as the file is then
 *
 * Return: 0; -EAGAIN: the times do not tell; -errno.
 */
static int settle(int fd, struct stat *st)
{
	int64_t wait = TICK_MS;

	for (int ms = 0; ms <= 2 * SECOND_MS; ms += STEP_MS) {
		const struct timespec *last;

		if (fstat(fd, st))
			return -errno;
		last = newer(&st->st_mtim, &st->st_ctim);
		wait = last->tv_nsec ? TICK_MS : SECOND_MS;
		if (age(last) > wait)
			return 0;
		/* A file server's clock may be ahead a little. */
		if (age(last) < -SECOND_MS)
			return -EAGAIN;
		pause_ms(STEP_MS);
	}
	return -EAGAIN;	/* the file changes again and again */
}

/**
 * file_settled - wait until each later change of a file gives it another stamp
 * @f: open file
 * @stamp: of the file
 *
 * Waits up to some seconds if the file has just changed.
 *
 * Return: false: the file has another stamp by now, or changes again and again, or its times
 * are of the future.
 */
bool file_settled(const struct file *f, const struct file_stamp *stamp)
{
	struct file_stamp now;
	struct stat st;

	if (f->block_device || settle(f->fd, &st))
		return false;
	file_stamp(f, &now);
	return file_stamp_same(stamp, &now);
}

/**
 * file_contents - a value that tells whether the contents of a file have changed
 * @f: open file
 * @out: result. If the results of two calls are equal, then data that was read between them,
 *	or after both, is the same contents
 *
 * Writes the page cache of the file to the disk first, so that data read later is not older
 * than the time says. After that, a process that has the file mapped changes the time, too,
 * when it writes.
 *
 * Waits up to some seconds if the file has just changed.
 *
 * Return: 0; -EAGAIN: it cannot be known, as with block devices; -errno.
 */
int file_contents(const struct file *f, struct file_contents *out)
{
	struct statx stx;
	struct stat st;
	int ret;

	if (f->block_device)
		return -EAGAIN;
	if (fsync(f->buffered) && errno != EROFS && errno != EINVAL)
		return -errno;
	ret = settle(f->buffered, &st);
	if (ret)
		return ret;
	*out = (struct file_contents){
		.dev = st.st_dev,	/* unless there is a better mark, as for file_mark() */
		.ino = st.st_ino,
		.bytes = (uint64_t)st.st_size,
		.exported = f->size,
		.written_sec = st.st_mtim.tv_sec,
		.written_nsec = st.st_mtim.tv_nsec,
		.changed_sec = st.st_ctim.tv_sec,
		.changed_nsec = st.st_ctim.tv_nsec,
	};
	if (!statx(f->buffered, "", AT_EMPTY_PATH, STATX_BTIME, &stx) &&
	    stx.stx_mask & STATX_BTIME) {
		out->dev = 0;
		out->born_sec = stx.stx_btime.tv_sec;
		out->born_nsec = stx.stx_btime.tv_nsec;
	}
	return 0;
}

/**
 * file_contents_epoch - the epoch of a store that never changes these contents
 * @c: result of file_contents()
 * @epoch: RDMABLK_ID_LEN bytes
 *
 * Return: 0 or -errno.
 */
int file_contents_epoch(const struct file_contents *c, uint8_t *epoch)
{
	uint8_t digest[MAC_DIGEST_LEN];
	int ret = mac_digest("rdmablk data   1", c, sizeof(*c), digest);

	if (!ret)
		memcpy(epoch, digest, RDMABLK_ID_LEN);
	return ret;
}
