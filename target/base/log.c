// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log. Once the daemon serves, a thread of its own writes the lines: the reader of
 * stderr may be slow or stuck, and neither the loop nor an I/O thread waits for it.
 * Lines that are dropped meanwhile are counted where they are missing.
 *
 * Before log_start() and after log_stop() the caller writes its lines itself. A line is
 * one write(2), so that lines of two threads do not mix. To the journal each line carries
 * its priority as "<N>".
 *
 * Lines that a peer can trigger have a budget per place in the code and address of the peer,
 * so that no peer hides the lines about another one. Such lines leave a quarter of the ring to
 * the daemon's own lines. Lines that are left out are counted for each place. The log says the
 * count before the next line of that place about that peer, or when the window is over.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/log.h"
#include "base/util.h"

#define LOG_LINE	1024	/* longest line, bytes */
#define LOG_RING	1024	/* most lines that wait */
#define LOG_OWN		4	/* one of so many places in the ring is not for peers */

#define LOG_BURST	60	/* lines in a window */
#define LOG_SETS	256
#define LOG_WAYS	8	/* budgets in a set */
#define LOG_PLACES	64	/* more than there are in the code */

int log_stop_ms = 1000;
int log_window_ms = 10000;

static atomic_int log_level = LOG_INFO;
static bool log_journal;

static void write_stderr(const char *line, size_t len);
static size_t say_dropped(char *line, unsigned long nr);
static int64_t left_out_due(void);
static void say_left_out_due(void);

static uint16_t ring_len[LOG_RING];
static char ring_line[LOG_RING * LOG_LINE];

static struct lines ring = {
	LINES_INITIALIZER,
	.write = write_stderr,
	.dropped = say_dropped,
	.due = left_out_due,
	.say = say_left_out_due,
	.spare = LOG_PLACES,
	.nr = LOG_RING,
	.size = LOG_LINE,
	.len = ring_len,
	.line = ring_line,
};

/**
 * struct log_budget - lines of one place about one peer
 * @place: place in the code, as its format; NULL: not in use
 * @peer: key of the peer, see log_peer_key()
 * @start: start of the present window, ms
 * @count: number of lines in this window
 * @dropped: number of lines left out since the last line that was written
 */
struct log_budget {
	const char *place;
	uint64_t peer;
	int64_t start;
	unsigned int count;
	unsigned int dropped;
};

/**
 * struct log_left - lines of one place that were left out
 * @place: place in the code; NULL: not in use
 * @nr: number of lines that the log has not mentioned yet
 */
struct log_left {
	const char *place;
	unsigned int nr;
};

/*
 * lock: protects left and budget; left_out: lines were left out and not mentioned yet; say_at:
 * time to mention them, ms
 */
static struct {
	pthread_mutex_t lock;
	uint64_t seed;
	atomic_bool left_out;
	atomic_llong say_at;
	struct log_left left[LOG_PLACES];
	struct log_budget budget[LOG_SETS][LOG_WAYS];
} budgets = { .lock = PTHREAD_MUTEX_INITIALIZER };

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
	log_set_level(level);
	log_journal = stderr_is_journal();
	/* If this fails, peers can only choose whose budgets share a set. */
	if (getrandom(&budgets.seed, sizeof(budgets.seed), GRND_NONBLOCK) < 0)
		budgets.seed = (uint64_t)(uintptr_t)&budgets;
}

/**
 * log_set_level - choose what is logged from now on
 * @level: as for log_setup()
 *
 * Any thread.
 */
void log_set_level(int level)
{
	atomic_store_explicit(&log_level, level, memory_order_relaxed);
}

/**
 * log_wanted - whether lines of a level are written; for lines that are costly to make
 * @level: LOG_ERR..LOG_DEBUG
 *
 * Return: whether a line of this level is written.
 */
bool log_wanted(int level)
{
	return level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/*
 * Another process that shares the descriptor may have made it non-blocking. Then this
 * waits until the rest of a line can be written, for @wait_ms at most; -1: without a limit.
 */
static void log_line(const char *line, size_t len, int wait_ms)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	while (len) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && poll(&fd, 1, wait_ms))
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

