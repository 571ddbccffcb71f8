// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exports that a target has, when it lacks the one for a disk: a short visit asks for their
 * names, with the key of the disk if its file is on this host.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../target/base/near.h"
#include "visit.h"
#include "visit_names.h"

#define PATIENCE_S	2	/* with each step of the login and each page */
#define PAGES_S		4	/* with all pages */
#define MOST_PAGES	100
#define PAGE_NS		6000000	/* a target ends a visit that sends 200 messages in a second */
#define LIST_LEN	120	/* bytes of names that are listed; at least the longest name */

/**
 * struct names - what the target has
 * @near: search for the name that is wanted; its result is in @best
 * @best: the nearest name
 * @list: the first names, with commas between them
 * @listed: how many
 * @nr: number of all names
 * @wanted: the target has the export now
 */
struct names {
	struct near near;
	char best[RDMABLK_NAME_LEN];
	char list[LIST_LEN];
	unsigned int listed;
	unsigned int nr;
	bool wanted;
};

static void take(struct names *names, const char *name)
{
	size_t len = strlen(names->list);

	names->wanted |= !strcmp(name, names->near.word);
	near_try(&names->near, name);
	if (names->near.best == name) {
		snprintf(names->best, sizeof(names->best), "%s", name);
		names->near.best = names->best;
	}
	/* The list has no gaps. */
	if (names->listed == names->nr++ && len + strlen(name) + 2 < sizeof(names->list)) {
		snprintf(names->list + len, sizeof(names->list) - len, "%s%s", len ? ", " : "",
			 name);
		names->listed++;
	}
}

/* Takes the names of all pages, or of as many as there is time for. Returns 0 or -1. */
static int take_all(struct client *client, struct names *names, bool *more)
{
	const struct timespec pause = { .tv_nsec = PAGE_NS };
	__s64 deadline = nl_deadline(PAGES_S);
	char after[RDMABLK_NAME_LEN] = "";
	struct rdmablk_list list;
	struct nl_failure ignored;
	unsigned int i, pages = 0;

	do {
		if (pages)
			nanosleep(&pause, NULL);
		if (client_list(client, after, &list, &ignored))
			return -1;
		for (i = 0; i < le32toh(list.count); i++) {
			take(names, list.listed[i].name);
			memcpy(after, list.listed[i].name, sizeof(after));
		}
		*more = list.more;
	} while (*more && ++pages < MOST_PAGES && nl_deadline(0) < deadline);
	return 0;
}

static void say(const struct names *names, bool more, char text[VISIT_NAMES_TEXT])
{
	char rest[40] = "";	/* of those that are known but not listed */

	if (names->near.best) {
		snprintf(text, VISIT_NAMES_TEXT, "; did you mean %s?", names->best);
		return;
	}
	if (names->nr > names->listed)
		snprintf(rest, sizeof(rest), " and %u more", names->nr - names->listed);
	snprintf(text, VISIT_NAMES_TEXT, "; there %s %s%s", names->nr > 1 ? "are" : "is",
		 names->list, more ? " and more" : rest);
}

/**
 * visit_names() - says which exports a target has
 * @request: of a disk whose export it does not have
 * @text: result: the end of a line that says so; empty if the target lists no export to this
 *	host, or has the wanted one meanwhile
 *
 * A visit comes from the default address of this host, so none is made if the disk names another.
 */
void visit_names(const struct connect_request *request, char text[VISIT_NAMES_TEXT])
{
	struct visit visit = {
		.where = request->where,
		.request = *request,
		.key = request->key[0] ? request->key : NULL,
		.tmo_s = PATIENCE_S,
	};
	struct names names = { 0 };
	struct client *client;
	bool more = false;
	int status;

	text[0] = '\0';
	if (request->source.addr.ss_family != AF_UNSPEC)
		return;
	client = visit_open(&visit, NULL, &status);
	if (!client)
		return;
	near_begin(&names.near, request->where.name);
	if (!take_all(client, &names, &more) && names.nr && !names.wanted)
		say(&names, more, text);
	client_close(client);
}
