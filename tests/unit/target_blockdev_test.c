// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Secure erase, the volatile cache, FUA, copies and the name of a block device, also if it is
 * stacked on others: what the daemon finds out and what it offers to sessions. A regular file
 * passes for the device: this program replaces the calls that tell them apart, and a directory
 * replaces sysfs.
 *
 * Sources: target/store/file.c target/store/disk_stack.c target/staged/store_none.c
 *	   target/store/store_full.c target/export/identity.c
 */
#include <dirent.h>
#include <dlfcn.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "../../target/base/loop.h"
#include "../../target/export/export.h"
#include "../../target/staged/store_none.h"
#include "target_full.h"

#define SIZE		(4 * MIB)
#define NUMBER		makedev(259, 77)
#define SYSFS		"/sys/dev/block/259:77"

static struct {
	char path[240];
	ino_t inode;		/* of the file that passes for a device; 0: none does */
	char place[240];	/* directory in place of the device's in sysfs */
	bool erases;
	int error;		/* errno of an erase; 0: none */
	uint64_t range[2];	/* of the last erase */
} device;

/*
 * Functions in place of the C library's
 */

static void disguise(struct stat *st)
{
	if (!device.inode || st->st_ino != device.inode)
		return;
	st->st_mode = S_IFBLK | 0600;
	st->st_rdev = NUMBER;
}

int fstat(int fd, struct stat *st)
{
	int (*real)(int fd, struct stat *st) = dlsym(RTLD_NEXT, "fstat");
	int ret = real(fd, st);

	if (!ret)
		disguise(st);
	return ret;
}

int stat(const char *path, struct stat *st)
{
	int (*real)(const char *path, struct stat *st) = dlsym(RTLD_NEXT, "stat");
	int ret = real(path, st);

	if (!ret)
		disguise(st);
	return ret;
}

/* Return: the file in place of one in the device's sysfs directory; other paths unchanged */
static const char *place_of(const char *path, char *buf, size_t len)
{
	if (!device.place[0] || strncmp(path, SYSFS "/", strlen(SYSFS "/")))
		return path;
	snprintf(buf, len, "%s/%s", device.place, path + strlen(SYSFS "/"));
	return buf;
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *path, const char *mode) = dlsym(RTLD_NEXT, "fopen");
	char buf[400];

	return real(place_of(path, buf, sizeof(buf)), mode);
}

int access(const char *path, int mode)
{
	int (*real)(const char *path, int mode) = dlsym(RTLD_NEXT, "access");

	return device.place[0] && !strcmp(path, SYSFS) ? 0 : real(path, mode);
}

DIR *opendir(const char *path)
{
	DIR *(*real)(const char *path) = dlsym(RTLD_NEXT, "opendir");
	char buf[400];

	return real(place_of(path, buf, sizeof(buf)));
}

/* Erases a range as a device would. It reads as zeroes afterwards. */
static int erase(int fd, const uint64_t *range)
{
	if (!device.erases)
		errno = EOPNOTSUPP;
	else if (range[0] % 512 || range[1] % 512)
		errno = EINVAL;
	else if (device.error)
		errno = device.error;
	else
		errno = 0;
	if (errno)
		return -1;
	memcpy(device.range, range, sizeof(device.range));
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range[0],
			 (off_t)range[1]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case BLKGETSIZE64:
		*(uint64_t *)arg = SIZE;
		return 0;
	case BLKSSZGET:
	case BLKPBSZGET:
		*(int *)arg = 512;
		return 0;
	case BLKSECDISCARD:
		return erase(fd, arg);
	default:
		return (int)syscall(SYS_ioctl, fd, request, arg);
	}
}

/*
 * Devices
 */

static void attribute(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "disk/%s", name);
	files_text(files_path(path), text);
}

/* Makes a disk with discard, a cache and FUA, not stacked on others, or a partition of it. */
static const char *device_new(bool part)
{
	struct stat st;

	memset(&device, 0, sizeof(device));
	snprintf(device.path, sizeof(device.path), "%s", files_new("device", SIZE));
	files_write(device.path, 0, SIZE, 1);
	assert_int_equal(stat(device.path, &st), 0);
	assert_int_equal(files_run("rm -rf %s && mkdir -p %s/queue %s/slaves %s/part/holders",
				   files_path("disk"), files_path("disk"),
				   files_path("disk"), files_path("disk")), 0);
	attribute("queue/discard_granularity", "65536\n");
	attribute("queue/discard_max_bytes", "1073741824\n");
	attribute("queue/write_cache", "write back\n");
	attribute("queue/fua", "1\n");
	snprintf(device.place, sizeof(device.place), "%s",
		 files_path(part ? "disk/part" : "disk"));
	device.inode = st.st_ino;
	return device.path;
}

