// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon writes a cached file again from its arena when the disk has lost writes, whenever it
 * hears of the loss: before, during or after a FLUSH, in the background, or at the end.
 *
 * Sources: target/store/full.c target/store/store_full.c target/store/disk_loss.c
 */
#include "../../target/base/log.h"
#include "target_loss.h"

/* The disk has lost what was not synced, and another file tells of a loss again. */
static void disk_loses_again(void)
{
	files_write(here->path, 8192, 4096, 2);
	disk_loss_tell(&here->n->sf.watch, true);
}

/* The next fstat takes the stamp. Everything that was written counts as synced by then. */
static void then_disk_loses_again(void)
{
	stat_hook = disk_loses_again;
}

static void a_loss_during_a_flush_is_mended_before_its_answer(void **state)
{
	struct cached *c = cached_open("during");

	(void)state;
	before_the_nth_sync_ends(1, disk_loses_again);
	assert_int_equal(flush_piece(c, 8192, 3), RDMABLK_OK);
	assert_true(files_are(c->path, 8192, 4096, 3));
	before_the_nth_sync_ends(1, disk_loses_all);
	assert_int_equal(flush_piece(c, 8192, 4), RDMABLK_OK);
	assert_true(files_are(c->path, 8192, 4096, 4));
	assert_true(files_are(c->path, 0, 8192, 1));
	before_the_nth_sync_ends(1, then_disk_loses_again);
	assert_int_equal(flush_piece(c, 8192, 4), RDMABLK_OK);
	assert_null(stat_hook);
	assert_true(files_are(c->path, 8192, 4096, 4));
	/* a loss during the sync that ends the mending of another loss */
	before_the_nth_sync_ends(1, disk_loses_all);
	staged_fail(&c->n->sf, -EIO);
	assert_int_equal(flush_piece(c, 0, 5), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 5) && files_are(c->path, 8192, 4096, 4));
	cached_close(c);
}

/* The disk loses what a comparison has just written and synced, in a FLUSH or in the background. */
static void a_loss_after_a_comparison_is_mended(void **state)
{
	struct cached *c = cached_open("after");

	(void)state;
	for (unsigned int idle = 0; idle < 2; idle++) {
		disk_loses_all();
		before_the_nth_sync_ends(2, then_disk_loses_again);
		if (!idle)
			assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		while (c->s.ops->idle(&c->s))
			assert_true(idle);
		assert_true(!sync_of_hook && !stat_hook);
		assert_true(files_are(c->path, 0, MIB, 1));
	}
	cached_close(c);
}

static void flush_it(struct cached *c)
{
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
}

static int closed;

static void close_it(struct cached *c)
{
	closed = c->s.ops->close(&c->s);
}

/* Return: how often the log says @what during @done. */
static unsigned int said_in(void (*done)(struct cached *c), struct cached *c, const char *what)
{
	int fd = open(files_path("log"), O_RDWR | O_CREAT | O_TRUNC, 0600), to = dup(STDERR_FILENO);
	char text[8192] = "";
	unsigned int nr = 0;

	assert_true(fd >= 0 && to >= 0);
	dup2(fd, STDERR_FILENO);
	log_set_level(LOG_INFO);
	done(c);
	log_set_level(-1);
	dup2(to, STDERR_FILENO);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	close(fd);
	close(to);
	for (const char *p = text; (p = strstr(p, what)); p++)
		nr++;
	return nr;
}

/* A loss during the sync that ends a comparison begins another comparison. */
static void a_file_is_called_up_to_date_once(void **state)
{
	struct cached *c = cached_open("called");

	(void)state;
	disk_loses_all();
	before_the_nth_sync_ends(2, disk_loses_all);
	assert_int_equal(said_in(flush_it, c, "is up to date"), 1);
	assert_int_equal(sync_of_hook, 0);
	assert_true(files_are(c->path, 0, MIB, 1));
	cached_close(c);
}

