// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs of histories; see log.h. A log that cannot be written ends the program: a
 * history without its log is worth nothing.
 */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "stamp.h"

static_assert(sizeof(struct record) == 32, "a record has 32 bytes");

static uint32_t record_crc(const struct record *r)
{
	return crc32c(0, r, offsetof(struct record, crc));
}

/**
 * log_open - write a log, or go on with one
 * @log: to set up
 * @path: file
 * @records: to keep of it; what is behind them is cut off
 * @sync: each write reaches the medium
 *
 * Return: 0 or -errno.
 */
int log_open(struct log *log, const char *path, size_t records, bool sync)
{
	log->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (sync ? O_DSYNC : 0), 0644);
	log->next = (uint32_t)records;
	log->nr = 0;
	if (log->fd < 0)
		return -errno;
	if (ftruncate(log->fd, (off_t)(records * sizeof(struct record))) ||
	    lseek(log->fd, 0, SEEK_END) < 0)
		return -errno;
	return 0;
}

/**
 * log_flush - write what waits
 * @log: log
 */
void log_flush(struct log *log)
{
	const char *p = (const char *)log->buf;
	size_t left = log->nr * sizeof(struct record);

	while (left) {
		ssize_t n = write(log->fd, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			err(2, "the log cannot be written");
		p += n;
		left -= (size_t)n;
	}
	log->nr = 0;
}

/**
 * log_add - add a record, which is written by the next log_flush()
 * @log: log
 * @r: without number and checksum
 */
void log_add(struct log *log, struct record r)
{
	r.number = log->next++;
	r.crc = record_crc(&r);
	log->buf[log->nr++] = r;
	if (log->nr == LOG_BUFFER)
		log_flush(log);
}

/**
 * log_map - read a log
 * @map: to set up
 * @path: file
 *
 * Return: 0 or -errno; -ENOENT also for an empty file.
 */
int log_map(struct log_map *map, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	struct stat st;
	void *p;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!st.st_size)
		ret = -ENOENT;
	if (!ret) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE,
			 fd, 0);
		if (p == MAP_FAILED)
			ret = -errno;
	}
	close(fd);
	if (ret)
		return ret;
	map->records = p;
	map->size = (size_t)st.st_size;
	for (map->nr = 0; (map->nr + 1) * sizeof(*map->records) <= map->size; map->nr++) {
		const struct record *r = &map->records[map->nr];

		if (r->number != map->nr || r->crc != record_crc(r))
			break;
	}
	map->rest = map->size - map->nr * sizeof(*map->records);
	return 0;
}

/**
 * log_unmap - undo log_map()
 * @map: log
 */
void log_unmap(struct log_map *map)
{
	munmap((void *)map->records, map->size);
}
