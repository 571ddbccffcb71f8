// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files and block devices: their locks, limits and identities. And reads, writes, zeroes and
 * discards do all that was asked for, also when the kernel does less at a time.
 *
 * Sources: target/store/file.c target/store/file_batch.c target/store/file_identity.c
 *	   target/store/store_fault.c
 * Libraries: liburing libcrypto
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "../../target/base/log.h"
#include "../../target/base/state_file.h"
#include "../../target/store/file_batch.h"
#include "../../target/store/file_identity.h"
#include "target_files.h"

static int open_file(struct file *f, const char *path, bool ro, uint64_t size,
		     uint32_t block)
{
	const struct file_params params = {
		.name = "d", .path = path, .read_only = ro, .size = size, .block = block,
	};

	return file_open(f, &params);
}

static int open_faulty(struct file *f, const char *path, const char *rules)
{
	const struct file_params params = { .name = "d", .path = path, .fault = rules };

	return file_open(f, &params);
}

static void sizes(void **state)
{
	const char *path = files_new("size", 8192 + 512);
	struct file f;
	uint64_t now;

	(void)state;
	assert_int_equal(open_file(&f, path, false, 0, 512), 0);
	assert_int_equal(f.size, 8192 + 512);
	assert_int_equal(file_size(&f, &now), 0);
	assert_int_equal(now, f.size);
	file_close(&f);
	assert_int_equal(open_file(&f, path, false, 0, 4096), -EINVAL);
	assert_int_equal(open_file(&f, path, false, 8192, 4096), 0);
	assert_int_equal(f.size, 8192);
	file_close(&f);
	assert_int_equal(open_file(&f, path, false, 16384, 512), -EINVAL);
	assert_int_equal(open_file(&f, files_new("empty", 0), false, 0, 512), -EINVAL);
	assert_int_equal(open_file(&f, files_path("none"), false, 0, 512), -ENOENT);
	assert_int_equal(open_file(&f, files_dir, false, 0, 512), -EINVAL);
	assert_int_equal(open_file(&f, "/dev/zero", false, 0, 512), -EINVAL);
}

static void geometry(void **state)
{
	const char *path = files_new("geometry", MIB);
	struct file f;

	(void)state;
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(f.logical_block, 512);
	assert_true(f.physical_block >= 512 && f.physical_block <= 65536);
	assert_false(f.block_device);
	assert_int_equal(f.physical_block & (f.physical_block - 1), 0);
	assert_true(f.max_zeroes > 0);
	assert_int_equal(f.max_erase, 0);
	assert_int_equal(f.discard_granularity & (f.discard_granularity - 1), 0);
	assert_int_equal(f.max_discard | f.discard_granularity, 0);
	file_probe(&f);
	assert_true(!f.max_discard == !f.discard_granularity);
	assert_int_equal(!f.max_discard, !!files_run("fallocate -p -o 0 -l 4096 %s", path));
	file_close(&f);
	file_close(&f);
	assert_int_equal(open_file(&f, path, true, 0, 4096), 0);
	assert_int_equal(f.logical_block, 4096);
	assert_true(f.physical_block >= 4096);
	file_probe(&f);
	assert_int_equal(f.max_zeroes | f.max_discard | f.max_erase, 0);
	assert_int_equal(write(f.fd, "x", 1), -1);
	file_close(&f);
}

/* The device number may change with a boot, so it counts only if the file has no birth time. */
static void contents_do_not_depend_on_the_boot(void **state)
{
	struct file_contents c;
	struct file f;

	(void)state;
	assert_int_equal(open_file(&f, files_new("contents", MIB), true, 0, 0), 0);
	assert_int_equal(file_contents(&f, &c), 0);
	assert_true(!c.dev == !!c.born_sec);
	file_close(&f);
}

