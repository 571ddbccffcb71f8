// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said of a name that does not exist, and which name is near it.
 */
#include <stdio.h>

#include "admin/admin_near.h"
#include "base/near.h"
#include "export/export.h"
#include "export/host.h"

static void say(const char *what, const struct near *near, char *why)
{
	int len = snprintf(why, ADMIN_NEAR_WHY, "there is no %s %s", what, near->word);

	if (near->best && len < ADMIN_NEAR_WHY)
		snprintf(why + len, (size_t)(ADMIN_NEAR_WHY - len), "; did you mean %s?",
			 near->best);
}

/**
 * admin_near_export - there is no such export
 * @name: that was asked for
 * @why: ADMIN_NEAR_WHY bytes, the sentence
 */
void admin_near_export(const char *name, char *why)
{
	struct export *e = NULL;
	struct near near;

	near_begin(&near, name);
	while ((e = export_next(e)))
		near_try(&near, e->cfg->name);
	say("export", &near, why);
}

/**
 * admin_near_host - there is no such host
 * @name: that was asked for
 * @why: ADMIN_NEAR_WHY bytes, the sentence
 */
void admin_near_host(const char *name, char *why)
{
	const struct host *h = NULL;
	struct near near;

	near_begin(&near, name);
	while ((h = host_next(h)))
		near_try(&near, host_name(h));
	say("host", &near, why);
}
