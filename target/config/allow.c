// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of hosts: NAME[:RIGHTS], with blanks or commas between them. Without RIGHTS a host
 * may read and write.
 */
#include <stdio.h>

#include "base/util.h"
#include "base/value.h"
#include "config/allow.h"

#define SEPARATORS	", \t"

static const struct {
	const char *word;
	unsigned int rights;
} words[] = {
	{ "", ALLOW_READ | ALLOW_WRITE },
	{ ":ro", ALLOW_READ },
	{ ":rw", ALLOW_READ | ALLOW_WRITE },
	{ ":rw+steal", ALLOW_READ | ALLOW_WRITE | ALLOW_STEAL },
};

/* @text: of @len bytes, a colon first, or nothing */
static unsigned int rights_of(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, text, len))
			return words[i].rights;
	return 0;
}

/**
 * allow_next - the hosts of a list, one by one
 * @list: what is left of it
 * @out: filled
 *
 * Return: whether there was one.
 */
bool allow_next(const char **list, struct allow_entry *out)
{
	const char *text = *list + strspn(*list, SEPARATORS);
	size_t len = strcspn(text, SEPARATORS), name = strcspn(text, ":" SEPARATORS);

	*list = text + len;
	if (!len)
		return false;
	*out = (struct allow_entry){ .rights = rights_of(text + name, len - name) };
	if (name < sizeof(out->name))
		memcpy(out->name, text, name);
	if (!value_name_ok(out->name, sizeof(out->name)))
		out->name[0] = '\0';
	return true;
}

static unsigned int count(const char *list, const char *name)
{
	struct allow_entry host;
	unsigned int nr = 0;

	while (allow_next(&list, &host))
		nr += !strcmp(host.name, name);
	return nr;
}

/**
 * allow_check - is a list right
 * @list: of hosts; empty: nobody
 *
 * Return: NULL, or what is wrong.
 */
const char *allow_check(const char *list)
{
	const char *rest = list;
	struct allow_entry host;

	while (allow_next(&rest, &host)) {
		if (!host.name[0])
			return "not names of hosts, with blanks or commas between them";
		if (!host.rights)
			return "rights of a host are ro, rw or rw+steal";
		if (count(list, host.name) > 1)
			return "a host is in it twice";
	}
	return NULL;
}

/**
 * allow_rights - what a host may do
 * @list: checked; NULL: nobody
 * @name: of the host
 *
 * Return: ALLOW_READ and more; 0: nothing.
 */
unsigned int allow_rights(const char *list, const char *name)
{
	struct allow_entry host;

	while (list && allow_next(&list, &host))
		if (!strcmp(host.name, name))
			return host.rights;
	return 0;
}
