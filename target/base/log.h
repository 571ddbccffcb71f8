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

struct sockaddr;

extern int log_stop_ms;	/* for the last lines, or one without the thread */
extern int log_window_ms;	/* in which a place may write so many lines about a peer */

void log_setup(int level);
void log_set_level(int level);
bool log_wanted(int level);
void log_keep(char *buf, size_t size);
void log_write(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool log_allow(const char *place, const struct sockaddr *peer);
uint64_t log_peer_key(const struct sockaddr *peer);
void log_ready(void);
int log_start(void);
void log_stop(void);
void log_signal(const char *line, size_t len);

#define log_err(...)	log_write(LOG_ERR, __VA_ARGS__)
#define log_warn(...)	log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_write(LOG_DEBUG, __VA_ARGS__)

#define LOG_FORMAT(format, ...)	format

/*
 * For lines that a peer can trigger. @peer is its address, a struct sockaddr, or NULL if the
 * line is about no peer.
 */
#define log_peer(peer, level, ...)					\
	do {								\
		static const char log_peer_place[] =			\
			LOG_FORMAT(__VA_ARGS__, 0);			\
		int log_peer_level = (level);				\
									\
		if (log_wanted(log_peer_level) &&			\
		    log_allow(log_peer_place, (peer)))			\
			log_write(log_peer_level, __VA_ARGS__);		\
	} while (0)

#endif
