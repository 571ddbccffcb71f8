/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket of the daemon. */
#ifndef RDMABLK_TOOLS_CONTROL_H
#define RDMABLK_TOOLS_CONTROL_H

#include <json-c/json.h>
#include <sys/types.h>

#define CONTROL_PATH	"/run/rdmablkd/control"
#define CONTROL_WHY	256
#define CONTROL_LIMIT	10	/* seconds for the answer to a question */

pid_t control_pid(const char *path);
int control_ask(const char *path, struct json_object *request, unsigned int limit,
		struct json_object **answer, uid_t *uid, char *why);

#endif /* RDMABLK_TOOLS_CONTROL_H */
