// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into "rdmablk key" by tool_key. Words in KEY_SHIM say what it does; KEY_SHIM_OUT
 * is the file it writes.
 *
 *   scan	at the end, write all memory of the process; it keeps what it would unmap
 *   keep	do not wipe
 *   abort	write how much memory is locked, and abort before a key is written
 *   dumpable	allow core dumps before that
 *   whole	leave nothing out of core dumps
 *   flat	the file system cannot sync a directory
 *   broken	the disk of the directory is broken
 *
 * KEY_SHIM_RING is the number of a keyring that stands for the one of the module.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX	"rdmablk-key-1:"

static bool has(const char *word)
{
	const char *words = getenv("KEY_SHIM");

	return words && strstr(words, word);
}

long keyctl_describe(int key, char *text, size_t size);
long keyctl_describe(int key, char *text, size_t size)
{
	long (*next)(int key, char *text, size_t size) = dlsym(RTLD_NEXT, "keyctl_describe");
	const char *ring = getenv("KEY_SHIM_RING");

	if (!ring || key != atoi(ring))
		return next(key, text, size);
	return snprintf(text, size, "keyring;0;0;3f1f0000;.rdmablk") + 1;
}

static FILE *out(void)
{
	FILE *file = fopen(getenv("KEY_SHIM_OUT"), "w");

	if (!file)
		_exit(99);
	return file;
}

static void wipe(void *buf, size_t len)
{
	void (*next)(void *buf, size_t len) = dlsym(RTLD_NEXT, "explicit_bzero");

	if (!has("keep"))
		next(buf, len);
}

void explicit_bzero(void *buf, size_t len)
{
	wipe(buf, len);
}

void __explicit_bzero_chk(void *buf, size_t len, size_t size);
void __explicit_bzero_chk(void *buf, size_t len, size_t size)
{
	(void)size;
	wipe(buf, len);
}

int munmap(void *addr, size_t len)
{
	int (*next)(void *addr, size_t len) = dlsym(RTLD_NEXT, "munmap");

	return has("scan") ? 0 : next(addr, len);
}

int madvise(void *addr, size_t len, int advice)
{
	int (*next)(void *addr, size_t len, int advice) = dlsym(RTLD_NEXT, "madvise");

	return has("whole") && advice == MADV_DONTDUMP ? 0 : next(addr, len, advice);
}

static void end(void)
{
	FILE *status = fopen("/proc/self/status", "r"), *file = out();
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmLck:", 6))
			fputs(line, file);
	fclose(file);
	if (has("dumpable"))
		prctl(PR_SET_DUMPABLE, 1);
	abort();
}

ssize_t write(int fd, const void *buf, size_t len)
{
	ssize_t (*next)(int fd, const void *buf, size_t len) = dlsym(RTLD_NEXT, "write");

	if (has("abort") && len > strlen(PREFIX) && !memcmp(buf, PREFIX, strlen(PREFIX)))
		end();
	return next(fd, buf, len);
}

int fsync(int fd)
{
	int (*next)(int fd) = dlsym(RTLD_NEXT, "fsync");
	struct stat st;

	if ((has("flat") || has("broken")) && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		errno = has("flat") ? EINVAL : EIO;
		return -1;
	}
	return next(fd);
}

__attribute__((destructor))
static void scan(void)
{
	ssize_t (*next)(int fd, const void *buf, size_t len) = dlsym(RTLD_NEXT, "write");
	unsigned long begin, last;
	FILE *maps, *file;
	char line[512];

	if (!has("scan"))
		return;
	maps = fopen("/proc/self/maps", "r");
	file = out();
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx rw", &begin, &last) == 2 && strstr(line, " rw"))
			next(fileno(file), (void *)begin, last - begin);
	}
	fclose(file);
}
