/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits: logins without an export.
 */
#ifndef RDMABLKD_VISIT_H
#define RDMABLKD_VISIT_H

#include "session/session.h"

unsigned int visit_begin(struct session *s, const struct host *h);
unsigned int visit_list(struct session *s, const void *msg, size_t len);
unsigned int visit_scratch(struct session *s, const void *msg, size_t len);

#endif
