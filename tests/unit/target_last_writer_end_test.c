// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The notes of the last writer of a file, when the daemon dies at any step of writing them,
 * when the power fails there, when a sync fails, and when others write the file before it is
 * opened again. Also kept arenas that were not written back to their file.
 *
 * Sources: target/export/last_writer.c target/export/export_writer.c target/store/arena.c
 *	   target/store/store_full.c
 * Libraries: libcrypto libsystemd liburing
 */
#include "target_last_writer.h"
#include "target_full.h"
#include "../../target/staged/store_none.h"

#include <dirent.h>
#include <limits.h>
#include <sys/syscall.h>

enum {			/* exit status of a process that calls last_writer_note() */
	NOTED = 10,	/* the writer is noted, and may write */
	LET,		/* the writer may write, but is not noted */
	REFUSED,
	ENDED,		/* the process ended at step @disk.end_at */
};

enum who {
	NOBODY,
	WAS_OTHER,
	IS_A,
	IS_B,
	IS_C,
	IS_WRONG,
};

static const struct store_writer c = { { 8 }, { 11 } };
static const uint8_t arena1[16] = { 0x21 }, arena2[16] = { 0x22 };

/* Steps of writing notes, counted: a process ends at step @end_at; sync @fail_at fails */
static struct {
	unsigned int steps;
	unsigned int end_at;
	unsigned int syncs;
	unsigned int fail_at;	/* a sync; UINT_MAX: all of files */
	char notes[300];	/* directory; each sync keeps a copy of it */
	char durable[300];	/* the copy: what is there after a power failure */
} disk;

static void step(void)
{
	if (++disk.steps == disk.end_at)
		_exit(ENDED);
}

/* Hard links suffice as a copy, because a note is replaced, and never changed. */
static void copy(const char *from, const char *to)
{
	struct dirent *entry;
	DIR *dir;

	mkdir(to, 0755);
	dir = opendir(to);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		syscall(SYS_unlinkat, dirfd(dir), entry->d_name, 0);
	closedir(dir);
	dir = opendir(from);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[600];

		snprintf(path, sizeof(path), "%s/%s", to, entry->d_name);
		if (entry->d_name[0] != '.')
			assert_int_equal(linkat(dirfd(dir), entry->d_name, AT_FDCWD, path, 0), 0);
	}
	closedir(dir);
}

static bool is_notes(int fd)
{
	struct stat is, notes;

	return !fstat(fd, &is) && !stat(disk.notes, &notes) && is.st_ino == notes.st_ino &&
	       is.st_dev == notes.st_dev;
}

/* fsync(), rename() and unlink() replace those of the C library. */
int fsync(int fd)
{
	struct stat st;

	step();
	if (++disk.syncs == disk.fail_at ||
	    (disk.fail_at == UINT_MAX && !fstat(fd, &st) && S_ISREG(st.st_mode))) {
		errno = EIO;
		return -1;
	}
	if (is_notes(fd))
		copy(disk.notes, disk.durable);
	return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
	step();
	return (int)syscall(SYS_rename, from, to);
}

int unlink(const char *path)
{
	step();
	return (int)syscall(SYS_unlink, path);
}

static void watch(const char *dir)
{
	disk.end_at = 0;
	disk.fail_at = 0;
	snprintf(disk.notes, sizeof(disk.notes), "%s/" LAST_WRITER_DIR, files_path(dir));
	snprintf(disk.durable, sizeof(disk.durable), "%s/durable", files_path(dir));
}

