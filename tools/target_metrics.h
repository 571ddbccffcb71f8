/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_TARGET_METRICS_H
#define RDMABLK_TOOLS_TARGET_METRICS_H

#include <json-c/json.h>

#include "metrics.h"

int target_metrics_print(const struct metrics_args *args, struct json_object *answer);
void target_metrics_down(const struct metrics_args *args);

#endif /* RDMABLK_TOOLS_TARGET_METRICS_H */
