// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of other adapters for Soft-RoCE. The script 'build' includes this file into a
 * copy of rxe.c. A parameter that is 0 or -1 leaves what Soft-RoCE has.
 *
 * A pool that is full answers -ENOMEM, as adapters do. The queue pair and the completion
 * queue of the connection manager's own (GSI) do not count, as with adapters.
 */

#include <linux/moduleparam.h>

static int adapter_sge;
module_param_named(sge, adapter_sge, int, 0444);
MODULE_PARM_DESC(sge, "scatter/gather elements of a work request");

static int adapter_reads;
module_param_named(reads, adapter_reads, int, 0444);
MODULE_PARM_DESC(reads, "RDMA READs of a queue pair at a time");

static int adapter_inline = -1;
module_param_named(inline_data, adapter_inline, int, 0444);
MODULE_PARM_DESC(inline_data, "bytes of inline data");

static int adapter_queues;
module_param_named(queues, adapter_queues, int, 0444);
MODULE_PARM_DESC(queues, "queue pairs, and completion queues, of the device");

static int adapter_vectors;
module_param_named(vectors, adapter_vectors, int, 0444);
MODULE_PARM_DESC(vectors, "completion vectors");

static unsigned long adapter_mr_size;
module_param_named(mr_size, adapter_mr_size, ulong, 0444);
MODULE_PARM_DESC(mr_size, "bytes of a memory region");

int rxe_adapter_vectors(void)
{
	return adapter_vectors ?: num_possible_cpus();
}

static void rxe_adapter_limit(struct rxe_dev *rxe)
{
	if (adapter_sge) {
		rxe->attr.max_send_sge = adapter_sge;
		rxe->attr.max_recv_sge = adapter_sge;
		rxe->attr.max_sge_rd = adapter_sge;
	}
	if (adapter_reads) {
		rxe->attr.max_qp_rd_atom = adapter_reads;
		rxe->attr.max_qp_init_rd_atom = adapter_reads;
	}
	if (adapter_inline >= 0)
		rxe->max_inline_data = adapter_inline;
	if (adapter_mr_size)
		rxe->attr.max_mr_size = adapter_mr_size;
	if (adapter_queues) {
		rxe->attr.max_qp = adapter_queues;
		rxe->attr.max_cq = adapter_queues;
		rxe->qp_pool.max_elem = adapter_queues + 1;
		rxe->cq_pool.max_elem = adapter_queues + 1;
	}
}
