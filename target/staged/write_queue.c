// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands of a write queue: received, checked, given to the owner, answered, counted.
 *
 * A tag is busy from the receive of its command until its answer is posted. The receive is
 * posted again just before the answer, so a peer that keeps to its depth always finds one.
 *
 * Answers that are posted together go in one send, if the peer takes lists and if they
 * carry no data. No answer waits for another one.
 *
 * Only some sends are signalled. The peer may see an answer and send the next command
 * before the completion of that send is seen here. So sends are counted by themselves, and
 * an answer that finds no free send waits for one.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>

#include "base/util.h"
#include "rdma/conn.h"
#include "staged/write_queue.h"

#define TELL_EACH	32U	/* one of so many sends is signalled, at least */

/* The bits of a work request id for a receive or a number of sends */
#define WR_INDEX	0xffff

static unsigned int tell_each(unsigned int depth)
{
	return (unsigned int)min_u64(TELL_EACH, depth / 2);
}

/**
 * write_queue_sends - number of sends that the queue pair of a write queue needs
 * @depth: number of tags
 *
 * One for each tag; those that are not signalled; and as many again, whose completion is on
 * its way.
 *
 * Return: number of sends.
 */
unsigned int write_queue_sends(unsigned int depth)
{
	return depth + 2 * tell_each(depth);
}

/*
 * Answers
 */

static bool carries_data(const struct write_tag *tag)
{
	const struct wire_data *data = &tag->data;

	return data->op == RDMABLK_OP_READ && data->status == RDMABLK_OK &&
	       data->flags & RDMABLK_IO_TRAILER;
}

static uint32_t number_of(const struct write_tag *tag)
{
	const struct wire_data *data = &tag->data;

	return RDMABLK_IMM(data->tag, data->generation, data->status);
}

/* The answer sends the data of a READ from its slot. */
static void fill_answer(struct write_tag *tag)
{
	struct write_queue *q = tag->queue;
	bool carries = carries_data(tag);

	/* Also of a send that is not signalled: its completion may be an error. */
	tag->wr.wr_id = WRITE_QUEUE_SEND | WRITE_QUEUE_WR(q->index, 0);
	tag->wr.opcode = IBV_WR_SEND_WITH_IMM;
	tag->wr.imm_data = htobe32(number_of(tag));
	tag->wr.sg_list = &tag->sge;
	tag->wr.num_sge = carries;
	tag->sge.length = carries ? (uint32_t)tag->data.bytes : 0;
	tag->list.length = 0;
	tag->wr.send_flags = 0;
	q->sends++;
	if (++q->quiet < q->tell_each)
		return;
	tag->wr.send_flags = IBV_SEND_SIGNALED;
	tag->wr.wr_id = WRITE_QUEUE_SEND | WRITE_QUEUE_WR(q->index, q->quiet);
	q->quiet = 0;
}

/*
 * Adds an answer to the send of @first. When the peer has the list, it may use the tags
 * again, and so this memory is written again. A device that sends the list a second time,
 * because the acknowledgment was lost, may send changed bytes; the peer drops them.
 *
 * Return: whether there is room for more.
 */
static bool add_answer(struct write_tag *first, const struct write_tag *tag)
{
	struct rdmablk_answers *list = (void *)(uintptr_t)first->list.addr;
	size_t nr = first->list.length / sizeof(list->imm[0]);

	if (!nr) {
		first->wr.opcode = IBV_WR_SEND;
		first->wr.sg_list = &first->list;
		first->wr.num_sge = 1;
		list->imm[nr++] = htole32(number_of(first));
	}
	list->imm[nr++] = htole32(number_of(tag));
	first->list.length = (uint32_t)(nr * sizeof(list->imm[0]));
	return nr < ARRAY_SIZE(list->imm);
}

static int post_receives(struct write_queue *q)
{
	struct ibv_recv_wr *first = q->again, *bad;

	q->again = NULL;
	q->again_end = &q->again;
	return first ? ibv_post_recv(q->qp, first, &bad) : 0;
}

