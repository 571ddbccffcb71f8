// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk.conf, an INI file with a section per disk, and its drop-in files. The parser
 * ignores nothing: a line that it does not understand is an error with file and line, and
 * files with an error are not used at all.
 *
 * inih does not tell its handler the line, nor that a section began. The reader below
 * therefore counts lines and looks for sections, so that it also sees a section without
 * keys. It removes indentation, which inih would take for the continuation of a value.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../target/base/conf_line.h"
#include "commands.h"
#include "config.h"
#include "report.h"
#include "util.h"

#define WHERE_LEN	300	/* "FILE:LINE" */
#define DISK_PREFIX	"disk "

/* Keys that are not options of connect; they index @seen before those of the table */
enum own_key {
	KEY_EXPORT,
	KEY_AUTO,
	KEY_WAIT,
	NR_OWN_KEYS
};

static const char *const own_keys[NR_OWN_KEYS] = {
	[KEY_EXPORT]	= "export",
	[KEY_AUTO]	= "auto",
	[KEY_WAIT]	= "wait",
};

struct parse {
	struct config *config;
	const char *path;		/* the file, or a drop-in file */
	FILE *file;
	int err;			/* errno of a failed read */
	unsigned int line;
	bool section;			/* a section has begun, valid or not */
	struct disk_config *disk;	/* in its section */
};

static void vcomplain(struct parse *p, const char *path, unsigned int line, const char *fmt,
		      va_list args)
{
	char where[WHERE_LEN], why[512];

	snprintf(where, sizeof(where), "%.280s:%u", path, line);
	vsnprintf(why, sizeof(why), fmt, args);
	report_usage(where, "%s", why);
	p->config->errors++;
}

__printf(4, 5)
static void complain_at(struct parse *p, const char *path, unsigned int line,
			const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vcomplain(p, path, line, fmt, args);
	va_end(args);
}

/* Of the file that is read */
__printf(3, 4)
static void complain(struct parse *p, unsigned int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vcomplain(p, p->path, line, fmt, args);
	va_end(args);
}

/* --- sections ------------------------------------------------------------------- */

/* Names must suit systemd as an instance, and must not look like a kernel disk name. */
static const char *bad_name(const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (!isascii(name[i]) ||
		    !(isalnum((unsigned char)name[i]) || strchr("._-", name[i])))
			break;
	if (!i || name[i] || i >= CONFIG_NAME_LEN || strchr("._-", name[0]))
		return "1 to 63 letters, digits, '.', '_', '-', beginning with a letter or digit";
	if (!strncmp(name, "rdmablk", 7) && isdigit((unsigned char)name[7]))
		return "that is how the kernel names disks, in the order of connects";
	return NULL;
}

static struct disk_config *find(const struct config *config, const char *name)
{
	size_t i;

	for (i = 0; i < config->nr; i++)
		if (!strcmp(config->disk[i].name, name))
			return &config->disk[i];
	return NULL;
}

/* gcc 12's analyzer does not see that @config keeps what it points to. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static struct disk_config *add(struct config *config, const char *name,
			       const char *file, unsigned int line)
{
	struct disk_config *disk;

	disk = reallocarray(config->disk, config->nr + 1, sizeof(*disk));
	if (!disk)
		return NULL;
	config->disk = disk;
	disk += config->nr++;
	memset(disk, 0, sizeof(*disk));
	disk->file = file;
	disk->line = line;
	disk->wait = CONFIG_WAIT;
	disk->request.idempotent = true;
	snprintf(disk->name, sizeof(disk->name), "%s", name);
	return disk;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

static void enter_section(struct parse *p, const char *section)
{
	const struct disk_config *other;
	const char *name, *why;

	p->section = true;
	p->disk = NULL;
	if (strncmp(section, DISK_PREFIX, strlen(DISK_PREFIX))) {
		complain(p, p->line, "unknown section [%s]; there is [disk NAME]",
			 section);
		return;
	}
	name = section + strlen(DISK_PREFIX);
	name += strspn(name, " \t");
	why = bad_name(name);
	other = find(p->config, name);
	if (why)
		complain(p, p->line, "bad name '%s' of a disk: %s", name, why);
	else if (other && other->file != p->path)
		complain(p, p->line, "[disk %s] exists already, at %.280s:%u", name,
			 other->file, other->line);
	else if (other)
		complain(p, p->line, "[disk %s] exists already, in line %u", name,
			 other->line);
	else
		p->disk = add(p->config, name, p->path, p->line);
	if (!why && !other && !p->disk)
		complain(p, p->line, "%s", strerror(ENOMEM));
}

static void look_for_section(struct parse *p, const char *line)
{
	const char *end = *line == '[' ? strchr(line, ']') : NULL;
	char section[128];

	if (!end)
		return;
	snprintf(section, sizeof(section), "%.*s", (int)(end - line - 1), line + 1);
	enter_section(p, section);
	if (!conf_line_is_over(end + 1))
		complain(p, p->line, "text after [%s]; a key needs a line of its own", section);
}

/* --- keys ----------------------------------------------------------------------- */

