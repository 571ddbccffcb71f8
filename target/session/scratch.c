// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scratch regions: memory that a visit may READ and WRITE, to measure and to test the path to
 * this target before there is a disk. The pages are new ones of the kernel and all zero, so a
 * visitor sees no byte of others. The key belongs to the visit's own domain: no other session can
 * use it. No other memory of this domain has a remote key. The fence of the visit ends the key.
 * The memory is given back when the queue pair is gone, too.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault.h"
#include "session/region.h"
#include "session/scratch.h"

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/**
 * scratch_room - what a scratch region takes of the host's memory
 * @bytes: of the region
 *
 * Return: bytes of whole pages.
 */
uint64_t scratch_room(uint32_t bytes)
{
	uint64_t page = page_size();

	return (bytes + page - 1) / page * page;
}

/* Shared pages can be mapped again by moving none of them. */
static int fold(uint8_t *mem)
{
	uint8_t *second = mem + page_size();

	return mremap(mem, 0, page_size(), MREMAP_MAYMOVE | MREMAP_FIXED, second) == second ?
	       0 : -errno;
}

/**
 * scratch_register - make a scratch region
 * @scratch: @bytes is set
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
	const uint64_t room = scratch_room(scratch->bytes);
	const bool folds = fault(FAULT_FOLD_SCRATCH) && room > page_size();
	void *mem = mmap(NULL, room, PROT_READ | PROT_WRITE,
			 MAP_ANONYMOUS | (folds ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	int ret;

	scratch->step = "no memory";
	if (mem == MAP_FAILED)
		return -errno;
	scratch->mem = mem;
	scratch->step = "no remote address";
	ret = folds ? fold(mem) : 0;
	ret = ret ?: region_iova(mem, page_size(), &scratch->iova);
	if (ret)
		return ret;
	scratch->step = "cannot be registered";
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
		munmap(scratch->mem, scratch_room(scratch->bytes));
	scratch->mem = NULL;
}