static int post_answers(struct write_queue *q)
{
	struct ibv_send_wr *first = NULL, **end = &first, *bad;
	struct write_tag *tag, *open = NULL;

	while ((tag = TAILQ_FIRST(&q->answers))) {
		bool data = carries_data(tag);

		if ((data || !open) && q->sends == q->max_sends)
			break;
		TAILQ_REMOVE(&q->answers, tag, entry);
		tag->busy = false;
		if (open && !data) {
			if (!add_answer(open, tag))
				open = NULL;
			continue;
		}
		fill_answer(tag);
		*end = &tag->wr;
		end = &tag->wr.next;
		if (q->all->lists && !data)
			open = tag;
	}
	*end = NULL;
	return first ? ibv_post_send(q->qp, first, &bad) : 0;
}

/**
 * write_queue_post - post the receives and answers that wait, as far as sends are free
 * @q: joined, its queue pair not destroyed
 *
 * Return: 0, or an error of the queue pair: the session must end.
 */
int write_queue_post(struct write_queue *q)
{
	return post_receives(q) ?: post_answers(q);
}

/**
 * write_queue_answer - answer a command
 * @tag: busy with it
 * @status: enum rdmablk_reason
 *
 * Calls @answering of the owner.
 */
void write_queue_answer(struct write_tag *tag, unsigned int status)
{
	struct write_queue *q = tag->queue;
	struct ibv_recv_wr *receive = &q->receive[tag->receive];

	tag->data.status = status;
	store_count(q->counts, tag->data.op, tag->data.bytes, status);
	if (tag->began)
		latency_add(&q->counts->flush, latency_now() - tag->began);
	receive->next = NULL;
	*q->again_end = receive;
	q->again_end = &receive->next;
	TAILQ_INSERT_TAIL(&q->answers, tag, entry);
	q->all->answering(q);
}

/*
 * Commands
 */

/* A FLUSH of a session that cannot write has nothing to do, and must not delay others. */
static bool nothing_to_do(const struct write_queue *q, const struct wire_data *data)
{
	return data->op == RDMABLK_OP_FENCE ||
	       (data->op == RDMABLK_OP_FLUSH && !q->all->scope->writer);
}

/* Return: RDMABLK_OK or why the session must end. */
static unsigned int take(struct write_queue *q, unsigned int index,
			 const struct wire_data *data)
{
	struct write_tag *tag = q->tag[data->tag];

	if (tag->busy)
		return RDMABLK_R_STATE;
	q->implied = data->tag + 1U;
	tag->busy = true;
	tag->data = *data;
	tag->receive = (uint16_t)index;
	tag->began = 0;
	store_count_begun(q->counts, data->op);
	if (data->status || nothing_to_do(q, data)) {
		write_queue_answer(tag, data->status);
		return RDMABLK_OK;
	}
	/* Not for READs and WRITEs: there are many, and the clock takes time, too. */
	if (data->op == RDMABLK_OP_FLUSH)
		tag->began = latency_now();
	q->all->begin(tag);
	return RDMABLK_OK;
}

static bool is_live(const struct write_queue *q)
{
	return atomic_load_explicit(&q->all->live, memory_order_relaxed);
}

/* Return: as take(). */
static unsigned int received(struct write_queue *q, unsigned int index, uint32_t len)
{
	struct wire_data data;
	unsigned int reason;

	if (!is_live(q))
		return RDMABLK_R_STATE;
	reason = wire_check_data(write_queue_receive(q, index), len, q->all->scope, &data);
	return reason ?: take(q, index, &data);
}

/* A WRITE whose data is in the slot. Return: as take(). */
static unsigned int implied(struct write_queue *q, unsigned int index,
			    const struct ibv_wc *wc)
{
	const struct wire_scope *scope = q->all->scope;
	struct wire_data data;

	if (!q->all->implied)
		return RDMABLK_R_MALFORMED;
	if (!is_live(q) || q->implied == scope->cmd_depth)
		return RDMABLK_R_STATE;
	wire_check_implied(be32toh(wc->imm_data), wc->byte_len, scope, (uint16_t)q->implied,
			   &q->tag[q->implied]->data, &data);
	return take(q, index, &data);
}

static void sent(struct write_queue *q, unsigned int nr)
{
	q->sends -= nr;
	if (!TAILQ_EMPTY(&q->answers))
		q->all->answering(q);
}

