// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keys that the kernel has: of type logon, which no program can read, with the
 * description rdmablk:NAME.
 *
 * The keys are in the user keyring of root, so that a key can be loaded before the module: the
 * kernel searches the keyrings of the task that connects. A work queue of the kernel has no
 * such keyrings. So a key is also linked into .rdmablk, the keyring of the module, if that
 * exists.
 *
 * /proc/keys shows descriptions as they are, with newlines. So any user can forge lines in it, and
 * a line is only a hint: what the kernel answers for the number of a key counts.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <keyutils.h>

#include "../target/base/key_file.h"
#include "keyring.h"
#include "util.h"

#define TYPE		"logon"
#define PREFIX		"rdmablk:"
#define PREFIX_LEN	(sizeof(PREFIX) - 1)
#define DESCRIPTION_LEN	256	/* of those that the kernel tells here; others are not ours */
#define LINE_LEN	512
#define MODULE_RING	".rdmablk"
#define KERNEL_KEYS	"/proc/keys"

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
 * Asks the kernel for owner, type and description of a key. The description comes last and may
 * have any byte.
 *
 * Return: the description in @text if it is a key of root of this type; NULL, with errno:
 * EKEYREVOKED, EKEYEXPIRED; ENOENT: another key; or why the kernel does not tell
 */
static const char *describe(key_serial_t key, const char *type, char *text, size_t size)
{
	long len = keyctl_describe(key, text, size);
	int uid, begin = 0;
	char is[16];

	if (len < 0)
		return NULL;
	errno = ENOENT;
	if ((size_t)len > size || sscanf(text, "%15[^;];%d;%*d;%*x;%n", is, &uid, &begin) != 2 ||
	    !begin || uid || strcmp(is, type))
		return NULL;
	return text + begin;
}

/* A program cannot give a keyring a name that begins with a dot. */
static bool is_module_ring(key_serial_t key)
{
	char text[DESCRIPTION_LEN];
	const char *name = describe(key, "keyring", text, sizeof(text));

	return name && !strcmp(name, MODULE_RING);
}

/* Return: the keyring of the module, or -1 */
static key_serial_t find_ring(void)
{
	FILE *file = fopen(KERNEL_KEYS, "re");
	char line[LINE_LEN];
	key_serial_t key, ring = -1;

	while (file && ring < 0 && fgets(line, sizeof(line), file))
		if (strstr(line, MODULE_RING)) {
			key = (key_serial_t)strtoul(line, NULL, 16);
			ring = is_module_ring(key) ? key : -1;
		}
	if (file)
		fclose(file);
	return ring;
}

/*
 * Links the keyring of the module into one of this process, because a process has more rights
 * to keys that it reaches from its own keyrings.
 *
 * Return: the keyring of the module, or -1
 */
static key_serial_t open_rings(void)
{
	key_serial_t ring = find_ring();

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

/* Return: whether the keyring has the key itself, and not only a keyring that has it */
static bool is_in(key_serial_t key, key_serial_t ring)
{
	bool found = false;
	void *keys;
	int size = keyctl_read_alloc(ring, &keys);

	for (int i = 0; i < size / (int)sizeof(key); i++)
		found |= ((key_serial_t *)keys)[i] == key;
	if (size >= 0)
		free(keys);
	return found;
}

/* @description: of a key. Return: whether it is one for rdmablk, whose name @key has then */
static bool take_name(const char *description, struct keyring_key *key)
{
	int len;

	if (strncmp(description, PREFIX, PREFIX_LEN))
		return false;
	len = snprintf(key->name, sizeof(key->name), "%s", description + PREFIX_LEN);
	return len > 0 && len < KEYRING_NAME_LEN;
}

/*
 * The kernel does not describe a key that has ended. If root's keyring or that of the module has
 * it, the description in the line is used: an ended key gives nobody a right.
 */
static bool take_ended(char *description, key_serial_t ring, struct keyring_key *key)
{
	char *end = strstr(description, ": ");	/* comes before the length of the payload */

	if (errno != EKEYEXPIRED && errno != EKEYREVOKED)
		return false;
	key->state = errno == EKEYEXPIRED ? "expired" : "revoked";
	end = end ? end : description + strcspn(description, "\n");
	*end = '\0';
	return take_name(description, key) &&
	       (is_in(key->id, KEY_SPEC_USER_KEYRING) || (ring > 0 && is_in(key->id, ring)));
}

/* @line: of /proc/keys. Return: whether it is about a key of root for rdmablk */
static bool read_line(char *line, key_serial_t ring, struct keyring_key *key)
{
	char expires[8], text[DESCRIPTION_LEN];
	const char *description;
	int begin = 0;

	if (sscanf(line, "%x %*s %*d %7s %*x %*d %*d " TYPE " %n", (unsigned int *)&key->id,
		   expires, &begin) != 2 || !begin)
		return false;
	key->expires[0] = '\0';
	description = describe(key->id, TYPE, text, sizeof(text));
	if (!description)
		return take_ended(line + begin, ring, key);
	key->state = "valid";
	if (strcmp(expires, "perm"))
		snprintf(key->expires, sizeof(key->expires), "%s", expires);
	return take_name(description, key);
}

static int walk(key_serial_t ring, keyring_fn fn, void *context)
{
	FILE *file = fopen(KERNEL_KEYS, "re");
	struct keyring_key key;
	char line[LINE_LEN];

	if (!file)
		return errno;
	while (fgets(line, sizeof(line), file))
		if (read_line(line, ring, &key) && !fn(&key, context))
			break;
	fclose(file);
	return 0;
}

/**
 * keyring_walk() - goes through the keys of root for rdmablk that the kernel has
 * @fn: called with each
 * @context: for @fn
 *
 * A key that has ended is listed only if root's keyring or the module's has it.
 *
 * Return: 0, or an errno
 */
int keyring_walk(keyring_fn fn, void *context)
{
	return walk(find_ring(), fn, context);
}

/**
 * struct unload - a key that is unloaded
 * @name: the name
 * @ring: keyring of the module, or -1
 * @done: a key of this name was in a keyring
 */
struct unload {
	const char *name;
	key_serial_t ring;
	bool done;
};

/*
 * The kernel removes from a keyring whatever key has the description of the given one. So it
 * does no harm if a key in the list has been replaced meanwhile.
 */
static bool drop_named(const struct keyring_key *key, void *context)
{
	struct unload *unload = context;

	if (!strcmp(key->name, unload->name))
		unload->done |= drop(key->id, unload->ring);
	return true;
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
 * keyring_unload() - revokes a key, and removes it from the keyrings
 * @name: of the key
 * @why: KEYRING_WHY bytes for the reason of a failure
 *
 * Return: 0, or an errno
 */
int keyring_unload(const char *name, char *why)
{
	char description[PREFIX_LEN + KEYRING_NAME_LEN];
	struct unload unload = { .name = name, .ring = open_rings() };
	int err;

	snprintf(description, sizeof(description), PREFIX "%s", name);
	err = revoke(KEY_SPEC_USER_KEYRING, description, why);
	if (!err && unload.ring > 0)
		err = revoke(unload.ring, description, why);
	if (err)
		return err;
	err = walk(unload.ring, drop_named, &unload);
	if (err)
		return refuse(why, err, KERNEL_KEYS ": %s", strerror(err));
	return unload.done ? 0 : refuse(why, ENOKEY, "no key of this name is loaded");
}
