// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line of the administrator's socket. An accepted request is complete, and its values
 * mean the same as the text. A refused one has a reason, and leaves nothing behind.
 */
#include <stdlib.h>
#include <string.h>

#include "../../target/admin/control_request.h"
#include "../../target/base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_admin(const struct control_request *r)
{
	const struct admin *a = r->admin;
	bool adds = a->op == ADMIN_ADD || a->op == ADMIN_HOST_ADD;
	bool named = !adds && a->op != ADMIN_RELOAD && a->op != ADMIN_SAVE;

	check(named == value_name_ok(a->name, sizeof(a->name)) && !a->owner && !a->done);
	check(adds == !!a->spec && (a->op == ADMIN_ALLOW) == !!a->allow);
	check(!a->reason || (a->op == ADMIN_KICK && !strpbrk(a->reason, "\r\n\033")));
	check(!a->force || a->op == ADMIN_REMOVE || a->op == ADMIN_REOPEN);
	check(a->size <= RDMABLK_MAX_SIZE && (!a->size || a->op == ADMIN_RESIZE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + !size), why[CONTROL_WHY] = "";
	struct control_request r;

	check(line);
	memcpy(line, data, size);
	if (control_parse(line, size, &r, why)) {
		check(!r.admin && why[0] && memchr(why, 0, sizeof(why)));
	} else {
		check(!r.show == !!r.admin);
		if (r.admin)
			check_admin(&r);
		else
			check(!r.name[0] || value_name_ok(r.name, sizeof(r.name)));
		admin_free(r.admin);
	}
	free(line);
	return 0;
}
