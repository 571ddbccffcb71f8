// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device that does not destroy a queue pair, for LD_PRELOAD: the first that is to be
 * destroyed while the file exists that RDMABLK_REFUSE names. As long as it does the kernel
 * is not asked to, and the answer is EIO, as of firmware that refuses.
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
