/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket of the daemon. */
#ifndef RDMABLK_TOOLS_CONTROL_H
#define RDMABLK_TOOLS_CONTROL_H

#include <json-c/json.h>
#include <sys/types.h>

#define CONTROL_PATH	"/run/rdmablkd/control"
#define CONTROL_WHY	256

int control_ask(const char *path, struct json_object *request,
		struct json_object **answer, uid_t *uid, char *why);

#endif /* RDMABLK_TOOLS_CONTROL_H */
