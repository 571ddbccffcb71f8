/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of the daemon. Options and the INI file go into one struct config, by one
 * table of keys.
 */
#ifndef RDMABLKD_CONFIG_H
#define RDMABLKD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

#include "base/value.h"
#include "uapi/rdmablk_proto.h"

#define CONFIG_WHERE	160	/* "file:line" or "--option value" */

#define CONFIG_SLOT_BYTES	(128ULL << 10)
#define CONFIG_SLOT_MEMORY	(64ULL << 20)
#define CONFIG_MIN_SLOTS	4	/* of a hardware queue: one, and three reserved */
#define CONFIG_NODES		1024	/* the kernel has no more */
#define CONFIG_IO_THREADS	4	/* or as many as there are processors */
#define CONFIG_HOST_KEYS	2	/* of a host: the old one and the new one */
#define CONFIG_RUN_DIR		"/run/rdmablkd"
#define CONFIG_CONTROL		CONFIG_RUN_DIR "/control"

/**
 * enum huge_pages - pages of an anonymous arena
 * @HUGE_AUTO: the largest the host has and the size allows
 * @HUGE_NO: base pages
 * @HUGE_2M: 2 MiB or fail
 * @HUGE_1G: 1 GiB or fail
 */
enum huge_pages {
	HUGE_AUTO,
	HUGE_NO,
	HUGE_2M,
	HUGE_1G,
};

/**
 * enum numa_mode - where the memory of an export is
 * @NUMA_AUTO: on the node of the adapters
 * @NUMA_NONE: wherever the kernel puts it
 * @NUMA_NODE: on one node
 */
enum numa_mode {
	NUMA_AUTO,
	NUMA_NONE,
	NUMA_NODE,
};

/**
 * enum cache_mode - which part of a file is in memory
 * @CACHE_NONE: nothing: each request goes to the file
 * @CACHE_FULL: all of it: requests are one-sided, FLUSH brings the file up to date
 */
enum cache_mode {
	CACHE_NONE,
	CACHE_FULL,
};

/**
 * enum epoch_mode - how long the epoch of a file without a cache lasts
 * @EPOCH_BOOT: until the next boot of this host, whose caches have what was not flushed
 * @EPOCH_STABLE: as long as the file, wherever it is served from: each write is durable when
 *	it is answered
 */
enum epoch_mode {
	EPOCH_BOOT,
	EPOCH_STABLE,
};

/**
 * enum config_auth - how initiators prove who they are
 * @AUTH_NONE: not at all: wire version 1
 * @AUTH_PSK: with the key of a host: wire version 2
 */
enum config_auth {
	AUTH_NONE,
	AUTH_PSK,
};

/**
 * struct host_config - one host that may log in
 * @entry: in struct config
 * @name: unique
 * @where: place of its configuration, for messages
 * @has_id: @host_id was given
 * @host_id: identity that HELLO must have
 * @key: key files, each an absolute path or the name of a key
 * @nr_keys: number of keys
 * @expires: time at which its keys end, seconds since 1970; 0: never
 * @address: networks from which it may come; NULL: any
 * @lines: its section, a line for each key that was given; NULL: none
 * @seen: keys that were given, a bit each
 */
struct host_config {
	TAILQ_ENTRY(host_config) entry;
	char name[RDMABLK_NAME_LEN];
	char where[CONFIG_WHERE];
	bool has_id;
	uint8_t host_id[RDMABLK_ID_LEN];
	char *key[CONFIG_HOST_KEYS];
	unsigned int nr_keys;
	int64_t expires;
	char *address;
	char *lines;
	uint64_t seen;
};

TAILQ_HEAD(host_config_list, host_config);

/**
 * struct listen_config - a section [listen ADDR]
 * @entry: in struct config
 * @addr: address, which is also in @listen of struct config unless an option replaces those
 * @allow_address: networks from which connections are taken there; NULL: any
 * @seen: keys that were given, a bit each
 */
struct listen_config {
	TAILQ_ENTRY(listen_config) entry;
	struct listen_addr addr;
	char *allow_address;
	uint64_t seen;
};

TAILQ_HEAD(listen_config_list, listen_config);

