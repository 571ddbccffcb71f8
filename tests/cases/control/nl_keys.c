// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keys that nl_fuzz connects with. In the keyring of the user each key is replaced,
 * revoked, invalidated, cut, unlinked and left to expire. The keyring of the module is
 * emptied and read. Only one thread does all this.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nl_keys.h"

#define KEYS_MOST	4
#define KEY_LEN		32
#define RING		".rdmablk"

static unsigned char secrets[KEYS_MOST][KEY_LEN];
static long numbers[KEYS_MOST];
static int nr_keys;
static bool broken;

static long control(int operation, long one, long two, long three)
{
	return syscall(SYS_keyctl, operation, one, two, three, 0L);
}

static long add(int nr, const void *payload, size_t len)
{
	char name[32];

	snprintf(name, sizeof(name), "rdmablk:key%d", nr);
	return syscall(SYS_add_key, "logon", name, payload, len, KEY_SPEC_USER_KEYRING);
}

/* A key that cannot be replaced is unlinked first. Returns the serial number of the new key. */
static long load(int nr, const void *payload, size_t len)
{
	long number = add(nr, payload, len);

	if (number < 0) {
		control(KEYCTL_UNLINK, numbers[nr], KEY_SPEC_USER_KEYRING, 0);
		number = add(nr, payload, len);
	}
	if (number > 0)
		numbers[nr] = number;
	return number;
}

/*
 * Return: serial number of the module's keyring, which only /proc/keys has; 0 if there is
 * none.
 */
static long ring(void)
{
	char line[512], type[16], name[32];
	FILE *keys = fopen("/proc/keys", "r");
	unsigned int number;
	long found = 0;

	while (keys && !found && fgets(line, sizeof(line), keys))
		if (sscanf(line, "%x %*s %*s %*s %*s %*s %*s %15s %31s", &number, type,
			   name) == 3 && !strcmp(type, "keyring") && !strcmp(name, RING ":"))
			found = number;
	if (keys)
		fclose(keys);
	return found;
}

int nl_keys_load(void)
{
	for (int i = 0; i < nr_keys; i++)
		if (load(i, secrets[i], KEY_LEN) < 0)
			return -1;
	broken = false;
	return 0;
}

int nl_keys_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, secrets, sizeof(secrets));
	close(fd);
	if (len < 0)
		return -1;
	if (!len || len % KEY_LEN) {
		errno = EINVAL;
		return -1;
	}
	nr_keys = len / KEY_LEN;
	return nl_keys_load() ? -1 : nr_keys;
}

static void change_ring(uint64_t random)
{
	unsigned char list[256];
	long number = ring();

	if (!number)
		return;
	if (random & 1)
		control(KEYCTL_CLEAR, number, 0, 0);
	else
		control(KEYCTL_READ, number, (long)list, sizeof(list));
	control(KEYCTL_DESCRIBE, number, (long)list, sizeof(list));
}

void nl_keys_change(uint64_t random)
{
	unsigned char other[KEY_LEN + 1];
	int nr = random % nr_keys;
	long key;

	if (broken) {
		nl_keys_load();
		return;
	}
	random >>= 8;
	/* The same contents again: the kernel locks the key for this, too. */
	key = load(nr, secrets[nr], KEY_LEN);
	broken = true;
	switch (random % 8) {
	case 0:
		control(KEYCTL_REVOKE, key, 0, 0);
		break;
	case 1:
		control(KEYCTL_INVALIDATE, key, 0, 0);
		break;
	case 2:
		control(KEYCTL_SET_TIMEOUT, key, 1, 0);
		break;
	case 3:
		control(KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0);
		break;
	case 4:		/* of another length, or with other contents */
		memset(other, random >> 8, sizeof(other));
		load(nr, other, KEY_LEN - 1 + (random >> 16) % 3);
		break;
	case 5:		/* without the rights to use it */
		control(KEYCTL_SETPERM, key, 0x3f000000 & random, 0);
		break;
	default:
		change_ring(random >> 8);
	}
}