static struct file_params params_of(const char *path)
{
	return (struct file_params){ .name = "d", .path = path };
}

static bool has_fua(const char *path)
{
	const struct file_params params = params_of(path);
	struct file f;
	bool fua;

	assert_int_equal(file_open(&f, &params), 0);
	assert_true(f.block_device == !!device.inode);
	fua = f.fua;
	file_close(&f);
	return fua;
}

static struct store_limits none_limits(const char *path, bool *direct)
{
	struct export_config ec = {
		.name = "d", .file = (char *)path, .cache = CACHE_NONE, .block = 4096,
		.slot_bytes = 65536, .slot_memory = 1U << 20,
	};
	struct store s = { .ops = &store_none_ops };
	struct store_limits limits;

	assert_int_equal(s.ops->open(&s, &ec), 0);
	*direct = ((struct store_none *)s.priv)->file.direct;
	s.ops->limits(&s, &limits);
	s.ops->close(&s);
	return limits;
}

/*
 * Tests
 */

static void fua_is_of_the_device_itself(void **state)
{
	(void)state;
	for (int part = 0; part < 2; part++) {
		const char *path = device_new(part);

		assert_true(has_fua(path));
		/* stacked on sda, which may lack FUA */
		attribute("slaves/sda", "");
		assert_false(has_fua(path));
		/* sysfs does not say whether it is stacked */
		assert_int_equal(files_run("rm -r %s", files_path("disk/slaves")), 0);
		assert_false(has_fua(path));
		assert_int_equal(files_run("mkdir %s", files_path("disk/slaves")), 0);
		assert_true(has_fua(path));
		attribute("queue/fua", "0\n");
		assert_false(has_fua(path));
	}
}

/* Whether a cached file writes copies of its arena to the device, which do not change */
static bool is_copied(const char *path)
{
	struct store s;
	bool copied;

	assert_int_equal(full_open(&s, full_config(path)), 0);
	copied = full_of(&s)->batch.no_direct;
	full_close(&s);
	return copied;
}

/* A slave of the disk: one that is a disk itself if @made is NULL, else one of @made. */
static void slave(const char *name, const char *made)
{
	char path[64];

	snprintf(path, sizeof(path), "disk/slaves/%.20s", name);
	assert_int_equal(files_run("mkdir -p %s/slaves %s/dm %s/md", files_path(path),
				   files_path(path), files_path(path)), 0);
	if (made) {
		snprintf(path, sizeof(path), "slaves/%.20s/md/level", name);
		attribute(path, made);
	}
}

/* Two devices that get one request read the arena at different times. */
static void devices_with_copies(void **state)
{
	static const char * const names[] = { "sda", "sdb", "sdc", "sdd" };
	static const struct {
		const char *level, *uuid;
		unsigned int slaves;
		bool copied;
	} disks[] = {
		{ NULL, NULL, 0, false },
		{ "raid1\n", NULL, 2, true },
		{ "raid10\n", NULL, 4, true },
		{ "raid0\n", NULL, 2, false },
		{ "raid5\n", NULL, 3, false },
		{ NULL, "LVM-vgmirrored\n", 2, true },
		{ NULL, "LVM-vglinear\n", 1, false },
		{ NULL, "LVM-vgpool-tpool\n", 2, false },
		{ NULL, "mpath-36001405\n", 2, false },
		{ NULL, NULL, 2, true },		/* neither of md nor of the device mapper */
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(disks); i++) {
		const char *path = device_new(i & 1);

		assert_int_equal(files_run("mkdir %s", files_path("disk/md")), 0);
		assert_int_equal(files_run("mkdir %s", files_path("disk/dm")), 0);
		if (disks[i / 2].level)
			attribute("md/level", disks[i / 2].level);
		if (disks[i / 2].uuid)
			attribute("dm/uuid", disks[i / 2].uuid);
		for (unsigned int n = 0; n < disks[i / 2].slaves; n++)
			slave(names[n], NULL);
		assert_true(is_copied(path) == disks[i / 2].copied);
		/* a device below has copies, or the disk of a partition below */
		slave("md127", "raid1\n");
		assert_true(is_copied(path));
	}
	files_run("rm -rf %s", files_path("md127"));
	assert_int_equal(files_run("mkdir -p %s/md127p1 %s/slaves %s/md", files_path("md127"),
				   files_path("md127"), files_path("md127")), 0);
	device_new(false);
	assert_false(is_copied(device.path));
	assert_int_equal(files_run("ln -s %s %s", files_path("md127/md127p1"),
				   files_path("disk/slaves/md127p1")), 0);
	assert_false(is_copied(device.path));
	files_text(files_path("md127/md/level"), "raid1\n");
	assert_true(is_copied(device.path));
}

