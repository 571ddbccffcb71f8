/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes of the last writer of a file, and exports whose sessions get the right to write. All
 * files are in directories of target_files.h.
 */
#ifndef TARGET_LAST_WRITER_H
#define TARGET_LAST_WRITER_H

#include "../../target/base/loop.h"
#include "../../target/base/util.h"
#include "../../target/export/export.h"
#include "../../target/export/last_writer.h"
#include "target_files.h"

#define SIZE	MIB

static const uint8_t u[16] = { 0x0a, 1 }, v[16] = { 0x0b, 2 };
static const struct file_mark f = { { 3 }, { 4 } }, g = { { 5 }, { 6 } }, heir = { { 3 }, { 7 } };
static const struct store_writer a = { { 8 }, { 9 } }, b = { { 8 }, { 10 } };

/* What this process knows about the directories */
static struct last_writer_dir known;

static inline struct last_writer_of of(const char *dir, const uint8_t *uuid,
				       const struct file_mark *mark)
{
	return (struct last_writer_of){ .dir = files_path(dir), .dir_state = &known, .name = "d",
				    .uuid = uuid, .mark = mark };
}

static bool noted;	/* result of the last note() */

static inline int note(const char *dir, const uint8_t *uuid, const struct file_mark *mark,
		       const struct store_writer *writer)
{
	const struct last_writer_of export = of(dir, uuid, mark);
	int ret = last_writer_note(&export, writer);

	noted = ret == 1;
	return ret > 0 ? 0 : ret;
}

static inline enum last_writer_state recall(const char *dir, const uint8_t *uuid,
					    const struct file_mark *mark,
					    struct store_writer *last)
{
	const struct last_writer_of export = of(dir, uuid, mark);

	memset(last, 0, sizeof(*last));
	return last_writer_read(&export, last);
}

static inline void expect(const char *dir, const uint8_t *uuid, const struct file_mark *mark,
			  const struct store_writer *writer)
{
	struct store_writer last;

	assert_int_equal(recall(dir, uuid, mark, &last), LAST_WRITER_KNOWN);
	assert_memory_equal(&last, writer, sizeof(last));
}

static inline void expect_state(const char *dir, const uint8_t *uuid, const struct file_mark *mark,
				enum last_writer_state state)
{
	struct store_writer last;

	assert_int_equal(recall(dir, uuid, mark, &last), state);
}

/* Path of a note; four of them are valid at a time. */
static inline const char *note_of(const char *dir, const char *kind, const uint8_t *key)
{
	static char path[4][320];
	static unsigned int next;
	char *p = path[next++ % ARRAY_SIZE(path)], text[40];

	value_uuid_text(key, text);
	snprintf(p, sizeof(path[0]), "%s/%s/" LAST_WRITER_DIR "/%s-%s", files_dir, dir, kind, text);
	return p;
}

/*
 * Exports
 */

static struct config cfg;
static struct lease lease_a = { .host_id = { 1 }, .instance_id = { 2 }, .writer = true };
static struct lease lease_b = { .host_id = { 3 }, .instance_id = { 4 }, .writer = true };

/* Return: that of export_open_all() */
static inline int open_with(const char *dir, const char *spec)
{
	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path(dir));
	config_export_spec(&cfg, spec);
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(loop_init(), 0);
	return export_open_all(&cfg);
}

static inline void start_with(const char *dir, const char *spec)
{
	assert_int_equal(open_with(dir, spec), 0);
}

static inline void stop(void)
{
	export_close_all();
	loop_exit();
	config_free(&cfg);
}

/* Lets @lease write as a session does. Return: whether a note was due */
static inline bool let_write(const char *name, struct lease *lease)
{
	struct export *e = export_find(name);
	bool due;

	assert_non_null(e);
	export_lease(e, lease);
	due = export_note_due(e, lease);
	if (due) {
		assert_int_equal(export_note_writer(e, lease), 1);
		export_noted(e, lease);
	}
	export_let_write(e, lease);
	export_release(lease);
	return due;
}

/* Which lease may go on with an export: bit 0: A, bit 1: B */
static inline int may(const char *name)
{
	struct export *e = export_find(name);

	assert_non_null(e);
	return export_resumable(e, &lease_a) | export_resumable(e, &lease_b) << 1;
}

static inline int resume_of(const char *dir, const char *spec)
{
	int who;

	start_with(dir, spec);
	who = may("d");
	stop();
	return who;
}

static inline const char *spec_of(const char *name, const char *file, const char *words)
{
	static char spec[400];

	snprintf(spec, sizeof(spec), "%s,file=%s,%s", name, files_path(file), words);
	return spec;
}

static inline void renew(const char *name)
{
	struct export *e = export_find(name);

	export_quiet(e);
	export_close(e);
	export_renew(e, e->cfg);
	assert_int_equal(export_open(e), 0);
	assert_int_equal(export_begin(e), 0);
}

#endif
