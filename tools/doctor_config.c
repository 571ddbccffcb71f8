// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the configuration files of a host configure. The tool and the daemon read them strictly;
 * the doctor only looks whether they have sections of a kind, also where they are wrong.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../target/base/conf_line.h"
#include "../target/base/drop_in.h"
#include "doctor_config.h"
#include "files.h"

/**
 * struct wanted - what is looked for
 * @kinds: kinds of sections, up to NULL
 * @key: key in such a section; NULL: the section is enough
 * @inside: the line is in such a section
 * @found: it is there
 */
struct wanted {
	const char *const *kinds;
	const char *key;
	bool inside, found;
};

/* A section is "[KIND NAME]", as the daemon and 'up' read it. */
static bool is_section(const char *line, const char *const *kinds)
{
	for (; *kinds; kinds++)
		if (!strncmp(line, *kinds, strlen(*kinds)) && line[strlen(*kinds)] == ' ')
			return true;
	return false;
}

static bool is_key(const char *line, const char *key)
{
	if (strncmp(line, key, strlen(key)))
		return false;
	line += strlen(key);
	line += strspn(line, CONF_LINE_BLANKS);
	return *line == '=' || *line == ':';
}

static bool see_line(const char *line, void *context)
{
	struct wanted *wanted = context;

	line = conf_line_text(line, true);
	if (*line == '[') {
		wanted->inside = is_section(line + 1, wanted->kinds);
		wanted->found = wanted->inside && !wanted->key;
	} else if (wanted->inside && is_key(line, wanted->key)) {
		wanted->found = true;
	}
	return !wanted->found;
}

/**
 * doctor_config_has() - looks for a section in a file and its drop-in files
 * @d: examination
 * @file: path below the root
 * @kinds: kinds of sections, up to NULL
 * @key: key that the section must have; NULL: none
 *
 * A file that has only samples, as the packages install it, has no section, and one that cannot
 * be read has none either.
 */
bool doctor_config_has(const struct exam *d, const char *file, const char *const *kinds,
		       const char *key)
{
	struct wanted wanted = { .kinds = kinds, .key = key };
	char dir[NAME_MAX], path[2 * NAME_MAX + 2];
	struct dirent **names;
	int i, nr;

	exam_lines(d, file, see_line, &wanted);
	snprintf(dir, sizeof(dir), "%s.d", file);
	nr = files_names(d->root, dir, drop_in_is, &names);
	for (i = 0; i < nr && !wanted.found; i++) {
		wanted.inside = false;
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		exam_lines(d, path, see_line, &wanted);
	}
	files_free(names, nr);
	return wanted.found;
}
