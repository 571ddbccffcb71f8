// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a failed sync means for other files on the same disk: which files are told, what is noted,
 * and which errors concern one file only. Uncached files fail together with the file whose sync
 * has failed. A process that exits at once during a sync never learns its result, so the next
 * process has another epoch of the file. If no sync was under way, the epoch stays.
 *
 * Sources: target/staged/staged_loss.c target/store/disk_loss.c target/store/full.c
 */
#include "target_loss.h"

/*
 * The end of a process
 */

static const uint8_t mine[RDMABLK_ID_LEN] = { 1, 2, 3 };

/* Begins what is under way when the process ends. Return: false: it cannot begin here */
typedef bool (*under_way)(struct command *c);

static bool nothing(struct command *c)
{
	(void)c;
	return true;
}

static bool a_sync(struct command *c)
{
	fake(&place.sf.sync, 0, 0);
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	until_kept_back();
	return place.sf.syncing;
}

static bool a_sync_that_has_ended(struct command *c)
{
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	return end(c) == RDMABLK_OK;
}

static bool a_write_with_fua(struct command *c)
{
	c->io.fua = true;
	begin(c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	fake(&c->io.src, 0, 0);
	until_kept_back();
	return c->io.counted;
}

static bool a_write_without(struct command *c)
{
	begin(c, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	fake(&c->io.src, 0, 0);
	until_kept_back();
	return true;
}

static bool a_sync_beside_another(struct command *c)
{
	neighbour_open(true, false);
	neighbour_open(true, true);
	neighbour_open(false, false);
	return a_sync(c);
}

static unsigned int syncing_after(under_way begin_it, bool direct)
{
	struct command c = { 0 };
	unsigned int nr;

	place_open(dir, 1U << 20, 512, direct);
	if (direct && !place.file.direct) {
		place_close();
		skip();
	}
	keep_back = false;
	assert_true(begin_it(&c));
	nr = staged_syncing();
	if (keep_back) {
		keep_back = false;
		kept_by->ready = real_ready;
		real_ready(kept_by, kept_res, 0);
	}
	assert_int_equal(end(&c), RDMABLK_OK);
	assert_int_equal(staged_syncing(), 0);
	place_close();
	return nr;
}

/* The daemon's end waits for the files that staged_syncing() counts. */
static void a_sync_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(staged_syncing(), 0);
	assert_int_equal(syncing_after(a_sync, false), 1);
	assert_int_equal(syncing_after(a_sync_that_has_ended, false), 0);
	assert_int_equal(syncing_after(a_write_without, false), 0);
	assert_int_equal(syncing_after(a_write_with_fua, true), 1);
}

/* A FLUSH that fails is noted at once, and not again when the process ends. */
static bool a_failure(struct command *c)
{
	fake(&place.sf.sync, -EIO, 1);
	begin(c, RDMABLK_OP_FLUSH, 0, 0, 0);
	return end(c) == RDMABLK_R_STORE_IO;
}

/* Return: how many losses are noted when a process ends after @begin_it. */
static unsigned int ends_during(under_way begin_it, bool direct)
{
	unsigned int before = notes();
	struct command c = { 0 };
	pid_t pid = child_begin();
	int status;

	if (!pid) {
		place_open(dir, 1U << 20, 512, true);
		memcpy(place.sf.identity, mine, sizeof(mine));
		if ((direct && !place.file.direct) || !begin_it(&c))
			_exit(2);
		staged_abandon();
		unlink(place.path);
		/* the lock stays taken, so nothing becomes durable after that */
		_exit(pthread_mutex_trylock(&place.sf.lock) != EBUSY);
	}
	status = child_end(pid);
	if (direct && status == 2)
		skip();
	assert_int_equal(status, 0);
	return notes() - before;
}

static bool epoch_changes(under_way begin_it, bool direct)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];
	unsigned int nr;

	assert_int_equal(sync_errors_epoch("test", mine, one_disk, before), 0);
	nr = ends_during(begin_it, direct);
	assert_int_equal(sync_errors_epoch("test", mine, one_disk, after), 0);
	assert_int_equal(nr, !!memcmp(before, after, sizeof(after)));
	return nr;
}

