/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports: a name, an identity, a store, and the leases of those who use it.
 */
#ifndef RDMABLKD_EXPORT_H
#define RDMABLKD_EXPORT_H

#include <pthread.h>

#include "config.h"
#include "store.h"
#include "worker.h"

/**
 * struct lease - the right of one session to an export
 * @entry: in the export's list while held
 * @host_id: identity of the host
 * @boot_nonce: of its start
 * @instance_id: of its device
 * @generation: of its login
 * @writer: it may write
 * @ending: its session is being fenced
 * @verdict: out of export_admit(): why it must end; RDMABLK_OK: it need not
 */
struct lease {
	LIST_ENTRY(lease) entry;
	uint8_t host_id[RDMABLK_ID_LEN];
	uint8_t boot_nonce[RDMABLK_ID_LEN];
	uint8_t instance_id[RDMABLK_ID_LEN];
	uint32_t generation;
	bool writer;
	bool ending;
	unsigned int verdict;
};

LIST_HEAD(lease_list, lease);

/**
 * struct export - one export
 * @entry: in the list of exports
 * @cfg: its configuration
 * @store: its contents
 * @leases: held on it
 * @grow: looks how large its file has become, beside the loop
 * @growing: @grow is under way
 * @grow_again: when it is done
 * @grow_size: what came of it
 * @grow_ret: what came of it
 * @grown: to be called then
 * @closing: @closer brings its file up to date and closes its store
 * @closed: it has
 * @closer: a thread, because the file may not answer
 */
struct export {
	LIST_ENTRY(export) entry;
	const struct export_config *cfg;
	struct store store;
	struct lease_list leases;
	struct job grow;
	bool growing;
	bool grow_again;
	uint64_t grow_size;
	int grow_ret;
	void (*grown)(struct export *export, int ret);
	bool closing;
	atomic_bool closed;
	pthread_t closer;
};

int export_open_all(const struct config *cfg);
unsigned int export_close_unused(void);
void export_close_all(void);
struct export *export_find(const char *name);
int export_grow(struct export *export,
		void (*grown)(struct export *export, int ret));
void export_grow_all(void (*grown)(struct export *export, int ret));
unsigned int export_admit(struct lease_list *leases, const struct lease *claim,
			  bool shared, bool steal);
bool export_resumable(const struct export *export, const struct lease *claim);
void export_lease(struct export *export, struct lease *lease);
void export_release(struct lease *lease);
uint64_t export_region_bytes(const struct export *export, uint64_t max_mr_size);

#endif
