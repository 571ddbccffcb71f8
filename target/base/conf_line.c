// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of configuration files, as inih takes them: for the daemon's reader and those of the
 * command line tool, which look for sections beside inih.
 */
#include <string.h>

#include "base/conf_line.h"

/**
 * conf_line_text - skip what stands before the text of a line
 * @line: line of a file
 * @first: the line may begin with a byte order mark
 *
 * Return: what follows the mark and the indentation.
 */
const char *conf_line_text(const char *line, bool first)
{
	if (first && !strncmp(line, CONF_LINE_BOM, strlen(CONF_LINE_BOM)))
		line += strlen(CONF_LINE_BOM);
	return line + strspn(line, CONF_LINE_BLANKS);
}

/**
 * conf_line_is_over - whether a line has nothing but a comment left
 * @rest: what follows the name of a section in a line
 *
 * Return: true: nothing, blanks, or a comment, which has a blank before it.
 */
bool conf_line_is_over(const char *rest)
{
	size_t blanks = strspn(rest, CONF_LINE_BLANKS "\n");

	return !rest[blanks] || (blanks && rest[blanks] == ';');
}
