/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one host, or one address before it is a host, may take of the target.
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
 * @queues: hardware queues
 * @bytes: registered
 */
struct limits_share {
	struct limits_host *host;
	uint32_t queues;
	uint64_t bytes;
};

/**
 * struct limits_freed - what a host gets back before its next session begins
 * @sessions: how many of its sessions end for that one
 * @queues: hardware queues of theirs
 * @bytes: registered for them
 */
struct limits_freed {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

void limits_init(const struct config *cfg);
unsigned int limits_login_get(const struct sockaddr *peer);
void limits_login_put(const struct sockaddr *peer);
void limits_live_get(const struct sockaddr *peer);
void limits_live_put(const struct sockaddr *peer);
bool limits_same_address(const struct sockaddr *a, const struct sockaddr *b);
unsigned int limits_session_check(const uint8_t *host_id, uint64_t bytes,
				  const struct limits_freed *freed);
uint32_t limits_session_queues(const uint8_t *host_id, uint32_t queues,
			       const struct limits_freed *freed);
unsigned int limits_session_get(struct limits_share *share,
				const uint8_t *host_id, uint32_t queues,
				uint64_t bytes);
void limits_session_put(struct limits_share *share);

#endif
