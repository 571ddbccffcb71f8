/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_REAUTH_H
#define RDMABLK_REAUTH_H

struct rdmablk_session;

void rdmablk_reauth_init(struct rdmablk_session *s);
void rdmablk_reauth_start(struct rdmablk_session *s);
void rdmablk_reauth_now(struct rdmablk_session *s);
void rdmablk_reauth_ends(struct rdmablk_session *s, u64 ms);

#endif /* RDMABLK_REAUTH_H */
