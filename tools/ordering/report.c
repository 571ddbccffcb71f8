// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The output of rdmablk-ordering: errors, one line each, on standard error; the result on
 * standard output. With --json standard output has one object in every case.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "ordering.h"
#include "pattern.h"

bool report_json;
char report_last[REPORT_LEN];	/* the last error, without its subject */

static struct json_object *new_object(void)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "version", json_object_new_int(1));
	return object;
}

static void print_object(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

/**
 * report_failure() - something is wrong with the usage, or could not be done
 * @what: device, option or host
 * @fmt: why it could not
 *
 * Return: STATUS_NOT_RUN.
 */
int report_failure(const char *what, const char *fmt, ...)
{
	struct json_object *object, *error;
	const char *why = report_last;
	va_list args;

	va_start(args, fmt);
	vsnprintf(report_last, sizeof(report_last), fmt, args);
	va_end(args);
	fprintf(stderr, "rdmablk-ordering: %s: %s\n", what, why);
	if (report_json) {
		object = new_object();
		error = json_object_new_object();
		json_object_object_add(error, "what", json_object_new_string(what));
		json_object_object_add(error, "message", json_object_new_string(why));
		json_object_object_add(error, "exit_status", json_object_new_int(STATUS_NOT_RUN));
		json_object_object_add(object, "error", error);
		print_object(object);
	}
	return STATUS_NOT_RUN;
}

static struct json_object *json_number(uint64_t number)
{
	return json_object_new_uint64(number);
}

static struct json_object *json_example(const struct example *example)
{
	struct json_object *object = json_object_new_object();
	bool known = !example->damaged;

	json_object_object_add(object, "pair", json_number(example->pair));
	json_object_object_add(object, "counter", json_number(example->counter));
	json_object_object_add(object, "found", known ? json_number(example->found) : NULL);
	json_object_object_add(object, "offset", json_number(example->offset));
	json_object_object_add(object, "bytes", json_number(example->bytes));
	json_object_object_add(object, "first", json_number(example->first));
	json_object_object_add(object, "lines", json_number(example->lines));
	return object;
}

static void print_json(const struct options *opts, const struct result *result)
{
	struct json_object *object = new_object(), *examples = json_object_new_array();
	const char *target = opts->target;
	unsigned int i;

	json_object_object_add(object, "device", json_object_new_string(opts->device));
	json_object_object_add(object, "port", json_number(opts->port));
	json_object_object_add(object, "target", target ? json_object_new_string(target) : NULL);
	json_object_object_add(object, "pairs", json_number(opts->pairs));
	json_object_object_add(object, "min_bytes", json_number(opts->min_bytes));
	json_object_object_add(object, "max_bytes", json_number(opts->max_bytes));
	json_object_object_add(object, "relaxed", json_object_new_boolean(opts->relaxed));
	json_object_object_add(object, "no_wait", json_object_new_boolean(opts->no_wait));
	json_object_object_add(object, "interrupted",
			       json_object_new_boolean(result->interrupted));
	json_object_object_add(object, "rounds", json_number(result->rounds));
	json_object_object_add(object, "ms", json_number(result->ns / 1000000));
	json_object_object_add(object, "stale", json_number(result->stale));
	json_object_object_add(object, "damaged", json_number(result->damaged));
	for (i = 0; i < result->nr_examples; i++)
		json_object_array_add(examples, json_example(&result->example[i]));
	json_object_object_add(object, "examples", examples);
	print_object(object);
}

static void print_example(const struct example *example)
{
	printf("  pair %u: WRITE %" PRIu64 " of %u bytes at %u; ", example->pair,
	       example->counter, example->bytes, example->offset);
	printf("from byte %u of its READ on ", example->first);
	if (example->found == PATTERN_EMPTY)
		printf("there was nothing");
	else if (!example->found)
		printf("there was what preceded all WRITEs");
	else if (example->found < example->counter)
		printf("there was WRITE %" PRIu64, example->found);
	else
		printf("there was %#" PRIx64 ", which is of no WRITE", example->found);
	printf("; wrong lines: %u of %u\n", example->lines, example->bytes / PATTERN_LINE);
}

static void print_text(const struct options *opts, const struct port *port,
		       const struct result *result)
{
	unsigned int i;

	printf("%s, %s%s%s%s: ", port->name, opts->target ? "memory of " : "loopback",
	       opts->target ?: "", opts->relaxed ? ", relaxed ordering" : "",
	       opts->no_wait ? ", READs that do not wait" : "");
	printf("%" PRIu64 " WRITEs of %u to %u bytes on %u pair%s in %.1f s, ", result->rounds,
	       opts->min_bytes, opts->max_bytes, opts->pairs, opts->pairs == 1 ? "" : "s",
	       (double)result->ns / 1e9);
	printf("each then read on another queue pair: ");
	if (!result->stale && !result->damaged) {
		printf("no READ was stale\n");
		if (!opts->target)
			printf("Between two machines (--listen, --target) more can show.\n");
		return;
	}
	printf("%" PRIu64 " READ%s stale, %" PRIu64 " damaged\n", result->stale,
	       result->stale == 1 ? "" : "s", result->damaged);
	for (i = 0; i < result->nr_examples; i++)
		print_example(&result->example[i]);
}

/**
 * report_result() - print what the rounds have found
 * @opts: of the rounds
 * @port: of the rounds
 * @result: of the rounds
 *
 * Return: the exit status.
 */
int report_result(const struct options *opts, const struct port *port,
		  const struct result *result)
{
	bool wrong = result->stale || result->damaged;

	if (opts->json)
		print_json(opts, result);
	else
		print_text(opts, port, result);
	if (wrong)
		return STATUS_STALE;
	if (!result->interrupted)
		return STATUS_ORDERED;
	fprintf(stderr, "rdmablk-ordering: %s: interrupted, so nothing is proved\n", port->name);
	return STATUS_NOT_RUN;
}
