// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output to stdout: tables (libsmartcols), blocks of keys and values, JSON (json-c). All
 * three follow attr_table, so each attribute appears in all of them or nowhere. The JSON
 * is an interface: Documentation/json/ describes it, and a change that could break a
 * reader raises its version.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <libsmartcols/libsmartcols.h>

#include "attr.h"
#include "device.h"
#include "output.h"
#include "util.h"

#define COLUMN_PATH	(RDMABLK_ATTR_MAX + 1)
#define DEFAULT_COLUMNS	"NAME,SIZE,RO,STATE,TARGET,EXPORT"

/**
 * output_json_new() - the outermost object, with its version
 */
struct json_object *output_json_new(void)
{
	struct json_object *top = json_object_new_object();

	json_object_object_add(top, "version",
			       json_object_new_int(OUTPUT_JSON_VERSION));
	return top;
}

/**
 * output_json_line() - prints an object on a line of its own
 * @object: is freed
 */
void output_json_line(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object,
					    JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}

/**
 * output_json_value() - an attribute
 * @device: its device
 * @attr: enum rdmablk_attr
 *
 * Returns NULL, which is null in JSON, when it is absent.
 */
struct json_object *output_json_value(const struct device *device, unsigned int attr)
{
	const struct value *value = &device->value[attr];
	enum attr_kind kind = attr_table[attr].kind;

	if (kind == ATTR_FLAG)
		return value->unknown ? NULL : json_object_new_boolean(value->present);
	if (!value->present)
		return NULL;
	switch (kind) {
	case ATTR_BOOL:
		return json_object_new_boolean(value->number);
	case ATTR_U8:
	case ATTR_U32:
	case ATTR_REASON:
		return json_object_new_int64(value->number);
	case ATTR_TMO:
		return json_object_new_int64((__s64)value->number);
	case ATTR_U64:
		return json_object_new_uint64(value->number);
	default:
		return json_object_new_string(value->text);
	}
}

/**
 * output_json_device() - a device with all its keys
 * @device: the device; missing attributes are null
 */
struct json_object *output_json_device(const struct device *device)
{
	const struct value *reason = &device->value[RDMABLK_ATTR_REASON];
	struct json_object *object = json_object_new_object();
	char path[DEVICE_PATH_LEN];
	unsigned int attr;

	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++) {
		if (attr_table[attr].kind == ATTR_NONE)
			continue;
		json_object_object_add(object, attr_table[attr].key,
				       output_json_value(device, attr));
		if (attr == RDMABLK_ATTR_NAME) {
			device_path(device, path);
			json_object_object_add(object, "path",
					       json_object_new_string(path));
		}
		if (attr == RDMABLK_ATTR_REASON)
			json_object_object_add(object, "reason_text",
					       reason->text[0] ?
					       json_object_new_string(reason->text) :
					       NULL);
	}
	return object;
}

/**
 * output_json_document() - prints a whole document
 * @devices: array with an object for each; is freed
 */
void output_json_document(struct json_object *devices)
{
	struct json_object *top = output_json_new();

	json_object_object_add(top, "devices", devices);
	puts(json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
}

/**
 * output_json_devices() - prints devices as a whole document
 * @list: the devices
 */
void output_json_devices(const struct device_list *list)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < list->nr; i++)
		json_object_array_add(array, output_json_device(&list->device[i]));
	output_json_document(array);
}

static const char *column_name(unsigned int id)
{
	return id == COLUMN_PATH ? "PATH" : attr_table[id].column;
}

/* Column of that name, case and the kind of dash aside, or -1. */
static int find_column(const char *text, size_t len)
{
	char wanted[24] = "";
	unsigned int id;
	size_t i;

	if (!len || len >= sizeof(wanted))
		return -1;
	for (i = 0; i < len; i++)
		wanted[i] = text[i] == '_' ? '-' : text[i];
	for (id = 0; id <= COLUMN_PATH; id++)
		if (column_name(id) && !strcasecmp(column_name(id), wanted))
			return id;
	return -1;
}

/**
 * output_parse_columns() - a list of columns
 * @text: names with commas between them; NULL: the default
 * @columns: result
 *
 * Returns NULL, or the place in @text of an unknown name, or of one too many.
 */
const char *output_parse_columns(const char *text,
				 struct output_columns *columns)
{
	size_t len;
	int id;

	columns->nr = 0;
	if (!text)
		text = DEFAULT_COLUMNS;
	for (;;) {
		len = strcspn(text, ",");
		id = find_column(text, len);
		if (id < 0 || columns->nr == OUTPUT_MAX_COLUMNS)
			return text;
		columns->id[columns->nr++] = id;
		if (!text[len])
			return NULL;
		text += len + 1;
	}
}

