/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the audit log says about the administrator.
 */
#ifndef RDMABLKD_ADMIN_AUDIT_H
#define RDMABLKD_ADMIN_AUDIT_H

#include "admin/admin_request.h"

void admin_audit_done(const struct admin *a);
void admin_audit_refused(uid_t uid, const char *why);

#endif
