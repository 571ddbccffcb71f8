// SPDX-License-Identifier: GPL-2.0-or-later
/* What all checks of an examination use: the files of the host, and the list of findings. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exam.h"
#include "files.h"
#include "shown.h"

/*
 * Files
 */

/**
 * exam_line() - reads the first line of a file of the host
 * @d: examination
 * @line: EXAM_LINE bytes; result
 * @fmt: path below the root
 *
 * Returns 0 or -errno.
 */
int exam_line(const struct exam *d, char line[EXAM_LINE], const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return files_line(d->root, path, line, EXAM_LINE);
}

/**
 * exam_lines() - goes through the lines of a file of the host
 * @d: examination
 * @path: path below the root
 * @fn: called for each line; false ends the walk
 * @context: for @fn
 *
 * A file that cannot be read has no lines.
 */
void exam_lines(const struct exam *d, const char *path, exam_lines_fn fn, void *context)
{
	int fd = files_open(d->root, path, O_RDONLY | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (getline(&line, &size, file) > 0 && fn(line, context))
		;
	free(line);
	fclose(file);
}

/**
 * exam_stat() - looks at a file of the host, or at what a link leads to
 * @d: examination
 * @path: path below the root
 * @st: result
 *
 * Returns 0 or -1.
 */
int exam_stat(const struct exam *d, const char *path, struct stat *st)
{
	int fd = files_open(d->root, path, O_PATH), ret;

	if (fd < 0)
		return -1;
	ret = fstat(fd, st);
	close(fd);
	return ret;
}

/**
 * exam_exists() - whether the host has a file
 * @d: examination
 * @path: path below the root
 */
bool exam_exists(const struct exam *d, const char *path)
{
	struct stat st;

	return !exam_stat(d, path, &st);
}

/*
 * Findings
 */

/**
 * exam_level_text() - the word for a level
 * @level: as in a finding
 */
const char *exam_level_text(enum exam_level level)
{
	static const char *const texts[] = {
		[EXAM_OK] = "ok", [EXAM_NOTE] = "note", [EXAM_WARNING] = "warning",
		[EXAM_ERROR] = "error",
	};

	return texts[level];
}

/**
 * exam_found() - adds a finding
 * @d: examination, with the name and the role of the check
 * @level: how bad it is
 * @mend: command that mends it, or NULL
 * @fmt: what was found; the daemon and others may have chosen parts of it
 */
void exam_found(struct exam *d, enum exam_level level, const char *mend, const char *fmt, ...)
{
	struct json_object *finding = json_object_new_object();
	char text[EXAM_TEXT], command[2 * EXAM_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	shown_clean(text);
	snprintf(command, sizeof(command), "%s", mend ? mend : "");
	shown_clean(command);
	json_object_object_add(finding, "role", json_object_new_string(d->role));
	json_object_object_add(finding, "check", json_object_new_string(d->check));
	json_object_object_add(finding, "level",
			       json_object_new_string(exam_level_text(level)));
	json_object_object_add(finding, "text", json_object_new_string(text));
	json_object_object_add(finding, "mend", mend ? json_object_new_string(command) : NULL);
	json_object_array_add(d->findings, finding);
	if (level > d->worst)
		d->worst = level;
}
