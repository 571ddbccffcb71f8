// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether the daemon could start on this host with a configuration that has no mistakes:
 * whether its files are there, and its addresses those of RDMA devices.
 *
 * A daemon may be running with that configuration, so nothing is locked, created or
 * listened on, and free memory is not looked at. Whether another process uses a file or
 * a port is not known before the start.
 */
#include <errno.h>

#include "admin/check.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"
#include "rdma/cm.h"
#include "rdma/numa.h"
#include "session/listener.h"
#include "store/arena.h"
#include "store/file.h"

static int check_file(const struct export_config *ec)
{
	const struct file_wish wish = {
		.name = ec->name, .path = ec->file, .read_only = ec->read_only,
		.size = ec->size, .block = (uint32_t)ec->block,
	};

	return ec->file ? file_check(&wish) : 0;
}

static int check_export(const struct config *cfg, const struct export_config *ec)
{
	struct numa_place place;
	int ret = check_file(ec);

	if (ec->arena)
		ret = arena_check(ec->arena) ?: ret;
	return numa_find(cfg, ec, &place) ?: ret;
}

/**
 * check_host - look for what would keep the daemon from starting
 * @cfg: complete and without mistakes
 *
 * Return: 0 or -errno of one of the problems; each is logged.
 */
int check_host(const struct config *cfg)
{
	const struct export_config *ec;
	int ret = 0, wrong;

	TAILQ_FOREACH(ec, &cfg->exports, entry) {
		wrong = check_export(cfg, ec);
		ret = wrong ?: ret;
	}
	wrong = loop_init() ?: cm_init();
	if (wrong) {
		log_err(CM_MISSING ": %s", strerror(-wrong));
		return wrong;
	}
	for (unsigned int i = 0; i < cfg->nr_listen; i++) {
		wrong = listener_check(&cfg->listen[i]);
		ret = wrong ?: ret;
	}
	cm_exit();
	loop_exit();
	return ret;
}
