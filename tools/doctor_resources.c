// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What RDMA devices have been asked for: queue pairs that are broken, or as many as a device can
 * have; protection domains without a disk.
 */
#include <stdio.h>
#include <string.h>

#include "adapter_verbs.h"
#include "doctor_resources.h"
#include "files.h"
#include "rdma_res.h"
#include "sysfs.h"
#include "util.h"

#define MOST_DEVICES	64
#define NEAR_PERCENT	90	/* of its queue pairs, from which on a device is said to be full */

/**
 * struct used - queue pairs of a device
 * @dev: its name
 * @qps: how many there are
 */
struct used {
	char dev[64];
	unsigned int qps;
};

struct resources {
	struct exam *d;
	struct used used[MOST_DEVICES];
	unsigned int devices, qps, domains;
};

/* Devices beyond the most are not counted. */
static void count(struct resources *r, const char *dev)
{
	struct used *at = r->used;

	r->qps++;
	while (at < r->used + r->devices && strcmp(at->dev, dev))
		at++;
	if (at == r->used + MOST_DEVICES)
		return;
	if (at == r->used + r->devices) {
		snprintf(at->dev, sizeof(at->dev), "%s", dev);
		r->devices++;
	}
	at->qps++;
}

static void take_resource(const struct rdma_res *res, void *context)
{
	struct resources *r = context;
	char mend[EXAM_TEXT];

	if (!res->is_pd)
		count(r, res->dev);
	/* Each session of the module has one. Its queue pairs are those of rdma_cm here. */
	r->domains += res->is_pd && !strcmp(res->owner, "rdmablk");
	if (!res->gsi || !res->broken)
		return;
	/* An rxe device that could not send one of its packets stays like this. */
	snprintf(mend, sizeof(mend),
		 "rdma link delete %s; rdma link add %s type rxe netdev DEV", res->dev, res->dev);
	exam_found(r->d, EXAM_ERROR, mend,
		   "%s: its queue pair 1 is in the error state: nothing can connect", res->dev);
}

/* Returns the queue pairs that a device can have; 0: its driver does not say it. */
static __u64 most_qps(const char *dev)
{
	char why[ADAPTER_WHY];
	struct ibv_context *ctx = adapter_verbs_open(dev, why);
	struct json_object *limits = ctx ? adapter_verbs_limits(ctx, why) : NULL, *value;
	__u64 most = 0;

	if (limits && json_object_object_get_ex(limits, "max_qp", &value))
		most = json_object_get_uint64(value);
	json_object_put(limits);
	adapter_verbs_close(ctx);
	return most;
}

static void check_full(struct exam *d, const struct used *used)
{
	__u64 most = most_qps(used->dev);
	char mend[EXAM_TEXT];

	if (!most || used->qps < most * NEAR_PERCENT / 100)
		return;
	snprintf(mend, sizeof(mend), "rdma resource show qp link %s", used->dev);
	exam_found(d, EXAM_WARNING, mend,
		   "%s: %u of its %llu queue pairs are in use: a session needs two for each hardware queue and one more; the command shows their owners; lower --queues or max-queues of the target",
		   used->dev, used->qps, (unsigned long long)most);
}

/**
 * doctor_resources_check() - looks at what RDMA devices have been asked for
 * @d: gets the findings
 */
void doctor_resources_check(struct exam *d)
{
	struct resources r = { .d = d };
	struct dirent **names;
	unsigned int i, disks;
	int ret;

	if (!d->here)
		return;
	ret = rdma_res_walk(take_resource, &r);
	disks = files_names(d->root, "sys/block", sysfs_is_disk, &names);
	files_free(names, disks);
	for (i = 0; i < r.devices; i++)
		check_full(d, &r.used[i]);
	if (ret)
		exam_found(d, EXAM_NOTE, NULL, "the queue pairs cannot be listed: %s",
			   strerror(-ret));
	else if (r.domains > disks)
		exam_found(d, EXAM_NOTE, "rdma resource show pd",
			   "the module has more protection domains (%u) than disks: a connect is under way, or they are left",
			   r.domains);
	else
		exam_found(d, EXAM_OK, NULL, "%u queue pairs; protection domains of the module: %u",
			   r.qps, r.domains);
}
