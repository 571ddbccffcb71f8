// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sandbox, which is Landlock's. Each thread inherits it from the one that starts it,
 * so it is entered before there is a second thread.
 *
 * Always refused: executing a program; making device nodes, pipes and symbolic links;
 * TCP. Refused but below directories of the daemon: making directories and sockets,
 * removing files. A confined daemon writes and creates files in named places only.
 * Descriptors that are open already keep what they can do.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/sandbox.h"
#include "base/util.h"

/* Since ABI 4, Linux 6.7; the headers of Linux 6.1 have neither. */
#define NET_BIND_TCP	(1ULL << 0)
#define NET_CONNECT_TCP	(1ULL << 1)

#define NEVER	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
		 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
		 LANDLOCK_ACCESS_FS_MAKE_SYM)
#define MANAGE	(LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define CREATE	LANDLOCK_ACCESS_FS_MAKE_REG
#define WRITE	LANDLOCK_ACCESS_FS_WRITE_FILE

struct ruleset_attr {	/* landlock_ruleset_attr of ABI 4 */
	uint64_t fs;
	uint64_t net;
};

static struct {
	int ruleset;		/* -1: none is being made */
	uint64_t fs;		/* accesses that it handles */
	bool confined;
} sandbox = { .ruleset = -1 };

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0,
		       LANDLOCK_CREATE_RULESET_VERSION);
}

/**
 * sandbox_begin - start to describe what the daemon keeps
 * @confine: it opens for writing, and creates, files in named places only
 *
 * Also without Landlock no program that this process executes from now on gets more rights, a
 * profile of AppArmor with fewer restrictions included.
 *
 * Return: 0; -EOPNOTSUPP or -ENOSYS: the kernel has no Landlock, or it is off; or another
 * -errno.
 */
int sandbox_begin(bool confine)
{
	struct ruleset_attr attr = { .fs = NEVER | MANAGE | (confine ? CREATE | WRITE : 0) };
	size_t size = sizeof(attr.fs);
	long version;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	version = landlock_version();
	if (version < 0)
		return -errno;
	if (version >= 4) {
		attr.net = NET_BIND_TCP | NET_CONNECT_TCP;
		size = sizeof(attr);
	}
	sandbox.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (sandbox.ruleset < 0)
		return -errno;
	sandbox.fs = attr.fs;
	sandbox.confined = confine;
	return 0;
}

static uint64_t access_of(enum sandbox_use use, bool dir)
{
	uint64_t access = WRITE;

	if (dir && use >= SANDBOX_CREATE)
		access |= CREATE;
	if (dir && use == SANDBOX_MANAGE)
		access |= MANAGE;
	return access & sandbox.fs;
}

static int allow_open(int fd, enum sandbox_use use)
{
	struct landlock_path_beneath_attr beneath = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	beneath.allowed_access = access_of(use, S_ISDIR(st.st_mode));
	if (!beneath.allowed_access)
		return 0;
	return syscall(SYS_landlock_add_rule, sandbox.ruleset, LANDLOCK_RULE_PATH_BENEATH,
		       &beneath, 0) ? -errno : 0;
}

/*
 * Opens a path, or if it does not exist and @use makes files, the nearest directory that exists.
 * Return: a descriptor; -ENOENT: the daemon cannot reach it; or another -errno.
 */
static int open_nearest(const char *path, enum sandbox_use use)
{
	char copy[PATH_MAX], *up;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return -ENAMETOOLONG;
	for (;;) {
		int fd = open(copy, O_PATH | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		if (errno == EACCES || errno == ELOOP)
			return -ENOENT;
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		if (use == SANDBOX_WRITE)
			return -ENOENT;
		/* it ends: "/" and "." exist */
		up = dirname(copy);
		memmove(copy, up, strlen(up) + 1);
	}
}

/**
 * sandbox_allow - keep the use of a path and of what is below it
 * @path: a file or a directory. If it does not exist and @use makes files, its nearest
 *	directory that exists is kept in its place, because the daemon makes it there
 * @use: the use that is kept
 *
 * After sandbox_begin().
 *
 * Return: 0 or -errno. A path that does not exist, or that the daemon cannot reach, is no
 * error here: the daemon says so when it needs the path.
 */
int sandbox_allow(const char *path, enum sandbox_use use)
{
	int fd __cleanup_close = open_nearest(path, use);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return allow_open(fd, use);
}

/**
 * sandbox_allow_own - keep all use of a directory that is the daemon's for as long as it runs
 * @path: the directory, as for sandbox_allow()
 *
 * It stays open. Some file systems, such as 9p without a cache, give a directory that nobody has
 * open another inode at each look, and a rule of Landlock is for an inode.
 *
 * Return: as sandbox_allow() does.
 */
int sandbox_allow_own(const char *path)
{
	int fd = open_nearest(path, SANDBOX_MANAGE);
	int ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ret = allow_open(fd, SANDBOX_MANAGE);
	if (ret)
		close(fd);
	return ret;
}

/**
 * sandbox_allow_beside - keep the use of the directory of a file
 * @path: the file; it need not exist
 * @use: the use that is kept
 *
 * Return: as sandbox_allow() does.
 */
int sandbox_allow_beside(const char *path, enum sandbox_use use)
{
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return -ENAMETOOLONG;
	return sandbox_allow(dirname(copy), use);
}

/**
 * sandbox_enter - give up what was not kept
 *
 * After sandbox_begin() and sandbox_allow(), in the only thread there is.
 *
 * Return: 0 or -errno.
 */
int sandbox_enter(void)
{
	int ret = 0;

	if (syscall(SYS_landlock_restrict_self, sandbox.ruleset, 0))
		ret = -errno;
	close(sandbox.ruleset);
	sandbox.ruleset = -1;
	return ret;
}

/**
 * sandbox_hint - say whether the sandbox may be why a file cannot be opened
 * @error: errno of that
 *
 * Return: words for the end of a message, maybe none.
 */
const char *sandbox_hint(int error)
{
	return error == EACCES && sandbox.confined ?
		" (is it below one of 'directories'?)" : "";
}
