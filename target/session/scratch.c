// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scratch regions: memory that a visit may READ and WRITE, to measure and to test the way to
 * this target before there is a disk. The pages are new ones of the kernel, all zero, and of
 * nothing else, so a visitor sees no byte of others. The key is of the visit's own domain: no
 * other session can use it, and in that domain nothing else can be reached from outside. It
 * ends with the visit's fence. The memory is given back when the queue pair is gone, too.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/region.h"
#include "session/scratch.h"

/**
 * scratch_register - make a scratch region
 * @scratch: @bytes is set, whole pages
 * @pd: of the visit
 *
 * Blocks; for workers. scratch_deregister() and scratch_free() are due either way.
 *
 * Return: 0 or -errno.
 */
int scratch_register(struct scratch *scratch, struct ibv_pd *pd)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_WRITE;
	void *mem = mmap(NULL, scratch->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (mem == MAP_FAILED)
		return -errno;
	scratch->mem = mem;
	ret = region_iova(mem, (uint64_t)sysconf(_SC_PAGESIZE), &scratch->iova);
	if (ret)
		return ret;
	scratch->mr = ibv_reg_mr_iova(pd, mem, scratch->bytes, scratch->iova, access);
	return scratch->mr ? 0 : -errno;
}

/**
 * scratch_deregister - end the key of a scratch region
 * @scratch: with a key or without
 *
 * Blocks; for workers. May be called again after an error. After success no READ and no WRITE
 * reaches the memory any more.
 *
 * Return: 0 or -errno.
 */
int scratch_deregister(struct scratch *scratch)
{
	int ret = scratch->mr ? ibv_dereg_mr(scratch->mr) : 0;

	if (!ret)
		scratch->mr = NULL;
	return -ret;
}

/**
 * scratch_free - give back the memory of a scratch region
 * @scratch: without a key, its queue pair destroyed
 */
void scratch_free(struct scratch *scratch)
{
	if (scratch->mem)
		munmap(scratch->mem, scratch->bytes);
	scratch->mem = NULL;
}
