// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of the administrator's tool. A request is a JSON object in one line, with
 * "version", "command" and what the command takes; each key once, nothing else.
 */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>

#include "admin/control_request.h"
#include "base/util.h"

#define MAX_DEPTH	4
#define MAX_TEXT	4096

/* Keys that a command may have (@keys) and must have (@needs), a bit each */
#define KEY_NAME	1U
#define KEY_SPEC	2U
#define KEY_SIZE	4U
#define KEY_FORCE	8U
#define KEY_ALLOW	16U
#define KEY_REASON	32U

static const struct command {
	const char *name;
	enum control_show show;
	enum admin_op op;
	unsigned int keys;
	unsigned int needs;
} commands[] = {
	{ .name = "list", .show = CONTROL_LIST, .keys = KEY_NAME },
	{ .name = "sessions", .show = CONTROL_SESSIONS, .keys = KEY_NAME },
	{ .name = "metrics", .show = CONTROL_METRICS },
	{ .name = "add", .op = ADMIN_ADD, .keys = KEY_SPEC, .needs = KEY_SPEC },
	{ .name = "remove", .op = ADMIN_REMOVE, .keys = KEY_NAME | KEY_FORCE,
	  .needs = KEY_NAME },
	{ .name = "resize", .op = ADMIN_RESIZE, .keys = KEY_NAME | KEY_SIZE,
	  .needs = KEY_NAME },
	{ .name = "reopen", .op = ADMIN_REOPEN, .keys = KEY_NAME | KEY_FORCE,
	  .needs = KEY_NAME },
	{ .name = "reload", .op = ADMIN_RELOAD },
	{ .name = "save", .op = ADMIN_SAVE },
	{ .name = "host list", .show = CONTROL_HOSTS },
	{ .name = "host add", .op = ADMIN_HOST_ADD, .keys = KEY_SPEC, .needs = KEY_SPEC },
	{ .name = "host remove", .op = ADMIN_HOST_REMOVE, .keys = KEY_NAME,
	  .needs = KEY_NAME },
	{ .name = "allow", .op = ADMIN_ALLOW, .keys = KEY_NAME | KEY_ALLOW,
	  .needs = KEY_NAME | KEY_ALLOW },
	{ .name = "kick", .op = ADMIN_KICK, .keys = KEY_NAME | KEY_REASON,
	  .needs = KEY_NAME },
};

static const struct key {
	const char *name;
	unsigned int bit;
	enum json_type type;
} keys[] = {
	{ "name", KEY_NAME, json_type_string },
	{ "spec", KEY_SPEC, json_type_string },
	{ "size", KEY_SIZE, json_type_int },
	{ "force", KEY_FORCE, json_type_boolean },
	{ "allow", KEY_ALLOW, json_type_string },
	{ "reason", KEY_REASON, json_type_string },
};

static int wrong(char *why, const char *what, const char *of)
{
	snprintf(why, CONTROL_WHY, "%s%.64s", what, of);
	return -EINVAL;
}

