// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kept arenas.
 *
 * A user who can write or truncate the file changes the disk, or takes it away, behind the
 * back of every initiator. So the file must be the daemon's own: its user, no other user
 * with the right to write, one name, no symbolic link.
 *
 * The file is the contents, rounded up to whole pages, and one page more: the
 * trailer. It carries the epoch, the identity of the export and its last writer.
 * A second file could be lost or mixed up; removing or copying this one takes both.
 * Adapters never reach the trailer, because only the contents are registered.
 *
 * One process has the file open: the daemon holds an flock on it. The lock alone does not
 * suffice, because the kernel closes the descriptors of a killed process one by one, and queue
 * pairs that still write the arena may be the last. So the trailer also names the process, by
 * boot of the host, PID namespace, pid and start time, and the next daemon waits until that
 * process is gone altogether. In another PID namespace the pid is meaningless, so an arena
 * whose process ran in another namespace is refused. A daemon that closes its arena removes
 * its name from the trailer.
 *
 * The trailer says "filling" until the arena is complete. A daemon that finds such a trailer
 * starts again with zeroes and a new epoch: no initiator has seen the old contents.
 *
 * A complete arena has all of its pages. One that has a hole has lost contents: another process
 * has cut the file short, or the kernel has taken a page out of it after an error of the host's
 * memory. The next start fills the hole with zeroes. So the daemon looks for holes at the end
 * and at the start, and the trailer says "lost" before a hole is filled. The rest of the contents
 * then has a new epoch, so that no initiator goes on over the zeroes.
 *
 * An arena may have the contents of a file. Then the trailer names the file, and says
 * whether the file was brought up to date before the daemon ended, and when it was last
 * written. A file that was not brought up to date lacks writes that were not flushed: then
 * the contents of the arena count.
 *
 * The disk of the file may lose writes after it has reported them as durable, and another file
 * on it may be the one that is told (disk_loss.c). If that has happened, and the daemon has not
 * made it good, the trailer says so. Then the two are compared, unless the file was written since.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "base/util.h"
#include "store/arena.h"
#include "wire/mac.h"

#define ARENA_MAGIC	"rdmablk arena 1"
#define ARENA_FILLING	1
#define ARENA_COMPLETE	2
#define ARENA_LOST	3	/* was complete, and has lost pages; 0.1 takes it for "filling" */
#define BOOT_BYTES	40
#define ARENA_STEP_MS	10	/* between two looks at a lock */
#define HOLE_LOOKS	5	/* looks that must all see a hole */
#define HOLE_STEP_MS	20	/* between two such looks */
#define ARENAS		4096		/* arenas that may be open */

/* Fields of /proc/PID/stat after the name: the state is 3, the start time 22. */
#define STAT_STATE	" %c"
#define STAT_SKIP	" %*s %*s %*s %*s %*s %*s %*s %*s %*s"
#define STAT_START	" %llu"

/*
 * SIGBUS in an arena ends that export, not the daemon.
 *
 * A thread of the daemon gets SIGBUS when it touches an arena page that no longer
 * exists: another process truncated the file, or the host's memory has an uncorrectable
 * error. Store thread, workers and the loop touch arenas; the kernel's own accesses (io_uring,
 * registration) fail with EFAULT instead.
 *
 * The handler looks for the arena of the address in a table that it reads without a
 * lock. It marks the arena as broken, then maps one page of zeroes in the place of the
 * missing one, then wakes the loop, and the thread goes on with the zeroes. They are not
 * the arena's contents: a thread that has touched an arena calls arena_guard_broken() before
 * it writes to the file what it has read, and before it reports success. A thread sees
 * the mark of its own fault because the handler runs in that thread.
 *
 * What an adapter has pinned stays pinned, and it writes to pages that no file has any
 * more. So the loop ends all sessions of the export and refuses logins.
 *
 * Threads that touch an arena must not block SIGBUS: the kernel kills a process that
 * faults while it does.
 *
 * Only calls that are safe in a signal handler: mmap, write and sigaction are bare
 * system calls here. An inbox of the loop has a lock, so the handler writes to an eventfd.
 */