static void a_loss_during_the_last_sync_is_mended(void **state)
{
	struct cached *c = cached_open("last");

	(void)state;
	assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL), RDMABLK_OK);
	before_the_nth_sync_ends(1, disk_loses_all);
	full_close(&c->s);
	assert_int_equal(sync_of_hook, 0);
	assert_true(files_are(c->path, 0, 4096, 1) && files_zero(c->path, 4096, 4096));
	assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	/* a loss that was told again, of what was synced before */
	for (unsigned int late = 0; late < 2; late++) {
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL),
				 RDMABLK_OK);
		before_the_nth_sync_ends(1, late ? then_disk_loses_again : disk_loses_again);
		full_close(&c->s);
		assert_true(sync_of_hook == 0 && !stat_hook);
		assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	}
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

/* However often a loss was told before the end, the end reads all of the file once. */
static void the_end_compares_once(void **state)
{
	struct cached *c = cached_open("once");

	(void)state;
	for (unsigned int again = 0; again < 3; again++) {
		unsigned int before = syncs;

		files_write(c->path, 8192, 4096, 2);
		disk_loss_tell(&c->n->sf.watch, again);
		if (again == 2)		/* then only the comparison is left to do */
			assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
		bytes_read = 0;
		full_close(&c->s);
		assert_int_equal(bytes_read, MIB);
		assert_int_equal(syncs - before, again == 2 ? 3 : 2);
		assert_true(files_are(c->path, 0, MIB, 1));
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
		assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	}
	cached_close(c);
}

/*
 * The next locks are for the end of the sync, for a look at other files, and for the end of the
 * watch. The loss comes before the third.
 */
static void then_disk_loses_all(void)
{
	locks_before = 2;
	lock_hook = disk_loses_all;
}

/* The loss comes after the last look for one, and before the watch has ended. */
static void a_loss_after_the_last_look_is_mended(void **state)
{
	struct cached *c = cached_open("late");

	(void)state;
	assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL), RDMABLK_OK);
	before_the_nth_sync_ends(1, then_disk_loses_all);
	full_close(&c->s);
	assert_true(sync_of_hook == 0 && !lock_hook);
	assert_true(files_are(c->path, 0, 4096, 1) && files_zero(c->path, 4096, 4096));
	assert_true(files_are(c->path, 8192, MIB - 8192, 1));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

static void hangs_and_has_lost_all(void)
{
	disk_loses_all();
	here->n->sf.syncing = true;
	here->n->sf.since = monotonic_ms();
}

static void then_hangs_and_has_lost_all(void)
{
	locks_before = 2;
	lock_hook = hangs_and_has_lost_all;
}

/*
 * The end waits only so long for a sync of another file. If that sync hears of a loss later, this
 * file has no arena any more to be mended from. So the end fails, and the log says so.
 */
static void an_end_that_waits_no_longer_says_so(void **state)
{
	static const char text[] = "may lack flushed writes";
	struct cached *c = cached_open("hangs");

	(void)state;
	for (unsigned int late = 0; late < 3; late++) {
		assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL),
				 RDMABLK_OK);
		clock_stop();
		if (late == 2)		/* in the second round */
			before_the_nth_sync_ends(1, then_hangs_and_has_lost_all);
		c->n->sf.syncing = late == 1;
		c->n->sf.since = monotonic_ms();
		assert_int_equal(said_in(close_it, c, text), late ? 1 : 0);
		assert_in_range(clock_go_on(), late ? 10000 : 0, late ? 10100 : 0);
		assert_int_equal(closed, late ? -EIO : 0);
		assert_int_equal(c->s.lost, !!late);
		assert_true(sync_of_hook == 0 && !lock_hook);
		assert_true(files_are(c->path, 8192, MIB - 8192, 1));
		c->n->sf.syncing = false;
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	}
	cached_close(c);
}

static void disk_is_back(void)
{
	syncs_fail = false;
}