/* Notes a writer in a new process, which knows nothing of what is durable already. */
static int note_by(const char *dir, const uint8_t *uuid, const struct file_mark *mark,
		   const struct store_writer *writer, const uint8_t *arena)
{
	struct last_writer_of export = of(dir, uuid, mark);
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		export.arena = arena;
		disk.steps = 0;
		disk.syncs = 0;
		known = (struct last_writer_dir){ 0 };
		status = last_writer_note(&export, writer);
		_exit(status < 0 ? REFUSED : status ? NOTED : LET);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static enum who who(const char *dir, const uint8_t *uuid)
{
	struct store_writer last;
	enum last_writer_state state = recall(dir, uuid, &f, &last);

	if (state != LAST_WRITER_KNOWN)
		return state == LAST_WRITER_OTHER ? WAS_OTHER : NOBODY;
	return !memcmp(&last, &a, sizeof(a)) ? IS_A : !memcmp(&last, &b, sizeof(b)) ? IS_B :
	       !memcmp(&last, &c, sizeof(c)) ? IS_C : IS_WRONG;
}

static int missed(const char *dir, const uint8_t *arena)
{
	struct last_writer_of export = of(dir, u, &f);

	export.arena = arena;
	return last_writer_missed(&export, &a);
}

/*
 * A has written a file as export U, and perhaps B as export V since. Now C, or several
 * devices, are about to write it as U. Once they may write, no other device may go on, and at
 * no time may a device go on that could not before.
 */
static const struct scene {
	const char *dir;
	bool other;			/* B has written it as V */
	const struct store_writer *now;	/* NULL: several */
	const uint8_t *arena[2];	/* before and now */
} scenes[] = {
	{ "small/other", true, &c, { NULL, NULL } },
	{ "small/writer", false, &c, { NULL, NULL } },
	{ "small/several", false, NULL, { NULL, NULL } },
	{ "small/without", false, &c, { arena1, NULL } },
	{ "small/instead", false, &c, { arena1, arena2 } },
	{ "small/taken", true, &c, { arena1, NULL } },
};

static void prepare(const struct scene *s)
{
	files_run("rm -rf %s", files_path(s->dir));
	assert_int_equal(mkdir(files_path(s->dir), 0755), 0);
	watch(s->dir);
	/* A also writes U as another file, so that U has a note, but not of this file */
	assert_int_equal(note_by(s->dir, u, &f, &a, s->arena[0]), NOTED);
	if (s->other) {
		assert_int_equal(note_by(s->dir, v, &f, &b, s->arena[1]), NOTED);
		assert_int_equal(note_by(s->dir, u, &g, &a, NULL), NOTED);
	}
	assert_int_equal(who(s->dir, u), s->other ? WAS_OTHER : IS_A);
}

static void judge(const struct scene *s, bool let)
{
	enum who is = who(s->dir, u);

	assert_int_not_equal(is, IS_WRONG);
	assert_int_not_equal(is, IS_B);
	if (let || s->other)
		assert_int_not_equal(is, IS_A);
	if (!s->now)
		assert_int_not_equal(is, IS_C);
	if (let && s->other)
		assert_int_not_equal(who(s->dir, v), IS_B);
	if (let && s->arena[0])
		assert_int_equal(missed(s->dir, arena1), -ESTALE);
}

/* Judges the notes as they are, and as a power failure would leave them: only what was synced. */
static void judge_both(const struct scene *s, bool let)
{
	char kept[300];

	judge(s, let);
	snprintf(kept, sizeof(kept), "%s/kept", files_path(s->dir));
	copy(disk.notes, kept);
	copy(disk.durable, disk.notes);
	/* another host that shares the directory may still have its arena */
	judge(s, let);
	copy(kept, disk.notes);
}

static void goes_on(const struct scene *s, bool power)
{
	if (power)
		copy(disk.durable, disk.notes);
	disk.end_at = 0;
	disk.fail_at = 0;
	assert_int_equal(note_by(s->dir, u, &f, s->now, s->arena[1]), NOTED);
	judge_both(s, true);
	assert_int_equal(who(s->dir, u), s->now ? IS_C : NOBODY);
	if (s->arena[1])
		assert_int_equal(missed(s->dir, arena2), 0);
	copy(disk.durable, disk.notes);
	assert_int_equal(who(s->dir, u), s->now ? IS_C : NOBODY);
}

/* Ends the process that notes at each of its steps. Return: number of steps */
static unsigned int end_everywhere(const struct scene *s, bool power)
{
	for (unsigned int i = 1;; i++) {
		int status;

		prepare(s);
		disk.end_at = i;
		status = note_by(s->dir, u, &f, s->now, s->arena[1]);
		judge_both(s, status == NOTED);
		if (status == NOTED)
			return i - 1;
		assert_int_equal(status, ENDED);
		goes_on(s, power);
	}
}

/* The power failures are simulated: the notes are on tmpfs, so that no real disk slows them. */
static void scenes_begin(void)
{
	mkdir(files_path("small"), 0755);
	(void)files_tmpfs("small", "size=4m");
}

static void an_end_at_any_step(void **state)
{
	(void)state;
	scenes_begin();
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++)
		for (int power = 0; power < 2; power++)
			assert_in_range(end_everywhere(&scenes[i], power), 3, 20);
	disk.end_at = 0;
	umount2(files_path("small"), MNT_DETACH);
}

