// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a session ends, state by state: in each state the log names what the session waits
 * for, and names it again. The device is a fake, and so is the staged store. A session has no
 * lanes, and the test makes the calls that their threads would make.
 *
 * Sources: target/session/session.c
 */
#include "../../target/base/fault.h"
#include "target_unmake.h"

static unsigned int frees;

static int staged_close(struct staged *staged)
{
	(void)staged;
	return 0;
}

static void staged_free(struct staged *staged)
{
	(void)staged;
	frees++;
}

/* Asserts the state of a session, and that the log names what it waits for now and later. */
static void assert_late(struct session *s, enum session_state state, const char *text)
{
	assert_int_equal(s->state, state);
	assert_true(s->end.late.armed);
	assert_true(s->end.late.deadline <= loop_now() + 6000);	/* of this state */
	assert_waits_for(s, text);
	assert_true(s->end.late.armed);
	assert_true(s->end.late.deadline > loop_now() + 6000);
}

static void look_for(struct session *s, bool (*is)(const struct session *s))
{
	int64_t end = loop_now() + 60000;

	look.expired = look_again;
	while (!is(s) && loop_now() < end) {
		loop_timer_start(&look, 1);
		assert_int_equal(loop_run(), 0);
	}
	loop_timer_stop(&look);
	assert_true(is(s));
}

static bool is_idle(const struct session *s)
{
	return !s->busy;
}

static void each_state_of_an_end_names_its_culprit(void **state)
{
	const struct wire_request req = { .kind = RDMABLK_KIND_READ, .queue = 1 };
	static const struct staged_ops staged = {
		.close = staged_close, .free = staged_free,
	};
	struct store_ops ops = { .staged = &staged };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);
	struct lanes lanes = { .nr_lanes = 0 };

	(void)state;
	frees = 0;
	s->staged = (struct staged *)&export;
	s->lanes = &lanes;
	fake.refuse[QP] = 1;
	fake.accepts = true;
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	session_end(s, RDMABLK_R_CONNECTION);
	assert_late(s, SESSION_CLOSING, "waits for a worker, to make its queue pairs; the export");
	wait_answered();
	assert_late(s, SESSION_STOPPING, "an I/O thread of its export, to let go of its queue");
	assert_int_equal(fake.have[QP], 1);
	assert_true(lanes.cancel);
	session_lanes_stopped(s);
	assert_late(s, SESSION_FENCING, "a worker, to destroy its queue pairs and memory keys");
	look_for(s, is_idle);
	assert_int_equal(fake.have[QP], 1);
	s->end.late.deadline = 0;
	assert_late(s, SESSION_FENCING, "its next try to destroy queue pairs and memory keys");
	loop_timer_stop(&s->timer);
	s->timer.expired(&s->timer);
	look_for(s, is_idle);
	assert_int_equal(fake.have[QP], 0);
	assert_late(s, SESSION_SETTLING, "I/O that the file of its export has not ended; the exp");
	assert_false(LIST_EMPTY(&export.leases));
	session_lanes_idle(s);
	s->end.late.deadline = 0;
	assert_late(s, SESSION_SETTLING, "a worker, to free its buffers");
	wait_gone();
	assert_int_equal(frees, 1);
	assert_true(LIST_EMPTY(&export.leases));
}

/* A commands thread works for the session; then the initiator has time to hang up. */
static void the_last_states_of_an_end_name_their_culprit(void **state)
{
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);
	struct ibv_qp qp = { .context = &verbs };

	(void)state;
	s->lanes = &s->cmdqs.lanes;
	session_end(s, RDMABLK_R_CONNECTION);
	assert_late(s, SESSION_STOPPING, "the commands thread of its export, to let go of");
	assert_true(s->lanes->cancel);
	session_lanes_stopped(s);
	assert_late(s, SESSION_SETTLING, "a command that its export's store has not ended; the");
	s->quiet = false;
	s->ctrl.qp = &qp;
	session_lanes_idle(s);
	assert_true(LIST_EMPTY(&export.leases));
	assert_late(s, SESSION_CLOSED, "its initiator, to close the connection\n");
	session_destroy(s);
	assert_late(s, SESSION_DYING, "a worker, to destroy its control queue\n");
	wait_gone();
}

/* The session gave its write queues to a thread, which did not take them, or too late. */
static void a_session_whose_lanes_have_no_thread_ends(void **state)
{
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);

	(void)state;
	s->state = SESSION_REGISTER;
	s->cmdqs.lanes.given = true;
	s->job_error = -ENOSPC;
	assert_false(session_registered(s));
	assert_int_equal(s->end.reason, RDMABLK_R_NO_MEMORY);
	assert_late(s, SESSION_STOPPING, "the commands thread of its export, to let go of");
	assert_true(s->cmdqs.lanes.cancel);
	session_lanes_stopped(s);
	assert_false(LIST_EMPTY(&export.leases));
	session_lanes_idle(s);
	wait_gone();
	assert_true(LIST_EMPTY(&export.leases));
}

/* A worker does not free memory that a thread may still touch. */
static void what_is_busy_is_not_freed(void **state)
{
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);
	struct lane lane = { .busy = 1 };
	struct cmdqs *c = &s->cmdqs;

	(void)state;
	c->lanes.lane = &lane;
	c->lanes.nr_lanes = 1;
	c->dirty.nr = 1;
	session_end(s, RDMABLK_R_CONNECTION);
	wait_gone();
	assert_int_equal(c->dirty.nr, 1);	/* it was kept */
}

/*
 * From here on the fault "no-fence" is set. It skips the fence, so the export is free while one of
 * its threads still has the write queues. The end of the daemon waits for that thread.
 */
static void a_ghost_ends_with_the_daemon(void **state)
{
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);

	(void)state;
	assert_int_equal(fault_set("no-fence"), 0);
	s->lanes = &s->cmdqs.lanes;
	session_end(s, RDMABLK_R_CONNECTION);
	assert_int_equal(s->state, SESSION_CLOSED);
	assert_true(LIST_EMPTY(&export.leases));
	assert_false(s->lanes->cancel);
	assert_true(session_ghosts());
	session_end_all(RDMABLK_R_SHUTDOWN);
	assert_int_equal(s->state, SESSION_DYING);
	assert_true(s->lanes->cancel);
	assert_false(s->busy);
	session_lanes_stopped(s);
	assert_true(session_ghosts());
	session_lanes_idle(s);
	assert_false(session_ghosts());
	wait_gone();
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest tests[] = {
	TEST(each_state_of_an_end_names_its_culprit),
	TEST(the_last_states_of_an_end_name_their_culprit),
	TEST(a_session_whose_lanes_have_no_thread_ends),
	TEST(what_is_busy_is_not_freed),
	TEST(a_ghost_ends_with_the_daemon),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, begin, end);
}
