// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk metrics: prints the figures of the disks for a monitoring system. They come from
 * the sources of "rdmablk stats" and "rdmablk status". If the module does not send an
 * attribute, its figure is missing, not 0.
 */
#include <getopt.h>
#include <string.h>

#include "adapter.h"
#include "commands.h"
#include "device.h"
#include "metrics.h"
#include "rdmablk_proto.h"
#include "report.h"
#include "stats.h"
#include "util.h"

const struct option_info metrics_options[] = {
	{ "output", 'o', 'o', "FILE", "replace FILE, for the textfile collector" },
	{ "format", 0, 'f', "FORMAT", "openmetrics or prometheus (as FILE needs it)" },
	{ 0 }
};

/**
 * enum figure_kind - what the value of an attribute becomes
 * @FIGURE_NUMBER: itself
 * @FIGURE_FLAG: 1, or 0 when it is absent
 * @FIGURE_MS: milliseconds, seconds
 */
enum figure_kind {
	FIGURE_NUMBER,
	FIGURE_FLAG,
	FIGURE_MS,
};

/**
 * struct figure - a family that is an attribute of each disk
 * @attr: enum rdmablk_attr
 * @kind: what its value becomes
 * @of_device: from RDMABLK_CMD_GET; the others are from RDMABLK_CMD_STATS_GET
 * @family: the family
 */
struct figure {
	unsigned int attr;
	enum figure_kind kind;
	bool of_device;
	struct metrics_family family;
};

#define COUNTER(name, help)		{ "rdmablk_" name, METRICS_COUNTER, NULL, help }
#define BYTES_COUNTER(name, help)	{ "rdmablk_" name, METRICS_COUNTER, "bytes", help }
#define SECONDS_COUNTER(name, help)	{ "rdmablk_" name, METRICS_COUNTER, "seconds", help }
#define GAUGE(name, help)		{ "rdmablk_" name, METRICS_GAUGE, NULL, help }
#define BYTES_GAUGE(name, help)		{ "rdmablk_" name, METRICS_GAUGE, "bytes", help }

static const struct figure figures[] = {
	{ RDMABLK_ATTR_IO_FAILING, FIGURE_FLAG, false,
	  GAUGE("io_failing", "1 while all I/O of the disk fails") },
	{ RDMABLK_ATTR_UNFLUSHED, FIGURE_FLAG, false,
	  GAUGE("unflushed", "1 while the target has writes that no flush has covered") },
	{ RDMABLK_ATTR_SIZE, FIGURE_NUMBER, true,
	  BYTES_GAUGE("size_bytes", "Size of the disk") },
	{ RDMABLK_ATTR_OPENERS, FIGURE_NUMBER, false,
	  GAUGE("openers", "How often the disk is open; a mounted file system is one") },
	{ RDMABLK_ATTR_IN_FLIGHT, FIGURE_NUMBER, false,
	  GAUGE("requests_in_flight",
		"Requests that have not ended; during an outage these are held") },
	{ RDMABLK_ATTR_ATTEMPTS, FIGURE_NUMBER, false,
	  GAUGE("connect_attempts", "Tries to connect since the connection was lost") },
	{ RDMABLK_ATTR_TIMED, FIGURE_NUMBER, false,
	  GAUGE("timed", "1 while the duration of requests is measured") },
	{ RDMABLK_ATTR_READS, FIGURE_NUMBER, false, COUNTER("reads", "Reads that have ended") },
	{ RDMABLK_ATTR_WRITES, FIGURE_NUMBER, false,
	  COUNTER("writes", "Writes that have ended") },
	{ RDMABLK_ATTR_READ_BYTES, FIGURE_NUMBER, false,
	  BYTES_COUNTER("read_bytes", "Bytes of these reads") },
	{ RDMABLK_ATTR_WRITE_BYTES, FIGURE_NUMBER, false,
	  BYTES_COUNTER("written_bytes", "Bytes of these writes") },
	{ RDMABLK_ATTR_FLUSHES, FIGURE_NUMBER, false,
	  COUNTER("flushes", "Flushes that have ended") },
	{ RDMABLK_ATTR_DISCARDS, FIGURE_NUMBER, false,
	  COUNTER("discards", "Discards, write-zeroes and secure erases that have ended") },
	{ RDMABLK_ATTR_DISCARD_BYTES, FIGURE_NUMBER, false,
	  BYTES_COUNTER("discarded_bytes", "Bytes of these") },
	{ RDMABLK_ATTR_ERRORS, FIGURE_NUMBER, false,
	  COUNTER("errors", "Requests that have ended with an error") },
	{ RDMABLK_ATTR_WORK_REQUESTS, FIGURE_NUMBER, false,
	  COUNTER("work_requests", "RDMA work requests of the requests that have ended") },
	{ RDMABLK_ATTR_BUSY, FIGURE_NUMBER, false,
	  COUNTER("busy", "Times that a request went back to the block layer for a moment") },
	{ RDMABLK_ATTR_FENCES, FIGURE_NUMBER, false,
	  COUNTER("fences", "FENCE commands") },
	{ RDMABLK_ATTR_KEEPALIVES, FIGURE_NUMBER, false,
	  COUNTER("keepalives", "Keep-alive messages that the target has answered") },
	{ RDMABLK_ATTR_STALE_ANSWERS, FIGURE_NUMBER, false,
	  COUNTER("stale_answers", "Answers to commands that had ended before") },
	{ RDMABLK_ATTR_RECONNECTS, FIGURE_NUMBER, false,
	  COUNTER("reconnects", "Times that the connection was lost and came back") },
	{ RDMABLK_ATTR_OUTAGE_MS, FIGURE_MS, false,
	  SECONDS_COUNTER("outage_seconds", "Duration of all outages, the present one included") },
	{ RDMABLK_ATTR_HELD, FIGURE_NUMBER, false,
	  COUNTER("held_requests", "Requests in flight when a connection was lost") },
	{ RDMABLK_ATTR_REQUEUES, FIGURE_NUMBER, false,
	  COUNTER("requeues", "Requests sent again after an outage") },
};

