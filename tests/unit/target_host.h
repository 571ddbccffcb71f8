/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys in files, and the search for them in the memory of this process, for the tests of hosts
 */
#ifndef TARGET_HOST_H
#define TARGET_HOST_H

#include "../../target/base/key_file.h"
#include "../../target/export/host.h"
#include "target_files.h"

#define ID_LEN	RDMABLK_KEYSCHED_ID_LEN
#define LEN	RDMABLK_KEYSCHED_LEN
#define MASK	0x5a		/* hides the key from the test's own search */
#define UUID_1	"01020304-0000-0000-0000-000000000000"
#define UUID_2	"0a0b0c0d-0000-0000-0000-000000000000"
#define DAY	86400
#define EXPIRES	1814313600	/* 2027-06-30 00:00 UTC */

struct made {
	uint8_t id[ID_LEN];
	uint8_t masked[LEN];
};

static struct made web1, web2, other;
static time_t now;

static inline time_t fake_time(time_t *out)
{
	if (out)
		*out = now;
	return now;
}

/* Makes a new key in a file with this mode. */
static inline struct made make_key(const char *path, mode_t mode)
{
	struct key_file *key = key_file_alloc();
	struct made made;
	int fd;

	assert_non_null(key);
	assert_int_equal(key_file_generate(key, "made"), 0);
	assert_true(key_file_format(key) > 0);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, key->text, strlen(key->text)), strlen(key->text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	memcpy(made.id, key->id, ID_LEN);
	for (int i = 0; i < LEN; i++)
		made.masked[i] = key->secret[i] ^ MASK;
	key_file_free(key);
	return made;
}

static inline const char *host_of(const char *name, const char *key, const char *more)
{
	static char text[16][700];
	static unsigned int next;
	char *p = text[next++ % 16];

	snprintf(p, sizeof(text[0]), "[host %s]\nkey = %s\n%s\n", name, key, more);
	return p;
}

static inline const char *two(const char *a, const char *b)
{
	static char text[1500];

	snprintf(text, sizeof(text), "%s%s", a, b);
	return text;
}

static inline const struct sockaddr *peer(const char *text)
{
	static struct listen_addr addr;

	assert_int_equal(value_address(text, &addr), 0);
	return (struct sockaddr *)&addr.sa;
}

static inline const char *found(const uint8_t *id, const char *from)
{
	const struct host *h = host_find(id, peer(from));

	return h ? host_name(h) : "nobody";
}

struct mapping {
	unsigned long from, to;
	bool writable;
	bool locked, undumped, wiped;
	unsigned long locked_kb;
};

/* Return: whether the masked secret is in a piece of memory; @at: where */
static inline bool is_in(const struct made *made, const uint8_t *p, size_t len, size_t *at)
{
	const uint8_t *end = p + len, *q = p;

	for (; q + LEN <= end && (q = memchr(q, made->masked[0] ^ MASK, end - q)); q++) {
		int n = 1;

		while (n < LEN && q + n < end && (q[n] ^ MASK) == made->masked[n])
			n++;
		*at = q - p;
		if (n == LEN)
			return true;
	}
	return false;
}

/* Reads the next mapping of this process from smaps. */
static inline bool next_mapping(FILE *smaps, struct mapping *m)
{
	char line[1024], rights[8];
	unsigned long from, to;

	memset(m, 0, sizeof(*m));
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3) {
			m->from = from;
			m->to = to;
			m->writable = rights[1] == 'w' && rights[0] == 'r';
		} else if (sscanf(line, "Locked: %lu", &m->locked_kb) == 1) {
			continue;
		} else if (!strncmp(line, "VmFlags:", 8)) {
			m->locked = strstr(line, " lo");
			m->undumped = strstr(line, " dd");
			m->wiped = strstr(line, " wf");
			return true;
		}
	}
	return false;
}

/* How often a key is in the memory of this process. That memory must be protected each time. */
static inline unsigned int keys_in_memory(const struct made *made, const char *when)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *smaps = fopen("/proc/self/smaps", "re");
	static uint8_t buf[65536 + LEN];
	unsigned int nr = 0;
	struct mapping m;

	assert_true(mem >= 0 && smaps);
	while (next_mapping(smaps, &m)) {
		/* Larger mappings are shadow memory of the sanitizer, with a bit for each byte. */
		if (!m.writable || m.to - m.from > 64 * MIB)
			continue;
		for (unsigned long pos = m.from; pos < m.to; pos += 65536) {
			size_t len = m.to - pos < sizeof(buf) ? m.to - pos : sizeof(buf);
			ssize_t n = pread(mem, buf, len, (off_t)pos);
			size_t at;

			/* skips the copies in buf */
			if (pos < (unsigned long)buf + sizeof(buf) &&
			    (unsigned long)buf < pos + len)
				continue;
			if (n < LEN || !is_in(made, buf, (size_t)n, &at))
				continue;
			if (!m.locked || !m.undumped || !m.wiped ||
			    m.locked_kb * 1024 < m.to - m.from)
				fail_msg("%s: a key is at %lx, in %lx-%lx: %s%s%s locked %lu KiB",
					 when, pos + at, m.from, m.to,
					 m.locked ? "" : "not locked ",
					 m.undumped ? "" : "dumped ",
					 m.wiped ? "" : "not wiped ", m.locked_kb);
			nr++;
		}
	}
	explicit_bzero(buf, sizeof(buf));
	fclose(smaps);
	close(mem);
	return nr;
}

#endif
