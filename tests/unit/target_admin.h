/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon without adapters that can be changed at run time. It has one export of memory, and
 * the configuration file "conf".
 */
#ifndef TARGET_ADMIN_H
#define TARGET_ADMIN_H

#include "../../target/admin/admin.h"
#include "../../target/admin/admin_step.h"
#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/config/options.h"
#include "../../target/export/quota.h"
#include "../../target/session/session.h"
#include "target_files.h"

static struct config cfg;
static struct admin *last;
static bool forced;		/* run() asks for the change by force */

static inline void gone(void)
{
	admin_session_gone();
}

static inline int setup(void **state)
{
	static char config[160];
	static char *argv[4];	/* a reload reads them again */

	if (files_setup(state))
		return -1;
	argv[0] = "rdmablkd";
	argv[1] = "--config";
	argv[2] = config;
	snprintf(config, sizeof(config), "%s", files_path("conf"));
	files_text(config, "[target]\nlisten = 127.0.0.1\n[export first]\n"
		   "type = memory\nsize = 1M\nhugepages = no\n");
	config_init(&cfg);
	if (options_parse(&cfg, 3, argv) != OPTIONS_RUN)
		return -1;
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path("state"));
	if (loop_init() || session_init(gone))
		return -1;
	quota_init(&cfg);
	quota_rate_init(&cfg);
	if (export_open_all(&cfg))
		return -1;
	admin_init(&cfg);
	return worker_start();
}

static inline int teardown(void **state)
{
	worker_stop();
	export_close_all();
	loop_exit();
	config_free(&cfg);
	admin_free(last);
	return files_teardown(state);
}

static inline void done(struct admin *a)
{
	last = a;
	loop_stop();
}

/* Return: the result; @last has more. */
static inline int run(enum admin_op op, const char *name, const char *spec, uint64_t size)
{
	struct admin *a = admin_alloc(op);
	bool now;

	assert_non_null(a);
	snprintf(a->name, sizeof(a->name), "%s", name);
	if (spec && op == ADMIN_ALLOW)
		a->allow = strdup(spec);
	else if (spec)
		a->spec = strdup(spec);
	a->size = size;
	a->force = forced;
	a->done = done;
	admin_free(last);
	last = NULL;
	admin_submit(a);
	now = last;
	assert_int_equal(loop_run(), 0);
	assert_true(now || last);
	return last->error;
}

#endif
