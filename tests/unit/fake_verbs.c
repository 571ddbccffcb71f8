// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verbs without an adapter. One lock for all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../kernel/uapi/rdmablk_proto.h"
#include "fake_verbs.h"

#define PATIENCE	30	/* s */
#define REGIONS		16

/**
 * struct fake_cq - a completion queue
 * @cq: it
 * @wc: completions, first to last
 * @nr: how many
 * @armed: the next makes an event
 */
struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[FAKE_CQES];
	unsigned int nr;
	bool armed;
};

struct fake_channel {
	struct ibv_comp_channel channel;
	int other;
};

static struct ibv_context context;
static struct ibv_pd pd = { .context = &context };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct region {
	struct ibv_mr mr;
	uint64_t iova;
	bool used;
} regions[REGIONS];
static unsigned int objects;

void (*fake_channel_made)(void);

/* The lock is held. */
static void *memory_of(uint64_t addr, uint32_t key)
{
	struct region *r = &regions[key % REGIONS];

	if (!r->used || addr < r->iova || addr >= r->iova + r->mr.length)
		return NULL;
	return (char *)r->mr.addr + (addr - r->iova);
}

/* The lock is held. */
static void complete(struct ibv_cq *ibv, const struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ibv;

	if (cq->nr == FAKE_CQES)
		abort();
	cq->wc[cq->nr++] = *wc;
	if (!cq->armed)
		return;
	cq->armed = false;
	if (write(((struct fake_channel *)ibv->channel)->other, &ibv, sizeof(ibv)) !=
	    sizeof(ibv))
		abort();
}

static int poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ibv;
	unsigned int nr = (unsigned int)max;

	pthread_mutex_lock(&lock);
	if (nr > cq->nr)
		nr = cq->nr;
	memcpy(wc, cq->wc, nr * sizeof(*wc));
	cq->nr -= nr;
	memmove(cq->wc, cq->wc + nr, cq->nr * sizeof(*wc));
	pthread_mutex_unlock(&lock);
	return (int)nr;
}

static int req_notify_cq(struct ibv_cq *ibv, int solicited)
{
	(void)solicited;
	pthread_mutex_lock(&lock);
	((struct fake_cq *)ibv)->armed = true;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)ibv;

	(void)bad;
	pthread_mutex_lock(&lock);
	q->late |= q->dead;
	for (; wr; wr = wr->next) {
		if (q->nr_receives == FAKE_DEPTH)
			abort();
		q->sges[q->nr_receives] = *wr->sg_list;
		q->receives[q->nr_receives++] = *wr;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* The lock is held. */
static void sent(struct fake_qp *q, uint64_t id, unsigned int nr)
{
	const struct ibv_wc wc = { .wr_id = id, .opcode = IBV_WC_SEND };

	q->posted -= nr;
	complete(q->cq, &wc);
}

/* The lock is held. */
static struct fake_answer *answered(struct fake_qp *q, uint32_t imm)
{
	struct fake_answer *a = &q->answers[q->nr_answers++];

	if (q->nr_answers > FAKE_DEPTH)
		abort();
	*a = (struct fake_answer){ .imm = imm };
	return a;
}

/* The lock is held. */
static void take_answer(struct fake_qp *q, const struct ibv_send_wr *wr, const void *payload)
{
	struct fake_answer *a = answered(q, be32toh(wr->imm_data));

	if (!payload)
		return;
	a->len = wr->sg_list->length;
	a->data = malloc(a->len);
	memcpy(a->data, payload, a->len);
}

/* The lock is held. */
static void take_list(struct fake_qp *q, const struct ibv_send_wr *wr, const void *payload)
{
	struct rdmablk_answers list;
	uint32_t len = wr->num_sge ? wr->sg_list->length : 0;

	if (!len || len % sizeof(list.imm[0]) || len > sizeof(list))
		abort();
	memcpy(&list, payload, len);
	for (uint32_t i = 0; i < len / sizeof(list.imm[0]); i++)
		answered(q, le32toh(list.imm[i]));
	q->lists++;
	q->listed += len / (uint32_t)sizeof(list.imm[0]);
}

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)ibv;

	(void)bad;
	pthread_mutex_lock(&lock);
	q->late |= q->dead;
	for (; wr; wr = wr->next) {
		void *payload = NULL;

		if (wr->num_sge)
			payload = memory_of(wr->sg_list->addr, wr->sg_list->lkey);
		if (wr->num_sge && !payload)
			abort();
		if (wr->opcode == IBV_WR_SEND_WITH_IMM)
			take_answer(q, wr, payload);
		else if (wr->opcode == IBV_WR_SEND)
			take_list(q, wr, payload);
		else
			abort();
		q->posted++;
		q->quiet++;
		if (q->posted > q->most)
			q->most = q->posted;
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		if (q->hold)
			q->unsaid[q->nr_unsaid++] = wr->wr_id;
		else
			sent(q, wr->wr_id, q->quiet);
		q->quiet = 0;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (q->sent)
		q->sent(q);
	return 0;
}

/*
 * What the target calls
 */

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	(void)c;
	memset(attr, 0, sizeof(*attr));
	attr->max_cqe = FAKE_CQES;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct fake_channel *ch = calloc(1, sizeof(*ch));
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		abort();
	ch->channel.context = c;
	ch->channel.fd = fds[0];
	ch->other = fds[1];
	objects++;
	if (fake_channel_made)
		fake_channel_made();
	return &ch->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	fake_break(channel);
	free(channel);
	objects--;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->cq.context = c;
	cq->cq.cq_context = cq_context;
	cq->cq.channel = channel;
	cq->cq.cqe = cqe;
	objects++;
	return &cq->cq;
}

