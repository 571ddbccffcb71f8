// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions that end at a random moment, each with one FLUSH under way.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include "target_probe.h"

#define PATIENCE_MS	60000	/* for the daemon to finish an earlier session */
#define LATEST_LOG2	12	/* of the microseconds from the FLUSH to the end */
#define BLOCK		4096

static jmp_buf refused;

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
	post_answer(&p.data[1]);
	return true;
}

/* The export must take the next session soon after the end of the last one. */
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

/* A FLUSH that has something to do */
static void send_flush(void)
{
	send_io(&p.data[1], RDMABLK_OP_WRITE_ZEROES, BLOCK, 1);
	want_done(&p.data[1], 1);
	send_io(&p.data[1], RDMABLK_OP_FLUSH, 0, 2);
}

/* Short times are as likely as long ones. */
static void wait_somehow(void)
{
	long us = random() % (1L << random() % (LATEST_LOG2 + 1));

	if (us)
		usleep((unsigned int)us);
}

/* Ends the session as if the host died, or by a disconnect, or by a broken queue. */
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
 * --arg sessions, one after the other; --hold seeds the random choice of their ends. One more
 * session becomes live, and its FLUSH is answered.
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
	want_done(&p.data[1], 2);
	logout();
	printf("ends: %u sessions\n", p.arg);
}