/* How queue pairs have ended: one family, with a label for each of these. */
static const struct {
	unsigned int attr;
	const char *reason;
} queue_errors[] = {
	{ RDMABLK_ATTR_RETRY_ERRORS, "retry" },
	{ RDMABLK_ATTR_RNR_ERRORS, "rnr" },
	{ RDMABLK_ATTR_REMOTE_ERRORS, "remote" },
	{ RDMABLK_ATTR_OTHER_ERRORS, "other" },
};

static const struct metrics_family up_family =
	GAUGE("up", "1: the kernel module has answered");
static const struct metrics_family info_family =
	GAUGE("disk_info", "1 for each disk, with what it is connected to");
static const struct metrics_family state_family =
	GAUGE("state", "1 for the state that the disk is in, 0 for the others");
static const struct metrics_family lost_family =
	GAUGE("data_lost", "1 while all I/O fails because the store has lost its contents");
static const struct metrics_family queue_error_family =
	COUNTER("queue_pair_errors", "Queue pairs that have ended with an error");
static const struct metrics_family latency_family = {
	"rdmablk_request_duration_seconds", METRICS_HISTOGRAM, "seconds",
	"How long requests have taken, of those that were measured"
};

static const struct metrics_family adapter_family =
	COUNTER("adapter_events",
		"Counters of the adapter's port that tell of trouble, for all its users");

/**
 * struct disks - what the module has said
 * @devices: the disks, as RDMABLK_CMD_GET describes them
 * @stats: their statistics; a disk that came or went in between is in one of the two
 */
struct disks {
	struct device_list devices;
	struct stats_list stats;
};

static int set(void *context, int id, const char *value)
{
	struct metrics_args *args = context;

	if (id == 'o')
		args->file = value;
	else if (id == 'f')
		args->format = value;
	return 0;
}

static const char *name_of(const struct device *device)
{
	return device->value[RDMABLK_ATTR_NAME].text;
}

static void put_value(struct metrics *m, const struct figure *figure,
		      const struct device *device)
{
	const struct metrics_label labels[] = { { "device", name_of(device) }, { 0 } };
	const struct value *value = &device->value[figure->attr];

	if (figure->kind == FIGURE_FLAG)
		metrics_number(m, labels, value->present);
	else if (value->present && figure->kind == FIGURE_MS)
		metrics_ns(m, labels, value->number * 1000000);
	else if (value->present)
		metrics_number(m, labels, value->number);
}

static void put_figure(struct metrics *m, const struct figure *figure,
		       const struct disks *disks)
{
	size_t i, nr = figure->of_device ? disks->devices.nr : disks->stats.nr;

	metrics_family(m, &figure->family);
	for (i = 0; i < nr; i++)
		put_value(m, figure, figure->of_device ? &disks->devices.device[i] :
			  &disks->stats.stats[i].device);
}

static void put_info(struct metrics *m, const struct disks *disks)
{
	size_t i;

	metrics_family(m, &info_family);
	for (i = 0; i < disks->devices.nr; i++) {
		const struct value *value = disks->devices.device[i].value;
		const struct metrics_label labels[] = {
			{ "device", value[RDMABLK_ATTR_NAME].text },
			{ "target", value[RDMABLK_ATTR_TARGET].text },
			{ "export", value[RDMABLK_ATTR_EXPORT].text },
			{ "uuid", value[RDMABLK_ATTR_UUID].text },
			{ 0 }
		};

		metrics_number(m, labels, 1);
	}
}

static void put_states(struct metrics *m, const struct disks *disks)
{
	unsigned int state;
	size_t i;

	metrics_family(m, &state_family);
	for (i = 0; i < disks->stats.nr; i++) {
		const struct device *device = &disks->stats.stats[i].device;

		for (state = 0; state < RDMABLK_DEV_STATES; state++) {
			const struct metrics_label labels[] = {
				{ "device", name_of(device) },
				{ "state", rdmablk_dev_state_text(state) },
				{ 0 }
			};

			metrics_number(m, labels,
				       device->value[RDMABLK_ATTR_STATE].number == state);
		}
	}
}

