/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept arenas: files on tmpfs or hugetlbfs that outlive the daemon, and the trailer that
 * describes their contents. Also the handling of missing pages of any arena.
 */
#ifndef RDMABLKD_ARENA_H
#define RDMABLKD_ARENA_H

#include "store/file.h"
#include "store/store.h"

/**
 * struct arena_file - the file whose contents are in an arena
 * @id: identity of the file in this boot of the host
 * @stamp: its state that is in the arena
 * @doubtful: its disk may have lost writes that are in the arena
 */
struct arena_file {
	uint8_t id[RDMABLK_ID_LEN];
	struct file_stamp stamp;
	bool doubtful;
};

/**
 * enum arena_state - which of an arena and its file has newer contents
 * @ARENA_EQUAL: both have the same contents
 * @ARENA_NEWER: the arena may have writes that the file lacks
 * @ARENA_OLDER: the file was written after it had all writes of the arena
 * @ARENA_DOUBTFUL: nobody has written the file since it had all writes of the arena, but its disk
 *	may have lost some of them
 */
enum arena_state {
	ARENA_EQUAL,
	ARENA_NEWER,
	ARENA_OLDER,
	ARENA_DOUBTFUL,
};

extern int arena_wait_ms;

int arena_check(const char *path);
int arena_open(struct store *store, const struct export_config *ec);
int arena_attach(struct store *store, const struct export_config *ec,
		 const struct arena_file *file, bool fresh);
int arena_publish(struct store *store);
void arena_mending(struct store *store);
void arena_doubt(struct store *store);
bool arena_has_lost(const struct store *store);
bool arena_lacks_page(const struct store *store);
void arena_leave(struct store *store);
void arena_written_by(struct store *store);
enum arena_state arena_newer(struct store *store, const struct export_config *ec,
			     const struct arena_file *file, bool fresh);
int arena_renew(struct store *store);
void arena_clean(struct store *store, const struct arena_file *file);

/* SIGBUS in an arena ends that export, not the daemon. */
int arena_guard_init(void (*hit)(void));
void arena_guard_exit(void);
struct arena_guard *arena_guard_add(void *base, uint64_t bytes, uint64_t page_size);
void arena_guard_del(struct arena_guard *guard);
bool arena_guard_broken(const struct arena_guard *guard);
void arena_guard_break(struct arena_guard *guard);

#endif
