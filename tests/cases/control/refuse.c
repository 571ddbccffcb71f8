// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a device refuse to destroy a queue pair, for LD_PRELOAD. It affects the first queue
 * pair that the process destroys while the file named by RDMABLK_REFUSE exists. As long as
 * the file exists, destroying this queue pair fails with EIO, as with firmware that
 * refuses, and the kernel does not see the request.
 */
#include <errno.h>
#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NONE	(-1LL)

static atomic_llong refused = NONE;	/* handle of the queue pair */

static long long queue_pair(const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id != UVERBS_OBJECT_QP ||
	    hdr->method_id != UVERBS_METHOD_QP_DESTROY)
		return NONE;
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_DESTROY_QP_HANDLE)
			return hdr->attrs[i].data_s64;
	return NONE;
}

static bool refuse(unsigned long request, const void *arg)
{
	const char *path = getenv("RDMABLK_REFUSE");
	long long qp, first = NONE;

	if (request != RDMA_VERBS_IOCTL || !path || access(path, F_OK))
		return false;
	qp = queue_pair(arg);
	if (qp == NONE)
		return false;
	return atomic_compare_exchange_strong(&refused, &first, qp) || first == qp;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (refuse(request, arg)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, request, arg);
}