/* A disk may be away for a moment. If it stays away, the end says so. */
static void the_end_waits_for_a_disk_that_is_away(void **state)
{
	struct cached *c = cached_open("away");

	(void)state;
	for (unsigned int back = 0; back < 2; back++) {
		int ret;

		full_end_pause_ms = 1000;
		assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL),
				 RDMABLK_OK);
		clock_stop();
		syncs_fail = true;
		pause_hook = back ? disk_is_back : NULL;
		ret = c->s.ops->close(&c->s);
		syncs_fail = false;
		pause_hook = NULL;
		assert_int_equal(ret, back ? 0 : -EIO);
		assert_int_equal(c->s.lost, !back);
		assert_int_equal(clock_go_on(), back ? 1000 : 2000);
		assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	}
	cached_close(c);
}

static unsigned int losses_left;	/* for disk_loses_often() */
static atomic_bool *waiter;		/* to be cancelled at the last of them; or NULL */

/* Others tell of a loss during each sync, for a while. */
static void disk_loses_often(void)
{
	disk_loses_all();
	if (--losses_left)
		before_the_nth_sync_ends(1, disk_loses_often);
	else if (waiter)
		atomic_store(waiter, true);
}

static void lose_often(unsigned int times)
{
	losses_left = times;
	before_the_nth_sync_ends(1, disk_loses_often);
}

/* A FLUSH whose syncs succeed does not fail, however often others tell of losses meanwhile. */
static void others_that_fail_fail_no_flush(void **state)
{
	struct cached *c = cached_open("often");
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	lose_often(20);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_in_range(clock_go_on(), 1000, 30000);
	assert_true(syncs - before >= 20 && !losses_left);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	/* the same in the background, which does not wait, and at the end */
	clock_stop();
	lose_often(20);
	staged_fail(&c->n->sf, -EIO);
	for (unsigned int i = 0; losses_left && i < 100; i++)
		c->s.ops->idle(&c->s);
	assert_int_equal(losses_left, 0);
	assert_int_equal(clock_go_on(), 0);
	clock_stop();
	lose_often(20);
	staged_fail(&c->n->sf, -EIO);
	full_close(&c->s);
	assert_in_range(clock_go_on(), 1000, 30000);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	cached_close(c);
}

static void disk_loses_during_long_work(void)
{
	still_ms += 3600000;
	disk_loses_often();
}

