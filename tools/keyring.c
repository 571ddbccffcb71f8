// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keys that the kernel has: of type logon, which no program can read, with the
 * description rdmablk:NAME.
 *
 * The keys are in the user keyring of root, so that a key can be loaded before the module: the
 * kernel searches the keyrings of the task that connects. A work queue of the kernel has no
 * such keyrings. So a key is also linked into .rdmablk, the keyring of the module, if that
 * exists.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <keyutils.h>

#include "../target/base/key_file.h"
#include "keyring.h"
#include "util.h"

#define TYPE		"logon"
#define PREFIX		"rdmablk:"
#define PREFIX_LEN	(sizeof(PREFIX) - 1)
#define MODULE_RING	".rdmablk"

__printf(3, 4)
static int refuse(char *why, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, KEYRING_WHY, fmt, args);
	va_end(args);
	return err;
}

/**
 * keyring_open() - lets the module find the user's keys in this process
 *
 * The module searches the keyrings of the process that asks it for something. A service has a
 * session without the keyring of its user. The keyring of the process ends with it. Where the
 * kernel refuses, the module says that there is no key.
 */
void keyring_open(void)
{
	keyctl_link(KEY_SPEC_USER_KEYRING, KEY_SPEC_PROCESS_KEYRING);
}

/*
 * Links the keyring of the module into one of this process, because a process has more rights
 * to keys that it reaches from its own keyrings.
 *
 * Return: the keyring of the module, or -1
 */
static key_serial_t open_rings(void)
{
	key_serial_t ring = find_key_by_type_and_desc("keyring", MODULE_RING, 0);

	keyring_open();
	if (ring > 0)
		keyctl_link(ring, KEY_SPEC_PROCESS_KEYRING);
	return ring;
}

/* Return: whether the key was in one of the two */
static bool drop(key_serial_t key, key_serial_t ring)
{
	bool user = !keyctl_unlink(key, KEY_SPEC_USER_KEYRING);
	bool module = ring > 0 && !keyctl_unlink(key, ring);

	return user || module;
}

/**
 * keyring_load() - gives a key to the kernel
 * @name: of the key; one that is loaded under this name gets the new secret, also where it is
 *	in use
 * @secret: the key
 * @len: its length
 * @seconds: until it expires; 0: never
 * @why: KEYRING_WHY bytes for the reason of a failure
 *
 * Return: 0, or an errno: a key that was not loaded before is not loaded then; one that was
 * stays, because disks may use it, but may have the new secret
 */
int keyring_load(const char *name, const uint8_t *secret, size_t len, uint32_t seconds,
		 char *why)
{
	key_serial_t ring = open_rings(), key;
	char description[PREFIX_LEN + KEYRING_NAME_LEN];
	key_serial_t before;
	int err;

	snprintf(description, sizeof(description), PREFIX "%s", name);
	before = keyctl_search(KEY_SPEC_USER_KEYRING, TYPE, description, 0);
	key = add_key(TYPE, description, secret, len, KEY_SPEC_USER_KEYRING);
	if (key < 0)
		return refuse(why, errno, "the kernel does not take the key: %s", strerror(errno));
	if (keyctl_set_timeout(key, seconds)) {
		err = refuse(why, errno, "the key cannot expire: %s", strerror(errno));
	} else if (ring > 0 && keyctl_link(key, ring)) {
		err = refuse(why, errno, "the keyring of the module does not take the key: %s",
			     strerror(errno));
	} else {
		return 0;
	}
	if (key != before) {
		keyctl_revoke(key);
		drop(key, ring);
	}
	return err;
}

/* @path: PATH_MAX bytes, set. Return: 0, or an errno */
static int load_file(struct key_file *key, char *path, const char *name, char *why)
{
	int err = key_file_find(key, name, KEY_FILE_DIR, path, why);

	if (err)
		return err;
	if (strcmp(key->name, name))
		return refuse(why, EINVAL, "the name in it is %s", key->name);
	return keyring_load(name, key->secret, sizeof(key->secret), 0, why);
}

/**
 * keyring_load_named() - gives a key to the kernel from the file that has its name
 * @name: of the key, also in the file: NAME.key of systemd's credentials or of KEY_FILE_DIR
 * @why: room for the reason of a failure, with the name of the file
 * @size: of @why
 *
 * From then on the process leaves no core dump.
 *
 * Return: 0; ENOENT: there is no such file, and @why is as it was; or another errno
 */
