/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures for monitoring systems, as text. */
#ifndef RDMABLK_TOOLS_METRICS_H
#define RDMABLK_TOOLS_METRICS_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

#include "latency.h"

/**
 * enum metrics_format - the text that the figures become
 * @METRICS_OPENMETRICS: OpenMetrics 1.0
 * @METRICS_PROMETHEUS: the text format 0.0.4 of Prometheus, the only one that the textfile
 *	collector of node_exporter reads
 */
enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS,
};

/**
 * enum metrics_type - how a figure behaves
 * @METRICS_GAUGE: it goes up and down
 * @METRICS_COUNTER: it only grows, from 0 again when its disk or session begins again
 * @METRICS_HISTOGRAM: durations in buckets
 */
enum metrics_type {
	METRICS_GAUGE,
	METRICS_COUNTER,
	METRICS_HISTOGRAM,
};

/**
 * struct metrics_family - figures of one name
 * @name: the name, without the _total of a counter; ends with _@unit
 * @type: how the figures behave
 * @unit: "bytes" or "seconds"; NULL: they count things
 * @help: one sentence, without its full stop
 */
struct metrics_family {
	const char *name;
	enum metrics_type type;
	const char *unit;
	const char *help;
};

/**
 * struct metrics_label - what tells the figures of a family apart
 * @name: name of the label; NULL ends an array of them
 * @value: any text
 */
struct metrics_label {
	const char *name;
	const char *value;
};

/**
 * struct metrics - a text in the making; all its fields are private
 * @out: where the text goes
 * @format: which text
 * @family: that the next figures are of
 * @headed: the head of @family is written
 */
struct metrics {
	FILE *out;
	enum metrics_format format;
	const struct metrics_family *family;
	bool headed;
};

/**
 * struct metrics_args - what the options of a command say of the text
 * @file: where it goes; NULL: to standard output
 * @format: which text; NULL: that which suits @file
 */
struct metrics_args {
	const char *file;
	const char *format;
};

void metrics_family(struct metrics *m, const struct metrics_family *family);
void metrics_number(struct metrics *m, const struct metrics_label *labels, __u64 number);
void metrics_ns(struct metrics *m, const struct metrics_label *labels, __u64 ns);
void metrics_latency(struct metrics *m, const struct metrics_label *labels,
		     const struct rdmablk_latency_histogram *h);
int metrics_check(const char *what, const struct metrics_args *args);
int metrics_print(const char *what, const struct metrics_args *args,
		  void (*fill)(struct metrics *m, void *context), void *context);

#endif /* RDMABLK_TOOLS_METRICS_H */
