/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports: a name, an identity, a store, and the leases of sessions.
 */
#ifndef RDMABLKD_EXPORT_H
#define RDMABLKD_EXPORT_H

#include <pthread.h>

#include "base/worker.h"
#include "config/config.h"
#include "export/last_writer.h"
#include "export/quota.h"
#include "store/store.h"

struct iothread_pool;

#define EXPORT_WHY	256	/* text of an error */

/**
 * struct lease - the right of one session to an export
 * @entry: in the export's list while held
 * @host_id: identity of the host: that of its section, or with version 1 @said_id
 * @said_id: identity in HELLO
 * @boot_nonce: random number of the host's boot
 * @instance_id: identity of the disk
 * @generation: number of the login
 * @writer: the session may write
 * @let_write: @writer, and the session may know the keys of the memory
 * @ending: the session is being fenced
 * @verdict: result of export_admit(): why the session must end; RDMABLK_OK: it need not
 */
struct lease {
	LIST_ENTRY(lease) entry;
	uint8_t host_id[RDMABLK_ID_LEN];
	uint8_t said_id[RDMABLK_ID_LEN];
	uint8_t boot_nonce[RDMABLK_ID_LEN];
	uint8_t instance_id[RDMABLK_ID_LEN];
	uint32_t generation;
	bool writer;
	bool let_write;
	bool ending;
	unsigned int verdict;
};

LIST_HEAD(lease_list, lease);

/**
 * enum export_state - whether sessions can have an export
 * @EXPORT_OPENING: a worker opens and fills its store
 * @EXPORT_READY: sessions can log in
 * @EXPORT_LEAVING: its sessions are being ended, or its store is being closed
 * @EXPORT_CLOSED: its store could not be opened again
 */
enum export_state {
	EXPORT_OPENING,
	EXPORT_READY,
	EXPORT_LEAVING,
	EXPORT_CLOSED,
};

/**
 * struct export - one export; export_open() and export_close() say which fields a worker owns
 *	meanwhile
 * @entry: in the list of exports
 * @cfg: configuration of the export, which owns it
 * @daemon: configuration of the daemon
 * @state: whether sessions can have the export
 * @by_hand: added at run time by the administrator, in no configuration
 * @reload: number of the last reload that has seen the export
 * @allow_changed: a reload has changed who may use it, and has not reported that yet
 * @broken: a page of its arena is missing: nobody may have it until it is opened again
 * @open: @store is open; owned by a worker that opens or closes the store
 * @state_lock: descriptor that keeps other daemons from its own state; -1: none
 * @store: its contents
 * @commands: the thread of commands of sessions with an arena; NULL: a staged store has its
 *	own
 * @noted_writer: last writer that was noted since @store was opened; all zero: none
 * @notes: state of the directory of these notes
 * @leases: leases that sessions hold on the export
 * @limits: accounts of its sessions
 * @past: commands of sessions that have ended
 * @shown: commands of all its sessions, as the administrator last saw them
 * @awaited: time until which the device is expected back that has lost its session, and may have
 *	unflushed writes, ms of loop_now(); INT64_MAX: the session is not fenced yet
 * @grow: job of export_grow()
 * @growing: @grow is under way
 * @grow_size: size wanted, or 0; after @grow the new size, bytes
 * @grow_most: largest size that the export may get, bytes
 * @grow_ret: result of @grow
 * @grow_why: text of the error of @grow
 * @grown: upcall after @grow
 * @closing: @closer brings its file up to date and closes its store
 * @closed: @closer has done so
 * @closer: closing thread, because the file may not answer
 */
struct export {
	TAILQ_ENTRY(export) entry;
	struct export_config *cfg;
	const struct config *daemon;
	enum export_state state;
	bool by_hand;
	unsigned int reload;
	bool allow_changed;
	bool broken;
	bool open;
	int state_lock;
	struct store store;
	struct iothread_pool *commands;
	struct store_writer noted_writer;
	struct last_writer_dir notes;
	struct lease_list leases;
	struct quota_export limits;
	struct store_counts past;
	struct store_counts shown;
	int64_t awaited;
	struct job grow;
	bool growing;
	uint64_t grow_size;
	uint64_t grow_most;
	int grow_ret;
	char grow_why[EXPORT_WHY];
	void (*grown)(struct export *export, int ret);
	bool closing;
	atomic_bool closed;
	pthread_t closer;
};

int export_open_all(struct config *cfg);
unsigned int export_close_unused(void);
bool export_lacks(const struct export *e);
unsigned int export_held(void);
void export_log_lost(void);
bool export_close_all(void);
struct export *export_new(const struct config *daemon, struct export_config *ec);
void export_renew(struct export *export, struct export_config *ec);
int export_open(struct export *export);
int export_begin(struct export *export);
void export_quiet(struct export *export);
int export_close(struct export *export);
void export_free(struct export *export);
struct export *export_find(const char *name);
struct export *export_by_name(const char *name);
struct export *export_next(const struct export *export);
struct export *export_broken(void);
struct quota_caps export_caps(const struct export *export);
int export_grow(struct export *export, uint64_t size, uint64_t most,
		void (*grown)(struct export *export, int ret));
bool export_same_section(const struct lease *a, const struct lease *b);
unsigned int export_admit(struct lease_list *leases, const struct lease *claim,
			  bool shared, bool steal);
void export_release(struct lease *lease);
void export_await(struct export *export, int64_t until);
unsigned int export_awaiting(void);
uint64_t export_region_bytes(const struct export *export, uint64_t max_mr_size);
uint64_t export_region_max(const struct export *export, uint64_t max_mr_size);

/* export_writer.c: who wrote last */
int export_recall(struct export *export);
void export_forget_writer(struct export *export);
bool export_resumable(const struct export *export, const struct lease *claim);
void export_lease(struct export *export, struct lease *lease);
void export_let_write(struct export *export, struct lease *lease);
bool export_note_due(struct export *export, const struct lease *lease);
int export_note_writer(struct export *export, const struct lease *lease);
void export_noted(struct export *export, const struct lease *lease);

#endif
