/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts: their keys, and what each may do with an export. They are the [host] sections of the
 * configuration and those that the administrator has added by hand.
 */
#ifndef RDMABLKD_HOST_H
#define RDMABLKD_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "config/config.h"
#include "uapi/rdmablk_keysched.h"

struct export;

#define HOST_WHY	192		/* text of host_refusal() */

/**
 * enum host_keep - which hosts in force a new table has, too
 * @HOST_KEEP_NONE: none
 * @HOST_KEEP_BY_HAND: those that the administrator has added
 * @HOST_KEEP_ALL: all; what is new in the table was added by the administrator
 */
enum host_keep {
	HOST_KEEP_NONE,
	HOST_KEEP_BY_HAND,
	HOST_KEEP_ALL,
};

/**
 * struct host - a host in force
 *
 * Valid until the loop has its next turn. A session keeps struct host_proof, and calls
 * host_find_name() again.
 */
struct host;

/**
 * struct host_table - hosts and their keys, in force or not yet
 */
struct host_table;

/**
 * struct host_proof - the host whose key a session has proved; zeroed memory: no host
 * @name: name of the host, set when PROOF is right; empty: no key was proven
 * @key_id: name of the key, from HELLO or REAUTH
 * @no_steal: the host has asked to end another host's session, without the right to
 */
struct host_proof {
	char name[RDMABLK_NAME_LEN];
	uint8_t key_id[RDMABLK_KEYSCHED_ID_LEN];
	bool no_steal;
};

/* For logins; in the loop */
const struct host *host_find(const uint8_t *key_id, const struct sockaddr *peer);
bool host_expects(const struct sockaddr *peer);
const struct host *host_find_name(const char *name);
const struct host *host_find_again(const struct host_proof *proof, const uint8_t *key_id,
				   const struct sockaddr *peer, const uint8_t *host_id);
const char *host_name(const struct host *h);
int host_prk0(const struct host *h, const uint8_t *key_id, uint8_t *prk0);
bool host_proves(const struct host *h, const uint8_t *key_id);
bool host_is(const struct host *h, const uint8_t *host_id);
void host_lease_id(const struct host *h, uint8_t *id);
unsigned int host_may(const struct host *h, const struct export *export);
void host_refusal(const uint8_t *key_id, const struct sockaddr *peer, char *text, size_t size);

/* For changes: a worker loads a table, the loop puts it in force */
struct host_table *host_load(struct config *cfg, enum host_keep keep);
void host_discard(struct host_table *table);
void host_changes(struct host_table *table,
		  void (*change)(const char *name, const char *action));
void host_install(struct host_table *table);
bool host_remove(const char *name);

/* For the administrator */
const struct host *host_by_name(const char *name);
const struct host *host_next(const struct host *h);
const struct host_config *host_section(const struct host *h);
const uint8_t *host_key_id(const struct host *h, unsigned int key);
bool host_by_hand(const struct host *h);

int host_start(struct config *cfg, void (*expired)(void));
void host_stop(void);

extern const char *host_key_dir;		/* KEY_FILE_DIR */
extern time_t (*host_time)(time_t *now);	/* time() */
extern int64_t host_look_ms;			/* from one look at the clock to the next */

#endif
