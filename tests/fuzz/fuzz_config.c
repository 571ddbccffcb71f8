// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's configuration. The input is a file. If no problem is found the configuration
 * has something to serve, and its values are valid.
 */
#include <stdlib.h>

#include "../../target/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_config *hc;
	struct export_config *ec;
	struct allow_entry host;
	struct config cfg;
	FILE *file;

	if (!size)
		return 0;
	file = fmemopen((void *)data, size, "r");
	if (!file)
		return 0;
	config_init(&cfg);
	config_read_stream(&cfg, "fuzz.conf", file);
	fclose(file);
	config_finish(&cfg);
	TAILQ_FOREACH(ec, &cfg.exports, entry) {
		if (!value_name_ok(ec->name, sizeof(ec->name)))
			abort();
		/* The size may come from the file, and the block size from its device. */
		if (!cfg.errors && ((!ec->size && !ec->file) ||
				    (ec->block && ec->size % ec->block)))
			abort();
		for (const char *rest = ec->allow; rest && value_allow_next(&rest, &host);)
			if (!cfg.errors && (cfg.auth != AUTH_PSK || !host.name[0] || !host.rights))
				abort();
	}
	TAILQ_FOREACH(hc, &cfg.hosts, entry)
		if (!value_name_ok(hc->name, sizeof(hc->name)) ||
		    hc->nr_keys > CONFIG_HOST_KEYS || (!cfg.errors && !hc->nr_keys))
			abort();
	if (!cfg.errors && (!cfg.nr_listen || TAILQ_EMPTY(&cfg.exports)))
		abort();
	config_free(&cfg);
	return 0;
}