/* Return: whether the daemon opens an export of a device */
static bool is_opened(const char *path)
{
	struct config cfg;
	char spec[400];
	int ret;

	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	snprintf(spec, sizeof(spec), "d,file=%s,cache=none", path);
	config_export_spec(&cfg, spec);
	assert_int_equal(cfg.errors, 0);
	ret = export_open_all(&cfg);
	export_close_all();
	config_free(&cfg);
	assert_true(!ret || ret == -ESTALE);
	return !ret;
}

/* A path means another disk after a boot. It is not opened as the one that initiators know. */
static void another_disk_with_the_same_path(void **state)
{
	static const char * const places[] = { "wwid", "dm/uuid", "serial" };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(places); i++) {
		const char *path = device_new(i & 1), *place = places[i / 2];
		char link[240];

		files_run("rm -rf %s && mkdir %s", files_path("state"), files_path("state"));
		files_run("mkdir -p %s", files_path("disk/dm"));
		if (i & 1)
			attribute("part/partition", "1\n");
		/* it has no name yet */
		attribute(place, "0000-0000\n");
		assert_true(is_opened(path));
		attribute(place, "first\r\n");
		assert_true(is_opened(path));
		assert_true(is_opened(path));
		attribute(place, "second\n");
		assert_false(is_opened(path));
		assert_false(is_opened(path));
		attribute(place, "first\n");
		assert_true(is_opened(path));
		if (i & 1) {
			attribute("part/partition", "2\n");
			assert_false(is_opened(path));
			attribute("part/partition", "1\n");
		}
		/* it has lost its name */
		attribute(place, "\n");
		assert_false(is_opened(path));
		attribute(place, "0000-0000\n");
		assert_false(is_opened(path));
		/* nobody goes on with a new UUID */
		attribute(place, "second\n");
		assert_int_equal(unlink(files_path("state/d.uuid")), 0);
		assert_true(is_opened(path));
		assert_true(is_opened(path));
		attribute(place, "first\n");
		assert_false(is_opened(path));
		attribute(place, "second\n");
		assert_true(is_opened(path));
		/* another kind of name says nothing */
		if (i / 2) {
			attribute("wwid", "first\n");
			assert_true(is_opened(path));
			assert_true(is_opened(path));
			attribute("wwid", "second\n");
			assert_false(is_opened(path));
			assert_int_equal(unlink(files_path("disk/wwid")), 0);
			assert_true(is_opened(path));
		}
		attribute(place, "first\n");
		assert_false(is_opened(path));
		/* another path may mean another disk */
		snprintf(link, sizeof(link), "%s", files_path("by-id"));
		unlink(link);
		assert_int_equal(symlink(path, link), 0);
		assert_true(is_opened(link));
		assert_true(is_opened(path));
		attribute(place, "second\n");
		assert_false(is_opened(path));
		/* the administrator wants this one */
		assert_int_equal(unlink(files_path("state/d.device")), 0);
		assert_true(is_opened(path));
	}
}

/* A file has no name but its own, and nobody notes it. */
static void a_file_may_be_another(void **state)
{
	const char *path = device_new(false);

	(void)state;
	files_run("rm -rf %s && mkdir %s", files_path("state"), files_path("state"));
	attribute("wwid", "first\n");
	device.inode = 0;
	assert_true(is_opened(path));
	assert_int_equal(access(files_path("state/d.device"), F_OK), -1);
}

static void a_device_without_a_cache_is_not_flushed(void **state)
{
	static const struct {
		const char *says;
		uint32_t cache;
	} caches[] = {
		{ "write back\n", RDMABLK_GRANT_CACHE },
		{ "write through\n", 0 },
		{ "write throughout\n", RDMABLK_GRANT_CACHE },
		{ "", RDMABLK_GRANT_CACHE },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(caches); i++) {
		const char *path = device_new(i & 1);
		struct store_limits l;
		bool direct;

		attribute("queue/write_cache", caches[i / 2].says);
		l = none_limits(path, &direct);
		/* without direct I/O the page cache needs a flush, whatever the device has */
		assert_int_equal(l.flags & RDMABLK_GRANT_CACHE,
				 direct ? caches[i / 2].cache : RDMABLK_GRANT_CACHE);
		assert_int_equal(unlink(files_path("disk/queue/write_cache")), 0);
		l = none_limits(path, &direct);
		assert_true(l.flags & RDMABLK_GRANT_CACHE);
	}
}

