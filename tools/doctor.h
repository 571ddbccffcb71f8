/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_H
#define RDMABLK_TOOLS_DOCTOR_H

#include <stdbool.h>

#include <json-c/json.h>

/* Roles for which a host is checked */
#define DOCTOR_INITIATOR	1U
#define DOCTOR_TARGET		2U

/**
 * enum doctor_level - how bad a finding is
 * @DOCTOR_OK: nothing is wrong
 * @DOCTOR_NOTE: something to know, or something that could not be checked
 * @DOCTOR_WARNING: works, but slower or less safe than it could
 * @DOCTOR_ERROR: does not work
 */
enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE,
	DOCTOR_WARNING,
	DOCTOR_ERROR,
	DOCTOR_LEVELS
};

/**
 * struct doctor - one examination
 * @root: directory that stands for /
 * @here: @root is that of this host, so that its kernel and its daemon can be asked
 * @control: socket of the daemon
 * @roles: DOCTOR_*, roles for which the host is checked
 * @role: role for which the running check is: "initiator", "target" or "both"
 * @check: name of the check that runs
 * @worst: of the findings
 * @findings: array of objects, see Documentation/json/rdmablk-doctor.schema.json
 */
struct doctor {
	int root;
	bool here;
	const char *control;
	unsigned int roles;
	const char *role;
	const char *check;
	enum doctor_level worst;
	struct json_object *findings;
};

int doctor_open(struct doctor *d, const char *root);
void doctor_run(struct doctor *d);
void doctor_close(struct doctor *d);
const char *doctor_level_text(enum doctor_level level);

#endif /* RDMABLK_TOOLS_DOCTOR_H */
