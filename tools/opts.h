/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_OPTS_H
#define RDMABLK_TOOLS_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "../target/base/near.h"
#include "util.h"

#define OPTS_UUID_LEN	16

/* In an id: the option is for the command line only, not for rdmablk.conf */
#define OPTS_COMMAND_LINE	0x10000

/**
 * struct opts_origin - where an option was given, for complaints
 * @what: the subcommand, or file and line
 * @dashes: what stands before the name of an option there
 */
struct opts_origin {
	const char *what;
	const char *dashes;
};

/**
 * struct option_info - one option of a subcommand
 * @name: long name
 * @letter: short name, or 0
 * @id: what the subcommand's set() is called with, not 0; OPTS_COMMAND_LINE
 *	may be part of it
 * @arg: name of the argument in the help, NULL for a switch
 * @help: one line
 */
struct option_info {
	const char *name;
	char letter;
	int id;
	const char *arg;
	const char *help;
};

/**
 * struct command_info - one subcommand
 * @name: as typed
 * @run: does it; gets the arguments from its name on, returns an exit status
 * @synopsis: what follows the name
 * @help: one line
 * @options: ends with an entry without a name; --help and --version are implied
 */
struct command_info {
	const char *name;
	int (*run)(const struct command_info *command, int argc, char **argv);
	const char *synopsis;
	const char *help;
	const struct option_info *options;
};

/* opts_parse() has printed the help or the version; the command is done */
#define OPTS_FINISHED	(-1)

typedef int (*opts_set_fn)(void *context, int id, const char *value);

int opts_parse(const struct command_info *command, int argc, char **argv,
	       opts_set_fn set, void *context);
__printf(3, 4)
int opts_refuse(const struct opts_origin *origin, const char *name,
		const char *fmt, ...);
int opts_number(const struct opts_origin *origin, const char *name,
		const char *text, __u32 min, __u32 max, const char *unit,
		__u32 *number);
int opts_unknown(const char *what, const char *kind, const struct near *near, const char *help);
int opts_switch(const struct opts_origin *origin, const char *name, const char *text, bool *on);
int opts_key_name(const struct opts_origin *origin, const char *name,
		  const char *text);
int opts_parse_uuid(const char *text, __u8 uuid[OPTS_UUID_LEN]);
void opts_print_wrapped(const char *text, size_t at, size_t indent);
void opts_print_version(void);

#endif /* RDMABLK_TOOLS_OPTS_H */