static void a_file_is_flushed_whatever_its_disk_says(void **state)
{
	const char *path = device_new(false);
	struct store_limits l;
	bool direct;

	(void)state;
	attribute("queue/write_cache", "write through\n");
	device.inode = 0;
	l = none_limits(path, &direct);
	assert_true(l.flags & RDMABLK_GRANT_CACHE);
	assert_false(has_fua(path));
}

static void erasing_is_offered(const struct store_limits *l, bool erases, uint32_t granularity)
{
	assert_true(!!(l->ops & RDMABLK_OP_BIT(RDMABLK_OP_SECURE_ERASE)) == erases);
	assert_int_equal(l->max_erase, erases ? 1U << 30 : 0);
	assert_int_equal(l->erase_granularity, erases ? granularity : 0);
}

static void who_can_erase_offers_it(void **state)
{
	struct store_limits l;
	struct store s;
	bool direct;

	(void)state;
	for (int erases = 0; erases < 2; erases++) {
		const char *path = device_new(false);

		device.erases = erases;
		l = none_limits(path, &direct);
		erasing_is_offered(&l, erases, 65536);
		assert_int_equal(full_open(&s, full_config(path)), 0);
		s.ops->limits(&s, &l);
		erasing_is_offered(&l, erases, 65536);
		full_close(&s);
		/* without a discard granularity the unit of an erase is the logical block */
		attribute("queue/discard_max_bytes", "0\n");
		l = none_limits(path, &direct);
		erasing_is_offered(&l, erases, 4096);
		full_config(path)->read_only = true;
		assert_int_equal(full_open(&s, &full_ec), 0);
		s.ops->limits(&s, &l);
		erasing_is_offered(&l, false, 0);
		full_close(&s);
	}
}

static void what_is_erased_is_gone(void **state)
{
	const char *path = device_new(false);
	const struct file_params params = params_of(path);
	struct file f;

	(void)state;
	device.erases = true;
	assert_int_equal(file_open(&f, &params), 0);
	assert_int_equal(file_erase(&f, MIB, 65536), 0);
	assert_int_equal(device.range[0], MIB);
	assert_int_equal(device.range[1], 65536);
	assert_true(files_zero(path, MIB, 65536));
	assert_true(files_are(path, 0, MIB, 1));
	assert_true(files_are(path, MIB + 65536, SIZE - MIB - 65536, 1));
	device.error = EIO;
	assert_int_equal(file_erase(&f, 0, 65536), -EIO);
	device.erases = false;
	assert_int_equal(file_erase(&f, 0, 65536), -EOPNOTSUPP);
	file_close(&f);
}

/* A cached file clears its arena, too, or the next FLUSH would write the old data back. */
static void what_is_erased_is_gone_from_memory(void **state)
{
	const char *path = device_new(false);
	struct bitmap dirty;
	struct store s;

	(void)state;
	device.erases = true;
	assert_int_equal(full_open(&s, full_config(path)), 0);
	dirty = full_dirty(&s);
	assert_int_equal(full_do(&s, RDMABLK_OP_SECURE_ERASE, 0, MIB, 65536, NULL), RDMABLK_OK);
	assert_int_equal(device.range[0], MIB);
	assert_true(full_is_zero(&s, MIB, 65536));
	assert_true(full_has(&s, 0, MIB, 1));
	assert_true(full_has(&s, MIB + 65536, SIZE - MIB - 65536, 1));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_zero(path, MIB, 65536));
	/* if the device refuses the erase, arena and file keep their data */
	device.error = EIO;
	assert_int_equal(full_do(&s, RDMABLK_OP_SECURE_ERASE, 0, 0, 65536, NULL),
			 RDMABLK_R_STORE_IO);
	assert_true(full_has(&s, 0, MIB, 1));
	assert_int_equal(full_flush_all(&s, &dirty), RDMABLK_OK);
	assert_true(files_are(path, 0, MIB, 1));
	bitmap_free(&dirty);
	full_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fua_is_of_the_device_itself),
		cmocka_unit_test(devices_with_copies),
		cmocka_unit_test(another_disk_with_the_same_path),
		cmocka_unit_test(a_file_may_be_another),
		cmocka_unit_test(a_device_without_a_cache_is_not_flushed),
		cmocka_unit_test(a_file_is_flushed_whatever_its_disk_says),
		cmocka_unit_test(who_can_erase_offers_it),
		cmocka_unit_test(what_is_erased_is_gone),
		cmocka_unit_test(what_is_erased_is_gone_from_memory),
	};
	int ret;

	/* An uncached file has threads that send notes to the loop. */
	if (loop_init())
		return 1;
	store_none_setup(1);
	ret = cmocka_run_group_tests(tests, files_setup, files_teardown);
	loop_exit();
	return ret;
}