/* Fails each sync once; then noting is tried again, and succeeds. Return: number of syncs */
static unsigned int fail_everywhere(const struct scene *s, bool power)
{
	for (unsigned int i = 1;; i++) {
		int status;

		prepare(s);
		disk.fail_at = i;
		status = note_by(s->dir, u, &f, s->now, s->arena[1]);
		judge_both(s, status != REFUSED);
		if (status == NOTED)
			return i - 1;
		goes_on(s, power);
	}
}

static void a_sync_that_fails(void **state)
{
	(void)state;
	scenes_begin();
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++)
		for (int power = 0; power < 2; power++)
			assert_in_range(fail_everywhere(&scenes[i], power), 2, 10);
	disk.fail_at = 0;
	umount2(files_path("small"), MNT_DETACH);
}

static void open_anew(struct export *e)
{
	export_renew(e, e->cfg);
	assert_int_equal(export_open(e), 0);
	assert_int_equal(export_begin(e), 0);
}

/* B could not be noted when it wrote the file as another export: A may not go on. */
static void a_note_that_went_meanwhile(void **state)
{
	struct export *e;

	(void)state;
	files_new("disk0", SIZE);
	start_with("meanwhile", spec_of("d", "disk0", "cache=none"));
	let_write("d", &lease_a);
	e = export_find("d");
	export_quiet(e);
	export_close(e);
	disk.fail_at = UINT_MAX;
	assert_int_equal(note("meanwhile", v, &e->store.mark, &b), 0);
	disk.fail_at = 0;
	assert_false(noted);
	open_anew(e);
	assert_int_equal(may("d"), 0);
	stop();
}

/*
 * Another host, with an arena of its own, lets the same device write before this process opens
 * the export again, and dies. The notes name the same writer as before. Yet the arena is out of
 * date when this process lets the device write, also if the power of this host fails at once.
 */
static void another_host_in_between(void **state)
{
	struct last_writer_of export;
	struct export *e;

	(void)state;
	files_new("disk0", SIZE);
	mkdir(files_path("turns"), 0755);
	watch("turns");
	start_with("turns", spec_of("d", "disk0", "cache=none"));
	e = export_find("d");
	let_write("d", &lease_a);
	assert_int_equal(note_by("turns", e->store.uuid, &e->store.mark, &e->store.writer,
				 arena1), NOTED);
	renew("d");
	assert_true(let_write("d", &lease_a));
	copy(disk.durable, disk.notes);
	export = of("turns", e->store.uuid, &e->store.mark);
	export.arena = arena1;
	assert_int_equal(last_writer_missed(&export, &e->store.writer), -ESTALE);
	stop();
}

/*
 * Arenas that were not written back
 */

#define BYTES	4096
#define PID_AT	(SIZE + 20)	/* offset in an arena of the pid of the daemon that serves it */

