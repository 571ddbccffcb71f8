// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether the host has the memory of an arena, or of a session.
 *
 * If an arena does not fit into the memory, the kernel kills processes until it does:
 * fallocate() on memory does not fail, and the daemon is among the last processes that the
 * kernel chooses. So an arena that does not fit is refused before any of its pages exist. Its
 * size is compared with the memory that is free at that moment. Open arenas have taken their
 * memory already, so the check covers the sum of all arenas, those of "target add" and of a
 * growth included.
 *
 * Free memory is what the kernel calls available, less a reserve for the host, and not more
 * than the control groups of the daemon still allow. The check does not count huge pages of a
 * pool: their number is fixed, and fallocate() fails when they are used up.
 *
 * A session on an uncached file has buffers of its own, and initiators decide how many
 * sessions there are. Arenas may have left only the reserve, so sessions may take half of it.
 * A session that may not write must leave as much memory free as it takes, so that a writer
 * still gets in.
 *
 * The daemon is an ordinary victim of the OOM killer while it fills its arenas, so that an
 * arena that does not fit after all costs the daemon rather than other processes. It gives up
 * the protection that it was started with, and takes it back when all arenas are filled; the
 * kernel allows that without privileges.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/meminfo.h"
#include "base/util.h"

#define RESERVE_PART	16		/* the reserve is one of so many parts of the memory */
#define RESERVE_MAX	(1ULL << 30)
#define MIB		(1ULL << 20)

/* Directory that stands for /; tests have another one */
const char *meminfo_root = "";

static bool read_number(const char *path, uint64_t *value)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fscanf(file, "%" SCNu64, value) == 1;

	if (file)
		fclose(file);
	return ok;
}

/* Return: false: the kernel does not say both values. */
static bool read_meminfo(uint64_t *total, uint64_t *available)
{
	char path[PATH_MAX], line[128];
	unsigned int seen = 0;
	uint64_t kib;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/meminfo", meminfo_root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1) {
			*total = kib << 10;
			seen |= 1;
		} else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) {
			*available = kib << 10;
			seen |= 2;
		}
	}
	fclose(file);
	return seen == 3;
}

static uint64_t free_huge_pages(void)
{
	char path[PATH_MAX], file[PATH_MAX + 300];
	struct dirent *entry;
	uint64_t bytes = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages", meminfo_root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t kib, nr;

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		snprintf(file, sizeof(file), "%s/%s/free_hugepages", path, entry->d_name);
		if (read_number(file, &nr))
			bytes += nr * kib << 10;
	}
	if (dir)
		closedir(dir);
	return bytes;
}

static bool read_group(const char *group, const char *file, uint64_t *value)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s/%s", meminfo_root, group, file);
	return read_number(path, value);
}

/* Return: bytes that one control group still allows; UINT64_MAX: it has no limit. */
static uint64_t group_room(const char *group)
{
	uint64_t max, now;

	/* Without a limit the file has the word "max". */
	if (!read_group(group, "memory.max", &max))
		return UINT64_MAX;
	if (!read_group(group, "memory.current", &now))
		return max;
	return now < max ? max - now : 0;
}

/*
 * Return: bytes that the daemon's control group, and all groups above it, still allow. Only
 * for version 2 of control groups. The root is asked, too, because it has a limit in a
 * container.
 */
static uint64_t groups_room(void)
{
	char path[PATH_MAX], line[PATH_MAX] = "", *slash;
	uint64_t room = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", meminfo_root);
	file = fopen(path, "re");
	if (!file)
		return room;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::/", 4))
			break;
	fclose(file);
	if (strncmp(line, "0::/", 4))
		return room;
	line[strcspn(line, "\n")] = '\0';
	while ((slash = strrchr(line, '/'))) {
		room = min_u64(room, group_room(line + 3));
		*slash = '\0';
	}
	return min_u64(room, group_room(""));
}

static uint64_t in_mib(uint64_t bytes)
{
	return bytes / MIB;
}

/*
 * Finds how much memory may be taken, and what limits it, for messages. Return: false: the
 * kernel does not say.
 */
static bool find_room(uint64_t reserve_max, unsigned int reserve_part, uint64_t *room,
		      const char **decided)
{
	uint64_t total, available, reserve, group = groups_room();

	if (!read_meminfo(&total, &available))
		return false;
	reserve = min_u64(total / reserve_part, reserve_max);
	*room = available > reserve ? available - reserve : 0;
	*decided = group < *room ? "the limit of the daemon's control group" :
				   "what is available less a reserve";
	*room = min_u64(*room, group);
	return true;
}

