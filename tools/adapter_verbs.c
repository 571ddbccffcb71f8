// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits, features and MTUs of an RDMA adapter, which its driver tells programs. sysfs does
 * not have them. The tool needs the adapter's uverbs device and its library of rdma-core.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "adapter_verbs.h"
#include "util.h"

/* Bits of device_cap_flags_ex that the headers of older versions of rdma-core lack */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_FLUSH_PERSISTENT	(1ULL << 39)
#define CAP_ATOMIC_WRITE	(1ULL << 40)

/**
 * adapter_verbs_open() - opens an RDMA device
 * @dev: its name
 * @why: result after an error: why the device could not be opened
 *
 * Returns the device, for adapter_verbs_close(), or NULL.
 */
struct ibv_context *adapter_verbs_open(const char *dev, char why[ADAPTER_WHY])
{
	struct ibv_device **list = ibv_get_device_list(NULL), **at;
	struct ibv_context *ctx = NULL;

	if (!list) {
		snprintf(why, ADAPTER_WHY, "%s (is the module ib_uverbs loaded?)",
			 strerror(errno));
		return NULL;
	}
	for (at = list; *at && strcmp(ibv_get_device_name(*at), dev); at++)
		;
	if (!*at)
		snprintf(why, ADAPTER_WHY,
			 "rdma-core does not know it: its uverbs device or its library is missing");
	else
		ctx = ibv_open_device(*at);
	if (*at && !ctx)
		snprintf(why, ADAPTER_WHY, "%s", strerror(errno));
	ibv_free_device_list(list);
	return ctx;
}

/**
 * adapter_verbs_close() - closes an RDMA device
 * @ctx: the device, or NULL
 */
void adapter_verbs_close(struct ibv_context *ctx)
{
	if (ctx)
		ibv_close_device(ctx);
}

/**
 * adapter_verbs_limits() - the limits of an RDMA device that sessions meet
 * @ctx: the device
 * @why: result after an error: why the limits are unknown
 *
 * Returns an object: names as in struct ibv_device_attr, and numbers; or NULL.
 */
struct json_object *adapter_verbs_limits(struct ibv_context *ctx, char why[ADAPTER_WHY])
{
	struct json_object *limits;
	struct ibv_device_attr attr;
	int err = ibv_query_device(ctx, &attr);

	if (err) {
		snprintf(why, ADAPTER_WHY, "%s", strerror(err));
		return NULL;
	}
	const struct {
		const char *name;
		__u64 value;
	} list[] = {
		{ "max_qp", attr.max_qp }, { "max_qp_wr", attr.max_qp_wr },
		{ "max_sge", attr.max_sge }, { "max_sge_rd", attr.max_sge_rd },
		{ "max_cq", attr.max_cq }, { "max_cqe", attr.max_cqe },
		{ "completion_vectors", ctx->num_comp_vectors },
		{ "max_pd", attr.max_pd }, { "max_mr", attr.max_mr },
		{ "max_mr_size", attr.max_mr_size },
		{ "max_qp_rd_atom", attr.max_qp_rd_atom },
		{ "max_qp_init_rd_atom", attr.max_qp_init_rd_atom },
		{ "max_res_rd_atom", attr.max_res_rd_atom },
	};
	limits = json_object_new_object();
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		json_object_object_add(limits, list[i].name,
				       json_object_new_uint64(list[i].value));
	return limits;
}

/**
 * adapter_verbs_features() - features of an RDMA device that not every device has
 * @ctx: the device
 *
 * Returns an array of words.
 */
struct json_object *adapter_verbs_features(struct ibv_context *ctx)
{
	struct json_object *features = json_object_new_array();
	struct ibv_device_attr_ex attr = { 0 };
	size_t i;

	if (ibv_query_device_ex(ctx, NULL, &attr))
		return features;
	const struct {
		const char *name;
		bool has;
	} list[] = {
		{ "atomics", attr.orig_attr.atomic_cap != IBV_ATOMIC_NONE },
		{ "rnr_nak", attr.orig_attr.device_cap_flags & IBV_DEVICE_RC_RNR_NAK_GEN },
		{ "memory_windows", attr.orig_attr.device_cap_flags &
				    (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				     IBV_DEVICE_MEM_WINDOW_TYPE_2B) },
		{ "on_demand_paging", attr.odp_caps.general_caps & IBV_ODP_SUPPORT },
		{ "flush_global", attr.device_cap_flags_ex & CAP_FLUSH_GLOBAL },
		{ "flush_persistent", attr.device_cap_flags_ex & CAP_FLUSH_PERSISTENT },
		{ "atomic_write", attr.device_cap_flags_ex & CAP_ATOMIC_WRITE },
	};
	for (i = 0; i < ARRAY_SIZE(list); i++)
		if (list[i].has)
			json_object_array_add(features, json_object_new_string(list[i].name));
	return features;
}

/**
 * adapter_verbs_bytes() - bytes that a packet of an MTU carries
 * @mtu: enum ibv_mtu
 *
 * Returns bytes; 0 for a value that is not one of them.
 */
unsigned int adapter_verbs_bytes(unsigned int mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

/**
 * adapter_verbs_mtu() - the MTU of a port
 * @ctx: its device
 * @port: its number
 * @max: set: the largest that the port can have, bytes; 0: not known
 *
 * Returns the active one: bytes that a packet carries; 0: not known.
 */
unsigned int adapter_verbs_mtu(struct ibv_context *ctx, unsigned int port, unsigned int *max)
{
	struct ibv_port_attr attr = { 0 };

	*max = 0;
	if (!port || port > UINT8_MAX || ibv_query_port(ctx, port, &attr))
		return 0;
	*max = adapter_verbs_bytes(attr.max_mtu);
	return adapter_verbs_bytes(attr.active_mtu);
}