static char with[200], without[200], instead[200], as_other[200];

static int try_with(const char *dir, const char *words)
{
	int ret;

	config_init(&cfg);
	free(cfg.state_dir);
	cfg.state_dir = strdup(files_path(dir));
	config_export_spec(&cfg, spec_of("d", "disk1", words));
	assert_int_equal(cfg.errors, 0);
	assert_int_equal(loop_init(), 0);
	ret = export_open_all(&cfg);
	if (ret)
		stop();
	return ret;
}

/*
 * Copies an arena as a killed daemon leaves it, but without the daemon's pid. All daemons here
 * are one process, so the next one would take the pid for its own and remove it, even from an
 * arena that it refuses.
 */
static void keep_arena(void)
{
	assert_int_equal(files_run("cp %s %s", files_path("kept/arena"), files_path("arena")), 0);
	assert_int_equal(files_run("dd if=/dev/zero of=%s bs=1 count=4 seek=%llu conv=notrunc",
				   files_path("arena"), (unsigned long long)PID_AT), 0);
}

static bool same_arena(void)
{
	return !files_run("cmp %s %s", files_path("kept/arena"), files_path("arena"));
}

/* A has written the arena, with seed 2, and the daemon was killed; the file has seed 1. */
static void leave_newer(const char *dir)
{
	unlink(files_path("kept/arena"));
	files_new("disk1", SIZE);
	files_write(files_path("disk1"), 0, BYTES, 1);
	files_run("rm -rf %s", files_path(dir));
	assert_int_equal(try_with(dir, with), 0);
	let_write("d", &lease_a);
	files_pattern(export_find("d")->store.base, 0, BYTES, 2);
	keep_arena();
	stop();
	files_write(files_path("disk1"), 0, BYTES, 1);
	assert_int_equal(files_run("cp %s %s", files_path("arena"), files_path("kept/arena")), 0);
}

/* Exports the file without that arena; if there is a @writer, it writes seed 3. */
static void have_it(const char *dir, const char *words, struct lease *writer)
{
	assert_int_equal(try_with(dir, words), 0);
	if (writer)
		let_write("d", writer);
	stop();
	if (writer)
		files_write(files_path("disk1"), 0, BYTES, 3);
}

static bool arenas(void)
{
	if (!files_tmpfs("kept", "size=16m"))
		return false;
	snprintf(with, sizeof(with), "cache=full,arena=%s", files_path("kept/arena"));
	snprintf(instead, sizeof(instead), "cache=full,arena=%s", files_path("kept/second"));
	snprintf(without, sizeof(without), "cache=full");
	snprintf(as_other, sizeof(as_other), "uuid=6f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11");
	return true;
}

static void arena_counts(const char *dir)
{
	assert_int_equal(try_with(dir, with), 0);
	assert_int_equal(may("d"), 1);
	stop();
	assert_true(files_are(files_path("disk1"), 0, BYTES, 2));
}

/*
 * The contents of a newer arena reach the file, also if the file was served without the arena
 * but not written, if no note is left, and if an earlier start has failed.
 */
static void an_arena_that_is_newer(void **state)
{
	(void)state;
	if (!arenas())
		skip();
	leave_newer("newer");
	arena_counts("newer");
	leave_newer("newer");
	have_it("newer", without, NULL);
	arena_counts("newer");
	/* no note is left */
	leave_newer("newer");
	files_run("rm %s/" LAST_WRITER_DIR "/*", files_path("newer"));
	arena_counts("newer");
	/* a start that fails for another reason changes neither file nor arena */
	leave_newer("newer");
	files_run("rm %s/d.uuid", files_path("newer"));
	assert_int_equal(mkdir(files_path("newer/d.uuid.new"), 0755), 0);
	assert_true(try_with("newer", with) < 0);
	assert_true(files_are(files_path("disk1"), 0, BYTES, 1));
	assert_true(same_arena());
	assert_int_equal(rmdir(files_path("newer/d.uuid.new")), 0);
	arena_counts("newer");
	umount2(files_path("kept"), MNT_DETACH);
}

