/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ADAPTER_H
#define RDMABLK_TOOLS_ADAPTER_H

#include <json-c/json.h>

struct device;

struct json_object *adapter_counters(const struct device *device);
struct json_object *adapter_port_counters(const char *ibdev, unsigned int port);

#endif /* RDMABLK_TOOLS_ADAPTER_H */