/* Writes what stands before the text of a line. Return: bytes. */
static size_t log_prefix(char *line, int level)
{
	int len = 0;

	if (log_journal)
		len = snprintf(line, LOG_LINE, "<%d>", level);
	len += snprintf(line + len, LOG_LINE - (size_t)len, "rdmablkd: %s",
			level == LOG_WARNING ? "warning: " : "");
	return (size_t)len;
}

/*
 * The thread
 */

static void write_stderr(const char *line, size_t len)
{
	log_line(line, len, -1);
}

static size_t say_dropped(char *line, unsigned long nr)
{
	size_t len = log_prefix(line, LOG_WARNING);

	return len + (size_t)sprintf(line + len,
				     "%lu lines were dropped, because the log was not read in time\n",
				     nr);
}

static int64_t left_out_due(void)
{
	return atomic_load(&budgets.left_out) ? atomic_load(&budgets.say_at) : INT64_MAX;
}

static void say_left_out(bool all);

static void say_left_out_due(void)
{
	say_left_out(false);
}

/**
 * log_start - start the thread that writes the lines
 *
 * Return: 0 or -errno; after an error callers go on to write their lines themselves.
 */
int log_start(void)
{
	return lines_start(&ring, "log");
}

/**
 * log_stop - wait until all lines are written, and end the thread
 *
 * Waits for @log_stop_ms at most. If nobody reads stderr for so long, these lines and all
 * later ones stay in the ring. Any thread but a signal handler; without log_start() nothing
 * happens.
 */
void log_stop(void)
{
	say_left_out(true);
	lines_stop(&ring, log_stop_ms);
}

/*
 * Lines
 */

static _Thread_local char *kept;
static _Thread_local size_t kept_size;

/**
 * log_keep - keep the last error that this thread logs, for a caller that reports it
 * @buf: gets the last error line from now on; NULL: stop that
 * @size: bytes of @buf
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
 * Any thread. After log_start() it does not wait for the reader of the log.
 */
void log_write(int level, const char *fmt, ...)
{
	char line[LOG_LINE];
	va_list args;
	size_t len;
	int n;

	if (kept && level == LOG_ERR) {
		va_start(args, fmt);
		vsnprintf(kept, kept_size, fmt, args);
		va_end(args);
	}
	if (!log_wanted(level))
		return;
	len = log_prefix(line, level);
	va_start(args, fmt);
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	len += (size_t)n;
	if (len > LOG_LINE - 2)
		len = LOG_LINE - 2;
	line[len++] = '\n';
	if (lines_put(&ring, line, len))
		log_line(line, len, log_stop_ms);
}

/**
 * log_ready - write the line that scripts wait for, at every level
 */
void log_ready(void)
{
	static const char line[] = "rdmablkd: ready\n";

	log_line(line, sizeof(line) - 1, log_stop_ms);
}

/**
 * log_signal - write one line from a signal handler
 * @line: with the line feed
 * @len: bytes of @line
 *
 * The line is lost when stderr cannot take it at once: the handler is about to end a
 * process that may hang because of that.
 */
void log_signal(const char *line, size_t len)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT))
		return;
	n = write(STDERR_FILENO, line, len);
	(void)n;
}

/*
 * Budgets
 */

/*
 * An IPv6 network of 64 bits is one peer: its owner has every address in it. Link-local
 * addresses all have the same network, so each of them is a peer of its own.
 */
static uint64_t peer_key6(const struct sockaddr_in6 *peer)
{
	bool local = IN6_IS_ADDR_LINKLOCAL(&peer->sin6_addr);
	uint64_t key;

	memcpy(&key, &peer->sin6_addr.s6_addr[local ? sizeof(key) : 0], sizeof(key));
	return local ? key + peer->sin6_scope_id : key;
}

/**
 * log_peer_key - a number that tells peers apart
 * @peer: address, or NULL
 *
 * Return: the number; 0 without an address. Addresses with one number share their budgets.
 */