static int set_export(const struct opts_origin *origin, struct disk_config *disk,
		      const char *value)
{
	char why[256];

	snprintf(disk->export, sizeof(disk->export), "%s", value);
	if (addr_parse_export(value, &disk->request.where, why, sizeof(why)))
		return opts_refuse(origin, own_keys[KEY_EXPORT], "'%.200s': %s", value,
				   why);
	return 0;
}

static int set_own(const struct opts_origin *origin, struct disk_config *disk,
		   enum own_key key, const char *value)
{
	switch (key) {
	case KEY_EXPORT:
		return set_export(origin, disk, value);
	case KEY_AUTO:
		return opts_switch(origin, own_keys[key], value, &disk->automatic);
	default:
		return opts_number(origin, own_keys[key], value, 0, CONFIG_MAX_WAIT,
				   " seconds", &disk->wait);
	}
}

static int set_option(const struct opts_origin *origin, struct disk_config *disk,
		      const struct option_info *option, const char *value)
{
	bool on = true;
	int ret = 0;

	if (!option->arg)
		ret = opts_switch(origin, option->name, value, &on);
	if (ret || !on)
		return ret;
	return connect_set_option(origin, &disk->request, option->id, value);
}

/* Number of a key, and its option if it has one; -1: no such key */
static int find_key(const char *name, const struct option_info **option)
{
	int i;

	*option = NULL;
	for (i = 0; i < NR_OWN_KEYS; i++)
		if (!strcmp(name, own_keys[i]))
			return i;
	for (*option = connect_options; (*option)->name; (*option)++, i++)
		if (!strcmp(name, (*option)->name))
			return i;
	return -1;
}

static void unknown_key(struct parse *p, const char *name)
{
	const struct option_info *option;
	struct near near;
	int i;

	near_begin(&near, name);
	for (i = 0; i < NR_OWN_KEYS; i++)
		near_try(&near, own_keys[i]);
	for (option = connect_options; option->name; option++)
		if (!(option->id & OPTS_COMMAND_LINE))
			near_try(&near, option->name);
	if (near.best)
		complain(p, p->line, "unknown key '%s'; did you mean '%s'?", name, near.best);
	else
		complain(p, p->line, "unknown key '%s'", name);
}

static void set_key(struct parse *p, const char *name, const char *value)
{
	const struct option_info *option;
	struct opts_origin origin = { .dashes = "" };
	char where[WHERE_LEN];
	int ret, key = find_key(name, &option);

	if (key < 0) {
		unknown_key(p, name);
		return;
	}
	if (option && option->id & OPTS_COMMAND_LINE) {
		complain(p, p->line, "'%s' is for the command line only", name);
		return;
	}
	if (p->disk->seen & 1ULL << key) {
		complain(p, p->line, "'%s' was given before in [disk %s]", name,
			 p->disk->name);
		return;
	}
	p->disk->seen |= 1ULL << key;
	snprintf(where, sizeof(where), "%.280s:%u", p->path, p->line);
	origin.what = where;
	ret = option ? set_option(&origin, p->disk, option, value) :
		       set_own(&origin, p->disk, key, value);
	p->config->errors += !!ret;
}

