/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ADDR_H
#define RDMABLK_TOOLS_ADDR_H

#include <net/if.h>
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/socket.h>

#include "rdmablk_proto.h"

#define ADDR_TEXT_LEN	96	/* "[address%scope]:port" and a NUL */

/**
 * struct addr_export - where an export is, as the user says it
 * @host: address or name, without brackets
 * @port: host byte order
 * @name: name of the export
 */
struct addr_export {
	char host[256];
	__u16 port;
	char name[RDMABLK_NAME_LEN];
};

/**
 * struct addr_source - an address of this host
 * @addr: IPv4 or IPv6; AF_UNSPEC: none was given
 * @len: bytes of @addr
 * @scope: interface of a link-local address, which may not exist yet; else ""
 */
struct addr_source {
	struct sockaddr_storage addr;
	socklen_t len;
	char scope[IF_NAMESIZE];
};

int addr_parse_host(const char *text, struct addr_export *where, char *why, size_t size);
int addr_parse_export(const char *text, struct addr_export *where,
		      char *why, size_t size);
struct addrinfo *addr_resolve(const struct addr_export *where, char *why,
			      size_t size);
int addr_parse_source(const char *text, struct addr_source *source, char *why, size_t size);
int addr_find_source(struct addr_source *source, char *why, size_t size);
bool addr_is_numeric(const char *host);
void addr_format(const struct sockaddr *addr, char text[ADDR_TEXT_LEN]);

#endif /* RDMABLK_TOOLS_ADDR_H */