/*
 * An arena is refused if the file was written without it since, by A or B. Nothing is written
 * over either of the two.
 */
static void an_arena_that_is_older(void **state)
{
	static const struct {
		const char *words;
		struct lease *writer;
	} since[] = {
		{ without, &lease_b }, { without, &lease_a }, { "cache=none", &lease_b },
		{ as_other, &lease_b }, { instead, &lease_b },
	};

	(void)state;
	if (!arenas())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(since); i++) {
		leave_newer("older");
		have_it("older", since[i].words, since[i].writer);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(try_with("older", with), -ESTALE);
			assert_true(files_are(files_path("disk1"), 0, BYTES, 3));
			assert_true(same_arena());
		}
		assert_int_equal(unlink(files_path("kept/arena")), 0);
		assert_int_equal(try_with("older", with), 0);
		stop();
		assert_true(files_are(files_path("disk1"), 0, BYTES, 3));
		unlink(files_path("kept/second"));
	}
	umount2(files_path("kept"), MNT_DETACH);
}

/* If the file cannot be written at the end, only a kept arena still has the data. */
static void the_end_tells_whether_data_is_lost(void **state)
{
	static const struct {
		const char *words;
		const char *rule;
		bool kept;
	} ends[] = {
		{ without, "", true }, { without, "write error EIO\n", false },
		{ with, "write error EIO\n", true },
	};
	char words[500], rules[240];

	(void)state;
	if (!arenas())
		skip();
	full_end_pause_ms = 1;
	snprintf(rules, sizeof(rules), "%s", files_path("rules"));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct export *e;

		files_new("disk1", SIZE);
		files_text(rules, "");
		snprintf(words, sizeof(words), "%s,fault=%s", ends[i].words, rules);
		assert_int_equal(try_with("end", words), 0);
		e = export_find("d");
		files_pattern(e->store.base, 0, BYTES, 2);
		files_text(rules, ends[i].rule);
		e->store.ops->ended(&e->store, false);
		assert_int_equal(export_close_all(), ends[i].kept);
		loop_exit();
		config_free(&cfg);
		assert_int_equal(files_are(files_path("disk1"), 0, BYTES, 2), i == 0);
	}
	umount2(files_path("kept"), MNT_DETACH);
}

/* A FLUSH that succeeds; the disk may lose the data all the same. */
static void flush(struct export *e, unsigned int seed)
{
	files_pattern(e->store.base, 0, BYTES, seed);
	assert_int_equal(full_do(&e->store, RDMABLK_OP_FLUSH, 0, 0, BYTES, NULL), RDMABLK_OK);
}

/* The sync of another export on the disk of @e fails, and so do those of @e from here on. */
static void disk_fails(struct export *e, const char *rules)
{
	struct disk_watch by = { .name = "other" };

	memcpy(by.disk, full_of(&e->store)->watch.disk, sizeof(by.disk));
	/* first, because the store's thread may sync the file as soon as it hears of the loss */
	files_text(rules, "sync error EIO\n");
	disk_loss_tell(&by, false);
}

/*
 * A has flushed everything, so it would go on over a new epoch. If the disk may have lost that
 * data, A may not go on. Nor may B, which wrote the file as another export, if nobody has
 * written this export since.
 */
