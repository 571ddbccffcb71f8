/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the daemon lives.
 */
#ifndef RDMABLK_KEEPALIVE_H
#define RDMABLK_KEEPALIVE_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct rdmablk_session;

/**
 * struct rdmablk_keepalive - how a session asks whether the daemon lives
 * @work: asks the daemon, and looks for its answer
 * @tmo: time that an answer may take on the current connection, jiffies
 * @sent: time of the last question, in jiffies
 * @late: the answer was overdue when @work last looked
 * @answers: number of answers, on all connections
 */
struct rdmablk_keepalive {
	struct delayed_work work;
	unsigned long tmo;
	unsigned long sent;
	bool late;
	u64 answers;
};

void rdmablk_keepalive_init(struct rdmablk_session *s);
void rdmablk_keepalive_start(struct rdmablk_session *s);

#endif /* RDMABLK_KEEPALIVE_H */
