/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The strings that name a disk: connect= of the module, export names, and names of keys.
 */
#ifndef RDMABLK_PARAM_H
#define RDMABLK_PARAM_H

#include <linux/types.h>
#include "uapi/rdmablk_netlink.h"
#include "uapi/rdmablk_proto.h"

#define RDMABLK_ADDR_LEN	64	/* a numeric address with scope and NUL */

/**
 * struct rdmablk_param_spec - one element of connect=
 * @addr: address as text, without brackets; not checked yet
 * @port: port; the default if the element has none
 * @name: export name
 */
struct rdmablk_param_spec {
	char addr[RDMABLK_ADDR_LEN];
	u16 port;
	char name[RDMABLK_NAME_LEN];
};

int rdmablk_param_next(const char **cursor, struct rdmablk_param_spec *spec,
		       const char **why);
int rdmablk_param_check_name(const char *name, const char **why);
int rdmablk_param_check_key(const char *name, const char **why);
void rdmablk_param_addr_key(const char *addr, char *name);

#endif /* RDMABLK_PARAM_H */