static void nobody_goes_on_over_flushed_data_that_may_be_missing(void **state)
{
	static const char b_as[] = "cache=full,uuid=6f1c1f6e-0f3c-4f0e-9d0a-4b8f3a9f1c11";
	char words[500], rules[240];

	(void)state;
	watch("missing");
	snprintf(rules, sizeof(rules), "%s", files_path("rules"));
	snprintf(words, sizeof(words), "cache=full,fault=%s", rules);
	for (int fails = 0; fails < 4; fails++) {
		bool reopened = fails & 1;
		struct export *e;

		files_run("rm -rf %s", files_path("missing"));
		files_new("disk1", SIZE);
		files_text(rules, "");
		if (fails == 3)
			have_it("missing", b_as, &lease_b);
		assert_int_equal(try_with("missing", words), 0);
		full_end_pause_ms = 1;
		e = export_find("d");
		if (fails != 3)
			let_write("d", &lease_a);
		flush(e, 2);
		if (fails)
			disk_fails(e, rules);
		if (reopened) {
			export_quiet(e);
			assert_int_equal(export_close(e), -EIO);
			files_text(rules, "");
			open_anew(e);
			assert_int_equal(may("d"), 0);
		}
		stop();
		copy(disk.durable, disk.notes);		/* the power fails */
		files_text(rules, "");
		assert_int_equal(try_with("missing", fails == 3 ? b_as : words), 0);
		assert_int_equal(may("d"), fails ? 0 : 1);
		/* the next writer is noted as usual */
		let_write("d", &lease_b);
		stop();
		assert_int_equal(try_with("missing", fails == 3 ? b_as : words), 0);
		assert_int_equal(may("d"), 2);
		stop();
	}
}

/*
 * A has flushed everything, and the file may lack some of it. A goes on with the arena, but not
 * with the file if the arena is gone.
 */
static void an_arena_that_a_reboot_has_ended(void **state)
{
	char words[500], rules[240];

	(void)state;
	if (!arenas())
		skip();
	watch("ended");
	snprintf(rules, sizeof(rules), "%s", files_path("rules"));
	snprintf(words, sizeof(words), "%s,fault=%s", with, rules);
	for (int i = 0; i < 4; i++) {
		bool fails = i & 1, gone = i & 2;
		struct export *e;

		files_run("rm -rf %s", files_path("ended"));
		files_new("disk1", SIZE);
		files_text(rules, "");
		unlink(files_path("kept/arena"));
		assert_int_equal(try_with("ended", words), 0);
		full_end_pause_ms = 1;
		e = export_find("d");
		let_write("d", &lease_a);
		flush(e, 2);
		if (fails)
			disk_fails(e, rules);
		stop();
		copy(disk.durable, disk.notes);		/* the power fails */
		files_text(rules, "");
		if (gone)
			unlink(files_path("kept/arena"));
		assert_int_equal(try_with("ended", words), 0);
		assert_int_equal(may("d"), fails && gone ? 0 : 1);
		stop();
	}
	umount2(files_path("kept"), MNT_DETACH);
}

/*
 * The sync of another file has failed, and may have lost what A has flushed to an uncached file
 * just before. Or the file was removed.
 */
static void an_uncached_file_that_loses_what_was_flushed(void **state)
{
	(void)state;
	watch("heard");
	for (int how = 0; how < 3; how++) {
		struct disk_watch by = { .name = "other" };
		struct export *e;

		files_run("rm -rf %s", files_path("heard"));
		files_new("disk1", SIZE);
		assert_int_equal(try_with("heard", "cache=none"), 0);
		e = export_find("d");
		let_write("d", &lease_a);
		memcpy(by.disk, ((struct store_none *)e->store.priv)->staged.watch.disk,
		       sizeof(by.disk));
		if (how == 1)
			disk_loss_fail(&by);
		if (how == 2) {
			files_new("restored", SIZE);
			rename(files_path("restored"), files_path("disk1"));
		}
		stop();
		copy(disk.durable, disk.notes);		/* the power fails */
		assert_int_equal(try_with("heard", "cache=none"), 0);
		assert_int_equal(may("d"), how ? 0 : 1);
		stop();
	}
}

