/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files, small file systems and loop devices for the tests of stores. All of them are in a
 * directory of their own, on disk. File systems are mounted in a mount namespace that ends with
 * the program.
 */
#ifndef TARGET_FILES_H
#define TARGET_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#define KIB	1024ULL
#define MIB	(1024 * KIB)
#define EXTENTS	(64 * KIB)	/* what a file system may need for the extents of a file */

static char files_dir[160];	/* on disk */
static bool files_mounts;	/* file systems may be mounted */

static inline int files_setup(void **state)
{
	const char *tmp = getenv("UNIT_TMP");

	(void)state;
	snprintf(files_dir, sizeof(files_dir), "%s/rdmablk-unit-XXXXXX", tmp ?: "/var/tmp");
	if (!mkdtemp(files_dir))
		return -1;
	files_mounts = !unshare(CLONE_NEWNS) &&
		       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return 0;
}

/* Runs a command without its output. Return: 0: the command succeeded */
static inline int files_run(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	strncat(text, " >/dev/null 2>&1", sizeof(text) - strlen(text) - 1);
	return system(text);
}

/* Path of a file in the directory; eight of them are valid at a time. */
static inline const char *files_path(const char *name)
{
	static char path[8][240];
	static unsigned int next;
	char *p = path[next++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", files_dir, name);
	return p;
}

/* Mounts a tmpfs at a directory of this name. Return: false: this user may not mount */
static inline bool files_tmpfs(const char *name, const char *options)
{
	if (!files_mounts)
		return false;
	mkdir(files_path(name), 0755);
	return !mount("none", files_path(name), "tmpfs", 0, options);
}

static inline int files_teardown(void **state)
{
	(void)state;
	/* left over from a test that failed */
	files_run("losetup -n -O NAME,BACK-FILE | while read -r dev file; do "
		  "case $file in %s/*) losetup -d $dev; esac; done", files_dir);
	umount2(files_path("small"), MNT_DETACH);
	umount2(files_path("kept"), MNT_DETACH);
	return files_run("rm -rf --one-file-system %s", files_dir);
}

/* A new file that is one hole */
static inline const char *files_new(const char *name, uint64_t size)
{
	const char *path = files_path(name);
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
	return path;
}

/* Memory that is aligned for direct I/O */
static inline void *files_buffer(size_t bytes)
{
	void *buf = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	assert_non_null(buf);
	return buf;
}

/* Fills @buf with bytes that depend on their offset and on @seed. */
static inline void files_pattern(void *buf, uint64_t offset, size_t bytes,
				 unsigned int seed)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(((offset + i) * 2654435761u >> 13 ^ (offset + i) ^
				  seed * 97) | 1);
}

static inline void files_write(const char *path, uint64_t offset, size_t bytes,
			       unsigned int seed)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint8_t *buf = malloc(bytes);

	assert_true(fd >= 0);
	files_pattern(buf, offset, bytes, seed);
	assert_int_equal(pwrite(fd, buf, bytes, (off_t)offset), bytes);
	close(fd);
	free(buf);
}

static inline void files_text(const char *path, const char *text)
{
	char temp[260];
	FILE *file;

	/* Another inode each time, so that a reader sees the change. */
	snprintf(temp, sizeof(temp), "%s.new", path);
	file = fopen(temp, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(temp, path), 0);
}

static inline void files_read(const char *path, void *buf, uint64_t offset, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, buf, bytes, (off_t)offset), bytes);
	close(fd);
}

/* Whether a part of a file has the bytes that files_pattern() makes of @seed */
static inline bool files_are(const char *path, uint64_t offset, size_t bytes,
			     unsigned int seed)
{
	uint8_t *is = malloc(bytes), *want = malloc(bytes);
	bool same;

	files_read(path, is, offset, bytes);
	files_pattern(want, offset, bytes, seed);
	same = !memcmp(is, want, bytes);
	free(is);
	free(want);
	return same;
}

static inline bool files_zero(const char *path, uint64_t offset, size_t bytes)
{
	uint8_t *is = malloc(bytes);
	bool zero = true;

	files_read(path, is, offset, bytes);
	for (size_t i = 0; i < bytes; i++)
		zero = zero && !is[i];
	free(is);
	return zero;
}

/* Bytes of disk space that a file uses */
static inline uint64_t files_space(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	fsync(fd);		/* delayed blocks are not counted before */
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (uint64_t)st.st_blocks * 512;
}

/*
 * Makes a loop device of a file, with blocks of @block bytes. Return: false: this is not
 * possible here.
 */
static inline bool files_loop(const char *path, unsigned int block, char *dev, size_t len)
{
	char command[300];
	FILE *pipe;
	bool ok;

	snprintf(command, sizeof(command), "losetup -f --show -b %u %s 2>/dev/null", block,
		 path);
	pipe = popen(command, "re");
	ok = pipe && fgets(dev, (int)len, pipe);
	if (pipe && pclose(pipe))
		ok = false;
	if (ok)
		dev[strcspn(dev, "\n")] = '\0';
	return ok;
}

static inline void files_unloop(const char *dev)
{
	assert_int_equal(files_run("losetup -d %s", dev), 0);
}

#endif
