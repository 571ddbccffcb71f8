/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CLIENT_H
#define RDMABLK_TOOLS_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
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
 * @requests: READs and WRITEs that may be under way at once; 0: the visit does none
 * @stop: set by a signal: no wait lasts longer than a second from then on; NULL: none
 */
struct client_login {
	const struct sockaddr *target;
	const struct key_file *key;
	__u8 host_id[RDMABLK_ID_LEN];
	unsigned int tmo_ms;
	unsigned int requests;
	const atomic_bool *stop;
};

/**
 * struct client_scratch - what a target lends to a visit
 * @iova: remote address
 * @rkey: remote key
 * @bytes: how many, all zero at first; 0: none
 * @reason: enum rdmablk_reason: why none
 * @over: the target knows of no such thing, and has ended the visit
 */
struct client_scratch {
	__u64 iova;
	__u32 rkey;
	__u32 bytes;
	unsigned int reason;
	bool over;
};

struct client;
struct client_conn;

struct client *client_open(const struct client_login *login, struct nl_failure *failure);
void client_leave(struct client *client);
void client_close(struct client *client);
const char *client_target_name(const struct client *client);
unsigned int client_mtu(const struct client *client);
int client_ping(struct client *client, __u64 *ns, struct nl_failure *failure);
int client_lend(struct client *client, __u32 bytes, struct client_scratch *lent,
		struct nl_failure *failure);
struct client_conn *client_connection(struct client *client);
void client_limit(struct client *client, unsigned int ms);
int client_keep_alive(struct client *client, struct nl_failure *failure);
int client_done(struct client *client, unsigned int *id, struct nl_failure *failure);
int client_errno(unsigned int reason);
int client_list(struct client *client, const char *after, struct rdmablk_list *list,
		struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_CLIENT_H */
