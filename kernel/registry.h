/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All sessions, and their numbers.
 */
#ifndef RDMABLK_REGISTRY_H
#define RDMABLK_REGISTRY_H

#include <linux/types.h>

struct rdmablk_session;

int rdmablk_registry_add(struct rdmablk_session *s, const char **why);
void rdmablk_registry_del(struct rdmablk_session *s);
struct rdmablk_session *rdmablk_registry_find(int index);
struct rdmablk_session *rdmablk_registry_next(int index);
bool rdmablk_registry_step(struct rdmablk_session **s);

#endif /* RDMABLK_REGISTRY_H */