static void nothing_is_lost(void **state)
{
	(void)state;
	assert_false(epoch_changes(nothing, false));
	assert_false(epoch_changes(a_sync_that_has_ended, false));
	assert_false(epoch_changes(a_write_without, false));
}

static void a_sync_counts_as_failed(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_sync, false));
	assert_true(epoch_changes(a_sync, false));
}

static void a_loss_is_noted_once(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_failure, false));
}

static void a_write_with_fua_counts_as_failed(void **state)
{
	(void)state;
	assert_true(epoch_changes(a_write_with_fua, true));
}

static bool changes_beside(under_way begin_it, const uint8_t *disk)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];

	assert_int_equal(sync_errors_epoch("beside", beside, disk, before), 0);
	assert_int_equal(ends_during(begin_it, false), 1);
	assert_int_equal(sync_errors_epoch("beside", beside, disk, after), 0);
	return memcmp(before, after, sizeof(after));
}

/* Files of the disk count as failed even if they are not exported at that moment. */
static void all_of_the_disk_count_as_failed(void **state)
{
	(void)state;
	assert_true(changes_beside(a_sync_beside_another, one_disk));
	assert_false(changes_beside(a_sync_beside_another, another_disk));
	assert_true(changes_beside(a_sync, one_disk));
}

/*
 * A failure
 */