/* The result says whether the writer's note is gone. The notes of file and arena stay. */
static void forgetting_a_writer(void **state)
{
	struct last_writer_of export = of("forget", u, &f);

	(void)state;
	mkdir(files_path("forget"), 0755);
	watch("forget");
	known = (struct last_writer_dir){ 0 };
	assert_int_equal(last_writer_forget(&export), 0);	/* there is no note */
	assert_int_equal(note_by("forget", u, &f, &a, arena1), NOTED);
	disk.syncs = 0;
	disk.fail_at = 1;
	assert_int_equal(last_writer_forget(&export), -EIO);
	disk.fail_at = 0;
	assert_int_equal(last_writer_forget(&export), 0);
	copy(disk.durable, disk.notes);
	assert_int_equal(who("forget", u), NOBODY);
	assert_int_equal(missed("forget", arena1), 0);
	assert_int_equal(missed("forget", arena2), -ESTALE);
}

/* Return: what last_writer_note() logs when the syncs of all files fail */
static const char *says(const char *dir, const struct store_writer *writer,
			const uint8_t *arena)
{
	static char text[700];
	struct last_writer_of export = of(dir, u, &f);
	int kept = dup(STDERR_FILENO), fd = open(files_path("said"), O_RDWR | O_CREAT | O_TRUNC |
						 O_CLOEXEC, 0600);
	ssize_t n;

	assert_true(kept >= 0 && fd >= 0);
	export.arena = arena;
	disk.end_at = 0;
	disk.fail_at = UINT_MAX;
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	assert_int_equal(last_writer_note(&export, writer), 0);
	dup2(kept, STDERR_FILENO);
	disk.fail_at = 0;
	close(kept);
	n = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	assert_true(n > 0);
	text[n] = '\0';
	return text;
}

/*
 * A device may write through an arena that could not be noted. If the daemon is then killed,
 * the next one refuses the arena, as if the file had been written without it, unless the file
 * has no note at all. The log says so, also for a shared export.
 */
static void an_arena_that_is_not_noted(void **state)
{
	static const char refused[] = "its arena may be refused when the daemon has been killed";
	static const char nobody[] = "nobody will go on with a disk of it";
	const char *text;

	(void)state;
	mkdir(files_path("unnoted"), 0755);
	watch("unnoted");
	for (int shared = 0; shared < 2; shared++) {
		assert_int_equal(note_by("unnoted", u, &f, &a, arena1), NOTED);
		text = says("unnoted", shared ? NULL : &b, arena2);
		assert_non_null(strstr(text, "/arena-"));
		assert_non_null(strstr(text, refused));
		assert_int_equal(!!strstr(text, nobody), !shared);
		assert_int_equal(missed("unnoted", arena2), -ESTALE);
		assert_int_equal(missed("unnoted", arena1), -ESTALE);
	}
	/* the arena is noted, and only the writer is not; then there is no arena */
	for (int none = 0; none < 2; none++) {
		assert_int_equal(note_by("unnoted", u, &f, &a, arena2), NOTED);
		text = says("unnoted", &b, none ? NULL : arena2);
		assert_non_null(strstr(text, nobody));
		assert_null(strstr(text, refused));
		assert_int_equal(missed("unnoted", arena2), none ? -ESTALE : 0);
	}
	/* nothing was noted before */
	files_run("rm %s/*", disk.notes);
	assert_non_null(strstr(says("unnoted", &b, arena2), refused));
	assert_int_equal(missed("unnoted", arena2), 0);
}

/*
 * @writer has the file as export @since, without the arena, or nobody writes it. Then the notes
 * @gone are removed. The notes that are left decide whether the arena is refused.
 */
