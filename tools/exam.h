/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_EXAM_H
#define RDMABLK_TOOLS_EXAM_H

#include <stdbool.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "adapter.h"
#include "util.h"

#define EXAM_TEXT	256		/* bytes of a finding */
#define EXAM_LINE	ADAPTER_LINE	/* bytes of a line of a file */

/* Roles for which a host is checked */
#define EXAM_INITIATOR	1U
#define EXAM_TARGET		2U

/**
 * enum exam_level - how bad a finding is
 * @EXAM_OK: nothing is wrong
 * @EXAM_NOTE: something to know, or something that could not be checked
 * @EXAM_WARNING: works, but slower or less safe than it could
 * @EXAM_ERROR: does not work
 */
enum exam_level {
	EXAM_OK,
	EXAM_NOTE,
	EXAM_WARNING,
	EXAM_ERROR,
	EXAM_LEVELS
};

/**
 * struct exam - one examination
 * @root: directory that stands for /
 * @here: @root is that of this host, so that its kernel and its daemon can be asked
 * @control: socket of the daemon
 * @silent: the daemon has not answered in time
 * @roles: EXAM_*, roles for which the host is checked
 * @role: role for which the running check is: "initiator", "target" or "both"
 * @check: name of the check that runs
 * @worst: of the findings
 * @keys: keys of the kernel that were seen
 * @expiring: a key with an end was seen
 * @findings: array of objects, see Documentation/json/rdmablk-doctor.schema.json
 */
struct exam {
	int root;
	bool here;
	const char *control;
	bool silent;
	unsigned int roles;
	const char *role;
	const char *check;
	enum exam_level worst;
	unsigned int keys;
	bool expiring;
	struct json_object *findings;
};

typedef bool (*exam_lines_fn)(const char *line, void *context);

int exam_line(const struct exam *d, char line[EXAM_LINE], const char *fmt, ...) __printf(3, 4);
void exam_lines(const struct exam *d, const char *path, exam_lines_fn fn, void *context);
int exam_stat(const struct exam *d, const char *path, struct stat *st);
bool exam_exists(const struct exam *d, const char *path);
void exam_found(struct exam *d, enum exam_level level, const char *mend, const char *fmt, ...)
	__printf(4, 5);
const char *exam_level_text(enum exam_level level);

#endif /* RDMABLK_TOOLS_EXAM_H */