static const struct command *find_command(struct json_object *request)
{
	struct json_object *value;
	const char *name;

	if (!json_object_object_get_ex(request, "command", &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	name = json_object_get_string(value);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* A text without a NUL in it */
static const char *text_of(struct json_object *value)
{
	const char *text = json_object_get_string(value);

	if (!text || strlen(text) != (size_t)json_object_get_string_len(value))
		return NULL;
	return text;
}

static int take_name(struct control_request *out, const char *text, char *why)
{
	if (!text || !value_name_ok(text, RDMABLK_NAME_LEN))
		return wrong(why, "\"name\" is no name", "");
	snprintf(out->name, sizeof(out->name), "%s", text);
	return 0;
}

static int take_text(char **field, const char *text, const char *key, char *why)
{
	if (!text || strlen(text) > MAX_TEXT)
		return wrong(why, "too long, or with a NUL in it: ", key);
	if (asprintf(field, "%s", text) >= 0)
		return 0;
	*field = NULL;
	return wrong(why, "out of memory", "");
}

/* A text for the log, where each line begins with its origin */
static int take_line(char **field, const char *text, const char *key, char *why)
{
	for (const char *c = text ?: ""; *c; c++)
		if (iscntrl((unsigned char)*c))
			return wrong(why, "more than a line of text: ", key);
	return take_text(field, text, key, why);
}

static int take(struct control_request *out, const struct key *key,
		struct json_object *value, char *why)
{
	struct admin *a = out->admin;

	switch (key->bit) {
	case KEY_NAME:
		return take_name(out, text_of(value), why);
	case KEY_SPEC:
		return take_text(&a->spec, text_of(value), "spec", why);
	case KEY_ALLOW:
		return take_text(&a->allow, text_of(value), "allow", why);
	case KEY_REASON:
		return take_line(&a->reason, text_of(value), "reason", why);
	case KEY_SIZE:
		a->size = json_object_get_uint64(value);
		if (json_object_get_int64(value) <= 0 || a->size > RDMABLK_MAX_SIZE)
			return wrong(why, "\"size\" is no size", "");
		return 0;
	default:
		a->force = json_object_get_boolean(value);
		return 0;
	}
}

static const struct key *find_key(const struct command *command, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (command->keys & keys[i].bit && !strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int take_all(struct control_request *out, const struct command *command,
		    struct json_object *request, char *why)
{
	unsigned int got = 0;

	json_object_object_foreach(request, name, value) {
		const struct key *key = find_key(command, name);
		int ret;

		if (!strcmp(name, "version") || !strcmp(name, "command"))
			continue;
		if (!key)
			return wrong(why, "unknown key: ", name);
		if (!json_object_is_type(value, key->type))
			return wrong(why, "value of the wrong type: ", name);
		ret = take(out, key, value, why);
		if (ret)
			return ret;
		got |= key->bit;
	}
	if (command->needs & ~got)
		return wrong(why, "something is missing for ", command->name);
	return 0;
}

static int check_head(struct json_object *request, char *why)
{
	struct json_object *value;

	if (!json_object_is_type(request, json_type_object))
		return wrong(why, "the request is no JSON object", "");
	if (!json_object_object_get_ex(request, "version", &value) ||
	    !json_object_is_type(value, json_type_int))
		return wrong(why, "\"version\" is missing", "");
	if (json_object_get_int64(value) != CONTROL_VERSION)
		return wrong(why, "this daemon speaks version 1", "");
	return 0;
}

static int parse(struct json_object *request, struct control_request *out, char *why)
{
	const struct command *command;
	int ret = check_head(request, why);

	if (ret)
		return ret;
	command = find_command(request);
	if (!command)
		return wrong(why, "unknown command", "");
	out->show = command->show;
	if (!command->show) {
		out->admin = admin_alloc(command->op);
		if (!out->admin)
			return wrong(why, "out of memory", "");
	}
	ret = take_all(out, command, request, why);
	if (!ret && out->admin)
		memcpy(out->admin->name, out->name, sizeof(out->admin->name));
	return ret;
}

/* Counts the members of a well-formed object. A key that comes twice counts twice. */
static size_t count_members(const char *line, size_t len)
{
	bool text = false;
	size_t nr = 0;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];

		if (text && c == '\\')
			i++;
		else if (c == '"')
			text = !text;
		else if (!text && (c == '{' || c == '['))
			depth++;
		else if (!text && (c == '}' || c == ']'))
			depth--;
		else if (!text && c == ':' && depth == 1)
			nr++;
	}
	return nr;
}

/**
 * control_parse - understand a request
 * @line: the request, without its line feed
 * @len: bytes
 * @out: filled
 * @why: CONTROL_WHY bytes, text of the error
 *
 * Return: 0 or -EINVAL; then there is nothing to release.
 */
int control_parse(const char *line, size_t len, struct control_request *out, char *why)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *request;
	int ret;

	*out = (struct control_request){ 0 };
	if (!tok)
		return wrong(why, "out of memory", "");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	request = json_tokener_parse_ex(tok, line, (int)len);
	if (!request || json_tokener_get_parse_end(tok) != len)
		ret = wrong(why, "the request is no JSON object", "");
	else if (json_object_is_type(request, json_type_object) &&
		 count_members(line, len) != (size_t)json_object_object_length(request))
		ret = wrong(why, "a key was given twice", "");
	else
		ret = parse(request, out, why);
	json_object_put(request);
	json_tokener_free(tok);
	if (ret) {
		admin_free(out->admin);
		out->admin = NULL;
	}
	return ret;
}
