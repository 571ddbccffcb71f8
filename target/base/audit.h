/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit log: a JSON object in a line for whatever touches the rights of somebody.
 * Documentation/json/rdmablkd-audit.schema.json says which lines there are.
 */
#ifndef RDMABLKD_AUDIT_H
#define RDMABLKD_AUDIT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

extern int audit_stop_ms;	/* for the last lines */
extern int audit_retry_ms;	/* until the next try to write, after an error */
extern int audit_window_ms;	/* in which an address has so many lines of refusals */

int audit_open(const char *path);
int audit_start(void);
void audit_stop(int status, int command);
void audit_reopen(void);

struct json_object *audit_line(const char *event);
struct json_object *audit_refusal(const struct sockaddr *peer);
void audit_text(struct json_object *line, const char *key, const char *text);
void audit_number(struct json_object *line, const char *key, uint64_t number);
void audit_bool(struct json_object *line, const char *key, bool yes);
void audit_id(struct json_object *line, const char *key, uint64_t id);
void audit_uuid(struct json_object *line, const char *key, const uint8_t *uuid);
void audit_key(struct json_object *line, const char *key, const uint8_t *id);
void audit_write(struct json_object *line);

#endif
