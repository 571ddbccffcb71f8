// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a file or block device is told by: in this boot of the host, which is how long the
 * host's caches of it live; and beyond, for what has to be known of it for longer.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/util.h"
#include "store/file.h"
#include "wire/mac.h"

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"

/* Number of the device, of a partition that of the whole. */
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
 * file_disk - identity of what has the cache that an fdatasync of a file writes out
 * @f: open file
 * @id: RDMABLK_ID_LEN bytes: another one after a reboot. Two files with the same are on
 *	one disk; two without may be, below devices made of others.
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

/* Return: whether its file system knows when it was made. */
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
 * file_epoch - identity of what the host's caches have of a file
 * @f: open file
 * @epoch: RDMABLK_ID_LEN bytes: another one after a reboot, and of another file
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
	/* A number may have been given to another device since. */
	else if (ioctl(f->fd, BLKGETDISKSEQ, &id.disk_seq))
		id.disk_seq = 0;
	return digest_id("rdmablk file   1", &id, sizeof(id), epoch);
}

/**
 * file_mark - what a file is told by in notes that outlive a boot of the host
 * @f: open file
 * @mark: filled
 *
 * A regular file keeps its number and its birth, whatever its file system is called after
 * the next boot; a copy of a file system has the same files. A device keeps nothing: its
 * number is somebody else's then, and so is one of a file without a birth.
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
