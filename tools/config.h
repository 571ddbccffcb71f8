/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_CONFIG_H
#define RDMABLK_TOOLS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "../target/base/drop_in.h"
#include "connect.h"

#define CONFIG_FILE	"/etc/rdmablk/rdmablk.conf"
#define CONFIG_NAME_LEN	64	/* of a section, with the NUL */
#define CONFIG_WAIT	60	/* seconds that 'up' tries, unless told otherwise */
#define CONFIG_MAX_WAIT	86400

/**
 * struct disk_config - a section [disk NAME]
 * @name: name of the section
 * @file: path of the file or drop-in file that has it
 * @line: number of its first line
 * @seen: keys that the section has, by their number
 * @export: the value of "export" as written
 * @automatic: to be connected at boot
 * @wait: seconds that 'up' tries
 * @selected: the command is about this disk
 * @request: the connect
 */
struct disk_config {
	char name[CONFIG_NAME_LEN];
	const char *file;
	unsigned int line;
	__u64 seen;
	char export[384];
	bool automatic;
	__u32 wait;
	bool selected;
	struct connect_request request;
};

/**
 * struct config - the configuration file with its drop-in files
 * @path: path of the file
 * @drop_in: the drop-in files
 * @disk: all sections, in their order
 * @nr: number of sections
 * @errors: number of complaints
 */
struct config {
	const char *path;
	struct drop_in drop_in;
	struct disk_config *disk;
	size_t nr;
	unsigned int errors;
};

/**
 * struct config_selection - the sections that a command is about
 * @path: path of the file
 * @all: all sections
 * @automatic: the sections with auto = yes
 */
struct config_selection {
	const char *path;
	bool all;
	bool automatic;
};

/* Entries of option tables */
#define CONFIG_OPTION_ALL \
	{ "all", 'a', 'a', NULL, "all disks of the file" }
#define CONFIG_OPTION_AUTO \
	{ "auto", 'A', 'A', NULL, "the disks with auto = yes" }
#define CONFIG_OPTION_CONFIG \
	{ "config", 'c', 'c', "FILE", "the file (" CONFIG_FILE ")" }

int config_read(const char *path, struct config *config);
void config_clear(struct config *config);
bool config_set_option(struct config_selection *selection, int id,
		       const char *value);
int config_select(const char *command, const struct config_selection *selection,
		  char **names, struct config *config);

#endif /* RDMABLK_TOOLS_CONFIG_H */