/**
 * struct arena_guard - an arena that the handler knows
 * @used: the entry is taken
 * @base: first address of the arena; 0: the handler skips the entry. Written last, read first
 * @bytes: number of bytes from @base on
 * @page_size: size of a page, bytes
 * @broken: one of its pages is missing; never cleared
 */
struct arena_guard {
	atomic_bool used;
	atomic_uintptr_t base;
	uint64_t bytes;
	uint64_t page_size;
	atomic_bool broken;
};

/* ms until the former process must be gone; shorter in tests */
int arena_wait_ms = 10000;

static void guard_ready(struct loop_source *src);

static struct {
	struct arena_guard arenas[ARENAS];
	struct loop_source source;
	void (*hit)(void);
} guards = {
	.source = { .fd = -1, .ready = guard_ready },
};

static void guard_ready(struct loop_source *src)
{
	uint64_t count;

	if (read(src->fd, &count, sizeof(count)) == sizeof(count))
		guards.hit();
}

static void wake(void)
{
	const uint64_t one = 1;
	ssize_t n = write(guards.source.fd, &one, sizeof(one));

	(void)n;	/* EAGAIN: the loop has been woken already */
}

static struct arena_guard *guard_of(uintptr_t at)
{
	for (size_t i = 0; i < ARENAS; i++) {
		struct arena_guard *guard = &guards.arenas[i];
		uintptr_t base = atomic_load_explicit(&guard->base, memory_order_acquire);

		if (base && at >= base && at - base < guard->bytes)
			return guard;
	}
	return NULL;
}

