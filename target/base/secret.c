// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory for secrets. It has pages of its own, because only whole pages can be kept out of a
 * core dump.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/secret.h"
#include "base/util.h"

static void say_why(size_t len, int error, char *why)
{
	struct rlimit limit = { 0 };

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    (error != ENOMEM && error != EAGAIN && error != EPERM))
		snprintf(why, SECRET_WHY, "cannot lock %zu bytes for keys in memory: %s", len,
			 strerror(error));
	else
		snprintf(why, SECRET_WHY,
			 "cannot lock %zu bytes for keys in memory: the limit RLIMIT_MEMLOCK is %llu bytes (ulimit -l, LimitMEMLOCK= of the unit)",
			 len, (unsigned long long)limit.rlim_cur);
}

/**
 * secret_alloc - memory for secrets
 * @len: bytes
 * @why: SECRET_WHY bytes for the text of an error
 *
 * Any thread.
 *
 * Return: zeroed memory for secret_free(); or NULL, and @why says why.
 */
void *secret_alloc(size_t len, char *why)
{
	void *secret = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (secret == MAP_FAILED) {
		snprintf(why, SECRET_WHY, "no memory for keys: %s", strerror(errno));
		return NULL;
	}
	/* AddressSanitizer makes mlock() do nothing. */
	if (!mlock2(secret, len, 0) && !madvise(secret, len, MADV_DONTDUMP) &&
	    !madvise(secret, len, MADV_WIPEONFORK))
		return secret;
	say_why(len, errno, why);
	munmap(secret, len);
	return NULL;
}

/**
 * secret_free - wipe secrets and give their memory back
 * @secret: of secret_alloc(), or NULL
 * @len: as for secret_alloc()
 */
void secret_free(void *secret, size_t len)
{
	if (!secret)
		return;
	explicit_bzero(secret, len);
	munmap(secret, len);
}
