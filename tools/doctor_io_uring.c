// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether the daemon may use io_uring, which it needs for exports of files. With
 * kernel.io_uring_disabled=1 a process needs CAP_SYS_ADMIN, or the group that
 * kernel.io_uring_group names.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_config.h"
#include "doctor_io_uring.h"

#define USER	"rdmablkd"	/* of the daemon's unit */

/**
 * struct right - whether somebody may use io_uring
 * @group: that may use it; negative: there is none
 * @given: result
 */
struct right {
	long group;
	bool given;
};

static void compare(struct right *right, const char *number)
{
	if (right->group >= 0 && strtol(number, NULL, 10) == right->group)
		right->given = true;
}

/* @line: of /proc/PID/status, whose groups have blanks or tabs between them */
static bool see_status(const char *line, void *context)
{
	struct right *right = context;
	const char *next;

	if (!strncmp(line, "CapEff:", 7))
		right->given |= !!(strtoull(line + 7, NULL, 16) & 1ULL << CAP_SYS_ADMIN);
	if (strncmp(line, "Gid:", 4) && strncmp(line, "Groups:", 7))
		return true;
	for (next = strpbrk(line, " \t"); next && next[strspn(next, " \t\n")];
	     next = strpbrk(next + strspn(next, " \t"), " \t"))
		compare(right, next);
	return true;
}

/* Returns what follows so many colons, or NULL. */
static const char *field(const char *line, unsigned int colons)
{
	while (line && colons--) {
		line = strchr(line, ':');
		line = line ? line + 1 : NULL;
	}
	return line;
}

/* @line: of /etc/passwd */
static bool see_user(const char *line, void *context)
{
	const char *group;

	if (strncmp(line, USER ":", strlen(USER ":")))
		return true;
	group = field(line, 3);
	if (group)
		compare(context, group);
	return true;
}

/* @line: of /etc/group */
static bool see_group(const char *line, void *context)
{
	const char *number = field(line, 2), *member = field(line, 3);
	struct right *right = context, same = { .group = right->group };
	size_t len;

	if (number)
		compare(&same, number);
	for (; same.given && member && *member; member += len + !!member[len]) {
		len = strcspn(member, ",\n");
		if (len == strlen(USER) && !strncmp(member, USER, len))
			right->given = true;
	}
	return true;
}

/* Whether the daemon may use io_uring; @daemon: its process, or not positive: the unit's user */
static bool has_right(const struct exam *d, pid_t daemon)
{
	struct right right = { .group = -1 };
	char line[EXAM_LINE], path[64];

	if (!exam_line(d, line, "proc/sys/kernel/io_uring_group"))
		right.group = strtol(line, NULL, 10);
	if (daemon > 0) {
		snprintf(path, sizeof(path), "/proc/%d/status", (int)daemon);
		exam_lines(d, path, see_status, &right);
	} else {
		exam_lines(d, "etc/passwd", see_user, &right);
		exam_lines(d, "etc/group", see_group, &right);
	}
	return right.given;
}

/**
 * doctor_io_uring_check() - looks whether the daemon may use io_uring
 * @d: gets the findings
 * @daemon: its process; not positive: it does not run, or is unknown
 */
void doctor_io_uring_check(struct exam *d, pid_t daemon)
{
	static const char mend[] =
		"echo kernel.io_uring_disabled=0 > /etc/sysctl.d/90-rdmablkd.conf; sysctl --system";
	static const char *const kinds[] = { "export", NULL };
	enum exam_level level = EXAM_NOTE;
	char line[EXAM_LINE];

	if (!exam_exists(d, "proc/sys/kernel"))
		return;
	/* Linux before 6.6 does not have it. */
	if (exam_line(d, line, "proc/sys/kernel/io_uring_disabled") || !strcmp(line, "0")) {
		exam_found(d, EXAM_OK, NULL, "io_uring is allowed");
		return;
	}
	if (doctor_config_has(d, DOCTOR_CONFIG_DAEMON, kinds, "file"))
		level = EXAM_ERROR;
	if (strcmp(line, "1"))
		exam_found(d, level, mend,
			   "kernel.io_uring_disabled is %s: nobody may use io_uring, and the daemon can export no file",
			   line);
	else if (has_right(d, daemon))
		exam_found(d, EXAM_OK, NULL,
			   "kernel.io_uring_disabled is 1, and the daemon may use io_uring");
	else if (daemon > 0)
		exam_found(d, level, mend,
			   "kernel.io_uring_disabled is 1, and the daemon is not in the group of kernel.io_uring_group: it can export no file");
	else
		exam_found(d, level == EXAM_ERROR ? EXAM_WARNING : level, mend,
			   "kernel.io_uring_disabled is 1, and the user %s is not in the group of kernel.io_uring_group: the daemon can export no file",
			   USER);
}
