/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for secrets: locked, in no core dump, and zero in a forked child.
 */
#ifndef RDMABLKD_SECRET_H
#define RDMABLKD_SECRET_H

#include <stddef.h>

#define SECRET_WHY	256	/* text of an error */

void *secret_alloc(size_t len, char *why);
void secret_free(void *secret, size_t len);

#endif
