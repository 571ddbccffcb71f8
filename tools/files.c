// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Small files, as those of sysfs are, and directories of them; also below a directory that stands
 * for the root of another host, whose links count from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "files.h"

static int other_root = -1;

/**
 * files_set_root() - a directory stands for the root of another host
 * @dir: the directory: paths that begin at it do not leave it by a link or by ".."
 */
void files_set_root(int dir)
{
	other_root = dir;
}

/**
 * files_open() - opens a file
 * @dir: directory that @path begins at
 * @path: path of the file
 * @flags: as for open(), without O_CREAT
 *
 * Returns a descriptor, or -errno.
 */
int files_open(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	int fd;

	if (dir != other_root || dir < 0)
		fd = openat(dir, path, flags | O_CLOEXEC);
	else
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/**
 * files_line() - reads the first line of a file
 * @dir: directory that @path begins at
 * @path: path of the file
 * @text: result, without a line feed; "" after an error
 * @size: bytes of @text
 *
 * Returns 0 or -errno.
 */
int files_line(int dir, const char *path, char *text, size_t size)
{
	int fd = files_open(dir, path, O_RDONLY | O_NONBLOCK), ret;
	ssize_t len;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	len = read(fd, text, size - 1);
	ret = len < 0 ? -errno : 0;
	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return ret;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/**
 * files_names() - lists a directory
 * @dir: directory that @path begins at; negative: there is none
 * @path: path of the directory
 * @wanted: not 0 for the entries of the list; NULL: all that do not begin with a dot
 * @names: result, for files_free(); in the order of their names, numbers by value
 *
 * Returns how many there are. A directory that cannot be read is an empty one.
 */
int files_names(int dir, const char *path, int (*wanted)(const struct dirent *entry),
		struct dirent ***names)
{
	int fd, nr;

	*names = NULL;
	fd = dir < 0 ? -1 : files_open(dir, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return 0;
	nr = scandirat(fd, ".", names, wanted ?: is_visible, by_name);
	close(fd);
	return nr > 0 && *names ? nr : 0;
}

/**
 * files_free() - frees the result of files_names()
 * @names: as it was
 * @nr: as it was
 */
void files_free(struct dirent **names, int nr)
{
	while (nr > 0)
		free(names[--nr]);
	free(names);
}

/**
 * files_write() - writes all of a text
 * @fd: of a file or pipe
 * @text: what to write
 * @len: its bytes
 *
 * Returns 0 or -errno.
 */
int files_write(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		len -= n;
	}
	return 0;
}
