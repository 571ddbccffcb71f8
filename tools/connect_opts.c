// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The options of a connect. One table serves the command line and the sections of
 * rdmablk.conf: each option is a key there, unless it is for the command line only.
 */
#include <stdio.h>

#include "commands.h"
#include "connect.h"
#include "report.h"

enum {
	OPT_READ_ONLY = 1,
	OPT_ORDERED,
	OPT_SOURCE,
	OPT_HOST_ID,
	OPT_KEY,
	OPT_STEAL	= OPTS_COMMAND_LINE | 1,
	OPT_IDEMPOTENT	= OPTS_COMMAND_LINE | 2,
};

const struct option_info connect_options[] = {
	{ "read-only", 'r', OPT_READ_ONLY, NULL,
	  "do not ask for write access" },
	{ "steal", 0, OPT_STEAL, NULL,
	  "end another host's session that writes" },
	{ "queues", 0, SETTING_ID_QUEUES, "N",
	  "hardware queues, 1 to 256 (default: one per CPU, at most 16)" },
	{ "poll-queues", 0, SETTING_ID_POLL_QUEUES, "N",
	  "hardware queues for polled I/O, besides, 0 to 128 (0)" },
	{ "queue-depth", 0, SETTING_ID_QUEUE_DEPTH, "N",
	  "requests in flight per queue, 1 to 1024 (128)" },
	SETTING_OPTION_KEEP_ALIVE_TMO,
	{ "connect-tmo", 0, SETTING_ID_CONNECT_TMO, "S",
	  "seconds without progress that end a login, 1 to 600 (10)" },
	SETTING_OPTION_RECONNECT_DELAY,
	SETTING_OPTION_FAST_IO_FAIL_TMO,
	SETTING_OPTION_DEV_LOSS_TMO,
	SETTING_OPTION_IO_TMO,
	SETTING_OPTION_ON_DATA_LOSS,
	{ "ack-timeout", 0, SETTING_ID_ACK_TIMEOUT, "N",
	  "RDMA retransmit timeout, 4.096 us * 2^N, 8 to 22; 0: the path's (16; 0 on InfiniBand)" },
	{ "tos", 0, SETTING_ID_TOS, "N",
	  "type of service of all packets, 0 to 255, or off (off)" },
	{ "ordered", 0, OPT_ORDERED, NULL,
	  "end each RDMA WRITE with a READ, for adapters that reorder" },
	{ "source", 0, OPT_SOURCE, "ADDR",
	  "address of this host to connect from" },
	{ "host-id", 0, OPT_HOST_ID, "UUID",
	  "identity of this host (/etc/rdmablk/host-id)" },
	SETTING_OPTION_KEY(OPT_KEY),
	SETTING_OPTION_REAUTH_TMO,
	{ "idempotent", 0, OPT_IDEMPOTENT, NULL,
	  "succeed if this host is connected to it already" },
	{ "json", 0, CONNECT_OPTION_JSON, NULL,
	  "print JSON" },
	{ 0 }
};

static int set_source(const struct opts_origin *origin,
		      struct connect_request *request, const char *value)
{
	char why[256];

	if (addr_parse_source(value, &request->source, why, sizeof(why)))
		return opts_refuse(origin, "source", "'%s': %s", value, why);
	return 0;
}

static int set_host_id(const struct opts_origin *origin,
		       struct connect_request *request, const char *value)
{
	if (connect_set_host_id(request, value))
		return opts_refuse(origin, "host-id",
				   "'%s' is not a UUID other than the nil one",
				   value);
	return 0;
}

static int set_key(const struct opts_origin *origin, struct connect_request *request,
		   const char *value)
{
	int ret = opts_key_name(origin, "key", value);

	if (!ret)
		snprintf(request->key, sizeof(request->key), "%s", value);
	return ret;
}

/**
 * connect_set_option() - takes an option
 * @origin: where it was given
 * @request: gets it
 * @id: of connect_options, other than CONNECT_OPTION_JSON
 * @value: what the user wrote; of a switch nothing
 *
 * Returns 0 or the exit status after a complaint.
 */
int connect_set_option(const struct opts_origin *origin,
		       struct connect_request *request, int id, const char *value)
{
	switch (id) {
	case OPT_READ_ONLY:
		request->read_only = true;
		return 0;
	case OPT_ORDERED:
		request->ordered = true;
		return 0;
	case OPT_STEAL:
		request->steal = true;
		return 0;
	case OPT_SOURCE:
		return set_source(origin, request, value);
	case OPT_HOST_ID:
		return set_host_id(origin, request, value);
	case OPT_KEY:
		return set_key(origin, request, value);
	case OPT_IDEMPOTENT:
		request->idempotent = true;
		return 0;
	default:
		return settings_set(origin, &request->settings, id, value);
	}
}

/**
 * connect_check_options() - do they go together
 * @origin: where they were given
 * @request: all of them
 *
 * Returns 0 or the exit status after a complaint.
 */
int connect_check_options(const struct opts_origin *origin,
			  const struct connect_request *request)
{
	if (request->read_only && request->steal)
		return report_usage(origin->what,
				    "--read-only and --steal exclude each other");
	return settings_check(origin, &request->settings, true);
}
