/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps of a request: what is done to one export. One step at a time; each calls @then
 * when it is over, with 0 or -errno.
 */
#ifndef RDMABLKD_ADMIN_STEP_H
#define RDMABLKD_ADMIN_STEP_H

#include "export/export.h"

#define ADMIN_NEAR_WHY	192	/* text of admin_near_export() and admin_near_host() */
#define ADMIN_FLUSH_MS	60000	/* for initiators to flush and log out */

typedef void (*admin_then)(int ret);
void admin_step_init(struct config *cfg);
void admin_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *admin_said(void);
const struct export *admin_step_export(void);
void admin_near_export(const char *name, char *why);
void admin_near_host(const char *name, char *why);
void admin_add(struct export_config *ec, bool by_hand, admin_then then);
void admin_remove(struct export *e, bool force, admin_then then);
void admin_reopen(struct export *e, struct export_config *ec, bool force,
		  admin_then then);
void admin_grow(struct export *e, uint64_t size, admin_then then);
void admin_session_gone(void);
void admin_shutdown(void);
bool admin_stopping(void);

#endif
