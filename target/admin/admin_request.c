// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for changes at run time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin_request.h"

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
	free(a->allow);
	free(a);
}

/**
 * admin_word - the word for a kind of request
 * @op: kind of request
 *
 * Return: the word that the administrator types.
 */
const char *admin_word(enum admin_op op)
{
	static const char * const words[] = {
		[ADMIN_ADD] = "add", [ADMIN_REMOVE] = "remove",
		[ADMIN_RESIZE] = "resize", [ADMIN_REOPEN] = "reopen",
		[ADMIN_RELOAD] = "reload", [ADMIN_HOST_ADD] = "host add",
		[ADMIN_HOST_REMOVE] = "host remove", [ADMIN_ALLOW] = "allow",
	};

	return words[op];
}

/**
 * admin_thing_word - the word for what a reload changes
 * @thing: kind of the thing
 *
 * Return: the word.
 */
const char *admin_thing_word(enum admin_thing thing)
{
	static const char * const words[] = {
		[ADMIN_EXPORT] = "export", [ADMIN_SETTING] = "setting",
		[ADMIN_HOST] = "host",
	};

	return words[thing];
}

/**
 * admin_of_host - what a request is about
 * @op: kind of request
 *
 * Return: whether its name is that of a host.
 */
bool admin_of_host(enum admin_op op)
{
	return op == ADMIN_HOST_ADD || op == ADMIN_HOST_REMOVE;
}

/**
 * admin_text - a request in words
 * @a: submitted
 * @text: filled
 * @size: of it, ADMIN_TEXT bytes
 */
void admin_text(const struct admin *a, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", admin_word(a->op), a->name[0] ? " " : "", a->name);
}
