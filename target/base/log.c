// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log. Once the daemon serves, a thread of its own writes the lines: the reader of
 * stderr may be slow or stuck, and neither the loop nor an I/O thread waits for it.
 * Lines wait in a ring. When it is full, new lines are dropped and counted until the ring
 * is empty again, so that the count stands where the lines are missing.
 *
 * Before log_start() and after log_stop() the caller writes its lines itself. A line is
 * one write(2), so that lines of two threads do not mix. To the journal each line carries
 * its priority as "<N>".
 *
 * What a peer can trigger has a budget per place in the code and address of the peer, so
 * that no peer hides the lines about another one. Such lines leave a quarter of the ring to
 * the daemon's own. What is left out is counted, and said for each place: before its next
 * line about that peer, or when nothing of that place has come for a while.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/util.h"

#define LOG_LINE	1024	/* bytes of a line, at most */
#define LOG_RING	1024	/* lines that wait */
#define LOG_OWN		4	/* one of so many lines of the ring is not for peers */

#define LOG_BURST	60	/* lines in a window */
#define LOG_SETS	256
#define LOG_WAYS	8	/* budgets in a set */
#define LOG_PLACES	64	/* more than there are in the code */

int log_stop_ms = 1000;
int log_window_ms = 10000;

static atomic_int log_level = LOG_INFO;
static bool log_journal;

/**
 * struct log_ring - lines on their way to stderr
 * @lock: guards all but @line, which the thread reads without
 * @change: a line has come, or the thread shall end
 * @written: the thread has written all there is
 * @thread: writes
 * @running: the thread takes lines
 * @writing: the thread is in write(2)
 * @head: the oldest line
 * @count: lines that wait
 * @dropped: lines that found the ring full, since it was
 * @len: bytes of each line
 * @line: each
 */
static struct log_ring {
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_cond_t written;
	pthread_t thread;
	bool running;
	bool writing;
	unsigned int head;
	unsigned int count;
	unsigned long dropped;
	uint16_t len[LOG_RING];
	char line[LOG_RING][LOG_LINE];
} ring = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.change = PTHREAD_COND_INITIALIZER,
	.written = PTHREAD_COND_INITIALIZER,
};

/**
 * struct log_budget - lines of one place about one peer
 * @place: in the code, and its format; NULL: not in use
 * @peer: what tells the peer from others, see peer_key()
 * @start: of the present window, ms
 * @count: lines in this window
 * @dropped: lines not written since the last one that was
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
 * @place: in the code; NULL: not in use
 * @nr: how many; nothing has said so yet
 */
struct log_left {
	const char *place;
	unsigned int nr;
};

/*
 * The lock guards budgets and what they have left out; @left_out: there is something to be
 * said, @say_at: when, ms.
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
	/* Without it peers can choose whose budgets share a set, and no more. */
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
 * log_wanted - ask before making a line is costly
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

/* Return: the bytes of what comes before the text of a line of this level. */
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

/* With the lock held, which is given up for the time of the write. */
static void write_unlocked(const char *line, size_t len)
{
	ring.writing = true;
	pthread_mutex_unlock(&ring.lock);
	log_line(line, len, -1);
	pthread_mutex_lock(&ring.lock);
	ring.writing = false;
}

static void write_oldest(void)
{
	unsigned int at = ring.head;

	/* The place stays taken until the line is written, so no line overwrites it. */
	write_unlocked(ring.line[at], ring.len[at]);
	ring.head = (ring.head + 1) % LOG_RING;
	/* An empty ring begins at its first place again, so few of its pages are ever touched. */
	if (!--ring.count)
		ring.head = 0;
}