int keyring_load_named(const char *name, char *why, size_t size)
{
	char path[PATH_MAX], reason[KEYRING_WHY];
	struct key_file *key = prctl(PR_SET_DUMPABLE, 0) ? NULL : key_file_alloc();
	int err = errno;

	_Static_assert(KEYRING_WHY >= KEY_FILE_WHY, "no room for a reason");
	if (!key) {
		snprintf(why, size, "no memory for the key: %s", strerror(err));
		return err;
	}
	err = load_file(key, path, name, reason);
	key_file_free(key);
	if (err && err != ENOENT)
		snprintf(why, size, "%s: %s", path, reason);
	return err;
}

/* A line of /proc/keys; flags are I when there is a payload, R revoked, D dead, i invalid. */
static bool parse_line(const char *line, struct keyring_key *key)
{
	char flags[8], expires[8], type[16];
	int uid, begin = 0;
	const char *text, *end;

	if (sscanf(line, "%x %7s %*d %7s %*x %d %*d %15s %n", (unsigned int *)&key->id, flags,
		   expires, &uid, type, &begin) != 5 || !begin)
		return false;
	text = line + begin;
	if (uid || strcmp(type, TYPE) || strncmp(text, PREFIX, PREFIX_LEN))
		return false;
	text += PREFIX_LEN;
	/* The kernel appends ": 32", the length of the payload, while there is one. */
	end = strstr(text, ": ") ?: text + strcspn(text, "\n");
	if (end == text || end - text >= KEYRING_NAME_LEN)
		return false;
	snprintf(key->name, sizeof(key->name), "%.*s", (int)(end - text), text);
	key->state = strpbrk(flags, "RDi") ? "revoked" :
		     strcmp(expires, "expd") ? "valid" : "expired";
	snprintf(key->expires, sizeof(key->expires), "%s", strcmp(key->state, "valid") ||
		 !strcmp(expires, "perm") ? "" : expires);
	return true;
}

/**
 * keyring_walk() - goes through the keys of root for rdmablk that the kernel has
 * @fn: called with each
 * @context: for @fn
 *
 * Return: 0, or an errno
 */
int keyring_walk(keyring_fn fn, void *context)
{
	FILE *file = fopen("/proc/keys", "re");
	struct keyring_key key;
	char line[512];

	if (!file)
		return errno;
	while (fgets(line, sizeof(line), file))
		if (parse_line(line, &key) && !fn(&key, context))
			break;
	fclose(file);
	return 0;
}

/**
 * struct search - keys of a name
 * @name: the name
 * @found: their numbers
 * @nr: how many
 */
struct search {
	const char *name;
	key_serial_t found[8];
	unsigned int nr;
};

static bool collect(const struct keyring_key *key, void *context)
{
	struct search *search = context;

	if (!strcmp(key->name, search->name))
		search->found[search->nr++] = key->id;
	return search->nr < ARRAY_SIZE(search->found);
}

/* An expired key is not found; it needs no revoking. */
static int revoke(key_serial_t ring, const char *description, char *why)
{
	key_serial_t key = keyctl_search(ring, TYPE, description, 0);

	if (key > 0 && keyctl_revoke(key))
		return refuse(why, errno, "the kernel does not revoke the key: %s",
			      strerror(errno));
	return 0;
}

/**
 * keyring_unload() - revokes a key: what uses it finds it gone
 * @name: of the key
 * @why: KEYRING_WHY bytes for the reason of a failure
 *
 * The kernel removes from a keyring whatever key has the description of the given one. So it
 * does no harm if a key in the list has been replaced meanwhile.
 *
 * Return: 0, or an errno
 */
int keyring_unload(const char *name, char *why)
{
	char description[PREFIX_LEN + KEYRING_NAME_LEN];
	struct search search = { .name = name };
	key_serial_t ring = open_rings();
	bool done = false;
	unsigned int i;
	int err;

	snprintf(description, sizeof(description), PREFIX "%s", name);
	err = revoke(KEY_SPEC_USER_KEYRING, description, why);
	if (!err && ring > 0)
		err = revoke(ring, description, why);
	if (err)
		return err;
	err = keyring_walk(collect, &search);
	if (err)
		return refuse(why, err, "/proc/keys: %s", strerror(err));
	for (i = 0; i < search.nr; i++)
		done |= drop(search.found[i], ring);
	return done ? 0 : refuse(why, ENOKEY, "no key of this name is loaded");
}
