/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of configuration files. The command line tool reads its own in the same way.
 */
#ifndef RDMABLKD_CONF_LINE_H
#define RDMABLKD_CONF_LINE_H

#include <stdbool.h>

#define CONF_LINE_BOM		"\xef\xbb\xbf"	/* byte order mark at the beginning of a file */
#define CONF_LINE_BLANKS	" \t\v\f\r"

const char *conf_line_text(const char *line, bool first);
bool conf_line_is_over(const char *rest);

#endif
