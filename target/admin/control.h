/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of the administrator: a line of JSON in, a line of JSON out.
 */
#ifndef RDMABLKD_CONTROL_H
#define RDMABLKD_CONTROL_H

#include <json-c/json.h>

#include "admin/admin_request.h"

/* How long a line may take to come, and an answer to be taken: */
extern int64_t control_idle_ms;
int control_open(const char *path);
void control_close(void);

/* Answers */
struct json_object *control_answer(void);
struct json_object *control_error(int error, const char *why);
struct json_object *control_list(const char *name);
struct json_object *control_sessions(const char *name);
struct json_object *control_hosts(void);
struct json_object *control_done(const struct admin *a);

#endif
