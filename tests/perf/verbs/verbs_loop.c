// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of the work requests of rdmablk without a driver: the limit of the bench.
 *
 * The module connects two RC queue pairs of one RDMA device by rdma_cm, or PAIRS times two,
 * which take turns. The target registers memory and does nothing more. The initiator posts
 * READs or WRITEs of that memory like rdmablk: an SGE for each segment under
 * pd->local_dma_lkey, as few work requests as possible, the last one of an I/O signalled,
 * completions in softirq, posted with the lock of the queue pair held. Each completion
 * posts the next I/O, or each BATCH completions the next BATCH, until COUNT I/Os are done.
 * There are no requests, no tags and no mappings: memory is mapped once.
 *
 *   insmod verbs_loop.ko address=10.99.0.2 op=write size=4096 depth=32 count=4000
 *   cat /sys/module/verbs_loop/parameters/result
 *   rmmod verbs_loop
 *
 * All of this happens in insmod, which fails on any error. What remains is the result, a
 * line of JSON.
 */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* Memory of either side: as much as one fast registration takes on rxe */
#define VERBS_ORDER	9
#define VERBS_BYTES	((u32)(PAGE_SIZE << VERBS_ORDER))
#define VERBS_DEPTH	1024U
#define VERBS_PAIRS	64U
#define VERBS_BATCH	32U		/* as rdmablk's longest */
#define VERBS_SGES	32U		/* of a work request, as rdmablk's on rxe */
#define VERBS_CHAIN	8U		/* work requests of an I/O: 1 MiB in pages */
#define VERBS_WAIT	(60 * HZ)	/* for a step of the connection */

/* As in kernel/cm.c and kernel/session.h */
#define VERBS_RETRY		6
#define VERBS_ACK_TIMEOUT	16

static char *address = "";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of an RDMA device of this machine");
static ushort port = 20430;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "port of rdma_cm to listen on");
static char *op = "read";
module_param(op, charp, 0444);
MODULE_PARM_DESC(op, "read or write");
static uint size = 4096;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of an I/O");
static uint sges = 1;
module_param(sges, uint, 0444);
MODULE_PARM_DESC(sges, "segments of an I/O; a work request has up to 32 of them");
static uint depth = 32;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "I/Os in flight");
static uint batch = 1;
module_param(batch, uint, 0444);
MODULE_PARM_DESC(batch, "I/Os that are posted together");
static uint pairs = 1;
module_param(pairs, uint, 0444);
MODULE_PARM_DESC(pairs, "connections, each with a completion queue of its own");
static ulong count = 10000;
module_param(count, ulong, 0444);
MODULE_PARM_DESC(count, "I/Os of the whole run");

static char result[256];
module_param_string(result, result, sizeof(result), 0444);
MODULE_PARM_DESC(result, "what was measured; not to be set");

/* One side of the connection */
struct verbs_end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	void *memory;
	u64 dma;
	struct ib_mr *mr;		/* of the target's memory, else NULL */
	struct ib_cqe reg_cqe;
	struct completion step;		/* of the connection, with its @status */
	int status;
};

struct verbs_pair {
	struct verbs_end target, initiator;
};

/* A place for an I/O. Its memory and its SGEs stay the same, except for their key. */
struct verbs_slot {
	struct ib_cqe cqe;
	struct ib_sge *sge;
};

struct verbs {
	struct rdma_cm_id *listener;
	struct verbs_pair *pair;
	struct verbs_end *accepting;	/* the target of the next connection */

	spinlock_t lock;		/* all that follows, and posting */
	struct ib_rdma_wr wr[VERBS_BATCH * VERBS_CHAIN];
	u32 nr_wr;
	u32 nr_ios;			/* that these are of */
	u32 turn;			/* the connection that posts next */
	struct verbs_slot *slot;
	struct ib_sge *sge;
	enum ib_wr_opcode opcode;
	u64 posted, posts, completed;
	u64 begun, ns;
	struct completion done;
	int status;
};

static struct verbs verbs;

/* --- the loop ----------------------------------------------------------------- */

static void verbs_fail(int status)
{
	verbs.status = status;
	complete(&verbs.done);
}

static void verbs_post(struct verbs_pair *pair)
{
	int ret;

	lockdep_assert_held(&verbs.lock);
	if (!verbs.nr_wr)
		return;
	verbs.nr_wr = 0;
	verbs.nr_ios = 0;
	verbs.posts++;
	ret = ib_post_send(pair->initiator.id->qp, &verbs.wr[0].wr, NULL);
	if (ret)
		verbs_fail(ret);
}

