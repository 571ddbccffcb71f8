// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk key: makes and checks key files, and gives keys to the kernel. A key leaves the
 * process only as the output of "new", or to the kernel. A process that has a key leaves no
 * core dump.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "../target/base/key_file.h"
#include "../target/base/state_file.h"
#include "files.h"
#include "keyring.h"
#include "output.h"
#include "report.h"
#include "util.h"

#define DEFAULT_NAME	"default"
#define MAX_PATH	1024
#define MAX_EXPIRES	(3650 * 24 * 3600)	/* seconds */

const struct option_info key_options[] = {
	{ "name", 0, 'n', "NAME", "new: of the key (" DEFAULT_NAME ")" },
	{ "out", 0, 'o', "FILE", "new: make this file, with mode 0600" },
	{ "expires", 0, 'e', "TIME", "load: after which it is no key any more, as in 90d" },
	{ "json", 0, 'j', NULL, "print JSON; new: needs --out" },
	{ 0 }
};

static const struct opts_origin origin = { "key", "--" };

struct key_args {
	const char *name;
	const char *out;
	__u32 expires;
};

/**
 * struct verb - a command of "rdmablk key"
 * @name: as typed
 * @operand: name of its operand in error messages; NULL: it takes no operand
 * @makes: --name and --out go with it
 * @loads: --expires goes with it
 * @run: does it
 */
struct verb {
	const char *name;
	const char *operand;
	bool makes;
	bool loads;
	int (*run)(const char *operand, const struct key_args *args);
};

static int parse_expires(const char *text, __u32 *seconds)
{
	static const struct {
		char name;
		__u32 seconds;
	} units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 24 * 3600 }, { 'w', 7 * 24 * 3600 },
	};
	unsigned long long value;
	char *end;
	size_t i;

	errno = 0;
	value = strtoull(text, &end, 10);
	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (*end == units[i].name && !end[1])
			break;
	if (text[0] < '0' || text[0] > '9' || errno || !value || i == ARRAY_SIZE(units) ||
	    value > MAX_EXPIRES / units[i].seconds)
		return opts_refuse(&origin, "expires",
				   "'%s' is not a time: a number with s, m, h, d or w, at most 3650d",
				   text);
	*seconds = value * units[i].seconds;
	return 0;
}

static int set(void *context, int id, const char *value)
{
	struct key_args *args = context;

	switch (id) {
	case 'n':
		args->name = value;
		return opts_key_name(&origin, "name", value);
	case 'o':
		if (strlen(value) >= MAX_PATH)
			return opts_refuse(&origin, "out", "longer than %d characters",
					   MAX_PATH - 1);
		args->out = value;
		break;
	case 'e':
		return parse_expires(value, &args->expires);
	case 'j':
		report_json = true;
		break;
	}
	return 0;
}

/*
 * New keys
 */

/* A new file is safe once its directory is. */
static int sync_directory(const char *path)
{
	char copy[MAX_PATH];

	snprintf(copy, sizeof(copy), "%s", path);
	return -state_file_sync_dir(dirname(copy));
}

/* Return: 0 or an errno; no file is made then */
static int write_file(const char *path, const char *text, size_t len)
{
	int fd, err;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	err = -files_write(fd, text, len);
	if (!err && fsync(fd))
		err = errno;
	if (close(fd) && !err)
		err = errno;
	if (!err)
		err = sync_directory(path);
	if (err)
		unlink(path);
	return err;
}

/*
 * A process that has opened a file before the key is in it can read the key later, whatever
 * the mode of the file is then. So a key is never written to a file that others can have open.
 */
static int check_stdout(void)
{
	struct stat st;

	if (isatty(STDOUT_FILENO))
		return report_usage("key new",
				    "standard output is a terminal, which would show the key; give --out FILE");
	if (fstat(STDOUT_FILENO, &st))
		return report_failure(errno, "key new", "standard output: %s", strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_mode & 0077)
		return report_failure(EPERM, "key new",
				      "standard output is a file with mode %04o, which lets others at the key; give --out FILE, or set umask 077",
				      st.st_mode & 07777);
	return STATUS_DONE;
}

