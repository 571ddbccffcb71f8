// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk discover: the exports of a target that this host may use. The tool logs in itself,
 * without the module and without an export.
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "output.h"
#include "report.h"
#include "util.h"
#include "visit.h"

#define OPTION_NAMES	'n'
#define OPTION_JSON	'j'

const struct option_info discover_options[] = {
	VISIT_OPT_KEY,
	VISIT_OPT_HOST_ID,
	VISIT_OPT_TIMEOUT,
	{ "names", 0, OPTION_NAMES, NULL, "print the names alone, one a line" },
	{ "json", 0, OPTION_JSON, NULL, "print JSON" },
	{ 0 }
};

static const struct opts_origin origin = { "discover", "--" };

struct discover_args {
	struct visit visit;
	bool names;
};

static int set(void *context, int id, const char *value)
{
	struct discover_args *args = context;

	switch (id) {
	case OPTION_NAMES:
		args->names = true;
		return 0;
	case OPTION_JSON:
		report_json = true;
		return 0;
	default:
		return visit_set_option(&origin, &args->visit, id, value);
	}
}

static void add_flag(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

static struct json_object *export_object(const struct rdmablk_listed *listed)
{
	struct json_object *object = json_object_new_object();
	__u32 flags = le32toh(listed->flags);
	bool file = flags & (RDMABLK_GRANT_CACHE | RDMABLK_GRANT_STAGED);

	json_object_object_add(object, "name", json_object_new_string(listed->name));
	json_object_object_add(object, "size", json_object_new_uint64(le64toh(listed->size)));
	json_object_object_add(object, "logical_block",
			       json_object_new_int(le32toh(listed->logical_block)));
	json_object_object_add(object, "type", json_object_new_string(file ? "file" : "memory"));
	json_object_object_add(object, "cache", !file ? NULL :
			       json_object_new_string(flags & RDMABLK_GRANT_STAGED ? "none" :
								"full"));
	add_flag(object, "read_only", flags & RDMABLK_GRANT_READ_ONLY);
	add_flag(object, "shared", flags & RDMABLK_GRANT_SHARED);
	add_flag(object, "rotational", flags & RDMABLK_GRANT_ROTATIONAL);
	add_flag(object, "used_here", flags & RDMABLK_LISTED_HERE);
	add_flag(object, "used_elsewhere", flags & RDMABLK_LISTED_ELSEWHERE);
	add_flag(object, "written_elsewhere", flags & RDMABLK_LISTED_WRITTEN);
	return object;
}

#define MOST_EXPORTS	65536		/* a list of more is taken for an error */
#define PAGE_NS		6000000		/* a target ends a visit that sends 200 messages in 1 s */

/* Asks for all pages. Returns the exports, or NULL. */
static struct json_object *gather(struct client *client, struct nl_failure *failure)
{
	const struct timespec pause = { .tv_nsec = PAGE_NS };
	struct json_object *exports = json_object_new_array();
	struct rdmablk_list list = { 0 };
	char after[RDMABLK_NAME_LEN] = "";
	unsigned int i;

	do {
		if (after[0])
			nanosleep(&pause, NULL);
		if (json_object_array_length(exports) > MOST_EXPORTS) {
			nl_fail(failure, EPROTO, "the target lists more than %d exports",
				MOST_EXPORTS);
			json_object_put(exports);
			return NULL;
		}
		if (client_list(client, after, &list, failure)) {
			json_object_put(exports);
			return NULL;
		}
		for (i = 0; i < le32toh(list.count); i++) {
			json_object_array_add(exports, export_object(&list.listed[i]));
			memcpy(after, list.listed[i].name, sizeof(after));
		}
	} while (list.more);
	return exports;
}

static bool is(struct json_object *row, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(row, key, &value) && json_object_get_boolean(value);
}

static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value;
	bool here = is(row, "used_here"), elsewhere = is(row, "used_elsewhere");

	json_object_object_get_ex(row, key, &value);
	if (!strcmp(key, "size"))
		output_human_bytes(json_object_get_uint64(value), text, size);
	else if (!strcmp(key, "access"))
		snprintf(text, size, "%s%s", is(row, "read_only") ? "ro" : "rw",
			 is(row, "shared") ? ",shared" : "");
	else if (!strcmp(key, "use"))
		snprintf(text, size, "%s%s%s%s", here ? "this host" : "",
			 here && elsewhere ? ", " : "", elsewhere ? "another" : "",
			 is(row, "written_elsewhere") ? " (writes)" : here || elsewhere ? "" : "-");
	else
		snprintf(text, size, "%s", value ? json_object_get_string(value) : "-");
}

static int print(const struct discover_args *args, const struct client *client,
		 struct json_object *exports)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("NAME", "name"), OUTPUT_NUMBER("SIZE", "size"),
		OUTPUT_NUMBER("BLOCK", "logical_block"), OUTPUT_TEXT("TYPE", "type"),
		OUTPUT_TEXT("CACHE", "cache"), OUTPUT_TEXT("ACCESS", "access"),
		OUTPUT_TEXT("USED BY", "use"),
		{ 0 }
	};
	struct json_object *top;
	size_t i;

	if (report_json) {
		top = output_json_new();
		json_object_object_add(top, "target", json_object_new_string(args->visit.address));
		json_object_object_add(top, "target_name",
				       json_object_new_string(client_target_name(client)));
		json_object_object_add(top, "auth", json_object_new_string(args->visit.key ?
									   "psk" : "none"));
		json_object_object_add(top, "exports", json_object_get(exports));
		output_json_line(top);
	} else if (args->names) {
		for (i = 0; i < json_object_array_length(exports); i++) {
			struct json_object *name;

			json_object_object_get_ex(json_object_array_get_idx(exports, i), "name",
						  &name);
			puts(json_object_get_string(name));
		}
	} else if (output_rows(exports, columns, cell)) {
		return report_failure(ENOMEM, "discover", "%s", strerror(ENOMEM));
	}
	return STATUS_DONE;
}

/**
 * cmd_discover() - rdmablk discover
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_discover(const struct command_info *command, int argc, char **argv)
{
	struct discover_args args = { 0 };
	struct json_object *exports;
	struct nl_failure failure;
	struct client *client;
	char what[320];
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret)
		ret = visit_parse("discover", argv + optind, &args.visit);
	if (ret)
		return ret;
	snprintf(what, sizeof(what), "discover %.300s", argv[optind]);
	client = visit_open(&args.visit, what, &ret);
	if (!client)
		return ret;
	exports = gather(client, &failure);
	ret = exports ? print(&args, client, exports) :
			report_peer_failure(failure.err, what, "%s", failure.text);
	json_object_put(exports);
	client_close(client);
	return ret;
}
