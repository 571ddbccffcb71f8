/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_REPORT_H
#define RDMABLK_TOOLS_REPORT_H

#include <stdbool.h>

#include "util.h"

/**
 * enum exit_status - exit statuses, by cause; documented in rdmablk(8)
 * @STATUS_DONE: done
 * @STATUS_FAILED: a cause without a status of its own, or several causes
 * @STATUS_USAGE: wrong usage, or a mistake in the configuration file
 * @STATUS_ABSENT: no such disk, export, file or section; no key of this name that is valid
 * @STATUS_IN_USE: exists already, or is in use
 * @STATUS_UNREACHABLE: the peer, or the way to it, does not answer
 * @STATUS_REFUSED: the target allows it to others, or in another way
 * @STATUS_DENIED: this host does not allow it to the user
 * @STATUS_MISMATCH: no module, or programs that do not fit each other
 * @STATUS_WARNING: of doctor: it works, but not as well as it could
 * @STATUS_CORRUPT: of ping: what was read is not what was written
 */
enum exit_status {
	STATUS_DONE		= 0,
	STATUS_FAILED		= 1,
	STATUS_USAGE		= 2,
	STATUS_ABSENT		= 3,
	STATUS_IN_USE		= 4,
	STATUS_UNREACHABLE	= 5,
	STATUS_REFUSED		= 6,
	STATUS_DENIED		= 7,
	STATUS_MISMATCH		= 8,
	STATUS_WARNING		= 9,
	STATUS_CORRUPT		= 10,
};

/* --json was given: failures appear on stdout, too, as a JSON object */
extern bool report_json;

__printf(3, 4)
int report_failure(int err, const char *what, const char *fmt, ...);

__printf(3, 4)
int report_peer_failure(int err, const char *what, const char *fmt, ...);

__printf(3, 4)
int report_no_daemon(int err, const char *what, const char *fmt, ...);

__printf(3, 4)
int report_no_node(int err, const char *path, const char *fmt, ...);

int report_both(int status, int other);

__printf(2, 3)
int report_usage(const char *what, const char *fmt, ...);

__printf(2, 3)
void report_warning(const char *what, const char *fmt, ...);

#endif /* RDMABLK_TOOLS_REPORT_H */
