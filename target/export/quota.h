/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one host, one address, one export and all of them together may take of the target. A
 * host says itself who it is, so that one that makes up identities is held by its address.
 */
#ifndef RDMABLKD_QUOTA_H
#define RDMABLKD_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config/config.h"

#define LIMITS_WHY	192	/* text of limits_session_why() */

/**
 * struct limits_account - what sessions have taken
 * @sessions: their number
 * @queues: their hardware queues
 * @bytes: registered for them
 */
struct limits_account {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

/**
 * struct limits_export - accounts of an export; zeroed memory has nothing
 * @taken: by all its sessions
 * @readers: by those of them that may not write
 */
struct limits_export {
	struct limits_account taken;
	struct limits_account readers;
};

/**
 * struct limits_caps - what the sessions of an export may take
 * @sessions: sessions
 * @queues: hardware queues
 * @bytes: bytes registered; 0: no limit
 */
struct limits_caps {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

/**
 * struct limits_share - what a session has taken; zeroed memory has nothing
 * @host: account of the host
 * @addr: account of its address
 * @export: accounts of the export
 * @writer: the session may write
 * @queues: hardware queues
 * @bytes: registered
 */
struct limits_share {
	struct limits_host *host;
	struct limits_addr *addr;
	struct limits_export *export;
	bool writer;
	uint32_t queues;
	uint64_t bytes;
};

/**
 * struct limits_who - the accounts of a session
 * @host_id: identity of its host
 * @peer: address of the initiator
 * @writer: the session may write. One that may not cannot have the last quarter of what
 *	there is for all, nor of what there is for its export
 * @export: accounts of its export
 * @caps: limits of its export
 * @read_only: nobody may write its export, so that no room is kept for a writer
 */
struct limits_who {
	const uint8_t *host_id;
	const struct sockaddr *peer;
	bool writer;
	struct limits_export *export;
	struct limits_caps caps;
	bool read_only;
};

/**
 * struct limits_freed - what sessions of an export give back before its next one begins
 * @all: by all of them
 * @readers: by those of them that may not write
 * @host: by those of the host of the next one
 * @addr: by those from the address of the next one
 */
struct limits_freed {
	struct limits_account all;
	struct limits_account readers;
	struct limits_account host;
	struct limits_account addr;
};

void limits_init(const struct config *cfg);
unsigned int limits_login_get(const struct sockaddr *peer);
void limits_login_put(const struct sockaddr *peer);
void limits_live_get(const struct sockaddr *peer);
void limits_live_put(const struct sockaddr *peer);
bool limits_same_address(const struct sockaddr *a, const struct sockaddr *b);
void limits_freed_add(struct limits_freed *freed, const struct limits_who *who,
		      const struct limits_share *share);
unsigned int limits_session_check(const struct limits_who *who, uint64_t bytes,
				  const struct limits_freed *freed);
void limits_session_why(const struct limits_who *who, uint64_t bytes,
			const struct limits_freed *freed, char *text, size_t size);
uint32_t limits_session_queues(const struct limits_who *who, uint32_t queues,
			       const struct limits_freed *freed);
unsigned int limits_session_get(struct limits_share *share,
				const struct limits_who *who, uint32_t queues,
				uint64_t bytes);
void limits_session_put(struct limits_share *share);

#endif