static int show(const struct key_file *key)
{
	char id[2 * KEY_FILE_ID_LEN + 1];
	struct json_object *top;
	size_t i;

	for (i = 0; i < KEY_FILE_ID_LEN; i++)
		snprintf(id + 2 * i, 3, "%02x", key->id[i]);
	if (!report_json) {
		printf("%s %s\n", key->name, id);
		return STATUS_DONE;
	}
	top = output_json_new();
	json_object_object_add(top, "name", json_object_new_string(key->name));
	json_object_object_add(top, "fingerprint", json_object_new_string(id));
	output_json_line(top);
	return STATUS_DONE;
}

/* Return: memory for a key, or NULL after a complaint */
static struct key_file *begin(const char *what)
{
	struct key_file *key = NULL;

	if (!prctl(PR_SET_DUMPABLE, 0))
		key = key_file_alloc();
	if (!key)
		report_failure(errno, what, "no memory for the key: %s", strerror(errno));
	return key;
}

static void end(struct key_file **key)
{
	key_file_free(*key);
}

static int run_new(const char *operand, const struct key_args *args)
{
	__cleanup(end) struct key_file *key = NULL;
	const char *name = args->name ?: DEFAULT_NAME;
	int ret;

	(void)operand;
	if (report_json && !args->out)
		return report_usage("key new", "--json needs --out: it never has the key in it");
	ret = args->out ? STATUS_DONE : check_stdout();
	if (ret)
		return ret;
	key = begin("key new");
	if (!key)
		return STATUS_FAILED;
	ret = key_file_generate(key, name);
	if (ret)
		return report_failure(ret, "key new", "no random numbers: %s", strerror(ret));
	if (!args->out) {
		ret = -files_write(STDOUT_FILENO, key->text, key_file_format(key));
		return ret ? report_failure(ret, "key new", "standard output: %s", strerror(ret)) :
			     STATUS_DONE;
	}
	ret = write_file(args->out, key->text, key_file_format(key));
	if (ret)
		return report_failure(ret, "key new", "%s: %s", args->out, strerror(ret));
	return show(key);
}

/*
 * Existing keys
 */

static int run_check(const char *operand, const struct key_args *args)
{
	__cleanup(end) struct key_file *key = NULL;
	char why[KEY_FILE_WHY], what[MAX_PATH];
	int ret;

	(void)args;
	snprintf(what, sizeof(what), "key check %s", operand);
	key = begin(what);
	if (!key)
		return STATUS_FAILED;
	ret = key_file_read(key, operand, 0, why);
	return ret ? report_failure(ret, what, "%s", why) : show(key);
}

/*
 * Keys of the kernel
 */

/* The module looks for keys of root. */
static int check_root(const char *what)
{
	if (!geteuid())
		return STATUS_DONE;
	return report_failure(EPERM, what, "not permitted: the kernel's keys are root's");
}

static int run_load(const char *operand, const struct key_args *args)
{
	__cleanup(end) struct key_file *key = NULL;
	char why[KEY_FILE_WHY], what[MAX_PATH];
	int ret;

	_Static_assert(KEY_FILE_WHY >= KEYRING_WHY, "no room for a reason");
	snprintf(what, sizeof(what), "key load %s", operand);
	ret = check_root(what);
	if (ret)
		return ret;
	key = begin(what);
	if (!key)
		return STATUS_FAILED;
	ret = key_file_read(key, operand, 0, why);
	if (!ret)
		ret = keyring_load(key->name, key->secret, sizeof(key->secret), args->expires, why);
	return ret ? report_failure(ret, what, "%s", why) : show(key);
}

static bool add_row(const struct keyring_key *key, void *rows)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "name", json_object_new_string(key->name));
	json_object_object_add(row, "state", json_object_new_string(key->state));
	json_object_object_add(row, "expires", key->expires[0] ?
			       json_object_new_string(key->expires) : NULL);
	json_object_array_add(rows, row);
	return true;
}