static void write_dropped(void)
{
	char line[LOG_LINE];
	size_t len = log_prefix(line, LOG_WARNING);

	len += (size_t)snprintf(line + len, LOG_LINE - len,
				"%lu lines were dropped, because the log was not read in time\n",
				ring.dropped);
	ring.dropped = 0;
	write_unlocked(line, len);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void say_left_out(bool all);

/* With the lock held. Return: whether it was given up. */
static bool say_in_time(void)
{
	if (!atomic_load(&budgets.left_out) || now_ms() < atomic_load(&budgets.say_at) ||
	    ring.dropped || ring.count > LOG_RING - LOG_PLACES)
		return false;
	pthread_mutex_unlock(&ring.lock);
	say_left_out(false);
	pthread_mutex_lock(&ring.lock);
	return true;
}

/* With the lock held. */
static void wait_for_lines(void)
{
	int64_t at = atomic_load(&budgets.say_at);
	struct timespec until = { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };

	if (atomic_load(&budgets.left_out))
		pthread_cond_clockwait(&ring.change, &ring.lock, CLOCK_MONOTONIC, &until);
	else
		pthread_cond_wait(&ring.change, &ring.lock);
}

static void *log_main(void *arg)
{
	pthread_mutex_lock(&ring.lock);
	for (;;) {
		if (say_in_time())
			continue;
		if (ring.count) {
			write_oldest();
		} else if (ring.dropped) {
			write_dropped();
		} else if (ring.running) {
			pthread_cond_broadcast(&ring.written);
			wait_for_lines();
		} else {
			break;
		}
	}
	pthread_mutex_unlock(&ring.lock);
	return arg;
}

/**
 * log_start - have a thread write the lines from now on
 *
 * Return: 0 or -errno; then callers go on to write their lines themselves.
 */
int log_start(void)
{
	sigset_t set, old;
	int ret;

	/* Signals stay the loop's. */
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_mutex_lock(&ring.lock);
	ret = -pthread_create(&ring.thread, NULL, log_main, NULL);
	ring.running = !ret;
	pthread_mutex_unlock(&ring.lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static bool log_drained(void)
{
	return !ring.count && !ring.dropped && !ring.writing;
}

/**
 * log_stop - have the last lines written, and end the thread
 *
 * Waits for @log_stop_ms at most. When nobody reads stderr for so long, the lines stay in
 * the ring and so do all that follow. Any thread but a signal handler; without log_start()
 * nothing happens.
 */
void log_stop(void)
{
	struct timespec until;
	bool stopped;

	say_left_out(true);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += log_stop_ms / 1000;
	pthread_mutex_lock(&ring.lock);
	while (ring.running && !log_drained() &&
	       !pthread_cond_clockwait(&ring.written, &ring.lock, CLOCK_MONOTONIC, &until))
		;
	stopped = ring.running && log_drained();
	if (stopped)
		ring.running = false;
	pthread_cond_signal(&ring.change);
	pthread_mutex_unlock(&ring.lock);
	if (stopped)
		pthread_join(ring.thread, NULL);
}

/* Return: whether the thread has it, or it was dropped; else the caller writes it. */
static bool log_queue(const char *line, size_t len)
{
	bool running;

	pthread_mutex_lock(&ring.lock);
	running = ring.running;
	if (running && (ring.count == LOG_RING || ring.dropped)) {
		ring.dropped++;
	} else if (running) {
		unsigned int at = (ring.head + ring.count++) % LOG_RING;

		memcpy(ring.line[at], line, len);
		ring.len[at] = (uint16_t)len;
		pthread_cond_signal(&ring.change);
	}
	pthread_mutex_unlock(&ring.lock);
	return running;
}

/*
 * Lines
 */

static _Thread_local char *kept;
static _Thread_local size_t kept_size;

/**
 * log_keep - keep the last error that this thread logs, for a caller that reports it
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
	if (!log_queue(line, len))
		log_line(line, len, log_stop_ms);
}

/**
 * log_ready - the line others wait for; written at every level
 */
void log_ready(void)
{
	static const char line[] = "rdmablkd: ready\n";

	log_line(line, sizeof(line) - 1, log_stop_ms);
}

/**
 * log_signal - write one line from a signal handler
 * @line: with the line feed
 * @len: of @line, bytes
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
 * An IPv6 network of 64 bits is one peer: its owner has every address in it. Of link-local
 * addresses, whose network is the same for all, each is one.
 */
static uint64_t peer_key6(const struct sockaddr_in6 *peer)
{
	bool local = IN6_IS_ADDR_LINKLOCAL(&peer->sin6_addr);
	uint64_t key;

	memcpy(&key, &peer->sin6_addr.s6_addr[local ? sizeof(key) : 0], sizeof(key));
	return local ? key + peer->sin6_scope_id : key;
}

static uint64_t peer_key(const struct sockaddr *peer)
{
	uint64_t key = 0;

	if (peer && peer->sa_family == AF_INET6)
		key = peer_key6((const struct sockaddr_in6 *)(const void *)peer);
	else if (peer && peer->sa_family == AF_INET)
		key = ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
	return key;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

/* Return: the budget, or that of its set whose window began first, which makes room. */
static struct log_budget *budget_find(const char *place, uint64_t peer)
{
	uint64_t hash = mix(mix(budgets.seed ^ peer) ^ (uintptr_t)place);
	struct log_budget *set = budgets.budget[hash % LOG_SETS], *oldest = set;

	for (unsigned int i = 0; i < LOG_WAYS; i++) {
		if (set[i].place == place && set[i].peer == peer)
			return &set[i];
		if (set[i].start < oldest->start)
			oldest = &set[i];
	}
	return oldest;
}

static bool thread_runs(void)
{
	bool running;

	pthread_mutex_lock(&ring.lock);
	running = ring.running;
	pthread_mutex_unlock(&ring.lock);
	return running;
}

/* Is the ring so full that what is left is for the daemon's own lines? */
static bool ring_is_short(void)
{
	bool is_short;

	pthread_mutex_lock(&ring.lock);
	is_short = ring.running &&
		   (ring.dropped || ring.count >= LOG_RING - LOG_RING / LOG_OWN);
	pthread_mutex_unlock(&ring.lock);
	return is_short;
}

static void note_left_out(void)
{
	if (atomic_load(&budgets.left_out))
		return;
	atomic_store(&budgets.say_at, now_ms() + log_window_ms);
	atomic_store(&budgets.left_out, true);
	/* The thread waits for lines, and for nothing else. */
	pthread_mutex_lock(&ring.lock);
	pthread_cond_signal(&ring.change);
	pthread_mutex_unlock(&ring.lock);
}

/* With the lock of the budgets: what a budget has left out is to be said of its place. */
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
 * Says what each place has left out, about all peers together: what budgets that are gone
 * have, and those whose windows are over, or all of them.
 */
static void say_left_out(bool all)
{
	struct log_budget *b = budgets.budget[0], *end = b + LOG_SETS * LOG_WAYS;
	int64_t now = now_ms();
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
 * log_allow - may a place in the code write a line about a peer now
 * @place: any text that is this place's alone; its format
 * @peer: address of the peer; NULL: the line is about none
 *
 * Says how many lines were left out before it allows the next. Any thread.
 *
 * Return: whether.
 */
bool log_allow(const char *place, const struct sockaddr *peer)
{
	bool allowed, is_short = ring_is_short();
	uint64_t key = peer_key(peer);
	unsigned int dropped = 0;
	bool evicted = false;
	int64_t now = now_ms();
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
	if (evicted && !thread_runs())
		say_left_out(false);
	if (dropped)
		log_info("%u lines of the next kind were left out", dropped);
	return allowed;
}
