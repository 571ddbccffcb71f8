/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the daemon lives.
 */
#ifndef RDMABLK_KEEPALIVE_H
#define RDMABLK_KEEPALIVE_H

struct rdmablk_session;

unsigned long rdmablk_keepalive_tmo(const struct rdmablk_session *s);
void rdmablk_keepalive_init(struct rdmablk_session *s);
void rdmablk_keepalive_start(struct rdmablk_session *s);

#endif /* RDMABLK_KEEPALIVE_H */
