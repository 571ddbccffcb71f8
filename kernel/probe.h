/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the target back while a login waits for its answer?
 */
#ifndef RDMABLK_PROBE_H
#define RDMABLK_PROBE_H

struct rdmablk_cm_request;
struct rdmablk_session;

int rdmablk_probe_wait(struct rdmablk_session *s, const struct rdmablk_cm_request *req,
		       unsigned long deadline);

#endif /* RDMABLK_PROBE_H */