/* As the real one: not before each event that was taken is acknowledged. */
int ibv_destroy_cq(struct ibv_cq *cq)
{
	int busy = cq->comp_events_completed ? EBUSY : 0;

	if (busy)
		return busy;
	free(cq);
	objects--;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context_)
{
	if (read(channel->fd, cq, sizeof(*cq)) != sizeof(*cq))
		return -1;
	*context_ = (*cq)->cq_context;
	(*cq)->comp_events_completed++;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	cq->comp_events_completed -= nevents;
}

static struct ibv_mr *region(void *addr, size_t length, uint64_t iova)
{
	struct region *r = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; !r && i < REGIONS; i++) {
		if (regions[i].used)
			continue;
		r = &regions[i];
		*r = (struct region){ .iova = iova, .used = true };
		r->mr.addr = addr;
		r->mr.length = length;
		r->mr.lkey = i + REGIONS;
		r->mr.rkey = i + REGIONS;
	}
	objects++;
	pthread_mutex_unlock(&lock);
	return r ? &r->mr : NULL;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *p, void *addr, size_t length, int access)
{
	(void)p;
	(void)access;
	return region(addr, length, (uintptr_t)addr);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *p, void *addr, size_t length,
			       uint64_t iova, int access)
{
	(void)p;
	(void)access;
	return region(addr, length, iova);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *p, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	(void)p;
	(void)access;
	return region(addr, length, iova);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	pthread_mutex_lock(&lock);
	((struct region *)mr)->used = false;
	objects--;
	pthread_mutex_unlock(&lock);
	return 0;
}

/*
 * What the test calls
 */

/* A test may put functions of its own in their place. */
struct ibv_context *fake_context(void)
{
	if (context.num_comp_vectors)
		return &context;
	context.num_comp_vectors = 2;
	context.ops.poll_cq = poll_cq;
	context.ops.req_notify_cq = req_notify_cq;
	context.ops.post_recv = post_recv;
	context.ops.post_send = post_send;
	return &context;
}

struct ibv_pd *fake_pd(void)
{
	fake_context();
	return &pd;
}

void fake_qp_init(struct fake_qp *q, struct ibv_cq *cq)
{
	memset(q, 0, sizeof(*q));
	q->qp.context = &context;
	q->cq = cq;
}

/* Return: whether there was a receive for it. The lock is held. */
static bool received(struct fake_qp *q, struct ibv_wc *wc)
{
	if (!q->nr_receives)
		return false;
	wc->wr_id = q->receives[0].wr_id;
	q->nr_receives--;
	memmove(q->receives, q->receives + 1, q->nr_receives * sizeof(*q->receives));
	memmove(q->sges, q->sges + 1, q->nr_receives * sizeof(*q->sges));
	complete(q->cq, wc);
	return true;
}

/* Return: whether there was a receive for it. */
bool fake_send(struct fake_qp *q, const void *msg, uint32_t len)
{
	struct ibv_wc wc = { .opcode = IBV_WC_RECV, .byte_len = len };
	bool found;

	pthread_mutex_lock(&lock);
	if (!q->nr_receives || q->sges[0].length < len)
		wc.status = IBV_WC_LOC_LEN_ERR;
	else
		memcpy((void *)(uintptr_t)q->sges[0].addr, msg, len);
	found = received(q, &wc);
	pthread_mutex_unlock(&lock);
	return found;
}

/*
 * An RDMA WRITE with immediate data, which the caller has put where it goes. Return: as
 * fake_send().
 */
bool fake_write(struct fake_qp *q, uint32_t imm, uint32_t len)
{
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IBV_WC_WITH_IMM,
		.byte_len = len,
		.imm_data = htobe32(imm),
	};
	bool found;

	pthread_mutex_lock(&lock);
	found = received(q, &wc);
	pthread_mutex_unlock(&lock);
	return found;
}

/* A completion as the test likes it, of the first receive. */
void fake_complete(struct fake_qp *q, const struct ibv_wc *wc)
{
	struct ibv_wc copy = *wc;

	pthread_mutex_lock(&lock);
	copy.wr_id = q->receives[0].wr_id;
	complete(q->cq, &copy);
	pthread_mutex_unlock(&lock);
}

/* Completions of sends that were held back come, and those to come are not held. */
void fake_release(struct fake_qp *q)
{
	pthread_mutex_lock(&lock);
	q->hold = false;
	for (unsigned int i = 0; i < q->nr_unsaid; i++)
		sent(q, q->unsaid[i], (unsigned int)(q->unsaid[i] & 0xffff));
	q->nr_unsaid = 0;
	pthread_mutex_unlock(&lock);
}

/* The answer to a tag; false: none in time. */
bool fake_answer(struct fake_qp *q, uint16_t tag, struct fake_answer *out)
{
	struct timespec until;
	bool found = false;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	pthread_mutex_lock(&lock);
	for (;;) {
		for (unsigned int i = 0; !found && i < q->nr_answers; i++) {
			if (q->answers[i].imm >> 16 != tag)
				continue;
			found = true;
			*out = q->answers[i];
			q->nr_answers--;
			memmove(q->answers + i, q->answers + i + 1,
				(q->nr_answers - i) * sizeof(*q->answers));
		}
		if (found || pthread_cond_timedwait(&changed, &lock, &until))
			break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void *fake_remote(uint64_t addr, uint32_t rkey)
{
	void *from;

	pthread_mutex_lock(&lock);
	from = memory_of(addr, rkey);
	pthread_mutex_unlock(&lock);
	return from;
}

/* No event comes any more, as when the device is gone. */
void fake_break(struct ibv_comp_channel *channel)
{
	struct fake_channel *ch = (struct fake_channel *)channel;

	if (ch->other >= 0)
		close(ch->other);
	ch->other = -1;
}

unsigned int fake_objects(void)
{
	return objects;
}
