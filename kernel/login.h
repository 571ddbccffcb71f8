/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of a login share.
 */
#ifndef RDMABLK_LOGIN_H
#define RDMABLK_LOGIN_H

#include <linux/types.h>

struct rdmablk_cm_request;
struct rdmablk_queue;
struct rdmablk_session;

int rdmablk_login(struct rdmablk_session *s);

/* login_step.c */
int rdmablk_login_fail(struct rdmablk_session *s, int ret, const char *why);
int rdmablk_login_queue_fail(struct rdmablk_session *s, struct rdmablk_queue *q, int ret);
bool rdmablk_login_believes(const struct rdmablk_session *s, u16 reason);
void rdmablk_login_reason(struct rdmablk_session *s, u16 reason);
void rdmablk_login_start_clock(struct rdmablk_session *s);
void rdmablk_login_progress(struct rdmablk_session *s);
unsigned long rdmablk_login_step(const struct rdmablk_session *s, u64 ms);

/* login_queues.c */
u32 rdmablk_login_tags(const struct rdmablk_session *s);
u32 rdmablk_login_polled(const struct rdmablk_session *s);
bool rdmablk_login_ordered(const struct rdmablk_session *s);
u32 rdmablk_login_sharers(const struct rdmablk_session *s);
void rdmablk_login_map(struct rdmablk_session *s);
u32 rdmablk_login_owned(const struct rdmablk_session *s);
int rdmablk_login_queues(struct rdmablk_session *s);

#endif /* RDMABLK_LOGIN_H */
