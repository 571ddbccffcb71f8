/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which hosts may use an export, and with which rights. PURE: no state, no I/O.
 */
#ifndef RDMABLKD_ALLOW_H
#define RDMABLKD_ALLOW_H

#include <stdbool.h>

#include "uapi/rdmablk_proto.h"

#define ALLOW_READ	1U	/* may use the export */
#define ALLOW_WRITE	2U	/* may write it */
#define ALLOW_STEAL	4U	/* may end the session of another writer */

/**
 * struct allow_entry - one host of a list
 * @name: of the host; empty: it is no name
 * @rights: ALLOW_READ and more; 0: its rights are not known
 */
struct allow_entry {
	char name[RDMABLK_NAME_LEN];
	unsigned int rights;
};

bool allow_next(const char **list, struct allow_entry *out);
const char *allow_check(const char *list);
unsigned int allow_rights(const char *list, const char *name);

#endif
