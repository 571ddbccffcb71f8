// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules of faults for an uncached file. A rule may say to wait, so a thread of its own asks
 * for each request, and one request waits while others go on. Only in builds with FAULTS=1.
 */
#include "base/thread.h"
#include "base/util.h"
#include "staged/staged_fault.h"

/**
 * struct question - a request that a thread asks the rules for
 * @note: brings the answer back
 * @ask: the request
 * @ret: 0 or -errno
 */
struct question {
	struct ring_note note;
	struct staged_ask ask;
	int ret;
};

static void answer_run(struct ring_note *note)
{
	struct question *q = container_of(note, struct question, note);
	struct staged_ask ask = q->ask;
	int ret = q->ret;

	free(q);
	if (ret)
		ask.src->ready(ask.src, ret, 0);
	else
		ask.go(ask.src, ask.bytes);
}

static void *question_main(void *arg)
{
	struct question *q = arg;
	struct staged_ask *ask = &q->ask;

	q->ret = store_fault(ask->fault, ask->op, ask->offset, &ask->bytes);
	q->note.run = answer_run;
	ring_tell(ask->ring, &q->note);
	return NULL;
}

/**
 * staged_fault_ask - let a thread ask the rules, then do the request or let it fail
 * @ask: the request, with rules; copied
 *
 * In the thread of its ring.
 */
void staged_fault_ask(const struct staged_ask *ask)
{
	struct question *q = calloc(1, sizeof(*q));
	pthread_t thread;

	if (q)
		q->ask = *ask;
	if (!q || thread_start(&thread, "question", question_main, q)) {
		free(q);
		ask->go(ask->src, ask->bytes);
		return;
	}
	pthread_detach(thread);
}
