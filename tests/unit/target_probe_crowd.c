// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One process with many sessions, each of another host, or with many logins that never become
 * sessions.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include "target_probe.h"

#define AT_ONCE		16	/* sessions that wait for an answer */
#define REASONS		256

struct member {
	struct rdma_event_channel *channel;
	struct queue ctrl, data[2];
	unsigned int generation;	/* of the last command */
};

static struct member *members;
static unsigned int nr_live, nr_reason[REASONS];
static jmp_buf refused;

/* The next session is that of host @n. All share the buffers, which none uses when live. */
static void begin(unsigned int n)
{
	p.host = n;
	p.instance = n;
	memset(&p.ctrl, 0, sizeof(p.ctrl));
	memset(p.data, 0, 2 * sizeof(p.data[0]));
	p.ended = 0;
	p.gone = false;
	p.channel = rdma_create_event_channel();
	if (!p.channel)
		die("rdma_create_event_channel");
}

/* Counts and drops a login that the daemon has refused. Any other failure ends the probe. */
static void leave(void)
{
	if (!p.ended || p.ended >= REASONS)
		exit(1);
	nr_reason[p.ended]++;
	drop_all();
}

static void join_crowd(unsigned int n)
{
	begin(n);
	p.refused = &refused;
	if (setjmp(refused)) {
		p.refused = NULL;
		leave();
		return;
	}
	login_to_live();
	p.refused = NULL;
	post_answer(&p.data[1]);
	members[nr_live++] = (struct member){
		.channel = p.channel, .ctrl = p.ctrl, .data = { p.data[0], p.data[1] },
	};
}

static void send_flush(struct member *m)
{
	m->generation = (m->generation + 1) & 0xff;
	send_io(&m->data[1], RDMABLK_OP_FLUSH, 0, m->generation);
}

static void want_answer(struct member *m)
{
	p.channel = m->channel;
	want_done(&m->data[1], m->generation);
}

static void flush_all(void)
{
	unsigned int from, to, i;

	for (from = 0; from < nr_live; from = to) {
		to = from + AT_ONCE < nr_live ? from + AT_ONCE : nr_live;
		for (i = from; i < to; i++)
			send_flush(&members[i]);
		for (i = from; i < to; i++)
			want_answer(&members[i]);
	}
}

/*
 * --arg sessions log in, one after the other, as far as the daemon lets them. Those that are
 * live send a FLUSH each, again and again: "round" is printed when all have been answered.
 * Ends when it is killed.
 */
void scenario_crowd(void)
{
	members = calloc(p.arg, sizeof(*members));
	if (!members)
		die("calloc");
	for (unsigned int n = 1; n <= p.arg; n++)
		join_crowd(n);
	printf("crowd: %u live", nr_live);
	for (unsigned int i = 0; i < REASONS; i++)
		if (nr_reason[i])
			printf(", %u refused with %u", nr_reason[i], i);
	puts("");
	for (;;) {
		flush_all();
		puts("round");
		fflush(stdout);
	}
}

/* Logs in as far as CHALLENGE, and hangs up. Return: false: the daemon has refused */
static bool challenge(void)
{
	p.ended = 0;
	p.gone = false;
	p.channel = rdma_create_event_channel();
	if (!p.channel)
		die("rdma_create_event_channel");
	p.refused = &refused;
	if (setjmp(refused)) {
		p.refused = NULL;
		leave();
		return false;
	}
	if (!connect_ctrl())
		finish(1);
	send_hello();
	want(RDMABLK_MSG_CHALLENGE, &p.challenge, sizeof(p.challenge));
	p.refused = NULL;
	drop_all();
	return true;
}

/* --arg HELLOs that are answered, and no PROOF after any of them */
void scenario_unproven(void)
{
	for (unsigned int n = 0; n < p.arg;) {
		if (challenge() && !(++n % 100)) {
			printf("%u unproven\n", n);
			fflush(stdout);
		}
	}
}

/* A login with a bit flipped. Return: whether the daemon has closed it before GRANT. */
static bool is_refused(void)
{
	begin(p.host);
	p.refused = &refused;
	if (setjmp(refused)) {
		p.refused = NULL;
		leave();
		return true;
	}
	login_to_grant();
	p.refused = NULL;
	return false;
}

/* One login for each bit of a message, or for each bit whose number is a multiple of --arg */
static void flip_bits(unsigned int type, size_t bytes)
{
	unsigned int nr = 0;

	p.flip_type = type;
	for (p.flip_bit = 0; p.flip_bit < 8 * bytes; p.flip_bit += p.arg ?: 1) {
		if (!is_refused()) {
			printf("a login with bit %u flipped is granted\n", p.flip_bit);
			exit(1);
		}
		nr++;
	}
	printf("%u logins refused\n", nr);
}

/* HELLO and PROOF of version 2, changed on their way */
void scenario_flip_hello(void)
{
	flip_bits(RDMABLK_MSG_HELLO, sizeof(struct rdmablk_hello2));
}

void scenario_flip_proof(void)
{
	flip_bits(RDMABLK_MSG_PROOF, sizeof(struct rdmablk_proof));
}

/*
 * --arg connection requests whose answers are never read. So no connection is established:
 * librdmacm would complete it when it reads the answer. Ends when it is killed.
 */
void scenario_half_open(void)
{
	const struct rdmablk_cm_request req = ctrl_request();
	struct rdma_conn_param param = {
		.private_data = &req, .private_data_len = sizeof(req),
		.retry_count = 6, .rnr_retry_count = 7,
	};

	for (unsigned int n = 0; n < p.arg; n++) {
		p.channel = rdma_create_event_channel();
		if (!p.channel)
			die("rdma_create_event_channel");
		memset(&p.ctrl, 0, sizeof(p.ctrl));
		prepare(&p.ctrl);
		if (rdma_connect(p.ctrl.id, &param))
			die("rdma_connect");
	}
	printf("%u half open\n", p.arg);
	fflush(stdout);
	for (;;)
		pause();
}
