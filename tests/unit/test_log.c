// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/log.c asks the kernel's rate limit under the lock of the device, because
 * the limit drops a line if another processor is asking at that moment, and that each device
 * has a limit of its own.
 */
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include "unit.h"

#define HZ	250
#define spin_lock_irqsave(l, f)		do { (f) = 0; spin_lock_bh(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock_bh(l); } while (0)

static struct log_seen {
	unsigned int lines, asked;
	const char *id;
} seen;

#define pr_err(fmt, ...)	((void)(fmt), seen.lines++)
#define pr_info(fmt, ...)	((void)(fmt), seen.lines++)
#define pr_warn(fmt, ...)	((void)(fmt), seen.lines++)

struct ratelimit_state {
	int interval, burst, printed;
};

static void ratelimit_state_init(struct ratelimit_state *limit, int interval, int burst)
{
	*limit = (struct ratelimit_state){ interval, burst, 0 };
}

static int ___ratelimit(struct ratelimit_state *limit, const char *id);

#include "../../kernel/log.c"

static struct device {
	const char *id;
	struct rdmablk_log log;
} one = { .id = "rdmablk0" }, two = { .id = "rdmablk1" };

static int ___ratelimit(struct ratelimit_state *limit, const char *id)
{
	struct rdmablk_log *log = limit == &one.log.limit ? &one.log : &two.log;

	assert_true(log->lock.held);
	seen.asked++;
	seen.id = id;
	return limit->printed++ < limit->burst;
}

static void test_limit(void **state)
{
	(void)state;
	rdmablk_log_init(&one.log);
	rdmablk_log_init(&two.log);
	assert_int_equal(one.log.limit.interval, 5 * HZ);
	for (unsigned int i = 1; i <= RDMABLK_LOG_BURST; i++) {
		rdmablk_warn_ratelimited(&one, "closed by the target: %s\n", "why");
		assert_int_equal(seen.lines, i);
	}
	rdmablk_err_ratelimited(&one, "connection lost: %s\n", "why");
	rdmablk_info_ratelimited(&one, "size is now %u bytes\n", 4096U);
	assert_int_equal(seen.lines, RDMABLK_LOG_BURST);
	assert_int_equal(seen.asked, RDMABLK_LOG_BURST + 2);
	/* The kernel's message about dropped lines names the device. */
	assert_string_equal(seen.id, "rdmablk0");
	assert_false(one.log.lock.held);
	rdmablk_err_ratelimited(&two, "connection lost: %s\n", "why");
	assert_int_equal(seen.lines, RDMABLK_LOG_BURST + 1);
	/* Lines without "ratelimited" have no limit. */
	rdmablk_err(&one, "connect failed: %s\n", "why");
	assert_int_equal(seen.lines, RDMABLK_LOG_BURST + 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
