/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CONNECT_H
#define RDMABLK_TOOLS_CONNECT_H

#include <stdbool.h>
#include <linux/types.h>

#include "addr.h"
#include "device.h"
#include "opts.h"
#include "settings.h"

#define CONNECT_HOST_ID_FILE	"/etc/rdmablk/host-id"

/**
 * struct connect_request - the export to connect to, and how
 * @where: the export
 * @source: address to connect from, or AF_UNSPEC
 * @settings: numbers for the module
 * @read_only: do not ask for write access
 * @ordered: end each RDMA WRITE with a READ
 * @steal: end another host's session
 * @key: name of the key to log in with; "": none
 * @has_host_id: @host_id is to be sent
 * @host_id: identity of this host
 * @idempotent: a connection that exists already is a success
 */
struct connect_request {
	struct addr_export where;
	struct addr_source source;
	struct settings settings;
	bool read_only;
	bool ordered;
	bool steal;
	char key[RDMABLK_KEY_NAME_LEN];
	bool has_host_id;
	__u8 host_id[RDMABLK_ID_LEN];
	bool idempotent;
};

/* id of --json, which is the command's own */
#define CONNECT_OPTION_JSON	(OPTS_COMMAND_LINE | 0x100)

int connect_set_option(const struct opts_origin *origin,
		       struct connect_request *request, int id, const char *value);
int connect_check_options(const struct opts_origin *origin,
			  const struct connect_request *request);
int connect_set_host_id(struct connect_request *request, const char *text);
int connect_read_host_id(struct connect_request *request,
			 struct nl_failure *failure);
int connect_find(struct nl *nl, const struct connect_request *request,
		 struct device *device, struct nl_failure *failure);
int connect_run(const struct connect_request *request, struct device *device,
		struct nl_failure *failure);
int connect_existing(const struct connect_request *request, struct device *device,
		     struct nl_failure *failure);
void connect_name_key(const char *key, struct nl_failure *failure);
int connect_wait_for_node(const struct device *device,
			  struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_CONNECT_H */