/* Walks the target's memory from its beginning to its end, again and again. */
static u64 verbs_remote(const struct verbs_pair *pair, u64 nr)
{
	u32 at;

	div_u64_rem(nr, VERBS_BYTES / size, &at);
	return pair->target.mr->iova + (u64)at * size;
}

/* As rdmablk_onesided_add_chain(): only the last work request is signalled. */
static void verbs_add_chain(struct verbs_pair *pair, struct verbs_slot *slot)
{
	u64 remote = verbs_remote(pair, verbs.posted++);
	u32 first, n, len = size / sges;
	struct ib_rdma_wr *wr;

	for (first = 0; first < sges; first += n) {
		n = min(sges - first, VERBS_SGES);
		wr = &verbs.wr[verbs.nr_wr];
		*wr = (struct ib_rdma_wr) {
			.wr.wr_cqe	= &slot->cqe,
			.wr.sg_list	= &slot->sge[first],
			.wr.num_sge	= n,
			.wr.opcode	= verbs.opcode,
			.wr.send_flags	= first + n == sges ? IB_SEND_SIGNALED : 0,
			.remote_addr	= remote,
			.rkey		= pair->target.mr->rkey,
		};
		remote += (u64)n * len;
		if (verbs.nr_wr++)
			wr[-1].wr.next = &wr->wr;
	}
	verbs.nr_ios++;
}

/* Connections take turns. */
static void verbs_add(struct verbs_slot *slot)
{
	struct verbs_pair *pair;
	u32 i;

	lockdep_assert_held(&verbs.lock);
	pair = &verbs.pair[verbs.turn];
	if (++verbs.turn == pairs)
		verbs.turn = 0;
	for (i = 0; i < sges; i++)
		slot->sge[i].lkey = pair->initiator.pd->local_dma_lkey;
	verbs_add_chain(pair, slot);
	if (verbs.nr_ios == batch || verbs.posted == count)
		verbs_post(pair);
}

static void verbs_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_slot *slot = container_of(wc->wr_cqe, struct verbs_slot, cqe);

	spin_lock_bh(&verbs.lock);
	if (wc->status != IB_WC_SUCCESS) {
		/* The drain at the end flushes the others. */
		if (!verbs.status)
			verbs_fail(-EIO);
	} else if (++verbs.completed == count) {
		verbs.ns = ktime_get_ns() - verbs.begun;
		complete(&verbs.done);
	} else if (verbs.posted < count) {
		verbs_add(slot);
	}
	spin_unlock_bh(&verbs.lock);
}

static int verbs_run(void)
{
	u32 i;

	spin_lock_bh(&verbs.lock);
	verbs.begun = ktime_get_ns();
	for (i = 0; i < depth && verbs.posted < count; i++)
		verbs_add(&verbs.slot[i]);
	spin_unlock_bh(&verbs.lock);
	if (wait_for_completion_killable(&verbs.done))
		return -EINTR;
	return verbs.status;
}

static int verbs_alloc_slots(void)
{
	u32 i, j, len = size / sges, at;
	struct verbs_slot *slot;

	verbs.slot = kcalloc(depth, sizeof(*verbs.slot), GFP_KERNEL);
	verbs.sge = kvcalloc(depth, array_size(sges, sizeof(*verbs.sge)), GFP_KERNEL);
	if (!verbs.slot || !verbs.sge)
		return -ENOMEM;
	for (i = 0; i < depth; i++) {
		slot = &verbs.slot[i];
		slot->cqe.done = verbs_done;
		slot->sge = &verbs.sge[i * sges];
		at = i % (VERBS_BYTES / size) * size;
		for (j = 0; j < sges; j++, at += len)
			slot->sge[j] = (struct ib_sge) {
				.addr	= verbs.pair[0].initiator.dma + at,
				.length	= len,
			};
	}
	return 0;
}

/* --- memory of the target ------------------------------------------------------- */

static void verbs_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_end *end = container_of(wc->wr_cqe, struct verbs_end, reg_cqe);

	end->status = wc->status == IB_WC_SUCCESS ? 0 : -EIO;
	complete(&end->step);
}

static int verbs_wait(struct verbs_end *end)
{
	if (!wait_for_completion_timeout(&end->step, VERBS_WAIT))
		return -ETIMEDOUT;
	return end->status;
}

static int verbs_register(struct verbs_end *end)
{
	struct ib_reg_wr reg = { };
	struct scatterlist sg;
	struct ib_mr *mr;
	int n, ret;

	mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 1 << VERBS_ORDER);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	end->mr = mr;
	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = end->dma;
	sg_dma_len(&sg) = VERBS_BYTES;
	n = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	if (n != 1)
		return n < 0 ? n : -EINVAL;
	end->reg_cqe.done = verbs_registered;
	reg.wr.wr_cqe = &end->reg_cqe;
	reg.wr.opcode = IB_WR_REG_MR;
	reg.wr.send_flags = IB_SEND_SIGNALED;
	reg.mr = mr;
	reg.key = mr->rkey;
	reg.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
		     IB_ACCESS_REMOTE_WRITE;
	reinit_completion(&end->step);
	ret = ib_post_send(end->id->qp, &reg.wr, NULL);
	return ret ?: verbs_wait(end);
}