static void one_at_a_time(void **state)
{
	const char *path = files_new("lock", MIB), *other = files_path("lock2");
	struct file f, g;
	char why[256];

	(void)state;
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	log_keep(why, sizeof(why));
	assert_int_equal(open_file(&g, path, false, 0, 0), -EBUSY);
	assert_non_null(strstr(why, "is what export d is made of already"));
	assert_int_equal(open_file(&g, path, true, 0, 0), -EBUSY);
	log_keep(NULL, 0);
	/* the failed opens have not taken the lock from its owner */
	assert_int_equal(link(path, other), 0);
	assert_int_equal(open_file(&g, other, true, 0, 0), -EBUSY);
	unlink(other);
	file_close(&f);
	assert_int_equal(open_file(&g, path, true, 0, MIB), 0);
	file_close(&g);
}

/* Another process has the file, and ends while the open waits for its lock. */
static void a_dying_process_is_waited_for(void **state)
{
	const char *path = files_new("dying", MIB);
	struct file f;
	int ready[2], ret;
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		const struct timespec while_waited_for = { .tv_nsec = 200000000 };

		if (open_file(&f, path, false, 0, 0) || write(ready[1], "x", 1) != 1)
			_exit(1);
		nanosleep(&while_waited_for, NULL);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	ret = open_file(&f, path, false, 0, 0);
	for (int i = 0; ret == -EBUSY && i < 30; i++)	/* the child may end slowly */
		ret = open_file(&f, path, false, 0, 0);
	assert_int_equal(ret, 0);
	file_close(&f);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static struct {
	int ms, tries;
} locking;

/* Replaces the C library's: each try may take long, as in a network file system. */
int flock(int fd, int operation)
{
	const struct timespec time = { .tv_nsec = locking.ms * 1000000L };

	locking.tries++;
	nanosleep(&time, NULL);
	return (int)syscall(SYS_flock, fd, operation);
}

/* A dying process is waited for 2 s, however long each try of the lock takes. */
static void a_lock_is_waited_for_by_the_clock(void **state)
{
	const char *path = files_new("locked", MIB);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct file f;

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	locking.ms = 200;
	locking.tries = 0;
	assert_int_equal(open_file(&f, path, false, 0, 0), -EBUSY);
	assert_in_range(locking.tries, 1, 11);
	locking.tries = 0;
	assert_int_equal(state_file_lock(path), -EBUSY);
	assert_in_range(locking.tries, 1, 11);
	locking.ms = 0;
	close(fd);
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	file_close(&f);
}

/* Requests under way keep a file open, and so its lock. A ring that was closed does not. */
static void a_closed_ring_holds_nothing(void **state)
{
	const char *path = files_new("ring", MIB);
	struct file_batch ring;
	struct file f;

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd;

		assert_int_equal(open_file(&f, path, false, 0, 0), 0);
		assert_int_equal(file_batch_open(&ring, &f, 4), 0);
		file_batch_close(&ring);
		file_batch_close(&ring);
		file_close(&f);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		close(fd);
	}
}

static void identity(void **state)
{
	const char *path = files_new("id", MIB), *other = files_new("id2", MIB);
	uint8_t first[16], again[16], second[16], disk[16];
	struct file f, g;

	(void)state;
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(file_epoch(&f, first), 0);
	assert_int_equal(open_file(&g, other, false, 0, 0), 0);
	assert_int_equal(file_epoch(&g, second), 0);
	assert_memory_not_equal(first, second, 16);
	assert_int_equal(file_disk(&f, disk), 0);
	assert_int_equal(file_disk(&g, again), 0);
	assert_memory_equal(disk, again, 16);
	assert_memory_not_equal(disk, first, 16);
	assert_false(file_same(&f, &g));
	file_close(&g);
	file_close(&f);
	unlink(other);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(open_file(&g, other, true, 0, 0), 0);
	assert_int_equal(file_epoch(&g, again), 0);
	assert_memory_equal(first, again, 16);
	assert_true(file_same(&f, &g));
	file_close(&g);
	/* The same name, and perhaps the same inode, but another file */
	unlink(other);
	path = files_new("id", MIB);
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(file_epoch(&f, again), 0);
	assert_memory_not_equal(first, again, 16);
	file_close(&f);
}

