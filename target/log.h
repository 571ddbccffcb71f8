/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log: one line per event, to stderr. Levels are those of <syslog.h>:
 * LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG. Nothing secret (keys, nonces,
 * MACs, remote addresses) is ever given to it.
 */
#ifndef RDMABLKD_LOG_H
#define RDMABLKD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

/**
 * struct log_limit - budget of one place in the code that a peer can trigger
 * @start: of the present window, ms
 * @count: lines in this window
 * @dropped: lines not written since the last one that was
 */
struct log_limit {
	int64_t start;
	unsigned int count;
	unsigned int dropped;
};

void log_setup(int level);
bool log_wanted(int level);
void log_keep(char *buf, size_t size);
void log_write(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool log_allow(struct log_limit *limit);
void log_ready(void);

#define log_err(...)	log_write(LOG_ERR, __VA_ARGS__)
#define log_warn(...)	log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_write(LOG_DEBUG, __VA_ARGS__)

/* For whatever a peer can trigger. */
#define log_peer(level, ...)						\
	do {								\
		static struct log_limit log_peer_limit;			\
		int log_peer_level = (level);				\
									\
		if (log_wanted(log_peer_level) &&			\
		    log_allow(&log_peer_limit))				\
			log_write(log_peer_level, __VA_ARGS__);		\
	} while (0)

#endif
