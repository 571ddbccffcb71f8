// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon tells monitoring systems how much memory it may lock.
 *
 * Sources: target/admin/control_answer.c target/base/meminfo.c
 * Libraries: json-c liburing
 */
#include <json-c/json.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../target/admin/control_answer.h"
#include "target_admin.h"

#define LIMIT	(1 << 20)	/* bytes that a process may lock */

/* Return: bytes that the daemon says it may lock; 0: any number */
static int64_t memlock(void)
{
	struct json_object *top = json_object_new_object(), *o;
	int64_t bytes;

	control_metrics_add(top);
	assert_true(json_object_object_get_ex(top, "daemon", &o));
	assert_true(json_object_object_get_ex(o, "memlock", &o));
	bytes = json_object_get_int64(o);
	json_object_put(top);
	return bytes;
}

/* In a process of its own. Return: 0, or the step that went wrong */
static int lock_less(void)
{
	const struct rlimit limit = { LIMIT, LIMIT };
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t any = 1U << CAP_IPC_LOCK;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capget, &head, data))
		return 1;
	if (memlock() != (data[0].effective & any ? 0 : LIMIT))
		return 2;
	data[0].effective &= ~any;
	if (syscall(SYS_capset, &head, data))
		return 3;
	if (memlock() != LIMIT)
		return 4;
	/* A process that makes a user namespace has all capabilities there, which do not count. */
	if (!unshare(CLONE_NEWUSER) && memlock() != LIMIT)
		return 5;
	return 0;
}

/* The kernel does not apply the limit to a process with CAP_IPC_LOCK. */
static void a_limit_that_does_not_count(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(lock_less());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_that_does_not_count),
	};

	return cmocka_run_group_tests_name("memlock", tests, setup, teardown);
}