/* Fails a sync with @ret. Return: whether the epoch of another file on @disk changes. */
static bool fails(int ret, const uint8_t *disk)
{
	uint8_t before[RDMABLK_ID_LEN], after[RDMABLK_ID_LEN];
	struct command c = { 0 };

	assert_int_equal(sync_errors_epoch("beside", beside, disk, before), 0);
	fake(&place.sf.sync, ret, 1);
	begin(&c, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_int_not_equal(end(&c), RDMABLK_OK);
	assert_true(atomic_load(&place.sf.failed));
	assert_int_equal(sync_errors_epoch("beside", beside, disk, after), 0);
	return memcmp(before, after, sizeof(after));
}

/* @want: the neighbour fails, too. A reader never fails, but its epoch changes. */
static void fails_beside(int ret, bool same_disk, bool read_only, bool want)
{
	struct neighbour *n;

	place_open(dir, 1U << 20, 512, false);
	n = neighbour_open(same_disk, read_only);
	assert_int_equal(fails(ret, n->sf.watch.disk), same_disk && (want || read_only));
	assert_int_equal(atomic_load(&n->sf.failed), want);
	neighbour_close(n);
	place_close();
}

/* A file gets a new epoch even if it is not exported when the sync fails. */
static void a_file_that_is_closed_has_lost_it_too(void **state)
{
	(void)state;
	place_open(dir, 1U << 20, 512, false);
	assert_true(fails(-EIO, one_disk));
	place_close();
	place_open(dir, 1U << 20, 512, false);
	assert_false(fails(-EIO, another_disk));
	place_close();
}

static void a_cache_is_lost_for_all_of_its_disk(void **state)
{
	(void)state;
	fails_beside(-EIO, true, false, true);
	fails_beside(-EROFS, true, false, true);
	fails_beside(-EINVAL, true, false, true);
	fails_beside(-EIO, false, false, false);
	fails_beside(-EIO, true, true, false);
}

static void other_errors_are_of_one_file(void **state)
{
	static const int errors[] = {
		ENOSPC, EDQUOT, ENOMEM, EFAULT, ESTALE, EFBIG, EACCES, EPERM,
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++)
		fails_beside(-errors[i], true, false, false);
	assert_true(disk_loss_own_error(-EFAULT));
}

/*
 * Cached files on the same disk
 */

static void abandon_and_end(void)
{
	staged_abandon();
	_exit(0);
}

static void end_badly(void)
{
	_exit(1);
}

/* These end a process at once, at the moment of their name. They return if that is impossible. */
static void end_in_a_sync(struct cached *c)
{
	before_the_nth_sync_ends(1, abandon_and_end);
	flush_piece(c, 0, 3);
}

static void end_in_a_durable_write(struct cached *c)
{
	struct file *f = &full_of(&c->s)->file;

	if (!f->direct)
		return;
	f->block_device = true;
	disguised = true;
	f->fua = true;
	submit_hook = abandon_and_end;
	flush_piece(c, 0, 3);
}

static void end_after_a_sync(struct cached *c)
{
	if (flush_piece(c, 0, 3) == RDMABLK_OK)
		abandon_and_end();
}

/* After staged_abandon() a sync waits for a lock for ever. The test exits with 0 there. */
static void sync_after_the_end(struct cached *c)
{
	staged_abandon();
	lock_ends = true;
	before_the_nth_sync_ends(1, end_badly);
	flush_piece(c, 0, 3);
	_exit(1);
}

/* Return: how often a loss is noted when a process with cached files ends by @the_end. */
static unsigned int noted_at(void (*the_end)(struct cached *c))
{
	unsigned int before = notes();
	pid_t pid = child_begin();
	int status;

	if (!pid) {
		cached_open("beside-it");
		the_end(cached_open("end"));
		_exit(2);
	}
	status = child_end(pid);
	if (status == 2)
		skip();
	assert_int_equal(status, 0);
	return notes() - before;
}

/* A sync of a cached file may hear of a loss after its process has ended. */
static void a_sync_of_a_cached_file_counts_as_failed(void **state)
{
	(void)state;
	assert_int_equal(noted_at(end_after_a_sync), 0);
	assert_int_equal(noted_at(end_in_a_sync), 1);
	assert_int_equal(noted_at(sync_after_the_end), 0);
	assert_int_equal(noted_at(end_in_a_durable_write), 1);
}

static struct cached *beside_it;	/* write() looks at its state while a note is written */
static bool heard_first;		/* it knew of the loss, and its neighbour had not failed */

ssize_t write(int fd, const void *data, size_t len)
{
	if (beside_it && len == 4 * RDMABLK_ID_LEN + 3)
		heard_first = atomic_load(&full_of(&beside_it->s)->lost) &&
			      !atomic_load(&beside_it->n->sf.failed);
	return syscall(SYS_write, fd, data, len);
}

/* The write of a note may hang, so cached files on the disk are told of the loss before it. */
static void who_can_mend_a_loss_hears_of_it_before_it_is_noted(void **state)
{
	struct cached *c = cached_open("fails"), *other = cached_open("hears");

	(void)state;
	beside_it = other;
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	syncs_fail = false;
	assert_true(heard_first && atomic_exchange(&other->n->sf.failed, false));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	heard_first = false;
	staged_fail(&c->n->sf, -EIO);
	assert_true(heard_first && atomic_load(&other->n->sf.failed));
	beside_it = NULL;
	cached_close(other);
	cached_close(c);
}

/*
 * The sync of a cached file fails. Uncached files on its disk fail, and other cached files have
 * to write theirs again from their arenas.
 */
static void a_cached_file_tells_others_of_its_disk(void **state)
{
	char rules[240];
	struct cached *c = cached_open("tells"), *other = cached_open("told");
	struct neighbour *far = neighbour_open(false, false);
	unsigned int noted;

	(void)state;
	full_close(&c->s);
	snprintf(rules, sizeof(rules), "%s", files_path("rules"));
	files_text(rules, "sync error ENOSPC\n");
	full_config(c->path)->fault = rules;
	sync_errors_exit();	/* the cached file opens the notes again */
	assert_int_equal(full_open(&c->s, &full_ec), 0);
	noted = notes();
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_false(atomic_load(&c->n->sf.failed) || other->s.ops->behind(&other->s));
	assert_int_equal(notes(), noted);
	files_text(rules, "sync error EIO\n");
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 1);
	assert_true(atomic_load(&c->n->sf.failed) && other->s.ops->behind(&other->s));
	assert_false(atomic_load(&far->sf.failed));
	assert_true(says_failed(&c->s) && !says_failed(&other->s));
	files_text(rules, "");
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_false(says_failed(&c->s));
	assert_true(files_are(c->path, 0, 4096, 3));
	neighbour_close(far);
	cached_close(other);
	cached_close(c);
}

/* A failed writeback of a page concerns its file only: the cache of the disk has lost nothing. */
static void an_error_of_the_page_cache_is_its_own(void **state)
{
	static const int errors[] = { EIO, EPERM, EACCES };
	struct cached *c = cached_open("own");
	unsigned int noted = notes();

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		page_cache_errno = errors[i];
		assert_int_not_equal(flush_piece(c, 0, 3 + i), RDMABLK_OK);
		assert_false(page_cache_errno || atomic_load(&c->n->sf.failed));
		assert_int_equal(notes(), noted);
		files_write(c->path, 0, 4096, 2);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 3 + i));
	}
	cached_close(c);
}

