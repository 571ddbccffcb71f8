// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/power.c unfreezes the queues that it froze for a suspend, each once, and
 * no other queue. That holds also if kernel/disk.c has freed the disk meanwhile and made
 * another, as in a login that begins again with fewer queues. kernel/disk.c frees no disk whose
 * timer or requeue work is pending.
 */
#include <linux/kernel.h>

#include "unit.h"

#include "../../kernel/request.h"
#include "../../kernel/state.h"

/* The block layer and the kernel around both files */
#define HZ			1000
#define THIS_MODULE		NULL
#define PLATFORM_DEVID_NONE	(-1)
#define PLATFORM_DEVID_AUTO	(-2)
#define BLK_MQ_F_STACKING	1
#define BLK_MQ_F_NO_SCHED_BY_DEFAULT	2
#define HCTX_MAX_TYPES		3
#define SECTOR_SHIFT		9
#define GD_NEED_PART_SCAN	0
#define KOBJ_CHANGE		0
#define IS_ERR(p)		(!(p))
#define PTR_ERR(p)		((p) ? 0 : -ENOMEM)
#define nsecs_to_jiffies(ns)	((unsigned long)((ns) / 1000000))
#define spin_lock_irq		spin_lock_bh
#define spin_unlock_irq		spin_unlock_bh
#define spin_lock_irqsave(l, f)	do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_in_range(a, b, c)	((a) >= (b) && (a) <= (c))
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define strscpy(to, from, n)	snprintf(to, n, "%s", from)
#define set_bit(nr, to)		(*(to) |= 1UL << (nr))
#define kobject_uevent(k, what)	((void)(k), (void)(what))
#define ibdev_to_node(dev)	((void)(dev), 0)
#define platform_driver_register(d)	((void)(d), 0)
#define platform_driver_unregister(d)	((void)(d))
#define platform_device_unregister(d)	((void)(d))
#define platform_device_register_full(info)	((void)(info), (struct platform_device *)0)

struct kobject {
	int none;
};

struct device {
	struct kobject kobj;
};

struct platform_device;

struct platform_device_info {
	struct device *parent;
	const char *name;
	int id;
};

struct dev_pm_ops {
	int (*suspend)(struct device *dev);
	int (*freeze)(struct device *dev);
	int (*poweroff)(struct device *dev);
	void (*complete)(struct device *dev);
};

struct platform_driver {
	struct {
		const char *name;
		const struct dev_pm_ops *pm;
	} driver;
};

struct ib_device {
	struct device dev;
};

struct ib_pd {
	struct ib_device *device;
};

struct delayed_work {
	struct work_struct work;
};

struct request_queue {
	int freeze_depth;
	unsigned int timeout;
	bool timer;
	struct delayed_work requeue_work;
};

struct gendisk;

struct block_device_operations {
	void *owner;
	int (*open)(struct gendisk *disk);
	void (*free_disk)(struct gendisk *disk);
};

struct gendisk {
	struct request_queue *queue, own;
	const struct block_device_operations *fops;
	void *private_data;
	char disk_name[16];
	u64 capacity;
	unsigned long state;
	struct device dev;
};

struct blk_mq_tag_set {
	const struct blk_mq_ops *ops;
	unsigned int nr_hw_queues, nr_maps, queue_depth, cmd_size, flags, timeout;
	int numa_node;
	void *driver_data;
};

/* As much of compat.h, log.h and session.h as both files know */
#define RDMABLK_COMPAT_H
#define RDMABLK_LOG_H
#define RDMABLK_SESSION_H
#define RDMABLK_TAGSET_FLAGS	0
#define rdmablk_info_ratelimited(s, ...)	((void)(s))
#define rdmablk_warn(s, ...)	((void)(s))
/* This test does not open the disk. */
#define RDMABLK_DISK_OPEN(name, fn)					\
	static _Noreturn int name(struct gendisk *disk)			\
	{								\
		fn(disk);						\
		abort();						\
	}

struct rdmablk_disk_limits {
	unsigned int logical_block, physical_block, io_min, io_opt, max_sectors, chunk_sectors;
	unsigned int max_segments, max_segment_size, max_discard_sectors, discard_granularity;
	unsigned int discard_alignment, max_zeroes_sectors, max_erase_sectors;
	bool rotational, cache;
};

struct rdmablk_agreed {
	struct rdmablk_wire_grant grant;
	struct rdmablk_limits_out limits;
	struct rdmablk_wire_limits cmds;
};

struct rdmablk_session {
	int index;
	char name[16];
	spinlock_t lock;	/* protects unscanned, state */
	int state;
	struct {
		enum rdmablk_phase phase;
	} outage;
	bool unscanned, added, frozen, hurry;
	u8 longest_ack;
	unsigned int nr_queues;
	struct mutex disk_mutex;	/* protects disk, frozen */
	struct {
		struct rdmablk_agreed offer;
	} login;
	struct ib_pd *pd;
	struct rdmablk_path path;
	struct blk_mq_tag_set tag_set;
	struct gendisk *disk;
	struct delayed_work disk_work;
	unsigned long disk_looked;
};