/* --- the connection --------------------------------------------------------------- */

static int verbs_alloc_memory(struct verbs_end *end)
{
	struct ib_device *dev = end->id->device;
	u64 dma;

	end->memory = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, VERBS_ORDER);
	if (!end->memory)
		return -ENOMEM;
	dma = ib_dma_map_single(dev, end->memory, VERBS_BYTES, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, dma)) {
		free_pages((unsigned long)end->memory, VERBS_ORDER);
		end->memory = NULL;
		return -ENOMEM;
	}
	end->dma = dma;
	return 0;
}

/* After an error verbs_end_destroy() frees what was made. */
static int verbs_end_create(struct verbs_end *end, u32 slots)
{
	struct ib_device *dev = end->id->device;
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr	= slots + 1,	/* +1: drain */
			.max_recv_wr	= 1,		/* drain */
			.max_send_sge	= min(sges, VERBS_SGES),
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	struct ib_pd *pd;
	struct ib_cq *cq;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	end->pd = pd;
	cq = ib_alloc_cq(dev, end, slots + 2, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	return rdma_create_qp(end->id, pd, &attr) ?: verbs_alloc_memory(end);
}

static void verbs_end_destroy(struct verbs_end *end)
{
	if (!end->id)
		return;
	if (end->id->qp) {
		rdma_disconnect(end->id);
		ib_drain_qp(end->id->qp);
		rdma_destroy_qp(end->id);
	}
	if (end->memory) {
		ib_dma_unmap_single(end->id->device, end->dma, VERBS_BYTES,
				    DMA_BIDIRECTIONAL);
		free_pages((unsigned long)end->memory, VERBS_ORDER);
	}
	if (end->mr)
		ib_dereg_mr(end->mr);
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	rdma_destroy_id(end->id);
	end->id = NULL;
}

static void verbs_outcome(struct verbs_end *end, int status)
{
	end->status = status;
	complete(&end->step);
}

/* Accepts one connection for each one that this module makes. */
static int verbs_accept(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = {
		.responder_resources	= ev->param.conn.responder_resources,
		.rnr_retry_count	= VERBS_RETRY,
	};
	struct verbs_end *end = verbs.accepting;
	int ret;

	if (!end)
		return -EBUSY;
	verbs.accepting = NULL;
	end->id = id;
	id->context = end;
	ret = verbs_end_create(end, 1);
	if (ret)
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	else
		ret = rdma_accept(id, &param);
	/* The id has an owner now: the end of the module destroys it. */
	if (ret)
		verbs_outcome(end, ret);
	return 0;
}

static int verbs_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct verbs_end *end = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return verbs_accept(id, ev);
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		verbs_outcome(end, 0);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		verbs_outcome(end, ev->status < 0 ? ev->status : -ECONNREFUSED);
		break;
	default:
		break;
	}
	return 0;
}

static int verbs_listen(struct sockaddr_in *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, verbs_cm_handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	verbs.listener = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	return ret ?: rdma_listen(id, pairs);
}

static int verbs_resolve(struct verbs_end *end, struct sockaddr_in *addr)
{
	int ret;

	end->id = rdma_create_id(&init_net, verbs_cm_handler, end, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(end->id)) {
		ret = PTR_ERR(end->id);
		end->id = NULL;
		return ret;
	}
	ret = rdma_resolve_addr(end->id, NULL, (struct sockaddr *)addr, 10000) ?:
	      verbs_wait(end);
	if (ret)
		return ret;
	rdma_set_ack_timeout(end->id, VERBS_ACK_TIMEOUT);
	reinit_completion(&end->step);
	return rdma_resolve_route(end->id, 10000) ?: verbs_wait(end);
}

static int verbs_connect(struct verbs_pair *pair)
{
	struct verbs_end *end = &pair->initiator;
	struct ib_device_attr *attrs = &end->id->device->attrs;
	struct rdma_conn_param param = {
		.initiator_depth = min3(attrs->max_qp_init_rd_atom, attrs->max_qp_rd_atom,
					U8_MAX),
		.retry_count	 = VERBS_RETRY,
		.rnr_retry_count = VERBS_RETRY,
	};
	/* Flushed work requests complete, also unsignalled ones. */
	u32 slots = depth * DIV_ROUND_UP(sges, VERBS_SGES);
	int ret;

	if (min(sges, VERBS_SGES) > min(attrs->max_send_sge, attrs->max_sge_rd) ||
	    slots >= attrs->max_qp_wr || slots + 2 > attrs->max_cqe) {
		pr_err("depth or sges is more than %s can\n", dev_name(&end->id->device->dev));
		return -EINVAL;
	}
	ret = verbs_end_create(end, slots);
	if (ret)
		return ret;
	reinit_completion(&end->step);
	verbs.accepting = &pair->target;
	return rdma_connect(end->id, &param) ?: verbs_wait(end) ?: verbs_wait(&pair->target);
}

