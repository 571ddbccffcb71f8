// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cached file with a kept arena, on a disk that has lost writes. If the daemon has heard of a
 * loss, and ends or is killed before it has mended the file, the next daemon mends it. That one
 * must tell a file that lacks data from a file that another program has written.
 *
 * Sources: target/store/store_full.c target/store/arena.c target/store/disk_loss.c
 */
#include "../../target/base/log.h"
#include "../../target/store/arena.h"
#include "target_loss.h"

/* A cached file with a kept arena on tmpfs */
static struct cached *kept_open(const char *name)
{
	struct cached *c = cached_open(name);

	full_close(&c->s);
	full_config(c->path)->arena = (char *)files_path("kept/arena");
	assert_int_equal(full_open(&c->s, &full_ec), 0);
	return c;
}

/* A session may write the arena from now on. */
static void is_written(struct cached *c)
{
	c->s.writer = (struct store_writer){ .host_id = { 1 } };
	c->s.ops->written_by(&c->s);
}

static struct cached *kept_written(const char *name)
{
	struct cached *c = kept_open(name);

	is_written(c);
	return c;
}

static void kept_close(struct cached *c)
{
	cached_close(c);
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

/* The next daemon opens the export, and does not serve it yet. */
static void kept_reopen(struct cached *c)
{
	c->s = (struct store){ .ops = &store_full_ops };
	assert_int_equal(c->s.ops->open(&c->s, &full_ec), 0);
}

/* Serves the export by the next daemon. Return: whether that compares arena and file */
static bool kept_is_newer(struct cached *c)
{
	bool newer;

	kept_reopen(c);
	newer = c->s.newer || atomic_load(&full_of(&c->s)->lost);
	assert_int_equal(c->s.ops->publish(&c->s), 0);
	return newer;
}

/* The disk loses writes. No program has written the file, so its times are unchanged. */
static void disk_loses_silently(void)
{
	static struct stat had;

	assert_int_equal(stat(here->path, &had), 0);
	disk_loses_all();
	times_as = &had;
}

/* Does something in a process that is killed then. */
static void killed_after(void (*what)(struct cached *c), struct cached *c)
{
	pid_t pid = child_begin();

	if (!pid) {
		what(c);
		_exit(0);
	}
	assert_int_equal(child_end(pid), 0);
}

static void mends_and_is_killed(struct cached *c)
{
	if (!kept_is_newer(c))
		_exit(1);
	times_as = NULL;
	while (c->s.ops->idle(&c->s))
		;
}

/* Opening a file for writing may change its times. The next daemon must not be misled by that. */
static void an_open_that_fails_leaves_the_two_equal(void **state)
{
	uint8_t epoch[RDMABLK_ID_LEN];
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("failed");
	memcpy(epoch, c->s.epoch, sizeof(epoch));
	full_close(&c->s);
	/* the arena is too large for the export */
	full_ec.size = MIB / 2;
	assert_int_not_equal(full_open(&c->s, &full_ec), 0);
	full_ec.size = 0;
	/* an end before the export is served */
	kept_reopen(c);
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	assert_memory_equal(c->s.epoch, epoch, sizeof(epoch));
	kept_close(c);
}

/* Closes the export; @what happens while the stamp of the file is taken. */
static void loses_at_the_end(struct cached *c, void (*what)(void))
{
	stats_before = 2;
	stat_hook = what;
	full_close(&c->s);
	assert_null(stat_hook);
}

/* The end has heard of a loss. Each later daemon must compare arena and file until one has. */
static void an_open_that_fails_leaves_a_doubt(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("doubt");
	loses_at_the_end(c, staged_loses);
	kept_reopen(c);
	full_close(&c->s);
	assert_true(kept_is_newer(c));
	kept_close(c);
}

static void is_restored(void)
{
	files_write(here->path, 0, MIB, 5);
}

/* The file is restored while the daemon waits for the arena, or fills its pages. */
static void a_file_that_is_restored_during_an_open_counts(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("restored");
	full_close(&c->s);
	flock_hook = is_restored;
	kept_reopen(c);
	assert_null(flock_hook);
	assert_int_equal(c->s.ops->publish(&c->s), 0);
	assert_true(full_has(&c->s, 0, MIB, 5));
	kept_close(c);
}

static void a_kept_arena_is_newer_than_what_the_end_has_lost(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("stamp");
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	loses_at_the_end(c, disk_loses_silently);
	assert_true(files_are(c->path, 0, MIB, 2));
	/* a daemon that ends before it serves the export leaves the file alone */
	kept_reopen(c);
	full_close(&c->s);
	assert_true(files_are(c->path, 0, MIB, 2));
	assert_true(kept_is_newer(c));
	times_as = NULL;
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, MIB, 1));
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	/* the daemon that mends it is killed, and has changed the file */
	loses_at_the_end(c, disk_loses_silently);
	killed_after(mends_and_is_killed, c);
	times_as = NULL;
	assert_true(kept_is_newer(c));
	/* a loss that is mended before the end, and one that its own sync tells of */
	staged_fail(&c->n->sf, -EIO);
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 1), RDMABLK_OK);
	syncs_fail = false;
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	kept_close(c);
}

