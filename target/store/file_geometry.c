// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The geometry of files and block devices. A device says it in ioctls and in sysfs;
 * of a file the file system is asked, by trying where it has no words for it: what
 * is tried there cannot change a byte.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/util.h"
#include "store/file_geometry.h"

#define AT_ONCE		(1ULL << 30)	/* of discarding and zeroing, bytes */
#define MAX_PHYSICAL	65536		/* GRANT says no more */
#define MAX_IO_HINT	(1U << 30)
#define MIN_MAX_IO	4096		/* GRANT says no less */
#define DEFAULT_BLOCK	512
#define DEFAULT_ALIGN	4096		/* of O_DIRECT, where nobody says */

/* File systems with checksums over data */
static const long checksummed[] = {
	BTRFS_SUPER_MAGIC, 0xca451a4e /* bcachefs */, 0x2fc12fc1 /* zfs */,
};

/* An attribute of a block device or, of a partition, of the disk it is on; else 0 */
static uint64_t attribute_of(dev_t dev, const char *name)
{
	static const char * const places[] = {
		"/sys/dev/block/%u:%u/%s", "/sys/dev/block/%u:%u/../%s",
	};
	unsigned long long value = 0;
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		FILE *file;
		int got;

		snprintf(path, sizeof(path), places[i], major(dev), minor(dev), name);
		file = fopen(path, "re");
		if (!file)
			continue;
		got = fscanf(file, "%llu", &value);
		fclose(file);
		if (got == 1)
			return value;
	}
	return 0;
}

static uint64_t attribute(const struct file *f, const char *name)
{
	return attribute_of(f->ino, name);
}

/* Is a device, or the disk a partition is on, made of others? Where nobody says it may be. */
static bool is_stacked(dev_t dev)
{
	static const char * const places[] = {
		"/sys/dev/block/%u:%u/slaves", "/sys/dev/block/%u:%u/../slaves",
	};
	const struct dirent *entry;
	char path[96];
	DIR *dir = NULL;

	for (size_t i = 0; !dir && i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), places[i], major(dev), minor(dev));
		dir = opendir(path);
	}
	if (!dir)
		return true;
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	closedir(dir);
	return entry;
}

static uint32_t block_size(const struct file *f, unsigned long request)
{
	unsigned int size = 0;

	if (ioctl(f->fd, request, &size) || !is_power_of_two(size))
		return DEFAULT_BLOCK;
	return size;
}

/* A device that can says so before it looks at the range, which no device takes. */
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
	/* What is made of others says that it has FUA, and has a cache flushed below. */
	f->fua = attribute(f, "queue/fua") && !is_stacked(f->ino);
	f->rotational = attribute(f, "queue/rotational");
	f->stable = attribute(f, "queue/stable_writes");
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

static void file_direct_align(struct file *f)
{
	struct statx stx;

	f->align = DEFAULT_ALIGN;
	f->mem_align = DEFAULT_ALIGN;
	if (syscall(SYS_statx, f->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) ||
	    !(stx.stx_mask & STATX_DIOALIGN))
		return;
	if (is_power_of_two(stx.stx_dio_offset_align) &&
	    is_power_of_two(stx.stx_dio_mem_align)) {
		f->align = stx.stx_dio_offset_align;
		f->mem_align = stx.stx_dio_mem_align;
	}
}

/* Nothing is there to be punched behind the end of a file. */
static bool can_punch(const struct file *f, uint32_t unit)
{
	struct stat st;

	return !fstat(f->fd, &st) &&
	       !fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)round_up((uint64_t)st.st_size, unit), unit);
}

static int regular_geometry(struct file *f, uint32_t block)
{
	uint32_t unit = DEFAULT_ALIGN;
	struct statfs fs;

	if (fstatfs(f->fd, &fs))
		fs.f_bsize = 0;
	if (fs.f_bsize >= 512 && is_power_of_two((uint64_t)fs.f_bsize))
		unit = (uint32_t)min_u64((uint64_t)fs.f_bsize, 1U << 30);
	f->stable = attribute_of(f->dev, "queue/stable_writes");
	for (size_t i = 0; i < ARRAY_SIZE(checksummed); i++)
		if (fs.f_bsize && fs.f_type == checksummed[i])
			f->stable = true;
	f->logical_block = block ?: DEFAULT_BLOCK;
	file_direct_align(f);
	if (f->direct && f->align > f->logical_block)
		log_warn("export %s: direct I/O on %s wants blocks of %u bytes; smaller requests go through the page cache",
			 f->name, f->path, f->align);
	f->physical_block = unit > f->align ? unit : f->align;
	if (f->read_only)
		return 0;
	f->max_zeroes = AT_ONCE;
	if (can_punch(f, unit)) {
		f->max_discard = AT_ONCE;
		f->discard_granularity = unit > f->logical_block ? unit : f->logical_block;
	}
	return 0;
}

static uint32_t hint(uint32_t value, uint32_t block)
{
	return value % block ? 0 : value;
}

/**
 * file_geometry - fill in what an open file can do
 * @f: open
 * @block: logical block of the export, bytes, or 0
 *
 * Return: 0 or -errno, logged.
 */
int file_geometry(struct file *f, uint32_t block)
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
