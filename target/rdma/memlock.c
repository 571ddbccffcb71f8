// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registered memory counts as locked, once per session. The limit is checked at the start,
 * because the first login would be a late moment to find out.
 */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "rdma/memlock.h"

static bool may_lock_anything(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &head, data) &&
	       data[0].effective & 1U << CAP_IPC_LOCK;
}

/**
 * memlock_check - can a session register what it needs
 * @name: of the export, for the warning
 * @bytes: that a session registers, at most
 *
 * Return: whether it can; logged, if not.
 */
bool memlock_check(const char *name, uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    bytes <= limit.rlim_cur || may_lock_anything())
		return true;
	log_warn("export %s: RLIMIT_MEMLOCK is %llu bytes, too few for a session to register %llu; logins will be refused",
		 name, (unsigned long long)limit.rlim_cur, (unsigned long long)bytes);
	return false;
}