static void holes(void **state)
{
	const char *path = files_new("holes", 4 * MIB);
	uint64_t start, end;
	struct file f;

	(void)state;
	files_write(path, MIB, MIB, 1);
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(file_data(&f, 0, &start, &end), 0);
	assert_int_equal(start, MIB);
	assert_int_equal(end, 2 * MIB);
	assert_int_equal(file_data(&f, MIB + 8192, &start, &end), 0);
	assert_int_equal(start, MIB + 8192);
	assert_int_equal(end, 2 * MIB);
	assert_int_equal(file_data(&f, 2 * MIB, &start, &end), 0);
	assert_int_equal(start, 4 * MIB);
	assert_int_equal(file_data(&f, 4 * MIB, &start, &end), 0);
	assert_int_equal(start, 4 * MIB);
	file_close(&f);
}

static void zeroes_and_discards(void **state)
{
	const char *path = files_new("zero", 4 * MIB);
	uint64_t space;
	struct file f;

	(void)state;
	files_write(path, 0, 4 * MIB, 1);
	space = files_space(path);
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(file_zero(&f, MIB, MIB, true), 0);
	assert_true(files_zero(path, MIB, MIB));
	assert_true(files_are(path, 0, MIB, 1) && files_are(path, 2 * MIB, 2 * MIB, 1));
	assert_in_range(files_space(path), space - EXTENTS, space + EXTENTS);
	assert_int_equal(file_zero(&f, 512, 512, true), 0);
	assert_true(files_zero(path, 512, 512));
	assert_true(files_are(path, 0, 512, 1) && files_are(path, 1024, 4096, 1));
	assert_int_equal(file_zero(&f, 2 * MIB, MIB, false), 0);
	assert_true(files_zero(path, 2 * MIB, MIB));
	assert_true(files_space(path) <= space - MIB + EXTENTS);
	if (f.max_discard) {
		space = files_space(path);
		assert_int_equal(file_discard(&f, 3 * MIB, MIB), 0);
		assert_true(files_zero(path, 3 * MIB, MIB));
		assert_true(files_space(path) <= space - MIB + EXTENTS);
	}
	/* a file system that can neither punch holes nor zero ranges */
	files_write(path, 0, 4 * MIB, 1);
	f.no_punch = true;
	f.no_range = true;
	assert_int_equal(file_zero(&f, MIB, 2 * MIB + 512, false), 0);
	assert_true(files_zero(path, MIB, 2 * MIB + 512));
	assert_true(files_are(path, 3 * MIB + 512, MIB - 512, 1));
	assert_int_equal(file_erase(&f, 0, MIB), -EOPNOTSUPP);
	file_close(&f);
}

static void a_file_that_shrinks(void **state)
{
	const char *path = files_new("shrink", 2 * MIB);
	struct file_batch ring;
	struct file f;
	uint64_t now;
	char *buf;

	(void)state;
	files_write(path, 0, 2 * MIB, 1);
	buf = files_buffer(MIB);
	assert_int_equal(open_file(&f, path, false, 0, 0), 0);
	assert_int_equal(file_batch_open(&ring, &f, 4), 0);
	assert_false(file_shrunk(&f));
	assert_int_equal(truncate(path, MIB), 0);
	assert_true(file_shrunk(&f));
	file_batch_read(&ring, buf, MIB, MIB);
	assert_int_equal(file_batch_wait(&ring), -EIO);
	assert_int_equal(ring.error_at, MIB);
	file_batch_read(&ring, buf, MIB - 4096, 8192);
	assert_int_equal(file_batch_wait(&ring), -EIO);
	file_batch_read(&ring, buf, 0, MIB);
	assert_int_equal(file_batch_wait(&ring), 0);
	assert_int_equal(file_zero(&f, MIB, 4096, false), -EIO);
	assert_int_equal(file_discard(&f, MIB, 4096), -EIO);
	assert_int_equal(file_size(&f, &now), 0);
	assert_int_equal(now, MIB);
	file_batch_close(&ring);
	file_close(&f);
	free(buf);
}