/**
 * output_column_names() - all columns there are
 * @text: result, with commas
 * @size: bytes of @text
 */
void output_column_names(char *text, size_t size)
{
	size_t used = 0;
	unsigned int id;

	text[0] = '\0';
	for (id = 0; id <= COLUMN_PATH && used < size; id++)
		if (column_name(id))
			used += snprintf(text + used, size - used, "%s%s",
					 used ? "," : "", column_name(id));
}

/**
 * output_human_bytes() - a size for people
 * @bytes: the size
 * @text: result: 1.5G
 * @size: bytes of @text
 */
void output_human_bytes(__u64 bytes, char *text, size_t size)
{
	static const char units[] = "BKMGTPE";
	unsigned int unit = 0;
	__u64 divisor = 1;

	while (bytes / divisor >= 1024 && unit < sizeof(units) - 2) {
		divisor *= 1024;
		unit++;
	}
	if (bytes % divisor)
		snprintf(text, size, "%.1f%c", (double)bytes / divisor, units[unit]);
	else
		snprintf(text, size, "%llu%c", bytes / divisor, units[unit]);
}

/**
 * output_now() - the time, in UTC, as ISO 8601 with milliseconds
 * @text: result
 * @size: bytes of @text, OUTPUT_TIME_LEN
 */
void output_now(char *text, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, size - len, ".%03ldZ", now.tv_nsec / 1000000);
}

/* A size, which is shown in powers of 1024; other units are not. */
static bool is_size(const struct attr_info *info)
{
	return info->kind == ATTR_U64 && info->unit && !strcmp(info->unit, "bytes");
}

static void cell(const struct device *device, unsigned int id, bool bytes,
		 char *text, size_t size)
{
	const struct value *value = &device->value[id];
	const struct attr_info *info = &attr_table[id];

	if (id == COLUMN_PATH)
		device_path(device, text);
	else if (value->unknown)
		snprintf(text, size, "-");
	else if (info->kind == ATTR_FLAG)
		snprintf(text, size, "%s", value->present ? "yes" : "no");
	else if (is_size(info) && value->present && !bytes)
		output_human_bytes(value->number, text, size);
	else
		snprintf(text, size, "%s", value->text);
}

static bool is_number(unsigned int id)
{
	return id != COLUMN_PATH &&
	       (attr_table[id].kind == ATTR_U8 || attr_table[id].kind == ATTR_U32 ||
		attr_table[id].kind == ATTR_TMO || attr_table[id].kind == ATTR_U64);
}

static int fill_table(struct libscols_table *table,
		      const struct device_list *list,
		      const struct output_columns *columns, bool bytes)
{
	char text[VALUE_TEXT_LEN];
	size_t i;
	int c;

	for (c = 0; c < columns->nr; c++)
		if (!scols_table_new_column(table, column_name(columns->id[c]), 0,
					    is_number(columns->id[c]) ?
					    SCOLS_FL_RIGHT : 0))
			return -1;
	for (i = 0; i < list->nr; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		if (!line)
			return -1;
		for (c = 0; c < columns->nr; c++) {
			cell(&list->device[i], columns->id[c], bytes, text,
			     sizeof(text));
			if (scols_line_set_data(line, c, text))
				return -1;
		}
	}
	return 0;
}

static struct libscols_table *table_new(void)
{
	scols_init_debug(0);
	return scols_new_table();
}

/* Prints the table, if it was filled and has rows, and frees it. */
static int table_end(struct libscols_table *table, int ret, bool print)
{
	if (!ret && print)
		ret = scols_print_table(table);
	scols_unref_table(table);
	return ret ? -1 : 0;
}

/**
 * output_table() - prints devices in a table
 * @list: the devices
 * @columns: the columns
 * @headings: with a line of headings
 * @bytes: exact numbers in place of 1.5G
 *
 * Returns 0, or -1 when memory is short.
 */
int output_table(const struct device_list *list,
		 const struct output_columns *columns, bool headings, bool bytes)
{
	struct libscols_table *table = table_new();

	if (!table)
		return -1;
	scols_table_enable_noheadings(table, !headings);
	return table_end(table, fill_table(table, list, columns, bytes),
			 list->nr || headings);
}