uint64_t log_peer_key(const struct sockaddr *peer)
{
	uint64_t key = 0;

	if (peer && peer->sa_family == AF_INET6)
		key = peer_key6((const struct sockaddr_in6 *)(const void *)peer);
	else if (peer && peer->sa_family == AF_INET)
		key = ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
	return key;
}

/*
 * Return: the budget; a new place or peer takes the budget with the oldest window of its set.
 */
static struct log_budget *budget_find(const char *place, uint64_t peer)
{
	uint64_t hash = mix_u64(mix_u64(budgets.seed ^ peer) ^ (uintptr_t)place);
	struct log_budget *set = budgets.budget[hash % LOG_SETS], *oldest = set;

	for (unsigned int i = 0; i < LOG_WAYS; i++) {
		if (set[i].place == place && set[i].peer == peer)
			return &set[i];
		if (set[i].start < oldest->start)
			oldest = &set[i];
	}
	return oldest;
}

static void note_left_out(void)
{
	if (atomic_load(&budgets.left_out))
		return;
	atomic_store(&budgets.say_at, lines_now() + log_window_ms);
	atomic_store(&budgets.left_out, true);
	lines_wake(&ring);
}

/* Adds the lines that a budget has left out to the count of its place. The lock is held. */
static void budget_leave(struct log_budget *b)
{
	struct log_left *left = budgets.left, *last = left + LOG_PLACES - 1;

	while (left < last && left->place && left->place != b->place)
		left++;
	left->place = b->place;
	left->nr += b->dropped;
	b->dropped = 0;
}

static void say_left(struct log_left *left)
{
	const char *place;
	unsigned int nr;

	pthread_mutex_lock(&budgets.lock);
	place = left->place;
	nr = left->nr;
	left->nr = 0;
	pthread_mutex_unlock(&budgets.lock);
	if (nr)
		log_info("%u lines about other peers were left out: %s", nr, place);
}

/*
 * Says how many lines each place has left out, about all peers together. Counts budgets that
 * were given to others, and those whose windows are over; with @all, every budget.
 */
static void say_left_out(bool all)
{
	struct log_budget *b = budgets.budget[0], *end = b + LOG_SETS * LOG_WAYS;
	int64_t now = lines_now();
	bool more = false;

	atomic_store(&budgets.left_out, false);
	pthread_mutex_lock(&budgets.lock);
	for (; b < end; b++) {
		if (b->dropped && (all || now - b->start > log_window_ms))
			budget_leave(b);
		more = more || b->dropped;
	}
	pthread_mutex_unlock(&budgets.lock);
	for (unsigned int i = 0; i < LOG_PLACES; i++)
		say_left(&budgets.left[i]);
	if (more)
		note_left_out();
}

/**
 * log_allow - whether a place in the code may write a line about a peer now
 * @place: text that only this place has: its format
 * @peer: address of the peer; NULL: the line is about no peer
 *
 * Before it allows a line, it says how many were left out. Any thread.
 *
 * Return: true: the line may be written.
 */
bool log_allow(const char *place, const struct sockaddr *peer)
{
	bool allowed, is_short = lines_short(&ring, LOG_RING / LOG_OWN);
	uint64_t key = log_peer_key(peer);
	unsigned int dropped = 0;
	bool evicted = false;
	int64_t now = lines_now();
	struct log_budget *b;

	pthread_mutex_lock(&budgets.lock);
	b = budget_find(place, key);
	if (b->place != place || b->peer != key) {
		evicted = b->dropped;
		if (evicted)
			budget_leave(b);
		*b = (struct log_budget){ .place = place, .peer = key, .start = now };
	} else if (now - b->start > log_window_ms) {
		b->start = now;
		b->count = 0;
	}
	allowed = !is_short && b->count < LOG_BURST;
	if (allowed) {
		b->count++;
		dropped = b->dropped;
		b->dropped = 0;
	} else {
		b->dropped++;
	}
	pthread_mutex_unlock(&budgets.lock);
	if (!allowed || evicted)
		note_left_out();
	if (evicted && !lines_running(&ring))
		say_left_out(false);
	if (dropped)
		log_info("%u lines of the next kind were left out", dropped);
	return allowed;
}
