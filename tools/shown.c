// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts of others on a terminal, which obeys control characters, and in commands for a shell: those
 * of users of this host, of the daemon, and of peers.
 */
#include <ctype.h>
#include <string.h>

#include "../target/base/value.h"
#include "shown.h"

/* Whether a control character of Latin-1 begins here, in UTF-8 */
static bool is_latin1(const char *text)
{
	return text[0] == '\xc2' && (unsigned char)text[1] >= 0x80 &&
	       (unsigned char)text[1] < 0xa0;
}

/**
 * shown_control() - whether a text in UTF-8 has control characters, of ASCII or Latin-1
 * @text: the text
 * @but: those that do not count
 */
bool shown_control(const char *text, const char *but)
{
	for (; *text; text++)
		if ((iscntrl((unsigned char)*text) && !strchr(but, *text)) || is_latin1(text))
			return true;
	return false;
}

/**
 * shown_text() - a text as a terminal may get it
 * @text: the text, in UTF-8
 *
 * Returns @text, or another text if it has control characters.
 */
const char *shown_text(const char *text)
{
	return shown_control(text, "") ? "(a text with control characters)" : text;
}

/**
 * shown_name() - the name of an export or host in a command that root may copy
 * @name: name, as the daemon says it
 *
 * Returns @name; or "NAME" if no such name is valid, because a shell could act on it.
 */
const char *shown_name(const char *name)
{
	return value_name_ok(name, RDMABLK_NAME_LEN) ? name : "NAME";
}

/**
 * shown_clean() - puts a question mark in place of each control character
 * @text: the text; bytes that are not UTF-8 become question marks, too
 */
void shown_clean(char *text)
{
	char *to = text;

	value_utf8(text);
	for (; *text; text++) {
		bool latin1 = is_latin1(text);

		*to++ = latin1 || iscntrl((unsigned char)*text) ? '?' : *text;
		text += latin1;
	}
	*to = '\0';
}