static int fill_rows(struct libscols_table *table, struct json_object *rows,
		     const struct output_column *columns, output_cell_fn cell_of)
{
	const struct output_column *c;
	char text[VALUE_TEXT_LEN];
	size_t i;

	for (c = columns; c->name; c++)
		if (!scols_table_new_column(table, c->name, 0,
					    c->right ? SCOLS_FL_RIGHT : 0))
			return -1;
	for (i = 0; i < json_object_array_length(rows); i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		for (c = columns; line && c->name; c++) {
			cell_of(json_object_array_get_idx(rows, i), c->key, text,
				sizeof(text));
			if (scols_line_set_data(line, c - columns, text))
				return -1;
		}
		if (!line)
			return -1;
	}
	return 0;
}

/**
 * output_rows() - prints JSON objects in a table
 * @rows: an array of them
 * @columns: the columns; ends with an entry without a name
 * @cell_of: returns the text of a cell
 *
 * Returns 0, or -1 when memory is short.
 */
int output_rows(struct json_object *rows, const struct output_column *columns,
		output_cell_fn cell_of)
{
	struct libscols_table *table = table_new();

	if (!table)
		return -1;
	return table_end(table, fill_rows(table, rows, columns, cell_of), true);
}

/**
 * output_line() - prints an attribute: its key and its value
 * @device: its device
 * @attr: enum rdmablk_attr
 */
void output_line(const struct device *device, unsigned int attr)
{
	const struct value *value = &device->value[attr];
	const struct attr_info *info = &attr_table[attr];
	char human[16];

	printf("  %-18s", info->key);
	if (value->unknown) {
		printf("-");
	} else if (info->kind == ATTR_FLAG) {
		printf("%s", value->present ? "yes" : "no");
	} else if (!value->present || !value->text[0]) {
		printf("-");
	} else if (is_size(info)) {
		output_human_bytes(value->number, human, sizeof(human));
		printf("%s (%s %s)", human, value->text, info->unit);
	} else if (!info->unit || (info->kind == ATTR_TMO && (__s64)value->number < 0)) {
		printf("%s", value->text);
	} else {
		printf("%s %s", value->text, info->unit);
	}
	printf("\n");
}

/* Does an attribute tell of something out of the ordinary? */
static bool is_notable(const struct value *value, enum attr_kind kind)
{
	if (value->unknown)
		return false;
	if (kind == ATTR_U64 || kind == ATTR_U32)
		return value->present && value->number;
	return value->present && (kind == ATTR_FLAG || value->text[0]);
}

/**
 * output_brief() - prints what matters of a device, one attribute a line
 * @device: the device
 * @users: who uses it; "": nobody is known
 */
void output_brief(const struct device *device, const char *users)
{
	static const unsigned int always[] = {
		RDMABLK_ATTR_STATE, RDMABLK_ATTR_TARGET, RDMABLK_ATTR_EXPORT, RDMABLK_ATTR_SIZE,
	};
	static const unsigned int notable[] = {
		RDMABLK_ATTR_DISCONNECT_MS,
		RDMABLK_ATTR_REASON, RDMABLK_ATTR_LAST_ERROR, RDMABLK_ATTR_IO_FAILING,
		RDMABLK_ATTR_READ_ONLY, RDMABLK_ATTR_SHARED, RDMABLK_ATTR_KEY,
		RDMABLK_ATTR_UNFLUSHED, RDMABLK_ATTR_IN_FLIGHT, RDMABLK_ATTR_READ_BYTES,
		RDMABLK_ATTR_WRITE_BYTES, RDMABLK_ATTR_ERRORS, RDMABLK_ATTR_RECONNECTS,
	};
	size_t i;

	printf("%s\n", device->value[RDMABLK_ATTR_NAME].text);
	for (i = 0; i < ARRAY_SIZE(always); i++)
		output_line(device, always[i]);
	for (i = 0; i < ARRAY_SIZE(notable); i++)
		if (is_notable(&device->value[notable[i]], attr_table[notable[i]].kind))
			output_line(device, notable[i]);
	if (users[0])
		printf("  %-18s%s\n", "used_by", users);
}

/**
 * output_block() - prints all attributes of a device, one a line
 * @device: the device
 * @users: who uses it; "": nobody is known
 */
void output_block(const struct device *device, const char *users)
{
	char path[DEVICE_PATH_LEN];
	unsigned int attr;

	device_path(device, path);
	printf("%s\n", device->value[RDMABLK_ATTR_NAME].text);
	printf("  %-18s%s\n", "path", path);
	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++)
		if (attr_table[attr].kind != ATTR_NONE && attr != RDMABLK_ATTR_NAME)
			output_line(device, attr);
	printf("  %-18s%s\n", "used_by", users[0] ? users : "-");
}
