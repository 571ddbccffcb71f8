// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules of faults. Each question reads the file again if its identity, size or time has
 * changed. A thread that a rule hangs looks for such a change again and again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/util.h"
#include "base/value.h"
#include "store/store_fault.h"

#define RULES		32
#define HANG_STEP_MS	10

enum action { ACTION_ERROR, ACTION_SHORT, ACTION_DELAY, ACTION_HANG };

/**
 * struct rule - a line
 * @ops: operations that the rule is for, a bit per enum store_fault_op
 * @action: what happens
 * @arg: errno, bytes or ms
 * @offset: first byte of the range
 * @bytes: length of the range; 0: the rule is for any range
 * @skip: number of matching requests to let pass
 * @left: number of times that the rule still applies
 */
struct rule {
	unsigned int ops;
	enum action action;
	uint64_t arg;
	uint64_t offset;
	uint64_t bytes;
	uint64_t skip;
	uint64_t left;
};

/**
 * struct store_fault - the rules of an export
 * @path: path of the file
 * @lock: protects all fields below
 * @seen: status of the file when it was read last
 * @generation: counts the readings
 * @rule: rules, in the order of the file
 * @nr: number of rules
 */
struct store_fault {
	char *path;
	pthread_mutex_t lock;
	struct stat seen;
	unsigned int generation;
	struct rule rule[RULES];
	unsigned int nr;
};