static void some_notes_are_gone(void **state)
{
	static const struct {
		const char *since;
		struct lease *writer;
		const char *gone;
		bool refused;
	} scene[] = {
		{ without, &lease_b, "export-*", true },
		{ without, &lease_a, "export-*", true },
		{ without, &lease_b, "file-*", true },
		{ instead, &lease_b, "arena-*", true },
		{ instead, &lease_b, "file-*", true },
		{ instead, &lease_b, "file-* arena-*", true },
		{ without, NULL, "export-*", false },
		{ without, NULL, "file-*", false },
		{ without, NULL, "file-* arena-*", false },
		/* no note says that the file was not written without the arena */
		{ without, NULL, "arena-*", true },
	};

	(void)state;
	if (!arenas())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(scene); i++) {
		leave_newer("gone");
		have_it("gone", scene[i].since, scene[i].writer);
		assert_int_equal(files_run("cd %s/" LAST_WRITER_DIR " && rm %s", files_path("gone"),
					   scene[i].gone), 0);
		unlink(files_path("kept/second"));
		if (!scene[i].refused) {
			arena_counts("gone");
			continue;
		}
		assert_int_equal(try_with("gone", with), -ESTALE);
		assert_true(files_are(files_path("disk1"), 0, BYTES, scene[i].writer ? 3 : 1));
		assert_true(same_arena());
	}
	umount2(files_path("kept"), MNT_DETACH);
}

/* The daemon was killed before any device could write the arena: the file counts. */
static void an_arena_that_nobody_wrote(void **state)
{
	(void)state;
	if (!arenas())
		skip();
	files_new("disk1", SIZE);
	files_write(files_path("disk1"), 0, BYTES, 1);
	have_it("unused", without, &lease_b);
	assert_int_equal(try_with("unused", with), 0);
	keep_arena();
	stop();
	assert_int_equal(files_run("cp %s %s", files_path("arena"), files_path("kept/arena")), 0);
	assert_int_equal(try_with("unused", with), 0);
	stop();
	files_write(files_path("disk1"), 0, BYTES, 4);
	assert_int_equal(files_run("cp %s %s", files_path("arena"), files_path("kept/arena")), 0);
	assert_int_equal(try_with("unused", with), 0);
	stop();
	assert_true(files_are(files_path("disk1"), 0, BYTES, 4));
	umount2(files_path("kept"), MNT_DETACH);
}

/* A disk goes on after its host has got a key, and with it another identity than in HELLO. */
static void under_a_proven_identity(void **state)
{
	struct lease claim = lease_a;

	(void)state;
	start_with("proven", "d,memory,size=1M,hugepages=no,block=512");
	let_write("d", &lease_a);
	claim.host_id[0] = 9;
	assert_false(export_resumable(export_find("d"), &claim));
	memcpy(claim.said_id, lease_a.host_id, sizeof(claim.said_id));
	assert_true(export_resumable(export_find("d"), &claim));
	claim.instance_id[0]++;
	assert_false(export_resumable(export_find("d"), &claim));
	claim.instance_id[0]--;
	let_write("d", &claim);
	assert_true(export_resumable(export_find("d"), &claim));
	assert_int_equal(may("d"), 0);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_at_any_step),
		cmocka_unit_test(a_sync_that_fails),
		cmocka_unit_test(a_note_that_went_meanwhile),
		cmocka_unit_test(another_host_in_between),
		cmocka_unit_test(an_arena_that_is_newer),
		cmocka_unit_test(an_arena_that_is_older),
		cmocka_unit_test(the_end_tells_whether_data_is_lost),
		cmocka_unit_test(nobody_goes_on_over_flushed_data_that_may_be_missing),
		cmocka_unit_test(an_arena_that_a_reboot_has_ended),
		cmocka_unit_test(an_uncached_file_that_loses_what_was_flushed),
		cmocka_unit_test(forgetting_a_writer),
		cmocka_unit_test(an_arena_that_is_not_noted),
		cmocka_unit_test(some_notes_are_gone),
		cmocka_unit_test(an_arena_that_nobody_wrote),
		cmocka_unit_test(under_a_proven_identity),
	};

	return cmocka_run_group_tests_name("last_writer_end", tests, files_setup, files_teardown);
}
