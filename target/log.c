// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log. A line is written by one write(2), so that lines of two threads do
 * not mix. To the journal each line carries its priority as "<N>".
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include "util.h"

#define LOG_LINE	1024
#define LOG_WINDOW_MS	10000
#define LOG_BURST	60

static int log_level = LOG_INFO;
static bool log_journal;

static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

/**
 * log_setup - choose what is logged and how
 * @level: least important level still written, LOG_ERR..LOG_DEBUG
 *
 * Before any other thread exists.
 */
void log_setup(int level)
{
	log_level = level;
	log_journal = stderr_is_journal();
}

/**
 * log_wanted - ask before making a line is costly
 * @level: LOG_ERR..LOG_DEBUG
 *
 * Return: whether a line of this level is written.
 */
bool log_wanted(int level)
{
	return level <= log_level;
}

static void log_line(const char *line, size_t len)
{
	while (len) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

static _Thread_local char *kept;
static _Thread_local size_t kept_size;

/**
 * log_keep - keep the last error that this thread logs, for somebody who waits for it
 * @buf: gets the line, as long as nothing else is said here; NULL: no more
 * @size: of @buf, bytes
 *
 * Any thread.
 */
void log_keep(char *buf, size_t size)
{
	kept = buf;
	kept_size = size;
	if (buf)
		buf[0] = '\0';
}

/**
 * log_write - write one line
 * @level: LOG_ERR..LOG_DEBUG
 * @fmt: printf format, without the line feed
 *
 * Any thread.
 */
void log_write(int level, const char *fmt, ...)
{
	char line[LOG_LINE];
	va_list args;
	int len = 0, n;

	if (kept && level == LOG_ERR) {
		va_start(args, fmt);
		vsnprintf(kept, kept_size, fmt, args);
		va_end(args);
	}
	if (!log_wanted(level))
		return;
	if (log_journal)
		len = snprintf(line, sizeof(line), "<%d>", level);
	len += snprintf(line + len, sizeof(line) - (size_t)len, "rdmablkd: %s",
			level == LOG_WARNING ? "warning: " : "");
	va_start(args, fmt);
	n = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	len += n;
	if (len > LOG_LINE - 2)
		len = LOG_LINE - 2;
	line[len++] = '\n';
	log_line(line, (size_t)len);
}

/**
 * log_allow - the budget of one place
 * @limit: of the place, zero at first
 *
 * Says how many lines were left out before it allows the next. Loop thread.
 *
 * Return: whether the place may write a line now.
 */
bool log_allow(struct log_limit *limit)
{
	struct timespec ts;
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
	if (!limit->start || now - limit->start > LOG_WINDOW_MS) {
		limit->start = now;
		limit->count = 0;
	}
	if (limit->count++ >= LOG_BURST) {
		limit->dropped++;
		return false;
	}
	if (limit->dropped) {
		log_info("%u lines of the next kind were left out", limit->dropped);
		limit->dropped = 0;
	}
	return true;
}

/**
 * log_ready - the line others wait for; written at every level
 */
void log_ready(void)
{
	static const char line[] = "rdmablkd: ready\n";

	log_line(line, sizeof(line) - 1);
}
