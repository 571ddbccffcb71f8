/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel around kernel/login.c, kernel/login_queues.c and kernel/hwq.c, without the
 * functions in which a login waits
 */
#ifndef LOGIN_KERNEL_H
#define LOGIN_KERNEL_H

#define PAGE_SIZE		4096
#define SZ_128K			0x20000
#define NUMA_NO_NODE		(-1)
#define clamp_t(type, v, lo, hi)	min_t(type, max_t(type, v, lo), hi)
#define ERR_PTR(e)		((void *)(long)(e))
#define PTR_ERR(p)		((int)(long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? PTR_ERR(p) : 0)
#define dev_name(dev)		((void)(dev), "unit")
#define strscpy(to, from, n)	snprintf(to, n, "%s", from)
#define get_random_bytes(to, n)	memset(to, 7, n)
#define init_utsname()		(&utsname)
#define kvfree_sensitive(p, n)	((void)(n), free(p))
#define kcalloc(n, size, f)	((void)(f), calloc(n, size))
#define kzalloc_node(n, f, node)	((void)(f), (void)(node), calloc(1, n))
#define kvzalloc_node(n, f, node)	((void)(f), (void)(node), calloc(1, n))
#define array_size(n, size)	((n) * (size))
#define cpu_to_node(cpu)	((void)(cpu), 0)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++)

struct blk_mq_queue_map {
	unsigned int *mq_map, nr_queues, queue_offset;
};

struct ib_device_attr {
	int max_qp, max_cq, max_cqe, max_qp_wr;
};

struct ib_device {
	struct ib_device_attr attrs;
	int num_comp_vectors, dev;
};

struct ib_pd {
	struct ib_device *device;
	u32 local_dma_lkey;
};

struct ib_qp {
	u32 qp_num;
};

#endif /* LOGIN_KERNEL_H */