/**
 * write_queue_completed - a receive or send of a write queue has completed
 * @q: joined
 * @wc: its completion
 *
 * Return: RDMABLK_OK or why the session must end.
 */
unsigned int write_queue_completed(struct write_queue *q, const struct ibv_wc *wc)
{
	unsigned int index = wc->wr_id & WR_INDEX;

	if (wc->status)
		return conn_failure(wc, !(wc->wr_id & WRITE_QUEUE_SEND));
	if (wc->wr_id & WRITE_QUEUE_SEND) {
		sent(q, index);
		return RDMABLK_OK;
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return implied(q, index, wc);
	if (wc->opcode != IBV_WC_RECV || wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		return RDMABLK_R_MALFORMED;
	return received(q, index, wc->byte_len);
}

/*
 * Beginning and end
 */

static void fill_receive(struct write_queue *q, unsigned int i)
{
	struct ibv_sge *sge = &q->receive_sge[i];

	sge->length = q->all->stride - q->all->head;
	sge->addr = (uintptr_t)write_queue_receive(q, i);
	sge->lkey = q->all->lkey;
	q->receive[i] = (struct ibv_recv_wr){
		.wr_id = WRITE_QUEUE_WR(q->index, i),
		.sg_list = sge,
		.num_sge = 1,
	};
}

/**
 * write_queue_init - prepare a write queue
 * @q: filled
 * @all: what it has in common with others, complete
 * @index: number of its hardware queue
 * @counts: where its commands are counted
 *
 * The caller then calls write_queue_add() for each tag, and write_queue_free() in the end,
 * also after an error.
 *
 * Return: 0 or -ENOMEM.
 */
int write_queue_init(struct write_queue *q, struct write_queues *all, unsigned int index,
		     struct store_counts *counts)
{
	unsigned int depth = all->scope->cmd_depth;

	*q = (struct write_queue){
		.all = all,
		.counts = counts,
		.index = index,
		.max_sends = write_queue_sends(depth),
		.tell_each = tell_each(depth),
		.implied = depth,	/* no tag */
	};
	q->again_end = &q->again;
	TAILQ_INIT(&q->answers);
	q->tag = calloc(depth, sizeof(*q->tag));
	q->receive = calloc(depth, sizeof(*q->receive));
	q->receive_sge = calloc(depth, sizeof(*q->receive_sge));
	if (!q->tag || !q->receive || !q->receive_sge)
		return -ENOMEM;
	for (unsigned int i = 0; i < depth; i++)
		fill_receive(q, i);
	return 0;
}

/**
 * write_queue_free - free what write_queue_init() has allocated
 * @q: initialised, or zeroed
 */
void write_queue_free(struct write_queue *q)
{
	free(q->tag);
	free(q->receive);
	free(q->receive_sge);
	q->tag = NULL;
	q->receive = NULL;
	q->receive_sge = NULL;
}

/**
 * write_queue_add - give a write queue one of its tags
 * @q: initialised
 * @number: number of the tag, below the depth
 * @tag: zeroed except for @sge; the memory belongs to the caller
 */
void write_queue_add(struct write_queue *q, unsigned int number, struct write_tag *tag)
{
	q->tag[number] = tag;
	tag->queue = q;
	/* Room for a list of answers is before the receive that has the tag's number. */
	tag->list.addr = (uintptr_t)write_queue_receive(q, number) - q->all->head;
	tag->list.lkey = q->all->lkey;
}

/**
 * write_queue_join - a write queue has a queue pair: post its receives
 * @q: with all its tags
 * @qp: no packet can have come yet; from now on completions of @q may come
 *
 * Return: 0 or -errno.
 */
int write_queue_join(struct write_queue *q, struct ibv_qp *qp)
{
	unsigned int depth = q->all->scope->cmd_depth;
	struct ibv_recv_wr *bad;

	q->qp = qp;
	for (unsigned int i = 0; i < depth; i++)
		q->receive[i].next = i + 1 < depth ? &q->receive[i + 1] : NULL;
	return -ibv_post_recv(qp, q->receive, &bad);
}
