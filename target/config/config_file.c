// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The INI file. inih tells its handler neither the number of a line nor the beginning of a
 * section. So the reader below counts lines and looks for sections, and also sees an export
 * without any key. It removes indentation, which inih would take for the continuation of a
 * value.
 */
#include <errno.h>
#include <ini.h>

#include "base/conf_line.h"
#include "base/drop_in.h"
#include "base/near.h"
#include "base/util.h"
#include "config/config.h"

#define EXPORT_PREFIX	"export "
#define HOST_PREFIX	"host "
#define LISTEN_PREFIX	"listen "

struct parse {
	struct config *cfg;
	const char *path;
	FILE *file;
	unsigned int line;
	bool too_long;
	bool section;			/* the line is in a section */
	bool target;			/* the line is in section [target] */
	struct export_config *ec;	/* export whose section the line is in, or NULL */
	struct host_config *hc;		/* host whose section the line is in, or NULL */
	struct listen_config *lc;	/* address whose section the line is in, or NULL */
};

/* Return: the text behind the prefix; NULL: the text does not begin with it. */
static const char *after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? NULL : text + len;
}

/*
 * Complains about a section such as [exports a] or [Target], and names the kind that is meant.
 */
static void unknown_section(struct parse *p, const char *section, const char *where)
{
	char word[RDMABLK_NAME_LEN];
	struct near near;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(section, " "), section);
	near_begin(&near, word);
	near_try(&near, "target");
	near_try(&near, "listen");
	near_try(&near, "host");
	near_try(&near, "export");
	if (near.best)
		config_error(p->cfg, where, "unknown section [%s]; did you mean [%s%s]?",
			     section, near.best, *near.best == 't' ? "" :
			     *near.best == 'l' ? " ADDR" : " NAME");
	else
		config_error(p->cfg, where,
			     "unknown section [%s]; there are [target], [listen ADDR], [host NAME] and [export NAME]",
			     section);
}

static void enter_section(struct parse *p, const char *section)
{
	const char *export = after(section, EXPORT_PREFIX);
	const char *host = after(section, HOST_PREFIX);
	const char *listen = after(section, LISTEN_PREFIX);
	char where[CONFIG_WHERE];

	snprintf(where, sizeof(where), "%s:%u", p->path, p->line);
	p->section = true;
	p->ec = NULL;
	p->hc = NULL;
	p->lc = NULL;
	p->target = !strcmp(section, "target");
	if (export)
		p->ec = config_export_add(p->cfg, export, where);
	else if (host)
		p->hc = config_host_add(p->cfg, host, where);
	else if (listen)
		p->lc = config_listen_add(p->cfg, listen, where);
	else if (!p->target)
		unknown_section(p, section, where);
}

/*
 * Return: the bracket that ends the name of a section; an IPv6 address in the name has
 * brackets of its own. If one is missing, the last bracket of the line is the end. The name is
 * wrong then, and so the keys below do not count for the section above.
 */
static const char *section_end(const char *line)
{
	const char *last = NULL;
	unsigned int open = 0;

	for (; *line; line++) {
		open += *line == '[';
		if (*line != ']')
			continue;
		last = line;
		if (!--open)
			break;
	}
	return last;
}

static void look_for_section(struct parse *p, const char *line)
{
	char section[RDMABLK_NAME_LEN * 2], where[CONFIG_WHERE];
	const char *end;

	end = *line == '[' ? section_end(line) : NULL;
	if (!end)
		return;
	snprintf(section, sizeof(section), "%.*s", (int)(end - line - 1), line + 1);
	enter_section(p, section);
	if (conf_line_is_over(end + 1))
		return;
	snprintf(where, sizeof(where), "%s:%u", p->path, p->line);
	config_error(p->cfg, where, "text after [%s]; a key needs a line of its own", section);
}

/* Begins a line: removes what stands before its text. */
static void begin_line(struct parse *p, char *line)
{
	const char *text = conf_line_text(line, !p->line++);

	memmove(line, text, strlen(text) + 1);
	look_for_section(p, line);
}

static char *read_line(char *buf, int size, void *stream)
{
	struct parse *p = stream;
	bool begins = !p->too_long;
	size_t len;

	if (!fgets(buf, size, p->file))
		return NULL;
	len = strlen(buf);
	p->too_long = len && buf[len - 1] != '\n' && !feof(p->file);
	if (begins)
		begin_line(p, buf);
	if (p->too_long) {
		char where[CONFIG_WHERE];

		snprintf(where, sizeof(where), "%s:%u", p->path, p->line);
		config_error(p->cfg, where, "line is longer than %d characters",
			     size - 2);
	}
	return buf;
}

/* Reports only the first problem of a line, because inih goes on after a problem. */
static int handle_key(void *user, const char *section, const char *name,
		      const char *value)
{
	struct parse *p = user;
	char where[CONFIG_WHERE];

	(void)section;
	snprintf(where, sizeof(where), "%s:%u", p->path, p->line);
	/* inih may see a section where the reader sees none: behind a second byte order mark. */
	if (!p->section)
		config_error(p->cfg, where, "key before the first section");
	else if (p->hc)
		config_set_host(p->cfg, p->hc, name, value ? value : "", where);
	else if (p->lc)
		config_set_listen(p->cfg, p->lc, name, value ? value : "", where);
	else if (p->ec || p->target)
		config_set(p->cfg, p->ec, name, value ? value : "", where);
	return 1;
}

/**
 * config_read_stream - read a configuration
 * @cfg: gets it; problems are printed and counted
 * @path: path of the file, for messages
 * @file: to read
 *
 * Return: 0, or -ENOMEM.
 */
int config_read_stream(struct config *cfg, const char *path, FILE *file)
{
	struct parse p = { .cfg = cfg, .path = path, .file = file };
	int ret;

	ini_max_line = 1024;
	ret = ini_parse_stream(read_line, &p, handle_key, &p);
	if (ret > 0) {
		char where[CONFIG_WHERE];

		snprintf(where, sizeof(where), "%s:%d", path, ret);
		config_error(cfg, where, "neither [section] nor key = value");
	}
	return ret == -2 ? -ENOMEM : 0;
}

static int read_file(struct config *cfg, const char *path)
{
	FILE *file = fopen(path, "re");
	int ret;

	if (!file)
		return -errno;
	ret = config_read_stream(cfg, path, file);
	fclose(file);
	return ret;
}

/**
 * config_read - read a configuration file, and after it its drop-in files
 * @cfg: gets it; problems are printed and counted, also a drop-in file that cannot be read
 * @path: path of the file
 *
 * Return: 0 or -errno of opening the file.
 */
int config_read(struct config *cfg, const char *path)
{
	int ret = read_file(cfg, path), wrong;
	char where[CONFIG_WHERE];
	struct drop_in found;

	if (ret)
		return ret;
	wrong = drop_in_find(&found, path);
	if (wrong) {
		snprintf(where, sizeof(where), "%s.d", path);
		config_error(cfg, where, "cannot read it: %s", strerror(-wrong));
	}
	for (size_t i = 0; i < found.nr; i++) {
		wrong = read_file(cfg, found.path[i]);
		if (wrong)
			config_error(cfg, found.path[i], "cannot read it: %s",
				     strerror(-wrong));
	}
	drop_in_free(&found);
	return 0;
}
