// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that carry the daemon's state across a power cut.
 *
 * A state file is small text that is replaced as a whole: a temporary file gets the new
 * text and is synced, takes the old one's name, and the directory is synced. A power cut
 * leaves the old text or the new one, and after state_file_replace() has returned 0 it
 * leaves the new one. A new directory's own name is synced likewise.
 *
 * Two kinds of state need no such steps: the notes of sync_errors.c, which are only appended
 * to and mean nothing after a reboot; and the trailer of an arena, which is memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/state_file.h"
#include "base/util.h"

#define LOCK_WAIT_MS	2000	/* for a killed process to end */
#define LOCK_STEP_MS	10

/**
 * state_file_sync_dir - make creations, renames and removals in a directory durable
 * @path: directory
 *
 * Blocks.
 *
 * Return: 0, also when there is no such directory; or -errno.
 */
int state_file_sync_dir(const char *path)
{
	int fd __cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	/* EINVAL: this file system has nothing to sync for a directory. */
	return !fsync(fd) || errno == EINVAL ? 0 : -errno;
}

/* Syncs the whole file system of @path, which takes longer. */
static int sync_file_system(const char *path)
{
	int fd __cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || syncfs(fd) ? -errno : 0;
}

/**
 * state_file_make_dir - make a directory whose name survives a power cut
 * @path: directory; may exist
 *
 * Blocks. A directory that exists is synced, too: an earlier process may have ended between
 * its mkdir and its fsync. The daemon's user may not be allowed to read the directory above.
 *
 * Return: 0 or -errno.
 */
int state_file_make_dir(const char *path)
{
	char above[PATH_MAX];
	int ret;

	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	if ((size_t)snprintf(above, sizeof(above), "%s/..", path) >= sizeof(above))
		return -ENAMETOOLONG;
	ret = state_file_sync_dir(above);
	return ret == -EACCES ? sync_file_system(path) : ret;
}

static int try_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644), ret;

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd < 0 ? -errno : fd;
	ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return ret;
}

/**
 * state_file_lock - take a lock, so that no other process uses the same state
 * @path: lock file, in a directory that exists; made if there is none
 *
 * Blocks, for two seconds at most if another process has the lock, because that may be dying.
 * Whether another host can have the lock at the same time depends on the file system.
 *
 * Return: a descriptor, which has the lock until it is closed; -EBUSY: another process has
 * it, or this one; -errno.
 */
int state_file_lock(const char *path)
{
	int64_t until = monotonic_ms() + LOCK_WAIT_MS;
	int fd = try_lock(path);

	while (fd == -EBUSY && monotonic_ms() < until) {
		pause_ms(LOCK_STEP_MS);
		fd = try_lock(path);
	}
	return fd;
}

/* The directory of @path, in place: @dir holds a copy of @path. */
static const char *dir_of(char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash)
		return ".";
	if (slash == dir)
		return "/";
	*slash = '\0';
	return dir;
}

static int write_synced(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;

	n = write(fd, text, len);
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -ENOSPC;
	return fsync(fd) ? -errno : 0;
}

/* Writes and closes @fd, the file @temp, and gives it the name @path. @fd: or -errno */
static int finish(int fd, const char *temp, const char *path, const char *text)
{
	char dir[PATH_MAX];
	int ret;

	if (fd < 0)
		return fd;
	ret = write_synced(fd, text);
	close(fd);
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret) {
		unlink(temp);
		return ret;
	}
	snprintf(dir, sizeof(dir), "%s", path);
	return state_file_sync_dir(dir_of(dir));
}

/**
 * state_file_replace - give a state file new contents
 * @path: file, in a directory that exists
 * @text: all of its contents
 *
 * Blocks. Any thread, but one at a time for a file.
 *
 * Return: 0: @text is durable; or -errno: the file has its old contents, or @text, which
 * a power cut may undo.
 */
int state_file_replace(const char *path, const char *text)
{
	char temp[PATH_MAX];
	int fd;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.new", path) >= sizeof(temp))
		return -ENAMETOOLONG;
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	return finish(fd < 0 ? -errno : fd, temp, path, text);
}

/**
 * state_file_replace_among - give a state file new contents, where other processes may do the same
 * @path: file, in a directory that exists
 * @text: all of its contents
 *
 * Blocks. Any thread. If the process is killed, its temporary file stays, with a name of its own.
 *
 * Return: as for state_file_replace(). The last process wins.
 */
int state_file_replace_among(const char *path, const char *text)
{
	static const char end[] = ".XXXXXX.new";
	char temp[PATH_MAX];
	int fd;

	if ((size_t)snprintf(temp, sizeof(temp), "%s%s", path, end) >= sizeof(temp))
		return -ENAMETOOLONG;
	fd = mkostemps(temp, strlen(".new"), O_CLOEXEC);
	if (fd >= 0 && fchmod(fd, 0644)) {
		int err = errno;

		close(fd);
		unlink(temp);
		return -err;
	}
	return finish(fd < 0 ? -errno : fd, temp, path, text);
}
