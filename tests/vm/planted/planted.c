// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes on demand, one for each kind that the kernel 'debug' looks for.
 * tests/vm/selftest loads this module and checks that each of them is reported.
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *mistake = "";
module_param(mistake, charp, 0);
MODULE_PARM_DESC(mistake, "leak, use-after-free, shift, locks, sleep or timer");

static DEFINE_MUTEX(planted_a);
static DEFINE_MUTEX(planted_b);
static DEFINE_SPINLOCK(planted_lock);

static void planted_leak(void)
{
	int i;

	/*
	 * Several leaks, because a stray word on a stack may look like a pointer to one of
	 * them.
	 */
	for (i = 0; i < 16; i++) {
		void *lost = kmalloc(1000, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
	}
}

static void planted_use_after_free(void)
{
	char *memory = kmalloc(100, GFP_KERNEL), *gone = memory;

	/* Otherwise the compiler would notice the use after free. */
	OPTIMIZER_HIDE_VAR(gone);
	kfree(memory);
	if (gone)
		WRITE_ONCE(gone[7], 1);
}

static void planted_shift(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	pr_info("1 << 40 is %d\n", 1 << by);
}

static void planted_locks(void)
{
	mutex_lock(&planted_a);
	mutex_lock(&planted_b);
	mutex_unlock(&planted_b);
	mutex_unlock(&planted_a);
	mutex_lock(&planted_b);
	mutex_lock(&planted_a);
	mutex_unlock(&planted_a);
	mutex_unlock(&planted_b);
}

static void planted_sleep(void)
{
	spin_lock(&planted_lock);
	msleep(20);
	spin_unlock(&planted_lock);
}

static void planted_expired(struct timer_list *timer)
{
}

static void planted_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, planted_expired, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

static const struct {
	const char *name;
	void (*make)(void);
} planted[] = {
	{ "leak", planted_leak },
	{ "use-after-free", planted_use_after_free },
	{ "shift", planted_shift },
	{ "locks", planted_locks },
	{ "sleep", planted_sleep },
	{ "timer", planted_timer },
};

static int __init planted_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(planted); i++) {
		if (strcmp(mistake, planted[i].name))
			continue;
		planted[i].make();
		return 0;
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_DESCRIPTION("Mistakes for the tests of the test harness");
MODULE_AUTHOR("rdmablk developers");
MODULE_LICENSE("GPL");
