/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a session: create, connect, publish, claim, remove.
 */
#ifndef RDMABLK_LIFECYCLE_H
#define RDMABLK_LIFECYCLE_H

#include <linux/types.h>

struct rdmablk_options;
struct rdmablk_session;

struct rdmablk_session *rdmablk_lifecycle_create(const struct rdmablk_options *opt,
						 u32 nl_portid, const char **why);
int rdmablk_lifecycle_connect(struct rdmablk_session *s);
int rdmablk_lifecycle_publish(struct rdmablk_session *s);
void rdmablk_lifecycle_abort(struct rdmablk_session *s);
int rdmablk_lifecycle_claim(struct rdmablk_session *s, bool force, const char **why);
void rdmablk_lifecycle_unwanted(struct rdmablk_session *s);
void rdmablk_lifecycle_remove(struct rdmablk_session *s);
void rdmablk_lifecycle_remove_all(void);

#endif /* RDMABLK_LIFECYCLE_H */
