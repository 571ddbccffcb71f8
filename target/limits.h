/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one host, one address and all of them together may take of the target. A host says
 * itself who it is, so that one that makes up identities is held by its address.
 */
#ifndef RDMABLKD_LIMITS_H
#define RDMABLKD_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config.h"

/**
 * struct limits_share - what a session has taken; zeroed memory has nothing
 * @host: of the host
 * @addr: of its address
 * @queues: hardware queues
 * @bytes: registered
 */
struct limits_share {
	struct limits_host *host;
	struct limits_addr *addr;
	uint32_t queues;
	uint64_t bytes;
};

/**
 * struct limits_who - on whose accounts a session is
 * @host_id: identity of its host
 * @peer: address of the initiator
 * @writer: it may write. Who only reads may not have the last quarter of what there is for
 *	all together
 */
struct limits_who {
	const uint8_t *host_id;
	const struct sockaddr *peer;
	bool writer;
};

/**
 * struct limits_freed - what a host gets back before its next session begins
 * @sessions: how many of its sessions end for that one
 * @queues: hardware queues of theirs
 * @bytes: registered for them
 * @addr_sessions: of @sessions, those from the address of that one
 * @addr_queues: likewise
 */
struct limits_freed {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
	uint64_t addr_sessions;
	uint64_t addr_queues;
};

void limits_init(const struct config *cfg);
unsigned int limits_login_get(const struct sockaddr *peer);
void limits_login_put(const struct sockaddr *peer);
void limits_live_get(const struct sockaddr *peer);
void limits_live_put(const struct sockaddr *peer);
bool limits_same_address(const struct sockaddr *a, const struct sockaddr *b);
unsigned int limits_session_check(const struct limits_who *who, uint64_t bytes,
				  const struct limits_freed *freed);
uint32_t limits_session_queues(const struct limits_who *who, uint32_t queues,
			       const struct limits_freed *freed);
unsigned int limits_session_get(struct limits_share *share,
				const struct limits_who *who, uint32_t queues,
				uint64_t bytes);
void limits_session_put(struct limits_share *share);

#endif