/* Writes a range and reads it back under the fault rules @text. All of it must arrive. */
static void whole(const char *text, uint64_t offset, size_t bytes)
{
	const char *path = files_new("whole", 8 * MIB);
	const char *rules = files_path("rules");
	struct file_batch ring;
	struct file f;
	char *out, *in;
	bool refused;

	files_text(rules, text);
	out = files_buffer(bytes);
	in = files_buffer(bytes);
	files_pattern(out, offset, bytes, 3);
	assert_int_equal(open_faulty(&f, path, rules), 0);
	assert_int_equal(file_batch_open(&ring, &f, 8), 0);
	file_batch_read(&ring, in, 0, 4096);
	assert_int_equal(file_batch_wait(&ring), 0);
	refused = ring.no_direct;
	file_batch_write(&ring, out, offset, bytes);
	assert_int_equal(file_batch_wait(&ring), 0);
	assert_int_equal(file_batch_sync(&ring), 0);
	file_batch_read(&ring, in, offset, bytes);
	assert_int_equal(file_batch_wait(&ring), 0);
	assert_memory_equal(in, out, bytes);
	assert_true(files_are(path, offset, bytes, 3));
	assert_true(files_zero(path, 0, offset));
	/* unaligned requests do not turn direct I/O off */
	assert_int_equal(ring.no_direct, refused);
	file_batch_close(&ring);
	file_close(&f);
	free(in);
	free(out);
}

static void transfers_are_whole(void **state)
{
	(void)state;
	whole("# nothing\n", 0, 8 * MIB);
	whole("", MIB + 512, 3 * MIB + 512);	/* not for direct I/O everywhere */
	whole("any short 64K\n", 0, 3 * MIB);
	whole("any short 8K\n", 4096, 2 * MIB);
	whole("write short 1000\nread short 77K\n", 8192, 128 * KIB);
	whole("any error EINTR count 40\n", 0, 2 * MIB);
	whole("any error EAGAIN count 40\n", 0, 2 * MIB);
	whole("write error EAGAIN skip 3 count 7\nread short 4K count 5\n", 0, 8 * MIB);
}

static int outcome(const char *text, int *sync)
{
	const char *path = files_new("outcome", 4 * MIB), *rules = files_path("rules");
	struct file_batch ring;
	struct file f;
	char *buf;
	int ret;

	files_text(rules, text);
	buf = files_buffer(4 * MIB);
	files_pattern(buf, 0, 4 * MIB, 1);
	assert_int_equal(open_faulty(&f, path, rules), 0);
	assert_int_equal(file_batch_open(&ring, &f, 2), 0);
	file_batch_write(&ring, buf, 0, 4 * MIB);
	ret = file_batch_wait(&ring);
	*sync = file_batch_sync(&ring);
	assert_int_equal(file_batch_wait(&ring), 0);		/* an error is returned once */
	file_batch_close(&ring);
	file_close(&f);
	free(buf);
	return ret;
}