/* If a filter refuses sync_file_range(), fdatasync alone reports all errors. */
static void a_filter_of_system_calls(void **state)
{
	static const int errors[] = { EPERM, EACCES, EINVAL };
	struct cached *c = cached_open("filter");

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		full_close(&c->s);
		filter_errno = errors[i];
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(flush_piece(c, 0, 3 + i), RDMABLK_OK);
		page_cache_errno = EIO;
		assert_int_equal(flush_piece(c, 0, 4 + i), RDMABLK_R_STORE_IO);
		assert_int_equal(page_cache_errno, 0);
		files_write(c->path, 0, 4096, 2);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 4 + i));
	}
	filter_errno = 0;
	cached_close(c);
}

static const struct durable_case {
	int durable, plain;		/* results of writes; 0: they succeed */
	bool once;			/* @durable is that of the first durable write only */
	bool sync;			/* the fdatasync fails, too */
	bool fails, lost;		/* expected: the FLUSH fails; the disk has lost writes */
} durable_cases[] = {
	{ 0 },
	/* a bad sector, where a plain write fails, too, or succeeds */
	{ .durable = -EIO, .plain = -EIO, .fails = true },
	{ .durable = -EIO },
	{ .durable = -EIO, .sync = true, .fails = true, .lost = true },
	/* errors that no cache flush returns; EFAULT: a page of the arena is missing */
	{ .durable = -EOPNOTSUPP },
	{ .durable = -EOPNOTSUPP, .once = true },
	{ .durable = -EFAULT },
	{ .durable = -EFAULT, .once = true },
	{ .durable = -EFAULT, .plain = -EIO, .fails = true },
	/* a flush may have failed */
	{ .durable = -EIO, .once = true, .lost = true },
	{ .durable = -EIO, .plain = -ENOSPC, .fails = true, .lost = true },
};

static int64_t since;		/* when the sync under way began, ms */

static void look_since(void)
{
	since = full_of(&here->s)->watch.since;
}

/* An error of a durable write is no loss of the disk, unless a cache flush may have failed. */
static void a_durable_write_has_errors_of_two_kinds(void **state)
{
	struct cached *c = cached_open("fua");
	struct file *f = &full_of(&c->s)->file;

	(void)state;
	if (!f->direct) {
		cached_close(c);
		skip();
	}
	f->block_device = true;
	disguised = true;
	f->fua = true;
	clock_stop();
	for (unsigned int i = 0; i < ARRAY_SIZE(durable_cases); i++) {
		const struct durable_case *k = &durable_cases[i];
		unsigned int noted = notes(), before = syncs;

		int64_t began;

		still_ms += 60000;
		began = still_ms;
		paused_ms = 0;
		since = began;
		before_the_nth_sync_ends(k->durable ? 1 : 0, look_since);
		durable_res = k->durable;
		plain_res = k->plain;
		durable_times = k->once;
		syncs_fail = k->sync;
		assert_int_equal(flush_piece(c, 0, 3 + i) != RDMABLK_OK, k->fails);
		assert_int_equal(atomic_exchange(&c->n->sf.failed, false), k->lost);
		assert_int_equal(notes() - noted, k->lost);
		/* a second try comes after a pause, because the device may be resetting itself */
		assert_int_equal(paused_ms > 0, k->durable == -EIO);
		/* the sync that follows a failed write is part of it for those who wait */
		sync_of_hook = 0;
		assert_true(since == began && !full_of(&c->s)->watch.since);
		if (!k->durable)
			assert_int_equal(syncs, before);
		durable_res = 0;
		plain_res = 0;
		syncs_fail = false;
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_true(files_are(c->path, 0, 4096, 3 + i));
	}
	clock_go_on();
	f->block_device = false;
	disguised = false;
	cached_close(c);
}

/*
 * The first failure of a row, and the end of the row, make other files compare everything. A
 * failure in between makes them write again only what they have not synced.
 */