static void put_lost(struct metrics *m, const struct disks *disks)
{
	size_t i;

	metrics_family(m, &lost_family);
	for (i = 0; i < disks->devices.nr; i++) {
		const struct device *device = &disks->devices.device[i];
		const struct metrics_label labels[] = { { "device", name_of(device) }, { 0 } };

		metrics_number(m, labels,
			       device->value[RDMABLK_ATTR_STATE].number == RDMABLK_DEV_FAILED &&
			       device->value[RDMABLK_ATTR_REASON].number ==
			       RDMABLK_R_DATA_LOST);
	}
}

static void put_queue_errors(struct metrics *m, const struct disks *disks)
{
	size_t i, j;

	metrics_family(m, &queue_error_family);
	for (i = 0; i < disks->stats.nr; i++) {
		const struct device *device = &disks->stats.stats[i].device;

		for (j = 0; j < ARRAY_SIZE(queue_errors); j++) {
			const struct value *value = &device->value[queue_errors[j].attr];
			const struct metrics_label labels[] = {
				{ "device", name_of(device) },
				{ "reason", queue_errors[j].reason },
				{ 0 }
			};

			if (value->present)
				metrics_number(m, labels, value->number);
		}
	}
}

/* Adds the latencies of disks whose requests are measured, or have been. */
static void put_latencies(struct metrics *m, const struct disks *disks)
{
	unsigned int op;
	size_t i;

	metrics_family(m, &latency_family);
	for (i = 0; i < disks->stats.nr; i++) {
		const struct stats *stats = &disks->stats.stats[i];

		for (op = 0; op < STATS_OPS; op++) {
			const struct metrics_label labels[] = {
				{ "device", name_of(&stats->device) },
				{ "operation", stats_op_names[op] },
				{ 0 }
			};

			if (stats->device.value[RDMABLK_ATTR_TIMED].number ||
			    latency_requests(&stats->latency[op]))
				metrics_latency(m, labels, &stats->latency[op]);
		}
	}
}

/* Several disks may use a port. */
static bool port_is_known(const struct stats_list *list, size_t nr)
{
	const struct value *value = list->stats[nr].device.value;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(list->stats[i].device.value[RDMABLK_ATTR_IBDEV].text,
			    value[RDMABLK_ATTR_IBDEV].text) &&
		    list->stats[i].device.value[RDMABLK_ATTR_IBPORT].number ==
		    value[RDMABLK_ATTR_IBPORT].number)
			return true;
	return false;
}

static void put_adapters(struct metrics *m, const struct disks *disks)
{
	size_t i;

	metrics_family(m, &adapter_family);
	for (i = 0; i < disks->stats.nr; i++) {
		const struct device *device = &disks->stats.stats[i].device;
		struct json_object *counters;

		if (port_is_known(&disks->stats, i))
			continue;
		counters = adapter_counters(device);
		if (!counters)
			continue;
		json_object_object_foreach(counters, counter, value) {
			const struct metrics_label labels[] = {
				{ "adapter", device->value[RDMABLK_ATTR_IBDEV].text },
				{ "port", device->value[RDMABLK_ATTR_IBPORT].text },
				{ "counter", counter },
				{ 0 }
			};

			metrics_number(m, labels, json_object_get_uint64(value));
		}
		json_object_put(counters);
	}
}

static void fill(struct metrics *m, void *context)
{
	const struct disks *disks = context;
	size_t i;

	metrics_family(m, &up_family);
	metrics_number(m, NULL, 1);
	put_info(m, disks);
	put_states(m, disks);
	put_lost(m, disks);
	for (i = 0; i < ARRAY_SIZE(figures); i++)
		put_figure(m, &figures[i], disks);
	put_queue_errors(m, disks);
	put_latencies(m, disks);
	put_adapters(m, disks);
}

static void fill_down(struct metrics *m, void *context)
{
	(void)context;
	metrics_family(m, &up_family);
	metrics_number(m, NULL, 0);
}

static void clear(struct disks *disks)
{
	device_list_clear(&disks->devices);
	stats_list_clear(&disks->stats);
}

/**
 * cmd_metrics() - rdmablk metrics
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_metrics(const struct command_info *command, int argc, char **argv)
{
	__cleanup(clear) struct disks disks = { 0 };
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct metrics_args args = { 0 };
	struct nl_failure failure;
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (!ret && argv[optind])
		ret = report_usage("metrics", "too many arguments: '%s'", argv[optind]);
	if (!ret)
		ret = metrics_check("metrics", &args);
	if (ret)
		return ret;

	nl = nl_open(&failure);
	if (nl && !device_dump(nl, &disks.devices, &failure) &&
	    !stats_dump(nl, &disks.stats, &failure))
		return metrics_print("metrics", &args, fill, &disks);
	/* Remove the old figures, which must not look like present ones. */
	if (args.file)
		metrics_print("metrics", &args, fill_down, NULL);
	return report_failure(failure.err, "metrics", "%s", failure.text);
}