static bool replace_page(const struct arena_guard *guard, uintptr_t at)
{
	uintptr_t base = atomic_load(&guard->base);
	uintptr_t page = base + (at - base) / guard->page_size * guard->page_size;

	return mmap((void *)page, guard->page_size, PROT_READ | PROT_WRITE, MAP_FIXED |
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static void sigbus(int signo, siginfo_t *info, void *context)
{
	const struct sigaction fatal = { .sa_handler = SIG_DFL };
	uintptr_t at = (uintptr_t)info->si_addr;
	/* Whether the kernel has sent the signal: only then it has an address. */
	struct arena_guard *guard = info->si_code > 0 ? guard_of(at) : NULL;
	int saved = errno;

	(void)context;
	if (guard)
		atomic_store(&guard->broken, true);
	if (guard && replace_page(guard, at)) {
		wake();
	} else if (info->si_code != BUS_MCEERR_AO) {	/* else nothing has touched the page */
		/*
		 * Restores the default: the instruction faults again, and that ends the
		 * process.
		 */
		sigaction(signo, &fatal, NULL);
		if (info->si_code <= 0)
			raise(signo);
	}
	errno = saved;
}

/**
 * arena_guard_init - catch SIGBUS, before the first arena
 * @hit: called in the loop when an arena has broken
 *
 * Return: 0 or -errno.
 */
int arena_guard_init(void (*hit)(void))
{
	const struct sigaction action = {
		.sa_sigaction = sigbus, .sa_flags = SA_SIGINFO | SA_RESTART,
	};

	guards.hit = hit;
	guards.source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (guards.source.fd < 0 || sigaction(SIGBUS, &action, NULL))
		return -errno;
	return loop_add(&guards.source);
}

/**
 * arena_guard_exit - undo arena_guard_init(); no arena is left
 */
void arena_guard_exit(void)
{
	if (guards.source.fd < 0)
		return;
	signal(SIGBUS, SIG_DFL);
	loop_del(&guards.source);
	close(guards.source.fd);
	guards.source.fd = -1;
}

/**
 * arena_guard_add - tell the handler of an arena
 * @base: first address of the arena
 * @bytes: largest number of bytes that may ever be mapped from @base on
 * @page_size: size of a page, bytes
 *
 * Any thread.
 *
 * Return: its guard; NULL: there are too many.
 */
struct arena_guard *arena_guard_add(void *base, uint64_t bytes, uint64_t page_size)
{
	for (size_t i = 0; i < ARENAS; i++) {
		struct arena_guard *guard = &guards.arenas[i];

		if (atomic_exchange(&guard->used, true))
			continue;
		guard->bytes = bytes;
		guard->page_size = page_size;
		atomic_store(&guard->broken, false);
		atomic_store_explicit(&guard->base, (uintptr_t)base, memory_order_release);
		return guard;
	}
	return NULL;
}

/**
 * arena_guard_del - forget an arena, before it is unmapped
 * @guard: guard of an arena that no thread touches any more; or NULL
 */
void arena_guard_del(struct arena_guard *guard)
{
	if (!guard)
		return;
	atomic_store(&guard->base, 0);
	atomic_store(&guard->used, false);
}

/**
 * arena_guard_broken - whether a page of an arena is missing
 * @guard: guard of the arena; NULL: there is no arena
 *
 * Any thread, after it has touched the arena.
 *
 * Return: true: the data that was read there may not be the arena's contents.
 */
bool arena_guard_broken(const struct arena_guard *guard)
{
	return guard && atomic_load(&guard->broken);
}

/**
 * arena_guard_break - note that the kernel has found a page missing
 * @guard: guard of the arena; or NULL
 *
 * Any thread.
 */
void arena_guard_break(struct arena_guard *guard)
{
	if (!guard)
		return;
	atomic_store(&guard->broken, true);
	wake();
}

/*
 * Trailers and files
 */

struct arena_trailer {
	char magic[16];
	uint32_t state;
	uint32_t pid;
	uint64_t start_time;
	uint64_t size;
	uint8_t uuid[RDMABLK_ID_LEN];
	uint8_t epoch[RDMABLK_ID_LEN];
	struct store_writer writer;
	uint8_t file_id[RDMABLK_ID_LEN];
	int64_t written_sec;	/* this and what follows of the file: struct file_stamp */
	int64_t written_nsec;
	uint32_t clean;		/* the file has all contents */
	char boot[BOOT_BYTES];	/* boot of the host in which @pid ran; by version 0.1: empty */
	uint64_t pid_ns;	/* PID namespace of @pid; by version 0.1: 0 */
	int64_t changed_sec;	/* of the file; by version 0.1: 0, so that no file matches */
	int64_t changed_nsec;
	uint64_t file_bytes;
	uint32_t doubtful;	/* the disk of the file may have lost writes of the arena */
	uint32_t filled;	/* from the file, and no session has had the arena since */
};

_Static_assert(sizeof(struct arena_trailer) <= 4096, "the trailer is one page");
_Static_assert(offsetof(struct arena_trailer, clean) == 136, "layout of version 0.1");

static struct arena_trailer *trailer_of(const struct store *store)
{
	return (struct arena_trailer *)((char *)store->base + store->mapped -
					store->page_size);
}

/* Start time of a process in clock ticks since boot; 0: gone. */
static uint64_t process_start(uint32_t pid)
{
	int fd __cleanup_close = -1;
	char path[32], text[1024], *p, state;
	unsigned long long start;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');	/* the name may hold anything */
	if (!p || sscanf(p + 1, STAT_STATE STAT_SKIP STAT_SKIP STAT_START,
			 &state, &start) != 2)
		return 0;
	/*
	 * A zombie counts: its other threads may live, and with them queue pairs. The
	 * pidfd that is waited for tells when the last of them is gone.
	 */
	return state == 'X' ? 0 : start;
}

/* The inode of the PID namespace of this process; 0: not known. */
static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Reads the text by which the kernel names a boot, without its NUL. */
static void read_boot(char *boot)
{
	int fd __cleanup_close = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(boot, 0, BOOT_BYTES);
	if (fd < 0 || read(fd, boot, BOOT_BYTES - 1) < 0)
		boot[0] = '\0';
}

static bool is_other_boot(const struct arena_trailer *t)
{
	char boot[BOOT_BYTES];

	read_boot(boot);
	return t->boot[0] && boot[0] && memcmp(t->boot, boot, BOOT_BYTES);
}

static int wait_for_process(const struct arena_trailer *t, const char *path)
{
	struct pollfd pfd = { .events = POLLIN };
	uint64_t start, pid_ns = pid_namespace();
	int fd __cleanup_close = -1;

	if (!t->pid || is_other_boot(t))
		return 0;
	if (t->pid_ns && t->pid_ns != pid_ns) {
		log_err("arena %s: process %u of another PID namespace served it and did not close it; whether an adapter still writes for that process cannot be seen from here; start the daemon in that namespace, or remove the arena",
			path, t->pid);
		return -EBUSY;
	}
	start = process_start(t->pid);
	if (!start || start != t->start_time)
		return 0;
	/* This process had the arena before, and has closed it: the flock was free. */
	if (t->pid == (uint32_t)getpid())
		return 0;
	log_info("arena %s: waiting for its former process %u to be gone", path,
		 t->pid);
	fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (fd < 0 && errno == ESRCH)
		return 0;
	pfd.fd = fd;
	if (fd >= 0 && poll(&pfd, 1, arena_wait_ms) > 0)
		return 0;
	log_err("arena %s: process %u, which served it before, is still there",
		path, t->pid);
	return -EBUSY;
}

/* Only the daemon's user may be able to write the file or to cut it short. */
static int check_owner(const struct stat *st, const char *path)
{
	if (st->st_uid != geteuid()) {
		log_err("arena %s: belongs to user %u, and the daemon runs as user %u",
			path, st->st_uid, geteuid());
		return -EPERM;
	}
	if (st->st_mode & 0022) {
		log_err("arena %s: its group or others may write it (mode %04o): chmod go-w",
			path, st->st_mode & 07777);
		return -EPERM;
	}
	if (st->st_nlink != 1) {
		log_err("arena %s: has %u names; it must have one", path,
			(unsigned int)st->st_nlink);
		return -EPERM;
	}
	return 0;
}

static int check_file(const char *path, const struct stat *st, const struct statfs *fs)
{
	if (S_ISREG(st->st_mode) &&
	    (fs->f_type == TMPFS_MAGIC || fs->f_type == HUGETLBFS_MAGIC))
		return check_owner(st, path);
	log_err("arena %s: not a file on tmpfs or hugetlbfs; memory of other file systems cannot be registered for remote writes",
		path);
	return -EINVAL;
}

static int open_failed(const char *path, int ret)
{
	log_err("arena %s: cannot open: %s%s", path,
		ret == -ELOOP ? "it is a symbolic link" : strerror(-ret), sandbox_hint(-ret));
	return ret;
}

/* Return: 0: a file could be created there, and would do for an arena; or -errno, logged. */
static int check_missing(const char *path)
{
	const struct stat st = {
		.st_mode = S_IFREG | 0600, .st_uid = geteuid(), .st_nlink = 1,
	};
	char text[PATH_MAX], *dir;
	struct statfs fs;

	if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
		return open_failed(path, -ENAMETOOLONG);
	dir = dirname(text);
	if (statfs(dir, &fs) || faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS))
		return open_failed(path, -errno);
	return check_file(path, &st, &fs);
}

/**
 * arena_check - whether arena_open() could use a file
 * @path: path of the file
 *
 * Takes no lock and changes nothing: a daemon may be serving the arena.
 *
 * Return: 0 or -errno, logged.
 */
int arena_check(const char *path)
{
	struct statfs fs;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? check_missing(path) : open_failed(path, -errno);
	if (S_ISLNK(st.st_mode))
		return open_failed(path, -ELOOP);
	return statfs(path, &fs) ? open_failed(path, -errno) : check_file(path, &st, &fs);
}

/* The mappings of a killed process keep the lock until they are gone. */
static int lock_waiting(const struct store *store, const char *path)
{
	int ret;

	for (int ms = 0; flock(store->fd, LOCK_EX | LOCK_NB); ms += ARENA_STEP_MS) {
		ret = -errno;
		if (ret == -EWOULDBLOCK && ms < arena_wait_ms &&
		    !atomic_load(&store->cancelled) && !thread_end_wanted()) {
			if (!ms)
				log_info("arena %s: waiting for another process that holds it",
					 path);
			pause_ms(ARENA_STEP_MS);
			continue;
		}
		log_err("arena %s: another process holds it", path);
		return ret;
	}
	return 0;
}

/* Until now another process may have given the file its size, or removed its name. */
static int look_again(int fd, const char *path, struct stat *st)
{
	struct stat named;

	if (fstat(fd, st))
		return -errno;
	if (!lstat(path, &named) && named.st_dev == st->st_dev && named.st_ino == st->st_ino)
		return check_owner(st, path);
	log_err("arena %s: was replaced or removed while it was opened", path);
	return -EAGAIN;
}

/*
 * tmpfs tells where a hole is, but may have more memory than the file is long. hugetlbfs tells
 * how much memory a file has, but not where.
 */
static bool looks_sparse(int fd, uint64_t bytes)
{
	off_t hole = lseek(fd, 0, SEEK_HOLE);
	struct stat st;

	return (hole >= 0 && (uint64_t)hole < bytes) ||
	       (!fstat(fd, &st) && (uint64_t)st.st_blocks * 512 < bytes);
}

/*
 * Whether a file of @bytes bytes has a hole. Before Linux 6.4 tmpfs shows one for a moment while
 * the kernel puts a huge page in place of small ones. A real hole is there at each look.
 */
static bool has_hole(int fd, uint64_t bytes)
{
	for (unsigned int i = 0; i < HOLE_LOOKS; i++) {
		if (i)
			pause_ms(HOLE_STEP_MS);
		if (!looks_sparse(fd, bytes))
			return false;
	}
	return true;
}

/* An arena that was being filled has nothing to lose. If its trailer is in a hole, it is new. */
static void mark_lost(struct arena_trailer *t)
{
	if (!memcmp(t->magic, ARENA_MAGIC, sizeof(t->magic)) && t->state == ARENA_COMPLETE)
		__atomic_store_n(&t->state, ARENA_LOST, __ATOMIC_RELEASE);
}

/*
 * Notes that an arena has lost pages, before it gets others in their place: the daemon may be
 * killed in between, and the next one would find no hole.
 */
static int note_lost(const struct store *store, const char *path)
{
	const uint64_t bytes = store->page_size, at = store->mapped - bytes;
	struct arena_guard *guard;
	struct arena_trailer *t;
	int ret = fallocate(store->fd, 0, (off_t)at, (off_t)bytes) ? -errno : 0;

	t = ret ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    store->fd, (off_t)at);
	if (t == MAP_FAILED) {
		ret = ret ?: -errno;
		log_err("arena %s: cannot read its trailer: %s", path, strerror(-ret));
		return ret;
	}
	guard = arena_guard_add(t, bytes, bytes);
	mark_lost(t);
	arena_guard_del(guard);
	munmap(t, bytes);
	return 0;
}

