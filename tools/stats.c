// SPDX-License-Identifier: GPL-2.0-or-later
/* The statistics of disks, from the module. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>

#include "stats.h"

const char *const stats_op_names[STATS_OPS] = {
	[STATS_READ]	= "read",
	[STATS_WRITE]	= "write",
	[STATS_FLUSH]	= "flush",
	[STATS_DISCARD]	= "discard",
};

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ EAGAIN, "the module is still loading" },
	{ 0, NULL }
};

static int op_of(__u16 attr)
{
	switch (attr) {
	case RDMABLK_ATTR_LATENCY_READ:		return STATS_READ;
	case RDMABLK_ATTR_LATENCY_WRITE:	return STATS_WRITE;
	case RDMABLK_ATTR_LATENCY_FLUSH:	return STATS_FLUSH;
	case RDMABLK_ATTR_LATENCY_DISCARD:	return STATS_DISCARD;
	default:				return -1;
	}
}

/* Attributes are aligned to 4 bytes, so the histograms in them may not be to 8. */
static int decode(const struct nlmsghdr *nlh, struct stats *stats)
{
	const struct nlattr *attr;
	int op;

	memset(stats, 0, sizeof(*stats));
	if (device_decode(nlh, &stats->device))
		return -1;
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		op = op_of(mnl_attr_get_type(attr));
		if (op < 0)
			continue;
		if (mnl_attr_get_payload_len(attr) != sizeof(stats->latency[op]))
			return -1;
		memcpy(&stats->latency[op], mnl_attr_get_payload(attr),
		       sizeof(stats->latency[op]));
	}
	return 0;
}

static int on_stats(const struct nlmsghdr *nlh, void *context)
{
	struct stats_list *list = context;
	struct stats *array;

	array = reallocarray(list->stats, list->nr + 1, sizeof(*array));
	if (!array)
		return MNL_CB_ERROR;
	list->stats = array;
	if (decode(nlh, &array[list->nr])) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	list->nr++;
	return MNL_CB_OK;
}

static void clear(void *list)
{
	stats_list_clear(list);
}

/**
 * stats_dump() - the statistics of all disks
 * @nl: connection to the module
 * @list: result, for stats_list_clear() in every case
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int stats_dump(struct nl *nl, struct stats_list *list, struct nl_failure *failure)
{
	int ret = nl_dump(nl, RDMABLK_CMD_STATS_GET, on_stats, list, clear, texts, failure);

	if (!ret && list->nr)
		/* Each struct stats begins with its device. */
		qsort(list->stats, list->nr, sizeof(*list->stats), device_compare);
	return ret;
}

/**
 * stats_get() - the statistics of one disk
 * @nl: connection to the module
 * @index: N of rdmablkN
 * @list: result, for stats_list_clear() in every case
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int stats_get(struct nl *nl, __u32 index, struct stats_list *list,
	      struct nl_failure *failure)
{
	struct nlmsghdr *nlh = nl_request(nl, RDMABLK_CMD_STATS_GET, 0);

	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	if (nl_run(nl, on_stats, list, texts, failure))
		return -1;
	if (list->nr)
		return 0;
	failure->err = EBADMSG;
	snprintf(failure->text, sizeof(failure->text), "the kernel sent an empty answer");
	return -1;
}

/**
 * stats_list_clear() - frees a list; usable as cleanup attribute
 * @list: empty afterwards
 */
void stats_list_clear(struct stats_list *list)
{
	free(list->stats);
	list->stats = NULL;
	list->nr = 0;
}