static void errors_are_told(void **state)
{
	int sync;

	(void)state;
	assert_int_equal(outcome("write error EIO at 1M+4K count 1\n", &sync), -EIO);
	assert_int_equal(sync, 0);
	assert_int_equal(outcome("write error ENOSPC at 8M+4K\n", &sync), 0);
	assert_int_equal(outcome("write error ENOSPC skip 2\n", &sync), -ENOSPC);
	assert_int_equal(outcome("sync error EIO count 1\n", &sync), 0);
	assert_int_equal(sync, -EIO);
	/* A sync is not tried again: it may hide an error that the kernel returns only once. */
	assert_int_equal(outcome("sync error EINTR count 1\n", &sync), 0);
	assert_int_equal(sync, -EINTR);
	assert_int_equal(outcome("sync error EAGAIN count 1\n", &sync), 0);
	assert_int_equal(sync, -EAGAIN);
	assert_int_equal(outcome("write error EROFS\nsync error EDQUOT\n", &sync), -EROFS);
	assert_int_equal(sync, -EDQUOT);
	assert_int_equal(outcome("write error\nread error EFOO\nzap\nsync short\n", &sync), 0);
	assert_int_equal(sync, 0);
}

static void reasons(void **state)
{
	(void)state;
	assert_int_equal(file_reason(0), RDMABLK_OK);
	assert_int_equal(file_reason(-EIO), RDMABLK_R_STORE_IO);
	assert_int_equal(file_reason(-ENOSPC), RDMABLK_R_STORE_SPACE);
	assert_int_equal(file_reason(-EDQUOT), RDMABLK_R_STORE_SPACE);
	assert_int_equal(file_reason(-EROFS), RDMABLK_R_STORE_READ_ONLY);
	assert_int_equal(file_reason(-EOPNOTSUPP), RDMABLK_R_UNSUPPORTED);
	assert_int_equal(file_reason(-ENXIO), RDMABLK_R_STORE_IO);
}

static void *sync_it(void *arg)
{
	uint64_t bytes = 1;

	return (void *)(intptr_t)store_fault(arg, STORE_FAULT_SYNC, 0, &bytes);
}

