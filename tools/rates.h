/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_RATES_H
#define RDMABLK_TOOLS_RATES_H

#include <stdbool.h>

#include <json-c/json.h>

#include "stats.h"

#define RATES_MAX_INTERVAL	3600	/* seconds */
#define RATES_MAX_COUNT		1000000	/* intervals */

/**
 * struct rates - the two newest answers of the module
 * @nl: connection to the module; its signals are held
 * @one: only @index is asked for
 * @index: N of rdmablkN
 * @now: the newest answer
 * @before: the one before
 * @now_ns: when @now came, monotonic clock
 * @before_ns: when @before came
 */
struct rates {
	struct nl *nl;
	bool one;
	__u32 index;
	struct stats_list now, before;
	__s64 now_ns, before_ns;
};

int rates_open(struct rates *rates, struct nl_failure *failure);
void rates_close(struct rates *rates);
int rates_ask(struct rates *rates, struct nl_failure *failure);
struct json_object *rates_rows(const struct rates *rates);
void rates_print_json(const struct rates *rates);
void rates_cell(struct json_object *row, const char *key, char *text, size_t size);

#endif /* RDMABLK_TOOLS_RATES_H */