/**
 * arena_open - open and lock a kept arena, give it its size
 * @store: store; this sets @fd, @page_size and @mapped
 * @ec: configuration of the export
 *
 * Return: 1: the arena is new and empty; 0: it has contents; -errno, logged.
 */
int arena_open(struct store *store, const struct export_config *ec)
{
	struct statfs fs;
	struct stat st;
	int ret;

	store->fd = open(ec->arena, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->fd < 0)
		return open_failed(ec->arena, -errno);
	if (fstat(store->fd, &st) || fstatfs(store->fd, &fs))
		return -errno;
	ret = check_file(ec->arena, &st, &fs);
	if (ret)
		return ret;
	store->page_size = (uint64_t)fs.f_bsize;
	ret = lock_waiting(store, ec->arena) ?: look_again(store->fd, ec->arena, &st);
	if (ret)
		return ret;
	store->mapped = round_up(store->size, store->page_size) + store->page_size;
	if (st.st_size && (uint64_t)st.st_size != store->mapped) {
		log_err("arena %s: is %llu bytes long, export %s needs %llu; remove it to start with a new one",
			ec->arena, (unsigned long long)st.st_size, ec->name,
			(unsigned long long)store->mapped);
		return -EINVAL;
	}
	if (!st.st_size && ftruncate(store->fd, (off_t)store->mapped)) {
		ret = -errno;
		log_err("arena %s: cannot make it %llu bytes long: %s", ec->arena,
			(unsigned long long)store->mapped, strerror(-ret));
		return ret;
	}
	if (st.st_size && has_hole(store->fd, store->mapped))
		ret = note_lost(store, ec->arena);
	return ret ?: !st.st_size;
}