static void hangs_end_on_demand(void **state)
{
	const char *rules = files_path("hang");
	struct timespec until;
	struct store_fault *sf;
	uint64_t bytes = 10;
	pthread_t thread;
	void *ret;

	(void)state;
	files_text(rules, "sync hang\n");
	assert_int_equal(store_fault_open(&sf, rules), 0);
	assert_int_equal(store_fault(sf, STORE_FAULT_READ, 0, &bytes), 0);
	assert_int_equal(pthread_create(&thread, NULL, sync_it, sf), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	assert_int_equal(pthread_timedjoin_np(thread, &ret, &until), ETIMEDOUT);
	unlink(rules);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_null(ret);
	assert_int_equal(store_fault(sf, STORE_FAULT_SYNC, 0, &bytes), 0);
	assert_int_equal(bytes, 10);
	store_fault_close(sf);
	store_fault_close(NULL);
	assert_int_equal(store_fault(NULL, STORE_FAULT_SYNC, 0, &bytes), 0);
}

/* Return: a number in the queue directory of a device in sysfs */
static uint64_t queue_of(const char *dev, const char *name)
{
	unsigned long long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/%s", dev + strlen("/dev/"), name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &value), 1);
	fclose(file);
	return value;
}

static void a_block_device(void **state)
{
	const char *path = files_new("disk", 16 * MIB);
	struct file f, g;
	uint8_t a[16], b[16];
	struct file_batch ring;
	char dev[64], *buf;

	(void)state;
	if (!files_loop(path, 4096, dev, sizeof(dev)))
		skip();
	assert_int_equal(file_block(dev), 4096);
	assert_int_equal(open_file(&f, dev, false, 0, 512), -EINVAL);
	assert_int_equal(open_file(&f, dev, false, 0, 0), 0);
	assert_true(f.block_device && f.direct);
	assert_int_equal(f.logical_block, 4096);
	assert_int_equal(f.size, 16 * MIB);
	assert_int_equal(open_file(&g, dev, false, 0, 0), -EBUSY);
	assert_true(f.max_discard && f.discard_granularity && f.max_zeroes);
	assert_int_equal(f.max_erase, 0);
	assert_int_equal(f.physical_block, queue_of(dev, "physical_block_size"));
	assert_int_equal(f.io_min, queue_of(dev, "minimum_io_size"));
	assert_int_equal(f.io_opt, queue_of(dev, "optimal_io_size"));
	assert_int_equal(f.rotational, queue_of(dev, "rotational"));
	assert_true(f.max_io && f.max_io <= queue_of(dev, "max_hw_sectors_kb") << 10);
	buf = files_buffer(4 * MIB);
	files_pattern(buf, 4 * MIB, 4 * MIB, 5);
	assert_int_equal(file_batch_open(&ring, &f, 4), 0);
	file_batch_write(&ring, buf, 4 * MIB, 4 * MIB);
	assert_int_equal(file_batch_wait(&ring), 0);
	assert_int_equal(file_batch_sync(&ring), 0);
	assert_true(files_are(path, 4 * MIB, 4 * MIB, 5));
	assert_int_equal(file_zero(&f, 4 * MIB, MIB, true), 0);
	assert_int_equal(file_zero(&f, 5 * MIB, MIB, false), 0);
	assert_int_equal(file_discard(&f, 6 * MIB, MIB), 0);
	assert_true(files_zero(dev, 4 * MIB, 2 * MIB));
	assert_true(files_are(dev, 7 * MIB, MIB, 5));
	assert_int_equal(file_epoch(&f, a), 0);
	file_batch_close(&ring);
	file_close(&f);
	/* the same device number, but another disk */
	files_unloop(dev);
	assert_int_equal(files_run("losetup -b 4096 %s %s", dev, path), 0);
	assert_int_equal(open_file(&f, dev, true, 0, 0), 0);
	assert_int_equal(file_epoch(&f, b), 0);
	assert_memory_not_equal(a, b, 16);
	file_close(&f);
	files_unloop(dev);
	free(buf);
}

/* If a partition is open exclusively, the kernel refuses its disk, and the other way round. */
static void a_partition_and_its_disk(void **state)
{
	const char *path = files_new("disk", 16 * MIB);
	struct file whole, part, other;
	char dev[64], first[70], second[70];

	(void)state;
	assert_int_equal(files_run("printf '2048,8192\n10240,8192\n' | sfdisk -q %s", path), 0);
	if (!files_loop(path, 512, dev, sizeof(dev)))
		skip();
	snprintf(first, sizeof(first), "%sp1", dev);
	snprintf(second, sizeof(second), "%sp2", dev);
	/* -u: the kernel may have found the partitions by itself. */

	if (files_run("partx -u %s", dev) || access(second, F_OK)) {
		files_unloop(dev);
		skip();
	}
	assert_int_equal(open_file(&part, first, false, 0, 0), 0);
	assert_int_equal(open_file(&whole, dev, false, 0, 0), -EBUSY);
	assert_int_equal(open_file(&whole, dev, true, 0, 0), -EBUSY);
	assert_int_equal(open_file(&other, second, false, 0, 0), 0);
	file_close(&other);
	file_close(&part);
	assert_int_equal(open_file(&whole, dev, false, 0, 0), 0);
	assert_int_equal(open_file(&part, first, false, 0, 0), -EBUSY);
	assert_int_equal(open_file(&part, first, true, 0, 0), -EBUSY);
	file_close(&whole);
	assert_int_equal(files_run("partx -d %s", dev), 0);
	files_unloop(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(geometry),
		cmocka_unit_test(contents_do_not_depend_on_the_boot),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(a_dying_process_is_waited_for),
		cmocka_unit_test(a_lock_is_waited_for_by_the_clock),
		cmocka_unit_test(a_closed_ring_holds_nothing),
		cmocka_unit_test(identity),
		cmocka_unit_test(holes),
		cmocka_unit_test(zeroes_and_discards),
		cmocka_unit_test(a_file_that_shrinks),
		cmocka_unit_test(transfers_are_whole),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(reasons),
		cmocka_unit_test(hangs_end_on_demand),
		cmocka_unit_test(a_block_device),
		cmocka_unit_test(a_partition_and_its_disk),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
