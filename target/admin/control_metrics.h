/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of the daemon for a monitoring system, in JSON.
 */
#ifndef RDMABLKD_CONTROL_METRICS_H
#define RDMABLKD_CONTROL_METRICS_H

#include <json-c/json.h>

#include "store/store.h"

struct json_object *control_metrics_commands(const struct store_counts *counts);
void control_metrics_add(struct json_object *top);

#endif