/* --- the file ------------------------------------------------------------------- */

static void skip_rest(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c != '\n' && c != EOF);
}

/* As fgets(), but with @len: bytes of the line, which may have NUL bytes in it. */
static bool get_line(struct parse *p, char *buf, int size, int *len)
{
	int c = EOF;

	errno = 0;
	for (*len = 0; *len < size - 1 && c != '\n'; buf[(*len)++] = (char)c) {
		c = getc(p->file);
		if (c == EOF)
			break;
	}
	buf[*len] = '\0';
	p->err = ferror(p->file) ? errno ?: EIO : 0;
	return *len && !p->err;
}

/* As inih looks for the end of a section's name or a key: not behind a blank and a semicolon */
static bool has_before_comment(const char *text, const char *chars)
{
	bool blank = false;

	for (; *text && !(blank && *text == ';'); text++) {
		if (strchr(chars, *text))
			return true;
		blank = isspace((unsigned char)*text);
	}
	return false;
}

/* Says what is wrong with the form of a line. inih would skip the rest of the file after it. */
static bool is_bad(struct parse *p, const char *buf, int len, int size)
{
	bool cut = buf[len - 1] != '\n' && !feof(p->file);
	const char *text;

	if (cut)
		skip_rest(p->file);
	if (strlen(buf) < (size_t)len) {
		complain(p, p->line, "the line has a NUL byte");
		return true;
	}
	if (cut) {
		complain(p, p->line, "line is longer than %d characters", size - 2);
		return true;
	}
	text = conf_line_text(buf, p->line == 1);
	if (strchr("\n#;", *text) || has_before_comment(text, *text == '[' ? "]" : "=:"))
		return false;
	complain(p, p->line, "neither [disk NAME] nor key = value");
	if (*text == '[') {
		/* What follows is no longer the section before. */
		p->section = true;
		p->disk = NULL;
	}
	return true;
}

static char *read_line(char *buf, int size, void *stream)
{
	struct parse *p = stream;
	const char *text;
	int len;

	if (!get_line(p, buf, size, &len))
		return NULL;
	p->line++;
	if (is_bad(p, buf, len, size)) {
		buf[0] = '\0';
		return buf;
	}
	text = conf_line_text(buf, p->line == 1);
	memmove(buf, text, strlen(text) + 1);
	look_for_section(p, buf);
	return buf;
}

/* Skips the keys of a refused section. */
static int handle_key(void *user, const char *section, const char *name,
		      const char *value)
{
	struct parse *p = user;

	(void)section;
	if (!p->section)
		complain(p, p->line, "key before the first section");
	else if (p->disk)
		set_key(p, name, value ? value : "");
	return 1;
}

static bool same_export(const struct addr_export *a, const struct addr_export *b)
{
	return !strcmp(a->host, b->host) && a->port == b->port &&
	       !strcmp(a->name, b->name);
}

/* The checks that need the complete section. */
static void check_disk(struct parse *p, size_t n)
{
	const struct disk_config *disk = &p->config->disk[n];
	struct opts_origin origin = { .dashes = "" };
	char where[WHERE_LEN];
	size_t i;

	if (!(disk->seen & 1ULL << KEY_EXPORT)) {
		complain_at(p, disk->file, disk->line, "[disk %s] has no export", disk->name);
		return;
	}
	for (i = 0; i < n; i++)
		if (same_export(&disk->request.where,
				&p->config->disk[i].request.where))
			complain_at(p, disk->file, disk->line,
				    "[disk %s] has the export of [disk %s]", disk->name,
				    p->config->disk[i].name);
	snprintf(where, sizeof(where), "%.280s:%u", disk->file, disk->line);
	origin.what = where;
	p->config->errors += !!connect_check_options(&origin, &disk->request);
}

static int parse_stream(struct parse *p)
{
	int ret;

	ini_max_line = 1024;
	ret = ini_parse_stream(read_line, p, handle_key, p);
	if (ret == -2)
		return report_failure(ENOMEM, p->path, "%s", strerror(ENOMEM));
	if (p->err)
		return report_failure(p->err, p->path, "%s", strerror(p->err));
	if (ret > 0)
		complain(p, ret, "neither [disk NAME] nor key = value");
	return STATUS_DONE;
}