/**
 * struct export_config - one export
 * @entry: in struct config
 * @name: unique
 * @where: place of its configuration, for messages
 * @type: type of the store: "memory" or "file"
 * @file: file or block device that has the contents; NULL: memory
 * @cache: of a file
 * @epoch: of a file without a cache
 * @state: directory for its UUID and notes; NULL: @state_dir of struct config
 * @size: bytes; 0: all of the file
 * @arena: file on tmpfs or hugetlbfs that keeps the contents, or NULL
 * @read_only: nobody may write
 * @shared: several hosts may write
 * @has_uuid: @uuid was given
 * @uuid: identity
 * @block: logical block, bytes, 512 or 4096; 0: that of the device, else 512; never 0
 *	once the export is open
 * @region: bytes, a power of two; 0: as large as the device takes
 * @huge_pages: of an anonymous arena
 * @overcommit: its memory is taken even if too little is free
 * @numa: place of its memory
 * @node: with NUMA_NODE: number of the node
 * @slot_bytes: size of a slot, which is the largest request; only without a cache
 * @slot_memory: most bytes of all slots of a session; only without a cache
 * @max_sessions: most sessions; 0: default of export_caps()
 * @max_queues: most hardware queues of all sessions; 0: default of export_caps()
 * @max_pinned: most bytes registered for all sessions; 0: no limit
 * @allow_address: networks whose hosts may use it; NULL: any; empty: no network, until it is
 *	opened with another configuration
 * @allow: hosts that may use it, with their rights, as value_allow_next() reads them; NULL:
 *	nobody, with AUTH_PSK
 * @fault: file with rules of faults of @file, or NULL
 * @lines: its section, a line for each key that was given; NULL: none
 * @seen: keys that were given, a bit each
 */
struct export_config {
	TAILQ_ENTRY(export_config) entry;
	char name[RDMABLK_NAME_LEN];
	char where[CONFIG_WHERE];
	char *type;
	char *file;
	enum cache_mode cache;
	enum epoch_mode epoch;
	char *state;
	uint64_t size;
	char *arena;
	bool read_only;
	bool shared;
	bool has_uuid;
	uint8_t uuid[RDMABLK_ID_LEN];
	uint64_t block;
	uint64_t region;
	enum huge_pages huge_pages;
	bool overcommit;
	enum numa_mode numa;
	unsigned int node;
	uint64_t slot_bytes;
	uint64_t slot_memory;
	uint64_t max_sessions;
	uint64_t max_queues;
	uint64_t max_pinned;
	char *allow_address;
	char *allow;
	char *fault;
	char *lines;
	uint64_t seen;
};

TAILQ_HEAD(export_config_list, export_config);

/**
 * struct config - the whole configuration
 * @listen: addresses to listen on
 * @nr_listen: number of addresses
 * @listens: sections of addresses, also of addresses that an option has replaced
 * @exports: exports, in the order given
 * @hosts: hosts that may log in, in the order given
 * @auth: how hosts prove who they are
 * @auth_given: @auth was given; else it follows from @hosts
 * @target_id: identity of this target, kept in @state_dir; with AUTH_PSK
 * @name: name of this target, for the logs of initiators
 * @state_dir: directory for UUIDs of exports, and for notes of losses and last writers; for an
 *	export see config_state_dir()
 * @insecure: may listen beyond loopback without authentication
 * @log_level: LOG_ERR..LOG_DEBUG
 * @keep_alive_min: shortest keep-alive timeout granted, ms
 * @keep_alive_max: longest keep-alive timeout granted, ms
 * @session_factor: session timeout in keep-alive timeouts
 * @hello_ms: time after which a connection without a right PROOF ends, ms
 * @login_ms: time after which a login that is not live ends, ms
 * @drain_ms: time between EVENT DRAIN and CLOSE at shutdown
 * @max_sessions_all: most sessions, in all
 * @max_sessions_addr: most sessions of one address
 * @max_sessions: most sessions of one host
 * @max_queues_all: most hardware queues, in all
 * @max_queues_addr: most hardware queues of one address
 * @max_queues: most hardware queues of one host
 * @max_pinned_all: most bytes registered, in all; 0: no limit
 * @max_pinned_addr: most bytes registered for one address; 0: no limit
 * @max_pinned: most bytes registered for one host
 * @max_logins: most logins at once
 * @max_logins_addr: most logins at once from one address
 * @login_rate: most logins that one address may begin in a second
 * @scratch: most that a visit is lent, bytes; 0: nothing
 * @io_threads: threads for each file without a cache
 * @control: path of the socket for the administrator; NULL: CONFIG_CONTROL, if it can be made
 *	there
 * @audit: file of the audit log; NULL: there is none
 * @allow_address: networks from which connections are taken; NULL: any
 * @directories: directories below which files may be written, absolute paths with ':' between
 *	them; NULL: anywhere
 * @file: configuration file, an argument of main(); NULL: none
 * @run: command of --run, an argument of main(); NULL: none
 * @seen: keys of [target] that were given, a bit each
 * @errors: number of problems found and printed
 * @complaints: file for the problems; NULL: standard error
 */