/* An arena that is being filled has nothing of any file to lose. */
static bool is_of_another(const struct arena_trailer *t, const struct arena_file *file)
{
	return t->state != ARENA_FILLING && memcmp(t->file_id, file->id, sizeof(file->id));
}

static int trailer_check(struct store *store, const struct export_config *ec,
			 const struct arena_file *file, const struct arena_trailer *t)
{
	static const uint8_t none[RDMABLK_ID_LEN];

	if (t->size != store->size) {
		log_err("arena %s: holds an export of %llu bytes, not of %llu; remove it to start with a new one",
			ec->arena, (unsigned long long)t->size,
			(unsigned long long)store->size);
		return -EINVAL;
	}
	if (memcmp(store->uuid, none, sizeof(none)) &&
	    memcmp(store->uuid, t->uuid, sizeof(none))) {
		char text[40];

		value_uuid_text(t->uuid, text);
		log_err("arena %s: belongs to the export with UUID %s", ec->arena,
			text);
		return -EINVAL;
	}
	if (!file && memcmp(t->file_id, none, sizeof(none))) {
		log_err("arena %s: has the contents of a file; remove it to start with a new one",
			ec->arena);
		return -EINVAL;
	}
	if (file && is_of_another(t, file)) {
		log_err("arena %s: does not have the contents of %s; remove it to start with a new one",
			ec->arena, ec->file);
		return -EINVAL;
	}
	return wait_for_process(t, ec->arena);
}