static const struct word {
	const char *word;
	int value;
} errors[] = {
	{ "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT },
	{ "EROFS", EROFS }, { "EINVAL", EINVAL }, { "EAGAIN", EAGAIN },
	{ "EINTR", EINTR },
}, actions[] = {
	{ "error", ACTION_ERROR }, { "short", ACTION_SHORT },
	{ "delay", ACTION_DELAY }, { "hang", ACTION_HANG },
}, ops[] = {
	{ "read", 1 << STORE_FAULT_READ }, { "write", 1 << STORE_FAULT_WRITE },
	{ "sync", 1 << STORE_FAULT_SYNC }, { "discard", 1 << STORE_FAULT_DISCARD },
	{ "zero", 1 << STORE_FAULT_ZERO }, { "any", (1 << STORE_FAULT_OPS) - 1 },
};

/* Return: the word's value; -1: no such word */
static int look_up(const struct word *words, size_t nr, const char *word)
{
	for (size_t i = 0; word && i < nr; i++)
		if (!strcmp(words[i].word, word))
			return words[i].value;
	return -1;
}

static bool parse_arg(struct rule *r, char **rest)
{
	char *word = r->action == ACTION_HANG ? NULL : strsep(rest, " \t");
	int error;

	switch (r->action) {
	case ACTION_ERROR:
		error = look_up(errors, ARRAY_SIZE(errors), word);
		r->arg = (uint64_t)error;
		return error > 0;
	case ACTION_SHORT:
		return word && !value_size(word, &r->arg) && r->arg;
	case ACTION_DELAY:
		return word && !value_number(word, &r->arg);
	case ACTION_HANG:
		return true;
	}
	return false;
}

static bool parse_where(struct rule *r, char *word)
{
	char *bytes = word ? strchr(word, '+') : NULL;

	if (!bytes)
		return false;
	*bytes++ = '\0';
	return !value_size(word, &r->offset) && !value_size(bytes, &r->bytes) && r->bytes;
}

static bool parse_rule(struct rule *r, char *text)
{
	char *rest = text, *word;
	int op = look_up(ops, ARRAY_SIZE(ops), strsep(&rest, " \t"));
	int action = look_up(actions, ARRAY_SIZE(actions), strsep(&rest, " \t"));

	*r = (struct rule){ .left = UINT64_MAX };
	if (op < 0 || action < 0)
		return false;
	r->ops = (unsigned int)op;
	r->action = (enum action)action;
	if (!parse_arg(r, &rest))
		return false;
	while ((word = strsep(&rest, " \t"))) {
		char *value = strsep(&rest, " \t");
		bool ok = value && (!strcmp(word, "at") ? parse_where(r, value) :
				    !strcmp(word, "skip") ? !value_number(value, &r->skip) :
				    !strcmp(word, "count") ? !value_number(value, &r->left) :
				    false);

		if (!ok)
			return false;
	}
	return true;
}

static void read_rules(struct store_fault *sf)
{
	FILE *file = fopen(sf->path, "re");
	char line[256];

	sf->nr = 0;
	sf->generation++;
	while (file && sf->nr < RULES && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		if (parse_rule(&sf->rule[sf->nr], line))
			sf->nr++;
		else
			log_err("%s: no rule of faults: %s", sf->path, line);
	}
	if (file)
		fclose(file);
}

/* The lock is held. */
static void refresh(struct store_fault *sf)
{
	struct stat st;

	if (stat(sf->path, &st))
		memset(&st, 0, sizeof(st));
	if (st.st_ino == sf->seen.st_ino && st.st_size == sf->seen.st_size &&
	    st.st_mtim.tv_sec == sf->seen.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == sf->seen.st_mtim.tv_nsec)
		return;
	sf->seen = st;
	read_rules(sf);
}

static bool fits(const struct rule *r, enum store_fault_op op, uint64_t offset,
		 uint64_t bytes)
{
	if (!(r->ops & 1U << op) || !r->left)
		return false;
	return !r->bytes || (offset < r->offset + r->bytes && r->offset < offset + bytes);
}

/* Finds the rule for a request, and counts its use. The lock is held. */
static const struct rule *find(struct store_fault *sf, enum store_fault_op op,
			       uint64_t offset, uint64_t bytes)
{
	for (unsigned int i = 0; i < sf->nr; i++) {
		struct rule *r = &sf->rule[i];

		if (!fits(r, op, offset, bytes))
			continue;
		if (r->skip) {
			r->skip--;
			continue;
		}
		r->left -= r->left != UINT64_MAX;
		return r;
	}
	return NULL;
}

static void hang(struct store_fault *sf, unsigned int generation)
{
	bool on = true;

	while (on) {
		pause_ms(HANG_STEP_MS);
		pthread_mutex_lock(&sf->lock);
		refresh(sf);
		on = sf->generation == generation;
		pthread_mutex_unlock(&sf->lock);
	}
}

/**
 * store_fault_ask - does what store_fault() does, if there are rules
 * @sf: rules
 * @op: kind of the request
 * @offset: first byte
 * @bytes: number of bytes; a rule may reduce it
 *
 * Return: 0 or -errno.
 */
int store_fault_ask(struct store_fault *sf, enum store_fault_op op, uint64_t offset,
		    uint64_t *bytes)
{
	const struct rule *found;
	unsigned int generation;
	struct rule r;

	pthread_mutex_lock(&sf->lock);
	refresh(sf);
	found = find(sf, op, offset, *bytes);
	if (found)
		r = *found;
	generation = sf->generation;
	pthread_mutex_unlock(&sf->lock);
	if (!found)
		return 0;
	switch (r.action) {
	case ACTION_ERROR:
		return -(int)r.arg;
	case ACTION_SHORT:
		*bytes = min_u64(*bytes, r.arg);
		return 0;
	case ACTION_DELAY:
		pause_ms(r.arg);
		return 0;
	case ACTION_HANG:
		hang(sf, generation);
		return 0;
	}
	return 0;
}

/**
 * store_fault_open - prepare for the faults that a file orders
 * @out: result, rules, for store_fault_close()
 * @path: path of the file, which need not exist yet; NULL: there will be no faults
 *
 * Return: 0 or -ENOMEM.
 */
int store_fault_open(struct store_fault **out, const char *path)
{
	struct store_fault *sf;

	*out = NULL;
	if (!path)
		return 0;
	sf = calloc(1, sizeof(*sf));
	if (!sf)
		return -ENOMEM;
	sf->path = strdup(path);
	if (!sf->path) {
		free(sf);
		return -ENOMEM;
	}
	pthread_mutex_init(&sf->lock, NULL);
	*out = sf;
	return 0;
}

/**
 * store_fault_close - release rules
 * @sf: rules or NULL
 */
void store_fault_close(struct store_fault *sf)
{
	if (!sf)
		return;
	pthread_mutex_destroy(&sf->lock);
	free(sf->path);
	free(sf);
}