static int parse_file(struct config *config, const char *path)
{
	struct parse p = { .config = config, .path = path };
	int ret;

	p.file = fopen(path, "re");
	if (!p.file)
		return report_failure(errno, path, "%s", strerror(errno));
	ret = parse_stream(&p);
	fclose(p.file);
	return ret;
}

static int parse_drop_ins(struct config *config)
{
	int ret = -drop_in_find(&config->drop_in, config->path);
	char dir[WHERE_LEN];
	size_t i;

	if (ret) {
		snprintf(dir, sizeof(dir), "%.280s.d", config->path);
		return report_failure(ret, dir, "%s", strerror(ret));
	}
	for (i = 0; i < config->drop_in.nr && !ret; i++)
		ret = parse_file(config, config->drop_in.path[i]);
	return ret;
}

/**
 * config_read() - reads and checks the file, and after it its drop-in files
 * @path: path of the file
 * @config: result, for config_clear() in every case
 *
 * Returns 0 or the exit status after one complaint or more.
 */
int config_read(const char *path, struct config *config)
{
	struct parse p = { .config = config };
	size_t i;
	int ret;

	*config = (struct config) { .path = path };
	ret = parse_file(config, path);
	if (!ret)
		ret = parse_drop_ins(config);
	for (i = 0; i < config->nr && !ret && !config->errors; i++)
		check_disk(&p, i);
	return ret ? ret : config->errors ? STATUS_USAGE : STATUS_DONE;
}

/**
 * config_clear() - frees the sections; usable as cleanup attribute
 * @config: empty afterwards
 */
void config_clear(struct config *config)
{
	free(config->disk);
	drop_in_free(&config->drop_in);
	config->disk = NULL;
	config->nr = 0;
}

/* --- the disks that a command selects -------------------------------------------- */

/**
 * config_set_option() - takes one of the options that select disks
 * @selection: gets it
 * @id: id of the option
 * @value: its value
 *
 * Returns false when it is another option.
 */
bool config_set_option(struct config_selection *selection, int id,
		       const char *value)
{
	switch (id) {
	case 'a':
		selection->all = true;
		return true;
	case 'A':
		selection->automatic = true;
		return true;
	case 'c':
		selection->path = value;
		return true;
	default:
		return false;
	}
}

static int no_disk(const char *what, const char *name, const char *path,
		   const struct config *config)
{
	struct near near;
	size_t i;

	near_begin(&near, name);
	for (i = 0; i < config->nr; i++)
		near_try(&near, config->disk[i].name);
	return report_failure(ENOENT, what, "there is no [disk %.100s] in %s%s%s%s", name, path,
			      near.best ? "; did you mean " : "", near.best ? near.best : "",
			      near.best ? "?" : "");
}

/**
 * config_select() - reads the file and finds the selected disks
 * @command: its name, for error messages
 * @selection: options of the command line
 * @names: operands, up to a NULL
 * @config: result, for config_clear() in every case
 *
 * Returns 0 or the exit status after a complaint.
 */
int config_select(const char *command, const struct config_selection *selection,
		  char **names, struct config *config)
{
	const char *path = selection->path ? selection->path : CONFIG_FILE;
	struct disk_config *disk;
	char what[128];
	size_t i;
	int ret;

	if (selection->all + selection->automatic + !!names[0] != 1)
		return report_usage(command, "NAME..., --all or --auto is wanted");
	ret = config_read(path, config);
	if (ret)
		return ret;
	for (i = 0; i < config->nr; i++)
		config->disk[i].selected = selection->all ||
			(selection->automatic && config->disk[i].automatic);
	for (; names[0]; names++) {
		disk = find(config, names[0]);
		snprintf(what, sizeof(what), "%s %.100s", command, names[0]);
		if (!disk)
			return no_disk(what, names[0], path, config);
		disk->selected = true;
	}
	return 0;
}