/* Whether the disk of the file may have lost writes of the arena. */
static bool is_doubtful(const struct arena_trailer *t)
{
	return t->doubtful && !t->filled;
}

/* Return: whether flushed data may be missing, because neither arena nor file has all of it. */
static bool say_lost(const struct export_config *ec, const struct arena_trailer *t)
{
	bool doubtful = ec->file && is_doubtful(t);

	log_err("export %s: arena %s has lost pages: %s, and its epoch is new", ec->name,
		ec->arena, ec->file ? "all of it is read from the file again" :
		"they are zero, the rest is as it was");
	if (doubtful)
		log_err("export %s: flushed data may be missing: the disk of %s may have lost writes that only arena %s had",
			ec->name, ec->file, ec->arena);
	return doubtful;
}

static bool is_unknown(const struct store_writer *w)
{
	const struct store_writer unknown = store_writer_unknown();

	return !memcmp(w, &unknown, sizeof(unknown));
}

/*
 * Takes over the contents of an arena. If it has lost pages, the epoch is new, so that no
 * initiator takes the zeroes there for its data. Return: 0 or -errno
 */
static int take_contents(struct store *store, const struct arena_trailer *t)
{
	memcpy(store->uuid, t->uuid, sizeof(t->uuid));
	store->writer = t->writer;
	if (t->state == ARENA_LOST)
		return mac_random(store->epoch, sizeof(store->epoch));
	memcpy(store->epoch, t->epoch, sizeof(t->epoch));
	return 0;
}

/**
 * arena_attach - take over the contents of a mapped arena
 * @store: store with a mapped arena; gets epoch and UUID of the arena
 * @ec: configuration of the export
 * @file: the file as it is now; NULL: the arena belongs to no file
 * @fresh: arena_open() found the arena empty
 *
 * Return: 1: the caller must zero the arena, and the epoch is new; 0: the arena keeps contents
 * and epoch, or the rest of its contents under a new epoch; -errno, logged.
 */
int arena_attach(struct store *store, const struct export_config *ec,
		 const struct arena_file *file, bool fresh)
{
	struct arena_trailer *t = trailer_of(store);
	struct arena_trailer next = { .magic = ARENA_MAGIC, .state = ARENA_FILLING };
	bool unwritten = !fresh && !t->magic[0] && !t->state, missing = false;
	int ret = 0;

	if (!fresh && !unwritten) {
		if (memcmp(t->magic, ARENA_MAGIC, sizeof(t->magic))) {
			log_err("arena %s: not made by rdmablkd; remove it to start with a new one",
				ec->arena);
			return -EINVAL;
		}
		ret = trailer_check(store, ec, file, t);
		if (ret)
			return ret;
		/* Unknown: an earlier start has said so, and nobody has accepted the loss. */
		missing = (t->state == ARENA_LOST && say_lost(ec, t)) || is_unknown(&t->writer);
		/* The file has the flushed data, so its arena is not used when pages are lost. */
		if (t->state == ARENA_COMPLETE || (t->state == ARENA_LOST && !ec->file))
			return take_contents(store, t);
	}
	ret = mac_random(store->epoch, sizeof(store->epoch));
	if (ret)
		return ret;
	if (missing) {	/* so no disk goes on by itself, even if the daemon is killed now */
		next.writer = store_writer_unknown();
		t->writer = next.writer;
		__atomic_store_n(&t->state, ARENA_FILLING, __ATOMIC_RELEASE);
	}
	next.size = store->size;
	next.filled = 1;
	memcpy(next.uuid, store->uuid, sizeof(next.uuid));
	*t = next;
	return 1;
}

