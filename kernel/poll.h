/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hardware queues with polled completions.
 */
#ifndef RDMABLK_POLL_H
#define RDMABLK_POLL_H

struct io_comp_batch;
struct rdmablk_hwq;
struct rdmablk_queue;
struct request;

void rdmablk_poll_init(struct rdmablk_hwq *hwq);
void rdmablk_poll_open(struct rdmablk_hwq *hwq);
void rdmablk_poll_close(struct rdmablk_hwq *hwq);
int rdmablk_poll(struct rdmablk_hwq *hwq, struct io_comp_batch *iob);
void rdmablk_poll_now(struct rdmablk_hwq *hwq);
void rdmablk_poll_all(struct rdmablk_hwq **hwq, u32 n);
void rdmablk_poll_watch(struct rdmablk_queue *q);
void rdmablk_poll_request(struct rdmablk_hwq *hwq, struct request *rq);
void rdmablk_poll_request_done(struct request *rq);

#endif /* RDMABLK_POLL_H */