static unsigned long jiffies = 1000;
static struct workqueue_struct *rdmablk_login_wq;
static struct ib_pd pd;
static struct gendisk disks[2];	/* the second one is made when the first is given up */
static struct rdmablk_session session;
static unsigned int made;
static bool stepped, busy;

struct blk_mq_ops {
	int none;
};

const struct blk_mq_ops rdmablk_dispatch_ops;

static int blk_mq_alloc_tag_set(struct blk_mq_tag_set *set)
{
	assert_int_equal(set->nr_hw_queues, session.nr_queues);
	return 0;
}

static void blk_mq_free_tag_set(struct blk_mq_tag_set *set)
{
	memset(set, 0, sizeof(*set));
}

static struct gendisk *rdmablk_compat_alloc_disk(struct blk_mq_tag_set *set,
						 const struct rdmablk_disk_limits *lim,
						 void *queuedata)
{
	struct gendisk *disk = &disks[made++];

	(void)set;
	(void)lim;
	assert_ptr_equal(queuedata, &session.path);
	disk->queue = &disk->own;
	return disk;
}

static void blk_sync_queue(struct request_queue *q)
{
	q->timer = false;
}

static void cancel_delayed_work_sync(struct delayed_work *work)
{
	cancel_work_sync(&work->work);
}

/* The queue goes with the disk. */
static void put_disk(struct gendisk *disk)
{
	assert_false(disk->queue->timer || disk->queue->requeue_work.work.queued);
	disk->queue = NULL;
}

static void set_capacity(struct gendisk *disk, u64 sectors)
{
	disk->capacity = sectors;
}

#define set_capacity_and_notify	set_capacity

static u64 get_capacity(const struct gendisk *disk)
{
	return disk->capacity;
}

static void set_disk_ro(struct gendisk *disk, bool ro)
{
	(void)disk;
	assert_true(ro);
}

static struct device *disk_to_dev(struct gendisk *disk)
{
	return &disk->dev;
}

static void queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			       unsigned long delay)
{
	(void)delay;
	queue_work(wq, &work->work);
}

static void blk_freeze_queue_start(struct request_queue *q)
{
	q->freeze_depth++;
}

/* The block layer only warns of it, but such a queue can never be frozen again. */
static void rdmablk_compat_unfreeze_queue(struct request_queue *q)
{
	assert_true(q->freeze_depth > 0);
	q->freeze_depth--;
}

/* A queue that is not frozen does not become idle. */
static bool blk_mq_freeze_queue_wait_timeout(struct request_queue *q, long left)
{
	jiffies += (unsigned long)left;
	return q->freeze_depth && !busy;
}

void rdmablk_poll_all(struct rdmablk_hwq **hwq, u32 n)
{
	(void)hwq;
	assert_int_equal(n, session.nr_queues);
}

static int rdmablk_session_state(struct rdmablk_session *s)
{
	return s->state;
}

static void rdmablk_session_agreed(struct rdmablk_session *s, struct rdmablk_agreed *agreed)
{
	*agreed = s->login.offer;
}

static void rdmablk_session_put(struct rdmablk_session *s)
{
	assert_ptr_equal(s, &session);
	stepped = false;
}

static bool rdmablk_registry_step(struct rdmablk_session **s)
{
	stepped = !*s;
	*s = stepped ? &session : NULL;
	return stepped;
}

static void blk_queue_rq_timeout(struct request_queue *q, unsigned int timeout)
{
	assert_true(session.lock.held);
	q->timeout = timeout;
}

/* The kernel is compiled without this warning: ->suspend() has the arguments of all. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "../../kernel/disk.c"
#include "../../kernel/power.c"

static int setup(void **state)
{
	(void)state;
	memset(&session, 0, sizeof(session));
	memset(disks, 0, sizeof(disks));
	made = 0;
	busy = false;
	session.pd = &pd;
	session.nr_queues = 2;
	session.longest_ack = 16;
	session.login.offer.grant.size = 1 << 20;
	session.login.offer.grant.logical_block = 512;
	session.login.offer.grant.nr_regions = 1;
	assert_int_equal(rdmablk_disk_alloc(&session), 0);
	assert_ptr_equal(session.disk, &disks[0]);
	return 0;
}

/* There is a device of ours for each RDMA device. The second one finds the queue frozen. */
static void test_suspend(void **state)
{
	int (*const steps[])(struct device *dev) = {
		rdmablk_power_ops.suspend, rdmablk_power_ops.freeze, rdmablk_power_ops.poweroff,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (int device = 0; device < 2; device++) {
			assert_int_equal(steps[i](NULL), 0);
			assert_int_equal(disks[0].own.freeze_depth, 1);
		}
		for (int device = 0; device < 2; device++) {
			rdmablk_power_ops.complete(NULL);
			assert_int_equal(disks[0].own.freeze_depth, 0);
		}
	}
}

