/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_OUTPUT_H
#define RDMABLK_TOOLS_OUTPUT_H

#include <stdbool.h>

#include <json-c/json.h>
#include <linux/types.h>

struct device;
struct device_list;

#define OUTPUT_JSON_VERSION	1
#define OUTPUT_MAX_COLUMNS	80
#define OUTPUT_TIME_LEN		40
#define OUTPUT_COLUMN_NAMES	1024	/* bytes for the names of all columns */

/**
 * struct output_columns - columns of a table
 * @id: enum rdmablk_attr, or the value after the last for the path
 * @nr: how many
 */
struct output_columns {
	int id[OUTPUT_MAX_COLUMNS];
	int nr;
};

/**
 * struct output_column - a column of a table of JSON objects
 * @name: in the heading
 * @key: key of the objects
 * @right: its numbers are aligned right
 */
struct output_column {
	const char *name;
	const char *key;
	bool right;
};

/* Entries of a table of columns */
#define OUTPUT_TEXT(name, key)		{ name, key, false }
#define OUTPUT_NUMBER(name, key)	{ name, key, true }

typedef void (*output_cell_fn)(struct json_object *row, const char *key, char *text,
			       size_t size);

struct json_object *output_json_new(void);
struct json_object *output_json_value(const struct device *device, unsigned int attr);
struct json_object *output_json_device(const struct device *device);
void output_json_line(struct json_object *object);
void output_json_document(struct json_object *devices);
void output_json_devices(const struct device_list *list);

const char *output_parse_columns(const char *text,
				 struct output_columns *columns);
void output_column_names(char *text, size_t size);
int output_table(const struct device_list *list,
		 const struct output_columns *columns, bool headings, bool bytes);
void output_line(const struct device *device, unsigned int attr);
void output_brief(const struct device *device, const char *users);
void output_block(const struct device *device, const char *users);
void output_now(char *text, size_t size);
void output_human_bytes(__u64 bytes, char *text, size_t size);
int output_rows(struct json_object *rows, const struct output_column *columns,
		output_cell_fn cell_of);

#endif /* RDMABLK_TOOLS_OUTPUT_H */