/**
 * arena_publish - the arena is complete and served by this process
 * @store: with epoch and UUID
 *
 * Before the first registration.
 *
 * Return: 0.
 */
int arena_publish(struct store *store)
{
	struct arena_trailer *t;

	if (!store->kept)
		return 0;
	t = trailer_of(store);
	/* arena_doubt() must not wait for swap space, which may be on the disk that fails. */
	if (mlock2(t, store->page_size, 0))
		log_debug("cannot lock the trailer of an arena: %s", strerror(errno));
	t->pid = (uint32_t)getpid();
	t->start_time = process_start(t->pid);
	t->pid_ns = pid_namespace();
	read_boot(t->boot);
	memcpy(t->uuid, store->uuid, sizeof(t->uuid));
	memcpy(t->epoch, store->epoch, sizeof(t->epoch));
	__atomic_store_n(&t->state, ARENA_COMPLETE, __ATOMIC_RELEASE);
	return 0;
}

/**
 * arena_has_lost - whether an arena has lost pages
 * @store: store with a mapped arena
 *
 * To be called before and after all of a kept arena is read to be written to its file: a thread
 * that reads a lost page makes a page of zeroes, and then nobody sees that one was lost. Breaks
 * the guard of an arena that has a hole. Any thread.
 *
 * Return: true: what was read may not be the arena's contents.
 */
bool arena_has_lost(const struct store *store)
{
	if (store->kept && !arena_guard_broken(store->guard) &&
	    has_hole(store->fd, store->mapped))
		arena_guard_break(store->guard);
	return arena_guard_broken(store->guard);
}

/**
 * arena_lacks_page - arena_has_lost() for each piece of an arena, just before it is read
 * @store: store with a mapped arena
 *
 * Does not walk through the arena: looks for a hole only if the arena has too little memory. Any
 * thread.
 *
 * Return: as arena_has_lost().
 */
bool arena_lacks_page(const struct store *store)
{
	struct stat st;

	if (store->kept && !fstat(store->fd, &st) &&
	    (uint64_t)st.st_blocks * 512 < store->mapped)
		return arena_has_lost(store);
	return arena_guard_broken(store->guard);
}

/**
 * arena_leave - remove this process from the trailer, before the arena is closed
 * @store: store that no adapter writes any more; without a kept arena nothing happens
 *
 * Notes that pages are lost, because another daemon would find zeroes in their place.
 */
void arena_leave(struct store *store)
{
	struct arena_trailer *t;

	if (!store->kept || !store->base)
		return;
	t = trailer_of(store);
	/* The trailer of an arena that could not be opened still names the former process. */
	if (t->pid != (uint32_t)getpid() || t->pid_ns != pid_namespace() ||
	    t->start_time != process_start(t->pid))
		return;
	if (arena_guard_broken(store->guard) || has_hole(store->fd, store->mapped))
		mark_lost(t);
	t->pid = 0;
}

static void set_newer(struct store *store)
{
	__atomic_store_n(&trailer_of(store)->clean, 0, __ATOMIC_RELEASE);
}

/**
 * arena_mending - note in the trailer that the file is about to be written by the daemon
 * @store: published; without a kept arena nothing happens
 *
 * Without the note, the next daemon would take the file's new stamp for that of another program.
 * arena_clean() removes the note. An arena that no session has had needs none: at the next start
 * the file counts, and is equal to it. With a note the export would be refused then, because no
 * note of the last writer says that the arena counts. The loop may admit the first writer at this
 * moment; then arena_written_by() notes the same.
 */
void arena_mending(struct store *store)
{
	if (store->kept && !__atomic_load_n(&trailer_of(store)->filled, __ATOMIC_ACQUIRE))
		set_newer(store);
}

/**
 * arena_doubt - note in the trailer that the disk of the file may have lost writes
 * @store: published; without a kept arena nothing happens
 *
 * Any thread. arena_clean() may undo it.
 */
