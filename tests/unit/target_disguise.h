/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that passes for a block device when its size is asked for.
 */
#ifndef TARGET_DISGUISE_H
#define TARGET_DISGUISE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/fs.h>
#include <cmocka.h>

static bool disguised;

/* The daemon's calls come here. */
int ioctl(int fd, unsigned long request, ...)
{
	struct stat st;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!disguised || request != BLKGETSIZE64)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	assert_int_equal(fstat(fd, &st), 0);
	*(uint64_t *)arg = (uint64_t)st.st_size;
	return 0;
}

#endif