struct config {
	struct listen_addr *listen;
	unsigned int nr_listen;
	struct listen_config_list listens;
	struct export_config_list exports;
	struct host_config_list hosts;
	enum config_auth auth;
	bool auth_given;
	uint8_t target_id[RDMABLK_ID_LEN];
	char *name;
	char *state_dir;
	bool insecure;
	int log_level;
	uint64_t keep_alive_min;
	uint64_t keep_alive_max;
	uint64_t session_factor;
	uint64_t hello_ms;
	uint64_t login_ms;
	uint64_t drain_ms;
	uint64_t max_sessions_all;
	uint64_t max_sessions_addr;
	uint64_t max_sessions;
	uint64_t max_queues_all;
	uint64_t max_queues_addr;
	uint64_t max_queues;
	uint64_t max_pinned_all;
	uint64_t max_pinned_addr;
	uint64_t max_pinned;
	uint64_t max_logins;
	uint64_t max_logins_addr;
	uint64_t login_rate;
	uint64_t scratch;
	uint64_t io_threads;
	char *control;
	char *audit;
	char *allow_address;
	char *directories;
	const char *file;
	const char *run;
	uint64_t seen;
	unsigned int errors;
	FILE *complaints;
};

/**
 * struct config_key - one key, which is also one option
 * @name: as written in the file and after "--"
 * @arg: name of its argument, for --help; NULL: the key is a switch
 * @help: one line; NULL: --help leaves the key out, because it is for tests
 * @set: parses @value into @base; returns NULL, or a text that says what is wrong
 * @offset: offset of the field in the struct that @set gets
 * @min: smallest number or size
 * @max: largest number or size
 * @clear: for a key that may be given more than once: forgets the values from elsewhere,
 *	before the first one here; NULL: the key may be given once
 */
struct config_key {
	const char *name;
	const char *arg;
	const char *help;
	const char *(*set)(const struct config_key *key, void *base,
			   const char *value);
	size_t offset;
	uint64_t min;
	uint64_t max;
	void (*clear)(void *base);
};

extern const struct config_key config_target_keys[];
extern const unsigned int config_nr_target_keys;
extern const struct config_key config_export_keys[];
extern const unsigned int config_nr_export_keys;
extern const struct config_key config_host_keys[];
extern const unsigned int config_nr_host_keys;
extern const struct config_key config_listen_keys[];
extern const unsigned int config_nr_listen_keys;

void config_init(struct config *cfg);
void config_free(struct config *cfg);
void config_export_free(struct export_config *ec);
void config_host_free(struct host_config *hc);
void config_host_empty(struct host_config_list *hosts);
struct export_config *config_export_take(struct config *cfg, struct export_config *ec);
void config_error(struct config *cfg, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct export_config *config_export_add(struct config *cfg, const char *name,
					const char *where);
struct host_config *config_host_add(struct config *cfg, const char *name,
				    const char *where);
void config_set(struct config *cfg, struct export_config *ec,
		const char *key, const char *value, const char *where);
void config_set_host(struct config *cfg, struct host_config *hc,
		     const char *key, const char *value, const char *where);
struct listen_config *config_listen_add(struct config *cfg, const char *text,
					const char *where);
void config_set_listen(struct config *cfg, struct listen_config *lc,
		       const char *key, const char *value, const char *where);
const char *config_listen_networks(const struct config *cfg, const struct listen_addr *addr);
struct listen_config *config_find_listen(const struct config *cfg, const struct listen_addr *addr);
bool config_listens(const struct config *cfg, const struct listen_addr *addr);
bool config_listen_take(struct config *cfg, const struct config *now,
			const struct listen_addr *addr);
const char *config_add_address(struct config *cfg, const char *text, struct listen_addr *addr);
void config_export_spec(struct config *cfg, const char *spec);
void config_host_spec(struct config *cfg, const char *spec);
void config_host_check(struct config *cfg, const struct host_config *hc);
bool config_host_same(const struct host_config *a, const struct host_config *b);
const char *config_state_dir(const struct config *cfg, const struct export_config *ec);
void config_export_check(struct config *cfg, struct export_config *ec);
bool config_export_same(const struct export_config *a, const struct export_config *b);
bool config_export_grows(const struct export_config *ec, const struct export_config *now);
bool config_take_text(char **field, const char *now);
bool config_export_limit(struct export_config *ec, const struct export_config *now);
bool config_export_narrow(struct export_config *ec, const struct export_config *now);
void config_finish(struct config *cfg);
int config_read(struct config *cfg, const char *path);
int config_read_stream(struct config *cfg, const char *path, FILE *file);

#endif
