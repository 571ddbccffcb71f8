// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for changes at run time.
 */
#include <stdlib.h>

#include "admin.h"

/**
 * admin_alloc - a new request
 * @op: what it asks for
 *
 * Return: zeroed but for that, or NULL.
 */
struct admin *admin_alloc(enum admin_op op)
{
	struct admin *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->op = op;
	TAILQ_INIT(&a->changes);
	return a;
}

/**
 * admin_free - release a request
 * @a: not submitted, or done; or NULL
 */
void admin_free(struct admin *a)
{
	struct admin_change *c;

	if (!a)
		return;
	while ((c = TAILQ_FIRST(&a->changes))) {
		TAILQ_REMOVE(&a->changes, c, entry);
		free(c);
	}
	free(a->spec);
	free(a);
}
