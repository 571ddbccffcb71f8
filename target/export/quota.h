/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of what one host, one address, one export and all of them together may take of the
 * target. Without keys a host can make up identities; the limits of its address hold it then.
 */
#ifndef RDMABLKD_QUOTA_H
#define RDMABLKD_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config/config.h"

#define QUOTA_WHY	192	/* text of quota_session_why() */
#define QUOTA_RATE_SECONDS 4	/* the logins of so many seconds may come at once */

/* Scratch regions at once, of RDMABLK_MAX_SCRATCH bytes at most: of all, an address, a host */
#define QUOTA_SCRATCH		16
#define QUOTA_SCRATCH_ADDR	8
#define QUOTA_SCRATCH_HOST	2

/**
 * struct quota_account - what sessions have taken
 * @sessions: number of sessions
 * @queues: number of hardware queues
 * @bytes: bytes registered
 */
struct quota_account {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

/**
 * struct quota_export - accounts of an export; zeroed memory has nothing
 * @taken: by all its sessions
 * @readers: by those of them that may not write
 */
struct quota_export {
	struct quota_account taken;
	struct quota_account readers;
};

/**
 * struct quota_caps - what the sessions of an export may take
 * @sessions: sessions
 * @queues: hardware queues
 * @bytes: bytes registered; 0: no limit
 */
struct quota_caps {
	uint64_t sessions;
	uint64_t queues;
	uint64_t bytes;
};

/**
 * struct quota_share - what a session has taken; zeroed memory has nothing
 * @host: account of the host
 * @addr: account of its address
 * @export: accounts of the export
 * @writer: the session may write
 * @queues: hardware queues
 * @bytes: registered
 */
struct quota_share {
	struct quota_host *host;
	struct quota_addr *addr;
	struct quota_export *export;
	bool writer;
	uint32_t queues;
	uint64_t bytes;
};

/**
 * struct quota_visit - what a visit has taken; zeroed memory has nothing
 * @host: account of the host
 * @addr: account of its address
 * @bytes: of its scratch region; 0: it has none
 */
struct quota_visit {
	struct quota_host *host;
	struct quota_addr *addr;
	uint64_t bytes;
};

/**
 * struct quota_who - the accounts of a session
 * @host_id: identity of its host
 * @peer: address of the initiator
 * @writer: the session may write. A session that may not write cannot take the last quarter
 *	of the limits for all, nor of those of its export
 * @export: accounts of its export
 * @caps: limits of its export
 * @read_only: nobody may write its export, so that no room is kept for a writer
 */
struct quota_who {
	const uint8_t *host_id;
	const struct sockaddr *peer;
	bool writer;
	struct quota_export *export;
	struct quota_caps caps;
	bool read_only;
};

/**
 * struct quota_freed - what sessions of an export give back before its next session begins
 * @all: given back by all of them
 * @readers: given back by those that may not write
 * @host: given back by those of the next session's host
 * @addr: given back by those from the next session's address
 */
struct quota_freed {
	struct quota_account all;
	struct quota_account readers;
	struct quota_account host;
	struct quota_account addr;
};

void quota_init(const struct config *cfg);
void quota_expect(bool (*expects)(const struct sockaddr *peer));
bool quota_known(const struct sockaddr *peer);
uint64_t quota_logins(void);
unsigned int quota_login_get(const struct sockaddr *peer);
void quota_login_put(const struct sockaddr *peer);
bool quota_login_would(const struct sockaddr *peer, const struct sockaddr *other);
void quota_login_evict(const struct sockaddr *peer);
void quota_login_gone(void);
void quota_live_get(const struct sockaddr *peer);
void quota_live_put(const struct sockaddr *peer);
bool quota_same_address(const struct sockaddr *a, const struct sockaddr *b);
void quota_freed_add(struct quota_freed *freed, const struct quota_who *who,
		     const struct quota_share *share);
unsigned int quota_session_check(const struct quota_who *who, uint64_t bytes,
				 const struct quota_freed *freed);
void quota_session_why(const struct quota_who *who, uint64_t bytes,
		       const struct quota_freed *freed, char *text, size_t size);
uint32_t quota_session_queues(const struct quota_who *who, uint32_t queues,
			      const struct quota_freed *freed);
unsigned int quota_session_get(struct quota_share *share,
			       const struct quota_who *who, uint32_t queues,
			       uint64_t bytes);
void quota_session_put(struct quota_share *share);
const struct quota_account *quota_taken(void);

/*
 * Visits have no export. They and their scratch regions are counted apart from sessions, so
 * that no visit keeps a disk away.
 */
unsigned int quota_visit_get(struct quota_visit *visit, const uint8_t *host_id,
			     const struct sockaddr *peer, const char **full);
unsigned int quota_visit_lend(struct quota_visit *visit, uint64_t bytes, const char **full);
void quota_visit_return(struct quota_visit *visit);
void quota_visit_put(struct quota_visit *visit);
uint64_t quota_visits(void);
uint64_t quota_lent(void);

/*
 * Limits how many logins an address may begin in a second. A login costs the daemon a queue
 * pair and, with version 2, a key for CHALLENGE, before it knows which host comes.
 */
void quota_rate_init(const struct config *cfg);
bool quota_rate_take(const struct sockaddr *peer);
void quota_rate_refuse(void);
uint64_t quota_rate_refused(void);

#endif
