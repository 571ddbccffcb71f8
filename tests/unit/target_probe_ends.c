// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions that end at a random moment, each with one FLUSH under way.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include "target_probe.h"

#define PATIENCE_MS	60000	/* for the daemon to have done with an earlier session */
#define LATEST_LOG2	12	/* of the microseconds from the FLUSH to the end */
#define BLOCK		4096

static jmp_buf refused;

static void post_answer(void)
{
	struct ibv_recv_wr wr = { .wr_id = 2000 }, *bad;

	if (ibv_post_recv(p.data[1].id->qp, &wr, &bad))
		die("ibv_post_recv");
}

static void drop(struct queue *q)
{
	if (!q->id)
		return;
	if (q->id->qp)
		rdma_destroy_qp(q->id);
	rdma_destroy_id(q->id);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	*q = (struct queue){ 0 };
}

static void drop_all(void)
{
	drop(&p.data[0]);
	drop(&p.data[1]);
	drop(&p.ctrl);
	rdma_destroy_event_channel(p.channel);
	p.channel = NULL;
}

/* Return: whether the session is live; false: an earlier one is not over */
static bool try_login(void)
{
	p.ended = 0;
	p.gone = false;
	p.generation++;
	p.channel = rdma_create_event_channel();
	if (!p.channel)
		die("rdma_create_event_channel");
	p.refused = &refused;
	if (setjmp(refused)) {
		p.refused = NULL;
		if (p.ended != RDMABLK_R_FENCING)
			exit(1);
		return false;
	}
	login_to_live();
	p.refused = NULL;
	post_answer();
	return true;
}

/* What the export has to do before it takes the next session does not take long. */
static void login_again(void)
{
	long long end = now_ms() + PATIENCE_MS;

	while (!try_login()) {
		drop_all();
		if (now_ms() >= end)
			die("the export takes no session after one that has ended");
		usleep(10000);
	}
}

static void send_op(unsigned int op, uint64_t bytes, unsigned int generation)
{
	struct rdmablk_command cmd = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
		.op = htole16((uint16_t)op),
		.bytes = htole64(bytes),
	};

	cmd.hdr.tag = htole16(1);
	cmd.hdr.generation = htole32(generation);
	send_raw(&p.data[1], &cmd, sizeof(cmd));
}

static void want_answer(unsigned int generation)
{
	struct ibv_wc wc;

	do {
		if (completion(&p.data[1], &wc, PATIENCE_MS) <= 0)
			die("no answer");
		if (wc.status)
			die(ibv_wc_status_str(wc.status));
	} while (wc.wr_id != 2000);
	if (RDMABLK_IMM_TAG(be32toh(wc.imm_data)) != 1 ||
	    RDMABLK_IMM_GENERATION(be32toh(wc.imm_data)) != generation ||
	    RDMABLK_IMM_STATUS(be32toh(wc.imm_data)))
		die("a wrong answer");
	post_answer();
}

/* A FLUSH that has something to do */
static void send_flush(void)
{
	send_op(RDMABLK_OP_WRITE_ZEROES, BLOCK, 1);
	want_answer(1);
	send_op(RDMABLK_OP_FLUSH, 0, 2);
}

/* Short times are as likely as long ones. */
static void wait_somehow(void)
{
	long us = random() % (1L << random() % (LATEST_LOG2 + 1));

	if (us)
		usleep((unsigned int)us);
}

/* In the order of a host that dies, of one that lets go, of a queue that breaks */
static void end_somehow(void)
{
	switch (random() % 3) {
	case 0:
		break;
	case 1:
		rdma_disconnect(p.ctrl.id);
		break;
	default:
		rdma_disconnect(p.data[1].id);
	}
	drop_all();
}

/*
 * --arg sessions, one after the other, whose ends --hold decides. The one after them is live,
 * and its FLUSH is answered.
 */
void scenario_ends(void)
{
	srandom(p.hold);
	for (unsigned int n = 0; n < p.arg; n++) {
		login_again();
		send_flush();
		wait_somehow();
		end_somehow();
	}
	login_again();
	send_flush();
	want_answer(2);
	logout();
	printf("ends: %u sessions\n", p.arg);
}
