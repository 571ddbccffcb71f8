// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Has a file been changed? Its times say so, but only those that were made before they
 * are looked at by more than they are exact to: two changes in one tick of the clock
 * have the same time. So what changed a moment ago is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/file_contents.h"
#include "wire/mac.h"

#define TICK_MS		40	/* the kernel's clock of files goes by ticks, of 10 at most */
#define SECOND_MS	2100	/* some file systems keep whole seconds, or two */
#define STEP_MS		10

static int64_t ms_of(const struct timespec *t)
{
	return t->tv_sec * 1000LL + t->tv_nsec / 1000000;
}

static const struct timespec *newer(const struct timespec *a, const struct timespec *b)
{
	return ms_of(a) > ms_of(b) ? a : b;
}

/* Return: ms since then; below 0: it is yet to come */
static int64_t age(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ms_of(&now) - ms_of(t);
}

/*
 * Waits until the next change is sure to have another time.
 *
 * Return: 0; -EAGAIN: the times are of no use; -errno
 */
static int settle(int fd)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	int64_t wait = TICK_MS;

	for (int ms = 0; ms <= 2 * SECOND_MS; ms += STEP_MS) {
		const struct timespec *last;
		struct stat st;

		if (fstat(fd, &st))
			return -errno;
		last = newer(&st.st_mtim, &st.st_ctim);
		wait = last->tv_nsec ? TICK_MS : SECOND_MS;
		if (age(last) > wait)
			return 0;
		if (age(last) < 0)
			return -EAGAIN;
		nanosleep(&step, NULL);
	}
	return -EAGAIN;	/* somebody does not stop writing */
}

/**
 * file_contents - by what changed contents of a file are known
 * @f: open file
 * @out: filled; equal: the contents are, too, when they were read between the two calls
 *	or after both
 *
 * What is still in the page cache is written to the disk first: what is read later shall
 * not be older than its time says. That makes who has the file mapped take a new time,
 * too, for what he writes from now on.
 *
 * Waits up to some seconds when the file has been changed just now.
 *
 * Return: 0; -EAGAIN: nobody can know, as with block devices; -errno.
 */
int file_contents(const struct file *f, struct file_contents *out)
{
	struct statx stx;
	struct stat st;
	int ret;

	if (f->block_device)
		return -EAGAIN;
	if (fsync(f->buffered) && errno != EROFS && errno != EINVAL)
		return -errno;
	ret = settle(f->buffered);
	if (ret)
		return ret;
	if (fstat(f->buffered, &st))
		return -errno;
	*out = (struct file_contents){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.bytes = (uint64_t)st.st_size,
		.exported = f->size,
		.written_sec = st.st_mtim.tv_sec,
		.written_nsec = st.st_mtim.tv_nsec,
		.changed_sec = st.st_ctim.tv_sec,
		.changed_nsec = st.st_ctim.tv_nsec,
	};
	if (!statx(f->buffered, "", AT_EMPTY_PATH, STATX_BTIME, &stx) &&
	    stx.stx_mask & STATX_BTIME) {
		out->born_sec = stx.stx_btime.tv_sec;
		out->born_nsec = stx.stx_btime.tv_nsec;
	}
	return 0;
}

/**
 * file_contents_epoch - the epoch of a store that never changes these contents
 * @c: as file_contents() says
 * @epoch: RDMABLK_ID_LEN bytes
 *
 * Return: 0 or -errno.
 */
int file_contents_epoch(const struct file_contents *c, uint8_t *epoch)
{
	uint8_t digest[MAC_DIGEST_LEN];
	int ret = mac_digest("rdmablk data   1", c, sizeof(*c), digest);

	if (!ret)
		memcpy(epoch, digest, RDMABLK_ID_LEN);
	return ret;
}