void arena_doubt(struct store *store)
{
	if (store->kept)
		__atomic_store_n(&trailer_of(store)->doubtful, 1, __ATOMIC_RELEASE);
}

/**
 * arena_written_by - note in the trailer which device writes the arena from now on
 * @store: store with its writer; without a kept arena nothing happens
 *
 * To be called before the writer gets a key: the next daemon must know every device that may
 * have written, and that the arena may be newer than its file. arena_publish() does not note
 * that yet: an arena that no session has had is as its file.
 */
void arena_written_by(struct store *store)
{
	if (!store->kept)
		return;
	trailer_of(store)->writer = store->writer;
	__atomic_store_n(&trailer_of(store)->filled, 0, __ATOMIC_RELEASE);
	set_newer(store);
}

/*
 * Whether a file was last changed before the time that was known of it. A sync makes the data of a
 * file durable, but not its times. So a file system that was repaired after a loss may have
 * earlier ones. A program that writes, or restores, the file leaves a later one, unless the clock
 * was set back.
 */
static bool went_back(const struct file_stamp *known, const struct file_stamp *now)
{
	return now->changed_sec < known->changed_sec ||
	       (now->changed_sec == known->changed_sec &&
		now->changed_nsec < known->changed_nsec);
}

/**
 * arena_newer - which of an arena and its file has newer contents
 * @store: attached; gets the last writer of a fresh arena
 * @ec: configuration of the export
 * @file: the file as it is now
 * @fresh: arena_attach() has returned 1
 *
 * Return: ARENA_OLDER for a fresh arena, else what the trailer says.
 */
enum arena_state arena_newer(struct store *store, const struct export_config *ec,
			     const struct arena_file *file, bool fresh)
{
	struct arena_trailer *t = trailer_of(store);
	const struct file_stamp stamp = {
		.sec = t->written_sec, .nsec = t->written_nsec, .changed_sec = t->changed_sec,
		.changed_nsec = t->changed_nsec, .bytes = t->file_bytes,
	};
	bool same;

	if (fresh) {
		store->writer = t->writer;
		return ARENA_OLDER;
	}
	if (!t->clean)
		return ARENA_NEWER;
	same = file_stamp_same(&stamp, &file->stamp);
	if (!is_doubtful(t))
		return same ? ARENA_EQUAL : ARENA_OLDER;
	if (same)
		return ARENA_DOUBTFUL;
	if (went_back(&stamp, &file->stamp))
		return ARENA_NEWER;
	log_warn("export %s: the disk of %s may have lost writes that arena %s has; the file was written since, or may have been, so it counts",
		 ec->name, ec->file, ec->arena);
	return ARENA_OLDER;
}

/**
 * arena_renew - an arena is about to be filled again
 * @store: attached; gets a new epoch
 *
 * The last writer of the old contents need not be the last writer of the file. But if no disk may
 * go on with the arena, that stays so: the file may lack flushed data.
 *
 * Return: 0 or -errno.
 */
int arena_renew(struct store *store)
{
	struct arena_trailer *t = trailer_of(store);

	__atomic_store_n(&t->state, ARENA_FILLING, __ATOMIC_RELEASE);
	if (!is_unknown(&t->writer))
		memset(&t->writer, 0, sizeof(t->writer));
	t->filled = 1;
	store->writer = t->writer;
	return mac_random(store->epoch, sizeof(store->epoch));
}

/**
 * arena_clean - note that the file has all contents of the arena
 * @store: attached; nobody writes the arena now
 * @file: the file, with its stamp after the last write that the daemon knows of. If another
 *	program has written later, the arena is found older
 */
void arena_clean(struct store *store, const struct arena_file *file)
{
	struct arena_trailer *t = trailer_of(store);

	memcpy(t->file_id, file->id, sizeof(t->file_id));
	t->written_sec = file->stamp.sec;
	t->written_nsec = file->stamp.nsec;
	t->changed_sec = file->stamp.changed_sec;
	t->changed_nsec = file->stamp.changed_nsec;
	t->file_bytes = file->stamp.bytes;
	__atomic_store_n(&t->doubtful, file->doubtful, __ATOMIC_RELEASE);
	__atomic_store_n(&t->clean, 1, __ATOMIC_RELEASE);
}