/* A file may be so large that its comparison takes an hour. */
static void a_long_comparison_may_be_repeated(void **state)
{
	struct cached *c = cached_open("long");

	(void)state;
	clock_stop();
	losses_left = 2;
	before_the_nth_sync_ends(1, disk_loses_during_long_work);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_int_equal(losses_left, 0);
	clock_go_on();
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* Data that an earlier daemon has written may not be synced, and it is unknown which data. */
static void a_loss_before_the_first_sync_may_be_anything(void **state)
{
	struct cached *c = cached_open("before");

	(void)state;
	full_close(&c->s);
	assert_int_equal(full_open(&c->s, full_config(c->path)), 0);
	disk_loses_again();
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

/* A disk that loses everything each time does not keep a FLUSH waiting for ever. */
static void mending_ends(void **state)
{
	struct cached *c = cached_open("ends");
	unsigned int before = syncs;

	(void)state;
	clock_stop();
	lose_often(1000);
	assert_int_equal(flush_piece(c, 0, 3), RDMABLK_R_STORE_IO);
	assert_in_range(clock_go_on(), 50000, 70000);
	assert_in_range(syncs - before, 30, 200);
	before_the_nth_sync_ends(0, NULL);
	assert_true(c->s.ops->behind(&c->s) && !says_failed(&c->s));
	assert_int_equal(full_flush_all(&c->s, &c->dirty), RDMABLK_OK);
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

static void is_told_again_and_nobody_waits(void)
{
	disk_loses_again();
	atomic_store(waiter, true);
}

/* Mending stops when the session of the only FLUSH ends. It goes on while another FLUSH waits. */
static void mending_ends_when_nobody_waits(void **state)
{
	struct store_works works = TAILQ_HEAD_INITIALIZER(works);
	struct store_work w[2] = {
		{ .op = RDMABLK_OP_FLUSH }, { .op = RDMABLK_OP_FLUSH },
	};
	struct cached *c = cached_open("nobody");
	unsigned int before;

	(void)state;
	full_rdma(&c->s, 0, 4096, 3);
	full_note(&c->s, &c->dirty, 0, 4096);
	w[0].dirty = &c->dirty;
	TAILQ_INSERT_TAIL(&works, &w[0], entry);
	clock_stop();
	lose_often(10);
	waiter = &w[0].cancelled;
	c->s.ops->flush(&c->s, &works);
	assert_int_not_equal(w[0].status, RDMABLK_OK);
	assert_int_equal(losses_left, 0);
	assert_true(bitmap_any(&c->dirty));
	atomic_store(&w[0].cancelled, false);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(w[0].status, RDMABLK_OK);
	/* also when there is nothing to compare */
	full_note(&c->s, &c->dirty, 0, 4096);
	before_the_nth_sync_ends(1, is_told_again_and_nobody_waits);
	c->s.ops->flush(&c->s, &works);
	assert_int_not_equal(w[0].status, RDMABLK_OK);
	atomic_store(&w[0].cancelled, false);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(w[0].status, RDMABLK_OK);
	/* if nobody waits, not everything is written again */
	assert_int_equal(full_do(&c->s, RDMABLK_OP_WRITE_ZEROES, 0, 4096, 4096, NULL), RDMABLK_OK);
	disk_loss_tell(&c->n->sf.watch, true);
	before = syncs;
	atomic_store(&w[0].cancelled, true);
	c->s.ops->flush(&c->s, &works);
	assert_int_not_equal(w[0].status, RDMABLK_OK);
	assert_true(syncs == before && !says_failed(&c->s));
	full_rdma(&c->s, 4096, 4096, 1);
	full_note(&c->s, &c->dirty, 0, 8192);
	atomic_store(&w[0].cancelled, false);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(w[0].status, RDMABLK_OK);
	/* if nobody waits, there is no second sync of data that seems durable */
	disk_loss_tell(&c->n->sf.watch, true);
	before = syncs;
	before_the_nth_sync_ends(1, is_told_again_and_nobody_waits);
	c->s.ops->flush(&c->s, &works);
	assert_int_not_equal(w[0].status, RDMABLK_OK);
	assert_int_equal(syncs, before + 1);
	atomic_store(&w[0].cancelled, false);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(w[0].status, RDMABLK_OK);
	full_note(&c->s, &c->dirty, 0, 4096);
	TAILQ_INSERT_TAIL(&works, &w[1], entry);
	lose_often(10);
	c->s.ops->flush(&c->s, &works);
	assert_int_equal(losses_left, 0);
	assert_int_equal(w[1].status, RDMABLK_OK);
	assert_in_range(clock_go_on(), 1000, 30000);
	waiter = NULL;
	assert_true(files_are(c->path, 0, 4096, 3) && files_are(c->path, 4096, MIB - 4096, 1));
	cached_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cached_file_is_written_again),
		cmocka_unit_test(what_is_told_again_is_compared_later),
		cmocka_unit_test(a_loss_during_a_flush_is_mended_before_its_answer),
		cmocka_unit_test(a_loss_after_a_comparison_is_mended),
		cmocka_unit_test(a_file_is_called_up_to_date_once),
		cmocka_unit_test(a_loss_during_the_last_sync_is_mended),
		cmocka_unit_test(the_end_compares_once),
		cmocka_unit_test(a_loss_after_the_last_look_is_mended),
		cmocka_unit_test(an_end_that_waits_no_longer_says_so),
		cmocka_unit_test(the_end_waits_for_a_disk_that_is_away),
		cmocka_unit_test(others_that_fail_fail_no_flush),
		cmocka_unit_test(a_long_comparison_may_be_repeated),
		cmocka_unit_test(a_loss_before_the_first_sync_may_be_anything),
		cmocka_unit_test(mending_ends),
		cmocka_unit_test(mending_ends_when_nobody_waits),
	};
	int failed;

	if (!losses_begin())
		return 1;
	failed = cmocka_run_group_tests(tests, files_setup, files_teardown);
	losses_end();
	return failed;
}