static void cell(struct json_object *row, const char *key, char *text, size_t size)
{
	struct json_object *value = json_object_object_get(row, key);

	snprintf(text, size, "%s", value ? json_object_get_string(value) : "-");
}

static int run_list(const char *operand, const struct key_args *args)
{
	static const struct output_column columns[] = {
		OUTPUT_TEXT("NAME", "name"), OUTPUT_TEXT("STATE", "state"),
		OUTPUT_TEXT("EXPIRES", "expires"),
		{ 0 }
	};
	struct json_object *rows, *top;
	int ret;

	(void)operand;
	(void)args;
	ret = check_root("key list");
	if (ret)
		return ret;
	rows = json_object_new_array();
	ret = keyring_walk(add_row, rows);
	if (ret) {
		json_object_put(rows);
		return report_failure(ret, "key list", "/proc/keys: %s", strerror(ret));
	}
	if (report_json) {
		top = output_json_new();
		json_object_object_add(top, "keys", rows);
		output_json_line(top);
		return STATUS_DONE;
	}
	if (json_object_array_length(rows) &&
	    output_rows(rows, columns, cell))
		ret = report_failure(ENOMEM, "key list", "%s", strerror(ENOMEM));
	json_object_put(rows);
	return ret;
}

static int run_unload(const char *operand, const struct key_args *args)
{
	char why[KEYRING_WHY], what[KEYRING_NAME_LEN + 16];
	int ret;

	(void)args;
	snprintf(what, sizeof(what), "key unload %s", operand);
	ret = check_root(what);
	if (ret)
		return ret;
	ret = keyring_unload(operand, why);
	return ret ? report_failure(ret, what, "%s", why) : STATUS_DONE;
}

static const struct verb verbs[] = {
	{ .name = "new", .makes = true, .run = run_new },
	{ .name = "check", .operand = "FILE", .run = run_check },
	{ .name = "load", .operand = "FILE", .loads = true, .run = run_load },
	{ .name = "list", .run = run_list },
	{ .name = "unload", .operand = "NAME", .run = run_unload },
};

static const struct verb *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static int check(const struct verb *verb, char **operands, const struct key_args *args)
{
	char what[32];

	snprintf(what, sizeof(what), "key %s", verb->name);
	if (verb->operand && !operands[0])
		return report_usage(what, "%s is missing", verb->operand);
	if (operands[0] && !verb->operand)
		return report_usage(what, "too many arguments: '%s'", operands[0]);
	if (operands[0] && operands[1])
		return report_usage(what, "too many arguments: '%s'", operands[1]);
	if (args->name && !verb->makes)
		return report_usage(what, "--name does not go with it");
	if (args->out && !verb->makes)
		return report_usage(what, "--out does not go with it");
	if (args->expires && !verb->loads)
		return report_usage(what, "--expires does not go with it");
	return STATUS_DONE;
}

static int unknown(const char *word)
{
	struct near near;
	size_t i;

	near_begin(&near, word);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		near_try(&near, verbs[i].name);
	return opts_unknown("key", "there is no", &near, "rdmablk key --help");
}

/**
 * cmd_key() - rdmablk key
 * @command: its entry in the table
 * @argc: arguments from the name on
 * @argv: the same
 */
int cmd_key(const struct command_info *command, int argc, char **argv)
{
	struct key_args args = { 0 };
	const struct verb *verb;
	int ret;

	ret = opts_parse(command, argc, argv, set, &args);
	if (ret)
		return ret;
	if (!argv[optind])
		return report_usage("key", "new, check, load, list or unload is missing");
	verb = find_verb(argv[optind]);
	if (!verb)
		return unknown(argv[optind]);
	ret = check(verb, argv + optind + 1, &args);
	return ret ? ret : verb->run(argv[optind + 1], &args);
}