/**
 * meminfo_check - check that base pages of an arena fit into the free memory
 * @name: name of the export, for messages
 * @bytes: bytes to be taken
 * @overcommit: the administrator wants it anyway: only warn
 *
 * Return: 0, also if the kernel does not say what is free; -E2BIG, logged.
 */
int meminfo_check(const char *name, uint64_t bytes, bool overcommit)
{
	const char *decided;
	uint64_t room;

	if (!find_room(RESERVE_MAX, RESERVE_PART, &room, &decided) || bytes <= room)
		return 0;
	log_write(overcommit ? LOG_WARNING : LOG_ERR,
		  "export %s: needs %llu MiB of memory, and the host has %llu MiB free: %s (huge pages free: %llu MiB)%s",
		  name, (unsigned long long)in_mib(bytes + MIB - 1),
		  (unsigned long long)in_mib(room), decided,
		  (unsigned long long)in_mib(free_huge_pages()),
		  overcommit ? "" : "; \"overcommit\" tries it all the same");
	return overcommit ? 0 : -E2BIG;
}

/**
 * meminfo_check_session - check that the buffers of a session fit into the free memory
 * @name: name of its export, for messages
 * @bytes: bytes to be taken
 * @writer: the session may write
 *
 * Reads files of the kernel; for workers.
 *
 * Return: 0, also if the kernel does not say what is free; -E2BIG, logged.
 */
int meminfo_check_session(const char *name, uint64_t bytes, bool writer)
{
	const char *decided;
	uint64_t room;

	if (!find_room(RESERVE_MAX / 2, RESERVE_PART * 2, &room, &decided) ||
	    bytes <= (writer ? room : room / 2))
		return 0;
	log_peer(NULL, LOG_WARNING,
		 "export %s: a session needs %llu MiB of memory%s, and the host has %llu MiB free: %s",
		 name, (unsigned long long)in_mib(bytes + MIB - 1),
		 writer ? "" : " and as much again for one that may write",
		 (unsigned long long)in_mib(room), decided);
	return -E2BIG;
}

static FILE *open_score(const char *mode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/self/oom_score_adj", meminfo_root);
	return fopen(path, mode);
}

static bool write_score(int score)
{
	FILE *file = open_score("we");
	bool ok = file && fprintf(file, "%d", score) > 0;

	if (file)
		ok = !fclose(file) && ok;
	return ok;
}

static int protected_score;	/* oom_score_adj at the start, if below 0 */

/**
 * meminfo_expose - give up the protection from the kernel's OOM killer
 *
 * Before the first arena.
 */
void meminfo_expose(void)
{
	FILE *file = open_score("re");
	int score;

	if (file && fscanf(file, "%d", &score) == 1 && score < 0 && write_score(0))
		protected_score = score;
	if (file)
		fclose(file);
}

/**
 * meminfo_protect - take back what meminfo_expose() has given up
 *
 * When all arenas are filled: their contents would be lost with the process.
 */
void meminfo_protect(void)
{
	if (protected_score && !write_score(protected_score))
		log_warn("cannot set oom_score_adj to %d again: %s", protected_score,
			 strerror(errno));
	protected_score = 0;
}

/* Whether the process is in the first user namespace, whose users are all that there are */
static bool is_first_namespace(void)
{
	unsigned long inside = 1, outside = 1, nr = 0;
	FILE *file = fopen("/proc/self/uid_map", "re");
	int read = file ? fscanf(file, "%lu %lu %lu", &inside, &outside, &nr) : 0;

	if (file)
		fclose(file);
	return read == 3 && !inside && !outside && nr == UINT32_MAX;
}

/* The kernel asks for the capability in the first user namespace. */
static bool may_lock_anything(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return is_first_namespace() && !syscall(SYS_capget, &head, data) &&
	       data[0].effective & 1U << CAP_IPC_LOCK;
}

/**
 * meminfo_lockable - how much memory the daemon may lock and register
 *
 * Return: bytes; UINT64_MAX: there is no limit, or it does not count for the daemon.
 */
uint64_t meminfo_lockable(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    may_lock_anything())
		return UINT64_MAX;
	return limit.rlim_cur;
}

/**
 * meminfo_check_locked - check that a session can register its memory
 * @name: name of the export, for the warning
 * @bytes: most bytes that a session registers
 *
 * Registered memory counts as locked, once per session. To be called at the start, so that
 * the administrator learns of the limit before the first login.
 *
 * Return: false, logged: the limit of locked memory is too low.
 */
bool meminfo_check_locked(const char *name, uint64_t bytes)
{
	uint64_t most = meminfo_lockable();

	if (bytes <= most)
		return true;
	log_warn("export %s: RLIMIT_MEMLOCK is %llu bytes, too few for a session to register %llu; logins will be refused",
		 name, (unsigned long long)most, (unsigned long long)bytes);
	return false;
}
