/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CLIENT_H
#define RDMABLK_TOOLS_CLIENT_H

#include <stddef.h>
#include <sys/socket.h>

#include "nl.h"
#include "rdmablk_proto.h"

struct key_file;

#define CLIENT_TMO_MS	5000	/* default patience with a target */

/**
 * struct client_login - where to log in, and who says so
 * @target: address and port
 * @key: proves the host; NULL: version 1, which proves nothing
 * @host_id: identity of the host
 * @tmo_ms: patience with each step
 */
struct client_login {
	const struct sockaddr *target;
	const struct key_file *key;
	__u8 host_id[RDMABLK_ID_LEN];
	unsigned int tmo_ms;
};

struct client;

struct client *client_open(const struct client_login *login, struct nl_failure *failure);
void client_close(struct client *client);
const char *client_target_name(const struct client *client);
unsigned int client_mtu(const struct client *client);
int client_ping(struct client *client, __u64 *ns, struct nl_failure *failure);
int client_list(struct client *client, const char *after, struct rdmablk_list *list,
		struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_CLIENT_H */