/*
 * The file counts if another program has written it since the end, or while its stamp was taken,
 * or if nobody has written the arena.
 */
static void a_file_that_counts_whatever_its_disk_has_lost(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("counts");
	loses_at_the_end(c, disk_loses_silently);
	times_as = NULL;
	files_write(c->path, 0, MIB, 4);
	assert_false(kept_is_newer(c));
	assert_true(full_has(&c->s, 0, MIB, 4));
	is_written(c);
	loses_at_the_end(c, disk_loses_all);
	assert_false(kept_is_newer(c));
	assert_true(full_has(&c->s, 0, MIB, 2));
	/* nobody has written the arena this time */
	loses_at_the_end(c, disk_loses_silently);
	assert_false(kept_is_newer(c));
	times_as = NULL;
	kept_close(c);
}

/* A file system that was repaired after a loss may give a file earlier times. */
static void a_file_that_went_back_does_not_count(void **state)
{
	struct stat times;
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("back");
	for (unsigned int later = 0; later < 4; later++) {
		loses_at_the_end(c, disk_loses_silently);
		times = *times_as;
		times.st_ctim.tv_sec += later < 2 ? 0 : later == 2 ? -1 : 1;
		if (later < 2)	/* in the same second */
			times.st_ctim.tv_nsec += later ? 1 : -1;
		times_as = &times;
		assert_int_equal(kept_is_newer(c), later % 2 == 0);
		assert_true(full_has(&c->s, 0, MIB, later % 2 ? 2 : 1));
		times_as = NULL;
		is_written(c);
		full_rdma(&c->s, 0, MIB, 1);
		full_note(&c->s, &c->dirty, 0, MIB);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	}
	kept_close(c);
}

static struct disk_watch another;	/* another cached file on the disk, or elsewhere */
static unsigned int looks;

static void syncs_end(void)
{
	if (++looks < 3)
		return;
	here->n->sf.syncing = false;
	here->n->sf.fua[1] = 0;
	disk_loss_sync_end(&another);
}

static void a_sync_fails(void)
{
	if (++looks < 3)
		return;
	staged_loses();
	here->n->sf.syncing = false;
}

/* Two other files sync by turns, so that one of them syncs at any moment. */
static void syncs_take_turns(void)
{
	looks++;
	here->n->sf.syncing = !here->n->sf.syncing;
	here->n->sf.since = monotonic_ms();
	if (here->n->sf.syncing)
		disk_loss_sync_end(&another);
	else
		disk_loss_sync_begin(&another);
}

/* At the third look each other file has begun its next sync. */
static void next_syncs_begin(void)
{
	if (++looks < 3)
		return;
	here->n->sf.since = monotonic_ms();
	here->n->sf.fua_since[1] = monotonic_ms();
	disk_loss_sync_end(&another);
	disk_loss_sync_begin(&another);
}

/* The durable writes that begin later are of the other generation. */
static void next_generation_begins(void)
{
	here->n->sf.fua[0] = 1;
	here->n->sf.fua_since[0] = monotonic_ms();
	if (++looks == 3)
		here->n->sf.fua[1] = 0;
}

