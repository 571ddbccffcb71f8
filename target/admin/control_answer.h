/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the socket of the administrator answers, in JSON.
 */
#ifndef RDMABLKD_CONTROL_ANSWER_H
#define RDMABLKD_CONTROL_ANSWER_H

#include <json-c/json.h>

#include "admin/admin_request.h"

struct json_object *control_answer(void);
struct json_object *control_error(int error, const char *why);
struct json_object *control_list(const char *name);
struct json_object *control_sessions(const char *name);
struct json_object *control_hosts(void);
struct json_object *control_metrics(void);
void control_metrics_add(struct json_object *top);
struct json_object *control_done(const struct admin *a);

#endif