static void failures_in_a_row(void **state)
{
	struct cached *c = cached_open("row"), *other = cached_open("other");
	uint8_t epoch[RDMABLK_ID_LEN];
	unsigned int noted = notes();

	(void)state;
	clock_stop();
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(paused_ms, 0);
	assert_int_equal(notes(), noted + 1);
	syncs_fail = false;
	files_write(other->path, 0, MIB, 2);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 0, MIB, 1));
	files_write(other->path, 0, MIB, 2);
	for (unsigned int i = 0; i < 3; i++) {
		syncs_fail = true;
		assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_int_equal(paused_ms, 1000 * (i + 1));	/* gives others some rest */
		syncs_fail = false;
		assert_true(other->s.ops->behind(&other->s));
		assert_int_equal(flush_piece(other, 0, 4), RDMABLK_OK);
		assert_true(files_are(other->path, 0, 4096, 4));
		assert_true(files_are(other->path, 4096, MIB - 4096, 2));
		/* a loss is noted again only if a file was opened since the last note */
		assert_int_equal(notes(), noted + 1 + i);
		assert_int_equal(sync_errors_epoch("beside", beside, one_disk, epoch), 0);
	}
	/* and after a while, because another process may have opened one */
	syncs_fail = true;
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 4);
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 4);
	still_ms += 60000;
	assert_int_not_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_int_equal(notes(), noted + 5);
	clock_go_on();
	syncs_fail = false;
	/* an uncached file that was opened since the last failure goes on */
	assert_true(atomic_exchange(&c->n->sf.failed, false));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_false(atomic_load(&c->n->sf.failed));
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 4096, MIB - 4096, 1));
	assert_false(other->s.ops->behind(&other->s));
	/* a file that is closed before the end of a row is compared when it is closed */
	files_write(other->path, 0, MIB, 2);
	disk_loss_tell(&c->n->sf.watch, true);
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_true(files_are(other->path, 4096, MIB - 4096, 2));
	full_close(&other->s);
	assert_true(files_are(other->path, 4096, MIB - 4096, 1));
	assert_int_equal(full_open(&other->s, full_config(other->path)), 0);
	cached_close(other);
	cached_close(c);
}

/* The end of a row is noted if a failure was not: another process may have opened a file. */
static void the_end_of_a_row_is_noted(void **state)
{
	struct cached *c = cached_open("noted");
	unsigned int noted = notes();
	uint8_t epoch[RDMABLK_ID_LEN];

	(void)state;
	for (unsigned int failures = 1; failures < 5; failures++) {
		clock_stop();
		still_ms += 60000 * failures;
		syncs_fail = true;
		for (unsigned int i = 0; i < failures; i++)
			assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
		assert_int_equal(notes(), noted + 1);
		syncs_fail = false;
		/* a file that was opened here since has lost nothing */
		if (failures == 4)
			assert_int_equal(sync_errors_epoch("beside", beside, one_disk, epoch), 0);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		noted += 1 + (failures == 2 || failures == 3);
		assert_int_equal(notes(), noted);
	}
	clock_go_on();
	cached_close(c);
}

/* Failing FLUSHes pause for the sake of others even if good syncs come between. */
static void failures_by_turns(void **state)
{
	struct cached *c = cached_open("turns");

	(void)state;
	clock_stop();
	for (unsigned int i = 0; i < 3; i++) {
		syncs_fail = true;
		assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
		assert_int_equal(paused_ms, 1000 * i);
		syncs_fail = false;
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	}
	clock_go_on();
	cached_close(c);
}

/*
 * Two files on a failing disk tell each other of losses. Each of them syncs once, before it
 * reads all of its file, and when that fails has nothing more to do by itself.
 */
static void files_do_not_keep_each_other_busy(void **state)
{
	struct cached *c = cached_open("one"), *other = cached_open("two");
	struct store *stores[] = { &other->s, &c->s };
	struct store_status status;
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	syncs_fail = true;
	assert_int_not_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	for (unsigned int i = 0; i < 6; i++) {
		assert_false(stores[i % 2]->ops->idle(stores[i % 2]));
		assert_int_equal(syncs, before + 2 + i);
	}
	assert_int_equal(paused_ms, 0);	/* the background does not wait */
	assert_int_not_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	other->s.ops->status(&other->s, &status);
	assert_int_equal(status.comparing, MIB);
	clock_go_on();
	syncs_fail = false;
	assert_int_equal(full_flush_all(&other->s, &other->dirty), RDMABLK_OK);
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3));
	cached_close(other);
	cached_close(c);
}