static const struct others_case {
	bool flush, fua, cached, elsewhere;	/* syncs under way; @another is on another disk */
	void (*hook)(void);			/* called in each pause */
	unsigned int looks;			/* expected calls of @hook */
	bool lost;				/* expected: the next daemon compares */
} others_cases[] = {
	{ .flush = true, .lost = true },
	{ .fua = true, .lost = true },
	{ .cached = true, .lost = true },
	{ .cached = true, .elsewhere = true },
	{ .flush = true, .hook = syncs_end, .looks = 3 },
	{ .flush = true, .fua = true, .cached = true, .hook = syncs_end, .looks = 3 },
	{ .flush = true, .hook = a_sync_fails, .looks = 3, .lost = true },
	{ .flush = true, .hook = syncs_take_turns, .looks = 1 },
	{ .flush = true, .fua = true, .cached = true, .hook = next_syncs_begin, .looks = 3 },
	{ .fua = true, .hook = next_generation_begins, .looks = 3 },
};

/* A sync of another file, under way at the last sync, may hear of a loss. Or it hangs. */
static void an_end_waits_for_syncs_of_others(void **state)
{
	static const struct stat long_ago = { .st_mtim.tv_sec = 1000, .st_ctim.tv_sec = 1000 };
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	times_as = &long_ago;
	c = kept_written("others");
	another = (struct disk_watch){ .name = "another", .lost = hears_nothing };
	disk_loss_watch(&another);
	for (unsigned int i = 0; i < ARRAY_SIZE(others_cases); i++) {
		const struct others_case *k = &others_cases[i];

		memcpy(another.disk, full_of(&c->s)->watch.disk, sizeof(another.disk));
		another.disk[0] ^= k->elsewhere;
		looks = 0;
		pause_hook = k->hook;
		clock_stop();
		c->n->sf.syncing = k->flush;
		c->n->sf.since = monotonic_ms();
		c->n->sf.fua[1] = k->fua;
		c->n->sf.fua_since[1] = monotonic_ms();
		another.since = k->cached ? monotonic_ms() : 0;
		full_close(&c->s);
		assert_in_range(clock_go_on(), k->hook || k->elsewhere ? 0 : 10000, 10100);
		pause_hook = NULL;
		assert_int_equal(looks, k->looks);
		c->n->sf.syncing = false;
		c->n->sf.fua[0] = 0;
		c->n->sf.fua[1] = 0;
		another.since = 0;
		assert_int_equal(kept_is_newer(c), k->lost);
	}
	disk_loss_forget(&another);
	times_as = NULL;
	kept_close(c);
}

static void hears_while_it_is_served(struct cached *c)
{
	if (kept_is_newer(c))
		_exit(1);
	staged_fail(&c->n->sf, -EIO);
}

static void begins_to_mend(struct cached *c)
{
	hears_while_it_is_served(c);
	files_write(c->path, 0, MIB, 2);
	while (c->s.ops->idle(&c->s))
		;
}

static void mends_what_nobody_has_written(struct cached *c)
{
	hears_while_it_is_served(c);
	while (c->s.ops->idle(&c->s))
		;
}

static void hears_before_it_is_served(struct cached *c)
{
	c->s = (struct store){ .ops = &store_full_ops };
	if (c->s.ops->open(&c->s, &full_ec) || c->s.newer)
		_exit(1);
	staged_fail(&c->n->sf, -EIO);
	if (c->s.ops->publish(&c->s))
		_exit(1);
}

/* The loss comes before anybody has written the arena again, and then the daemon is killed. */
static void a_kept_arena_is_newer_than_what_was_not_mended(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("killed");
	full_close(&c->s);
	killed_after(hears_while_it_is_served, c);
	assert_true(kept_is_newer(c));
	full_close(&c->s);
	killed_after(hears_before_it_is_served, c);
	assert_true(kept_is_newer(c));
	full_close(&c->s);
	killed_after(begins_to_mend, c);
	assert_true(kept_is_newer(c));
	kept_close(c);
}

/*
 * An arena that is equal to its file gets no note that it counts. With that note, but without a
 * note of a last writer, the next daemon would refuse the export.
 */
