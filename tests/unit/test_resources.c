// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What rdmablk doctor says about queue pairs and protection domains: a device whose queue pairs
 * are nearly all in use, a broken queue pair 1, domains without a disk. The devices are lists.
 *
 * Sources: tools/doctor_resources.c
 */
#include <fcntl.h>

#include "unit.h"

#include "../../tools/doctor_resources.c"

/*
 * The host
 */

static struct {
	struct rdma_res res[70];
	unsigned int nr;
	int ret;
	unsigned int disks;
	const char *full;	/* this device can have ten queue pairs; others have many */
	bool mute;		/* no driver answers */
	unsigned int opened, closed;
} host;

static char said[4][2 * EXAM_TEXT];
static unsigned int nr_said;

int rdma_res_walk(rdma_res_fn fn, void *context)
{
	for (unsigned int i = 0; i < host.nr; i++)
		fn(&host.res[i], context);
	return host.ret;
}

int files_names(int dir, const char *path, int (*wanted)(const struct dirent *entry),
		struct dirent ***names)
{
	(void)dir;
	assert_string_equal(path, "sys/block");
	assert_ptr_equal(wanted, sysfs_is_disk);
	*names = NULL;
	return host.disks;
}

void files_free(struct dirent **names, int nr)
{
	(void)nr;
	assert_null(names);
}

int sysfs_is_disk(const struct dirent *entry)
{
	(void)entry;
	return 0;
}

struct ibv_context *adapter_verbs_open(const char *dev, char why[ADAPTER_WHY])
{
	(void)why;
	host.opened++;
	return host.mute ? NULL : (void *)dev;
}

void adapter_verbs_close(struct ibv_context *ctx)
{
	host.closed++;
	(void)ctx;
}

struct json_object *adapter_verbs_limits(struct ibv_context *ctx, char why[ADAPTER_WHY])
{
	struct json_object *limits = json_object_new_object();
	const char *dev = (const char *)ctx;

	(void)why;
	json_object_object_add(limits, "max_qp", json_object_new_int(
		host.full && !strcmp(dev, host.full) ? 10 : 1000));
	return limits;
}

void exam_found(struct exam *d, enum exam_level level, const char *mend, const char *fmt, ...)
{
	char text[EXAM_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	assert_true(nr_said < ARRAY_SIZE(said));
	snprintf(said[nr_said++], sizeof(said[0]), "%d %.300s > %.150s", level, text,
		 mend ?: "nothing");
	if (level > d->worst)
		d->worst = level;
}

static int begin(void **state)
{
	(void)state;
	memset(&host, 0, sizeof(host));
	return 0;
}

static void add(const char *dev, unsigned int nr)
{
	while (nr--)
		snprintf(host.res[host.nr++].dev, sizeof(host.res[0].dev), "%s", dev);
}

static enum exam_level look(void)
{
	struct exam d = { .here = true };

	nr_said = 0;
	host.opened = 0;
	host.closed = 0;
	doctor_resources_check(&d);
	assert_int_equal(host.opened, host.closed);
	return d.worst;
}

#define FULL "a session needs two for each hardware queue and one more; " \
	"the command shows their owners; lower --queues or max-queues of the target"

static void test_a_device_is_nearly_full(void **state)
{
	(void)state;
	host.full = "mlx5_1";
	add("mlx5_0", 20);
	add("mlx5_1", 8);
	assert_int_equal(look(), EXAM_OK);
	assert_int_equal(nr_said, 1);
	add("mlx5_1", 1);
	assert_int_equal(look(), EXAM_WARNING);
	assert_string_equal(said[0], "2 mlx5_1: 9 of its 10 queue pairs are in use: " FULL
			    " > rdma resource show qp link mlx5_1");
	assert_string_equal(said[1],
			    "0 29 queue pairs; protection domains of the module: 0 > nothing");
	/* A domain is not a queue pair. */
	host.res[host.nr - 1].is_pd = true;
	assert_int_equal(look(), EXAM_OK);
}

static void test_nobody_knows_the_limit(void **state)
{
	(void)state;
	host.full = "mlx5_0";
	host.mute = true;
	add("mlx5_0", 20);
	assert_int_equal(look(), EXAM_OK);
}

static void test_a_broken_queue_pair(void **state)
{
	(void)state;
	add("rxe0", 2);
	host.res[1].gsi = true;
	assert_int_equal(look(), EXAM_OK);
	host.res[0].broken = true;
	assert_int_equal(look(), EXAM_OK);
	host.res[1].broken = true;
	assert_int_equal(look(), EXAM_ERROR);
	assert_string_equal(said[0],
			    "3 rxe0: its queue pair 1 is in the error state: nothing can connect > "
			    "rdma link delete rxe0; rdma link add rxe0 type rxe netdev DEV");
}

static void test_domains_without_a_disk(void **state)
{
	(void)state;
	add("rxe0", 3);
	for (int i = 0; i < 3; i++)
		host.res[i].is_pd = true;
	/* One of the three belongs to another module. */
	snprintf(host.res[0].owner, sizeof(host.res[0].owner), "rdmablk");
	snprintf(host.res[1].owner, sizeof(host.res[1].owner), "rdmablk");
	snprintf(host.res[2].owner, sizeof(host.res[2].owner), "nvme_rdma");
	host.disks = 2;
	assert_int_equal(look(), EXAM_OK);
	host.disks = 1;
	assert_int_equal(look(), EXAM_NOTE);
	host.ret = -EPERM;
	assert_int_equal(look(), EXAM_NOTE);
	assert_string_equal(said[0],
			    "1 the queue pairs cannot be listed: Operation not permitted > nothing");
}

static void test_many_devices(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 66; i++) {
		snprintf(name, sizeof(name), "mlx5_%d", i);
		add(name, 1);
	}
	/* Devices beyond MOST_DEVICES count only in the sum. */
	assert_int_equal(look(), EXAM_OK);
	assert_int_equal(host.opened, MOST_DEVICES);
	assert_string_equal(said[0],
			    "0 66 queue pairs; protection domains of the module: 0 > nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_device_is_nearly_full, begin),
		cmocka_unit_test_setup(test_nobody_knows_the_limit, begin),
		cmocka_unit_test_setup(test_a_broken_queue_pair, begin),
		cmocka_unit_test_setup(test_domains_without_a_disk, begin),
		cmocka_unit_test_setup(test_many_devices, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
