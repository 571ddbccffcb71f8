/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small things every room uses. Lists are those of <sys/queue.h>.
 */
#ifndef RDMABLKD_UTIL_H
#define RDMABLKD_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* Exit status; the same words in the manual. */
#define EXIT_DONE	0
#define EXIT_FAILED	1
#define EXIT_USAGE	2

/* Released when the variable goes out of scope. */
#define __cleanup_free	__attribute__((cleanup(cleanup_free)))
#define __cleanup_close	__attribute__((cleanup(cleanup_close)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline int64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Sleeps for so many milliseconds, or until a signal comes. */
static inline void pause_ms(uint64_t ms)
{
	const struct timespec time = {
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000,
	};

	nanosleep(&time, NULL);
}

static inline uint64_t round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

static inline int is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline bool all_zero(const void *data, size_t bytes)
{
	const char *p = data;

	return !bytes || (!*p && !memcmp(p, p + 1, bytes - 1));
}

/* Whether two texts are equal; NULL equals NULL. */
static inline bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* For tables: each bit of @x changes about half of the bits of the result. */
static inline uint64_t mix_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

#endif
