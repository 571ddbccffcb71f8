/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CONNECT_H
#define RDMABLK_TOOLS_CONNECT_H

#include <stdbool.h>
#include <linux/types.h>

#include "addr.h"
#include "device.h"

#define CONNECT_HOST_ID_FILE	"/etc/rdmablk/host-id"

/**
 * struct connect_request - what a connect is to do
 * @where: the export
 * @source: address to connect from, or NULL
 * @given: by enum rdmablk_attr: flags and numbers to send
 * @number: by enum rdmablk_attr: the numbers
 * @host_id: sent when @given says so
 * @idempotent: being connected already is fine
 */
struct connect_request {
	struct addr_export where;
	struct addrinfo *source;
	bool given[RDMABLK_ATTR_MAX + 1];
	__u32 number[RDMABLK_ATTR_MAX + 1];
	__u8 host_id[RDMABLK_ID_LEN];
	bool idempotent;
};

int connect_set_host_id(struct connect_request *request, const char *text);
int connect_read_host_id(struct connect_request *request,
			 struct nl_failure *failure);
int connect_run(const struct connect_request *request, struct device *device,
		struct nl_failure *failure);
int connect_wait_for_node(const struct device *device,
			  struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_CONNECT_H */
