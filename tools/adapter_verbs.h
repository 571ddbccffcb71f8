/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ADAPTER_VERBS_H
#define RDMABLK_TOOLS_ADAPTER_VERBS_H

#include <json-c/json.h>

struct ibv_context;

#define ADAPTER_WHY	160	/* bytes of an explanation */

struct ibv_context *adapter_verbs_open(const char *dev, char why[ADAPTER_WHY]);
void adapter_verbs_close(struct ibv_context *ctx);
struct json_object *adapter_verbs_limits(struct ibv_context *ctx, char why[ADAPTER_WHY]);
struct json_object *adapter_verbs_features(struct ibv_context *ctx);
unsigned int adapter_verbs_bytes(unsigned int mtu);
unsigned int adapter_verbs_mtu(struct ibv_context *ctx, unsigned int port,
			       unsigned int *max);

#endif /* RDMABLK_TOOLS_ADAPTER_VERBS_H */
