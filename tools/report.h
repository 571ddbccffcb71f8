/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_REPORT_H
#define RDMABLK_TOOLS_REPORT_H

#include <stdbool.h>

#include "util.h"

/* Exit statuses; documented in rdmablk(8). */
enum exit_status {
	STATUS_DONE	= 0,
	STATUS_FAILED	= 1,
	STATUS_USAGE	= 2,
	STATUS_WARNING	= 9,	/* of doctor: it works, but not as well as it could */
};

/* --json was given: failures appear on stdout, too, as a JSON object */
extern bool report_json;

__printf(3, 4)
int report_failure(int err, const char *what, const char *fmt, ...);

__printf(2, 3)
int report_usage(const char *what, const char *fmt, ...);

__printf(2, 3)
void report_warning(const char *what, const char *fmt, ...);

#endif /* RDMABLK_TOOLS_REPORT_H */