static void an_arena_that_nobody_has_written_counts_no_more_than_its_file(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_open("nobody");
	for (unsigned int i = 1; i <= 2; i++) {
		if (i == 2) {	/* the writer before the arena is filled again is unknown */
			memset(&c->s.writer, 0xff, sizeof(c->s.writer));
			c->s.ops->written_by(&c->s);
		}
		full_close(&c->s);
		files_write(c->path, 0, MIB, i);
		killed_after(mends_what_nobody_has_written, c);
		assert_false(kept_is_newer(c));
		assert_true(full_has(&c->s, 0, MIB, i));
	}
	kept_close(c);
}

/* A read-only export serves the arena, and leaves mending to the next daemon that may write. */
static void a_reader_of_a_kept_arena_whose_disk_has_lost_writes(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("reader");
	loses_at_the_end(c, disk_loses_silently);
	full_ec.read_only = true;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(full_open(&c->s, &full_ec), 0);
		assert_true(full_has(&c->s, 0, MIB, 1));
		full_close(&c->s);
	}
	full_ec.read_only = false;
	assert_true(kept_is_newer(c));
	times_as = NULL;
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, MIB, 1));
	kept_close(c);
}

static char device[64];

static void device_loses_all(void)
{
	files_write(device, 0, MIB, 2);
	staged_loses();
}

/*
 * The next locks are for the end of the sync, for a look at other files, and for the end of the
 * watch. The loss comes before the third.
 */
static void then_device_loses_all(void)
{
	locks_before = 2;
	lock_hook = device_loses_all;
}

/*
 * A block device does not show whether another program has written it. So the device counts,
 * unless the export was told of a loss and could not mend it. A loss that only another file has
 * noted does not suffice.
 */
static void a_kept_arena_of_a_block_device(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = cached_open("device");
	full_close(&c->s);
	if (!files_loop(c->path, 512, device, sizeof(device)))
		skip();
	full_config(device)->arena = (char *)files_path("kept/arena");
	assert_int_equal(full_open(&c->s, &full_ec), 0);
	neighbour_close(c->n);
	c->n = neighbour_of(&c->s);
	for (unsigned int lost = 0; lost < 2; lost++) {
		is_written(c);
		full_changed(full_of(&c->s), 0, 4096);
		if (lost)
			before_the_nth_sync_ends(1, then_device_loses_all);
		full_close(&c->s);
		assert_null(lock_hook);
		if (!lost)
			device_loses_all();
		assert_int_equal(kept_is_newer(c), lost);
		assert_true(full_has(&c->s, 0, MIB, 2 - lost));
		full_rdma(&c->s, 0, MIB, 1);
		full_note(&c->s, &c->dirty, 0, MIB);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(device, 0, MIB, 1));
	}
	cached_close(c);
	files_unloop(device);
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

/* The notes of losses may be gone, or on a disk that hangs. */
static void a_kept_arena_reads_no_notes(void **state)
{
	struct cached *c;
	char path[96];

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_written("notes");
	snprintf(path, sizeof(path), "%s/" SYNC_ERRORS_FILE, dir);
	assert_int_equal(unlink(path), 0);
	full_close(&c->s);
	assert_false(kept_is_newer(c));
	sync_errors_exit();
	sync_errors_init(dir, dir);
	kept_close(c);
}

static unsigned long locked_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %lu", &kib);
	fclose(file);
	return kib;
}

/* A loss is noted in the trailer, and the swap space may be on the disk that fails. */
static void a_trailer_stays_in_memory(void **state)
{
	unsigned long before = locked_kib();
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_open("swap");
	assert_in_range(locked_kib() - before, 4, 64);
	cached_close(c);
	assert_int_equal(locked_kib(), before);
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

/* Makes a hole in an arena. A thread that reads it gets a page of zeroes. */
static void lose_page_at(const char *arena, unsigned int kib)
{
	assert_int_equal(files_run("fallocate -p -o %uK -l 4096 %s", kib, arena), 0);
}

static void lose_a_page(const char *arena)
{
	lose_page_at(arena, 8);
}

/* The arena loses a page before or during a comparison. The flushed data in the file stays. */
static void a_lost_page_is_not_written_to_the_file(void **state)
{
	struct cached *c;

	(void)state;
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	c = kept_open("page");
	for (unsigned int when = 0; when < 4; when++) {
		assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
		if (when < 2)
			lose_a_page(full_ec.arena);
		staged_fail(&c->n->sf, -EIO);
		if (when == 1) {
			assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_R_STORE_IO);
		} else {
			uint64_t left = when == 2 ? 0 : MIB / 2;

			for (unsigned int i = 0;
			     i < 9 && (!i || full_of(&c->s)->compare_left != left); i++)
				c->s.ops->idle(&c->s);
			if (when >= 2)	/* what has been compared, or what has not */
				lose_page_at(full_ec.arena, when == 2 ? 8 : 768);
			while (c->s.ops->idle(&c->s))
				;
		}
		assert_true(files_are(c->path, 4096, MIB - 4096, 1));
		assert_true(arena_guard_broken(c->s.guard));
		full_close(&c->s);
		assert_true(files_are(c->path, 4096, MIB - 4096, 1));
		assert_int_equal(full_open(&c->s, &full_ec), 0);
		assert_true(full_has(&c->s, 4096, MIB - 4096, 1));
	}
	kept_close(c);
}