static struct command first, second, third;
static unsigned int looks;

/* A second FLUSH waits for the one under way, and begins when that has ended. */
static void another_flush_begins(void)
{
	looks++;
	assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
	begin(&second, RDMABLK_OP_FLUSH, 0, 0, 0);
	assert_int_equal(end(&first), RDMABLK_OK);
	assert_true(place.sf.syncing && !second.done);
}

/* A durable write ends while another one is under way; the next one is of a new generation. */
static void another_durable_write_begins(void)
{
	static unsigned int turn;

	if (++looks == 1) {
		turn = place.sf.turn;
		begin(&second, RDMABLK_OP_WRITE, 0, BLOCK, BLOCK);
		fake(&second.io.src, 0, 0);
		keep_back = true;
		kept_back = false;
		while (!kept_back || place.sf.turn == turn)
			staged_engine_turn(&place.engine, true);
		return;
	}
	begin(&third, RDMABLK_OP_WRITE, 0, 0, BLOCK);
	keep_back = false;
	real_ready(kept_by, kept_res, 0);
	assert_true(place.sf.fua[!turn] && first.done && !third.done);
}

/* The next sync of an uncached file begins before its last one has ended, or right then. */
static void an_end_does_not_wait_for_the_next_sync(void **state)
{
	struct disk_watch of = { .name = "cached", .lost = hears_nothing };

	(void)state;
	memcpy(of.disk, one_disk, sizeof(of.disk));
	place_open(dir, 1 << 20, BLOCK, true);
	assert_true(place.file.fua);
	disk_loss_watch(&of);
	for (unsigned int durable = 0; durable < 2; durable++) {
		first = (struct command){ .io.fua = durable };
		second = first;
		third = first;
		looks = 0;
		pause_hook = durable ? another_durable_write_begins : another_flush_begins;
		assert_int_equal(run(RDMABLK_OP_WRITE, 0, 0, BLOCK), RDMABLK_OK);
		clock_stop();
		begin(&first, durable ? RDMABLK_OP_WRITE : RDMABLK_OP_FLUSH, 0, 0,
		      durable ? BLOCK : 0);
		assert_true(disk_loss_settle(&of));
		assert_int_equal(clock_go_on(), 10 * looks);
		assert_int_equal(looks, 1 + durable);
		pause_hook = NULL;
		if (durable)
			assert_int_equal(end(&third), RDMABLK_OK);
		assert_int_equal(end(&second), RDMABLK_OK);
	}
	disk_loss_forget(&of);
	place_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sync_is_waited_for),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(a_sync_counts_as_failed),
		cmocka_unit_test(a_loss_is_noted_once),
		cmocka_unit_test(a_write_with_fua_counts_as_failed),
		cmocka_unit_test(all_of_the_disk_count_as_failed),
		cmocka_unit_test(a_cache_is_lost_for_all_of_its_disk),
		cmocka_unit_test(a_file_that_is_closed_has_lost_it_too),
		cmocka_unit_test(other_errors_are_of_one_file),
		cmocka_unit_test(a_sync_of_a_cached_file_counts_as_failed),
		cmocka_unit_test(who_can_mend_a_loss_hears_of_it_before_it_is_noted),
		cmocka_unit_test(a_cached_file_tells_others_of_its_disk),
		cmocka_unit_test(an_error_of_the_page_cache_is_its_own),
		cmocka_unit_test(a_filter_of_system_calls),
		cmocka_unit_test(a_durable_write_has_errors_of_two_kinds),
		cmocka_unit_test(failures_in_a_row),
		cmocka_unit_test(the_end_of_a_row_is_noted),
		cmocka_unit_test(failures_by_turns),
		cmocka_unit_test(files_do_not_keep_each_other_busy),
		cmocka_unit_test(an_end_does_not_wait_for_the_next_sync),
	};
	int failed;

	if (!losses_begin())
		return 1;
	failed = cmocka_run_group_tests(tests, files_setup, files_teardown);
	losses_end();
	return failed;
}