static void test_refused(void **state)
{
	(void)state;
	busy = true;
	assert_int_equal(rdmablk_power_ops.suspend(NULL), -EBUSY);
	rdmablk_power_ops.complete(NULL);
	assert_int_equal(disks[0].own.freeze_depth, 0);
	assert_false(stepped);
}

static void again(void)
{
	rdmablk_disk_free(&session);
	assert_null(session.disk);
	assert_int_equal(rdmablk_disk_alloc(&session), 0);
	assert_ptr_equal(session.disk, &disks[1]);
}

/* The second disk is made during the suspend. */
static void test_other_disk(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_power_ops.suspend(NULL), 0);
	again();
	rdmablk_power_ops.complete(NULL);
	assert_int_equal(disks[1].own.freeze_depth, 0);
	assert_int_equal(rdmablk_power_ops.suspend(NULL), 0);
	assert_int_equal(disks[1].own.freeze_depth, 1);
	rdmablk_power_ops.complete(NULL);
	assert_int_equal(disks[1].own.freeze_depth, 0);
}

/* The suspend does not wait for a queue that it has not frozen. */
static void test_other_disk_before_the_wait(void **state)
{
	(void)state;
	rdmablk_power_freeze_start(&session);
	again();
	assert_true(rdmablk_power_freeze_wait(&session, jiffies + RDMABLK_FREEZE_TMO));
	rdmablk_power_ops.complete(NULL);
	assert_int_equal(disks[1].own.freeze_depth, 0);
}

static void test_removed(void **state)
{
	(void)state;
	assert_int_equal(rdmablk_power_ops.suspend(NULL), 0);
	rdmablk_disk_free(&session);
	rdmablk_disk_free(&session);
	rdmablk_power_ops.complete(NULL);
	assert_false(session.frozen);
}

/* The connection was lost and came back before the disk was added, which then has failed. */
static void test_never_added(void **state)
{
	(void)state;
	session.disk->queue->timer = true;
	queue_delayed_work(NULL, &session.disk->queue->requeue_work, 0);
	rdmablk_disk_free(&session);
	assert_null(session.disk);
}

/* The timer of a request must not be shorter than the transport's last try. */
static void test_timeout(void **state)
{
	(void)state;
	assert_int_equal(session.tag_set.timeout, 30 * HZ);
	session.longest_ack = 31;
	assert_true(rdmablk_disk_timeout(&session) > (7 * 4 * (4096ULL << 31)) / 1000000);
}

/* The first scan has failed. The next one needs a connection, or it fails, too. */
static void test_rescan(void **state)
{
	(void)state;
	session.added = true;
	session.unscanned = true;
	for (int phase = 0; phase < RDMABLK_PHASES; phase++) {
		session.outage.phase = (enum rdmablk_phase)phase;
		if (phase == RDMABLK_PHASE_UP)
			continue;
		rdmablk_disk_work(&session.disk_work.work);
		assert_true(session.unscanned);
		assert_int_equal(disks[0].state, 0);
	}
	session.outage.phase = RDMABLK_PHASE_UP;
	rdmablk_disk_work(&session.disk_work.work);
	assert_false(session.unscanned);
	assert_int_equal(disks[0].state, 1UL << GD_NEED_PART_SCAN);
}

/* The next connection may have longer retries. */
static void test_another_path(void **state)
{
	struct request_queue *q = session.disk->queue;

	(void)state;
	/* The administrator has set this time. */
	q->timeout = 7 * HZ;
	rdmablk_disk_retime(&session);
	assert_int_equal(q->timeout, 7 * HZ);
	session.longest_ack = 31;
	rdmablk_disk_retime(&session);
	assert_int_equal(q->timeout, rdmablk_disk_timeout(&session));
	assert_true(q->timeout > 30 * HZ);
	session.longest_ack = 16;
	rdmablk_disk_retime(&session);
	assert_int_equal(q->timeout, 30 * HZ);
	/* The disk is removed by force. */
	session.hurry = true;
	q->timeout = 5 * HZ;
	session.longest_ack = 31;
	rdmablk_disk_retime(&session);
	assert_int_equal(q->timeout, 5 * HZ);
	assert_false(session.disk_mutex.lock.held || session.lock.held);
}

#define TEST(name)	cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_suspend),
		TEST(test_refused),
		TEST(test_other_disk),
		TEST(test_other_disk_before_the_wait),
		TEST(test_removed),
		TEST(test_never_added),
		TEST(test_timeout),
		TEST(test_another_path),
		TEST(test_rescan),
	};

	return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