static int verbs_pair_create(struct verbs_pair *pair, struct sockaddr_in *addr)
{
	init_completion(&pair->target.step);
	init_completion(&pair->initiator.step);
	return verbs_resolve(&pair->initiator, addr) ?: verbs_connect(pair) ?:
	       verbs_register(&pair->target);
}

/* --- all of it ---------------------------------------------------------------------- */

static int verbs_check(struct sockaddr_in *addr)
{
	addr->sin_family = AF_INET;
	addr->sin_port = htons(port);
	if (!in4_pton(address, -1, (u8 *)&addr->sin_addr, -1, NULL)) {
		pr_err("address=%s is no IPv4 address\n", address);
		return -EINVAL;
	}
	if (strcmp(op, "read") && strcmp(op, "write")) {
		pr_err("op=%s is neither read nor write\n", op);
		return -EINVAL;
	}
	if (!size || size > VERBS_BYTES || !sges || sges > VERBS_SGES * VERBS_CHAIN ||
	    size % sges) {
		pr_err("size=%u is not from 1 to %u, or no multiple of sges=%u, %u at most\n",
		       size, VERBS_BYTES, sges, VERBS_SGES * VERBS_CHAIN);
		return -EINVAL;
	}
	if (!depth || depth > VERBS_DEPTH || !batch || batch > min(depth, VERBS_BATCH) ||
	    depth % batch || !count) {
		pr_err("depth=%u is not from 1 to %u, batch=%u not a part of it up to %u, or count=%lu is 0\n",
		       depth, VERBS_DEPTH, batch, VERBS_BATCH, count);
		return -EINVAL;
	}
	if (!pairs || pairs > VERBS_PAIRS || (pairs > 1 && batch > 1)) {
		pr_err("pairs=%u is not from 1 to %u, or more than 1 with batch=%u\n", pairs,
		       VERBS_PAIRS, batch);
		return -EINVAL;
	}
	verbs.opcode = strcmp(op, "read") ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
	return 0;
}

static int verbs_measure(struct sockaddr_in *addr)
{
	u32 i;
	int ret;

	verbs.pair = kcalloc(pairs, sizeof(*verbs.pair), GFP_KERNEL);
	if (!verbs.pair)
		return -ENOMEM;
	ret = verbs_listen(addr);
	for (i = 0; i < pairs && !ret; i++)
		ret = verbs_pair_create(&verbs.pair[i], addr);
	ret = ret ?: verbs_alloc_slots() ?: verbs_run();
	if (ret)
		return ret;
	snprintf(result, sizeof(result),
		 "{\"op\": \"%s\", \"size\": %u, \"sges\": %u, \"depth\": %u, \"batch\": %u, \"pairs\": %u, \"count\": %llu, \"ns\": %llu, \"posts\": %llu, \"completions\": %llu}",
		 op, size, sges, depth, batch, pairs, verbs.posted, verbs.ns, verbs.posts,
		 verbs.completed);
	return 0;
}

/* The listener goes first, so that no new target is made. */
static void verbs_destroy(void)
{
	u32 i;

	if (verbs.listener)
		rdma_destroy_id(verbs.listener);
	for (i = 0; verbs.pair && i < pairs; i++) {
		verbs_end_destroy(&verbs.pair[i].initiator);
		verbs_end_destroy(&verbs.pair[i].target);
	}
	kfree(verbs.pair);
	kvfree(verbs.sge);
	kfree(verbs.slot);
}

static int __init verbs_init(void)
{
	struct sockaddr_in addr = { };
	int ret;

	spin_lock_init(&verbs.lock);
	init_completion(&verbs.done);
	ret = verbs_check(&addr);
	if (ret)
		return ret;
	ret = verbs_measure(&addr);
	if (ret)
		pr_err("%s of %u bytes at %s: error %d\n", op, size, address, ret);
	verbs_destroy();
	return ret;
}

static void __exit verbs_exit(void)
{
}

module_init(verbs_init);
module_exit(verbs_exit);

MODULE_DESCRIPTION("READs and WRITEs of RDMA, and nothing else");
MODULE_LICENSE("GPL");