/* Closes the export while a page of its arena is missing and the sync of another file hangs. */
static void hears_of_both_at_the_end(struct cached *c)
{
	arena_guard_break(c->s.guard);
	clock_stop();
	c->n->sf.syncing = true;
	c->n->sf.since = monotonic_ms();
	full_close(&c->s);
	clock_go_on();
	c->n->sf.syncing = false;
}

/* Neither arena nor file has all flushed data, so the last writer counts as unknown. */
static void a_lost_page_of_an_arena_whose_disk_has_lost_writes(void **state)
{
	struct store_writer nobody = { 0 }, unknown;
	struct cached *c;
	char rules[240];

	(void)state;
	memset(&unknown, 0xff, sizeof(unknown));
	if (!files_tmpfs("kept", "size=8m"))
		skip();
	for (unsigned int lost = 0; lost < 3; lost++) {
		c = kept_written("both");
		if (lost == 1)
			loses_at_the_end(c, staged_loses);
		else if (lost)
			hears_of_both_at_the_end(c);
		else
			full_close(&c->s);
		lose_a_page(full_ec.arena);
		/* the file cannot be read at first */
		snprintf(rules, sizeof(rules), "%s", files_path("rules"));
		files_text(rules, "read error EIO\n");
		full_ec.fault = rules;
		assert_int_not_equal(full_open(&c->s, &full_ec), 0);
		full_ec.fault = NULL;
		/* at the third start the file was written since, and is read again */
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(full_open(&c->s, &full_ec), 0);
			assert_memory_equal(&c->s.writer, lost ? &unknown : &nobody,
					    sizeof(nobody));
			assert_true(full_has(&c->s, 0, MIB, i < 2 ? 1 : 5));
			if (i < 2)
				full_close(&c->s);
			if (i == 1)
				files_write(c->path, 0, MIB, 5);
		}
		cached_close(c);
		unlink(full_ec.arena);
	}
	assert_int_equal(umount2(files_path("kept"), MNT_DETACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_that_fails_leaves_the_two_equal),
		cmocka_unit_test(an_open_that_fails_leaves_a_doubt),
		cmocka_unit_test(a_file_that_is_restored_during_an_open_counts),
		cmocka_unit_test(a_kept_arena_is_newer_than_what_the_end_has_lost),
		cmocka_unit_test(a_file_that_counts_whatever_its_disk_has_lost),
		cmocka_unit_test(a_file_that_went_back_does_not_count),
		cmocka_unit_test(an_end_waits_for_syncs_of_others),
		cmocka_unit_test(a_kept_arena_is_newer_than_what_was_not_mended),
		cmocka_unit_test(an_arena_that_nobody_has_written_counts_no_more_than_its_file),
		cmocka_unit_test(a_reader_of_a_kept_arena_whose_disk_has_lost_writes),
		cmocka_unit_test(a_kept_arena_of_a_block_device),
		cmocka_unit_test(a_kept_arena_reads_no_notes),
		cmocka_unit_test(a_trailer_stays_in_memory),
		cmocka_unit_test(a_lost_page_is_not_written_to_the_file),
		cmocka_unit_test(a_lost_page_of_an_arena_whose_disk_has_lost_writes),
	};
	int failed;

	if (!losses_begin())
		return 1;
	failed = cmocka_run_group_tests(tests, files_setup, files_teardown);
	losses_end();
	return failed;
}
