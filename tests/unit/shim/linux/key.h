/* SPDX-License-Identifier: GPL-2.0-only */
/* The key service. The tests that use keys implement it. */
#ifndef SHIM_LINUX_KEY_H
#define SHIM_LINUX_KEY_H

#include <linux/types.h>

#define KEY_POS_VIEW		0x01000000
#define KEY_POS_READ		0x02000000
#define KEY_POS_WRITE		0x04000000
#define KEY_POS_SEARCH		0x08000000
#define KEY_POS_LINK		0x10000000
#define KEY_USR_VIEW		0x00010000
#define KEY_USR_READ		0x00020000
#define KEY_USR_WRITE		0x00040000
#define KEY_USR_SEARCH		0x00080000
#define KEY_USR_LINK		0x00100000
#define KEY_ALLOC_NOT_IN_QUOTA	2

#define GLOBAL_ROOT_UID		0
#define GLOBAL_ROOT_GID		0
#define current_cred()		NULL
#define down_read(sem)		((sem)->readers++)
#define up_read(sem)		((sem)->readers--)

struct rw_semaphore {
	int readers;
};

struct key_type {
	int none;
};

/**
 * struct key - a key or a keyring
 * @usage: references
 * @sem: semaphore of the key
 * @uid: owner, under @sem
 */
struct key {
	int usage;
	struct rw_semaphore sem;
	int uid;
};

static inline bool uid_eq(int a, int b)
{
	return a == b;
}

/* As in the kernel, the lowest bit says that the key is possessed. */
#define key_ref_t	struct key_ref *

static inline key_ref_t make_key_ref(const struct key *key, bool possessed)
{
	return (key_ref_t)((uintptr_t)key | possessed);
}

static inline struct key *key_ref_to_ptr(key_ref_t ref)
{
	return (struct key *)((uintptr_t)ref & ~(uintptr_t)1);
}

static inline struct key *key_get(struct key *key)
{
	key->usage++;
	return key;
}

struct key *keyring_alloc(const char *description, int uid, int gid, const void *cred,
			  uint32_t perm, unsigned long flags, void *restriction,
			  struct key *destination);
key_ref_t keyring_search(key_ref_t keyring, struct key_type *type, const char *description,
			 bool recurse);
struct key *request_key(struct key_type *type, const char *description, const char *callout);
int key_validate(const struct key *key);
int key_link(struct key *keyring, struct key *key);
void key_revoke(struct key *key);
void key_invalidate(struct key *key);
void key_put(struct key *key);

#endif
