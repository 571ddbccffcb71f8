// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a session whose device refuses to destroy objects. Memory that the device may
 * still use is not freed. An export is not free while it may still be written, and nobody waits
 * for an object through which nothing can be written. The device is a fake that refuses on
 * demand. Also sessions that cannot be noted as the last writer, or that wait for the note.
 *
 * Sources: target/session/session.c target/session/session_open.c target/rdma/conn.c
 *	   target/rdma/ctrl.c
 */
#include <sys/stat.h>

#include "target_unmake.h"

static unsigned int received(struct session *s, const void *msg, size_t len)
{
	(void)s;
	(void)msg;
	(void)len;
	return RDMABLK_OK;
}

static unsigned int create(struct rdma_cm_id *id)
{
	device.users++;
	assert_int_equal(quota_login_get(rdma_get_peer_addr(id)), RDMABLK_OK);
	return session_create(request_new(id), &device, &cfg, 1, received);
}

/* The request is refused, and nothing is left of it. */
static void a_login_that_fails_is_undone(void **state)
{
	(void)state;
	assert_int_equal(create(id_new()), RDMABLK_OK);
	wait_gone();
	assert_int_equal(fake.rejects, 1);
	assert_int_equal(fake.reason, RDMABLK_R_NO_MEMORY);
	assert_int_equal(device.users, 1);
}

/* The peer learns that the device is full, and may go on with fewer queues, or without. */
static void a_full_device_is_named(void **state)
{
	const struct wire_request req = { .kind = RDMABLK_KIND_WRITE, .queue = 2 };
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s;

	(void)state;
	for (enum object o = QP; o <= CQ; o++) {
		if (o != QP && o != CQ)
			continue;
		fake.full[o] = true;
		fake.reason = RDMABLK_OK;
		assert_int_equal(create(id_new()), RDMABLK_OK);
		wait_gone();
		assert_int_equal(fake.reason, RDMABLK_R_DEVICE_FULL);
		fake.full[o] = false;
	}
	s = session_make(&export);
	fake.full[QP] = true;
	fake.reason = RDMABLK_OK;
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	wait_answered();
	assert_int_equal(fake.reason, RDMABLK_R_DEVICE_FULL);
	assert_int_equal(s->state, SESSION_GRANTED);
	assert_null(s->data[1]);
	assert_int_equal(fake.have[ID], 1);	/* of the control queue */
	session_end(s, RDMABLK_R_CONNECTION);
	wait_gone();
	/* In version 2 the initiator does not believe a reject, so the session ends, too. */
	s = session_make(&export);
	s->version = RDMABLK_VERSION_PROVEN;
	fake.reason = RDMABLK_OK;
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	wait_answered();
	assert_int_equal(fake.reason, RDMABLK_R_DEVICE_FULL);
	wait_gone();
}

/* A queue pair gets the access rights of its kind, not those that rdma_cm gives to all. */
static void a_queue_is_made_by_a_worker(void **state)
{
	struct wire_request req = { .kind = RDMABLK_KIND_READ, .queue = 1 };
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s;

	(void)state;
	fake.accepts = true;
	assert_int_equal(create(id_new()), RDMABLK_OK);
	wait_answered();
	s = (struct session *)session_next(NULL);
	assert_int_equal(s->state, SESSION_HELLO);
	assert_false(s->quiet);
	assert_int_equal(fake.access, 0);
	s->quiet = true;	/* the fake does not send */
	session_end(s, RDMABLK_R_CONNECTION);
	wait_gone();
	s = session_make(&export);
	s->lease.writer = true;
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	assert_int_equal(s->joined, 0);
	assert_int_equal(session_join(s, request_new(NULL), &req), RDMABLK_R_JOIN_TWICE);
	wait_answered();
	assert_int_equal(s->joined, 1);
	assert_int_equal(fake.access, IBV_ACCESS_REMOTE_READ);
	req = (struct wire_request){ .kind = RDMABLK_KIND_WRITE, .queue = 2 };
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	wait_answered();
	assert_int_equal(s->joined, 2);
	assert_int_equal(fake.access, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	session_end(s, RDMABLK_R_CONNECTION);
	wait_gone();
}

/* The login ends while a slow adapter still makes its queue pair. */
static void a_login_that_ends_is_undone_when_its_queue_is_made(void **state)
{
	struct session *s;
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	fake.hold = &hold;
	assert_int_equal(create(id_new()), RDMABLK_OK);
	sem_wait(&fake.begun);
	s = (struct session *)session_next(NULL);
	s->conn->event(s->conn, CONN_LOST);
	assert_int_equal(s->state, SESSION_CLOSING);
	assert_waits_for(s, "a worker, to make its queue pairs");
	sem_post(&hold);
	wait_gone();
	assert_int_equal(fake.reason, RDMABLK_R_CONNECTION);
}

/* Writes may come through a queue pair as soon as it is made, so the fence destroys it, too. */
static void a_fence_waits_for_queues_that_are_made(void **state)
{
	const struct wire_request req[] = {
		{ .kind = RDMABLK_KIND_READ, .queue = 1 },
		{ .kind = RDMABLK_KIND_WRITE, .queue = 2 },
	};
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);
	sem_t hold;

	(void)state;
	sem_init(&hold, 0, 0);
	fake.hold = &hold;
	for (size_t i = 0; i < ARRAY_SIZE(req); i++) {
		assert_int_equal(session_join(s, request_new(id_new()), &req[i]), RDMABLK_OK);
		sem_wait(&fake.begun);
	}
	session_end(s, RDMABLK_R_EXPIRED);
	assert_waits_for(s, "a worker, to make its queue pairs");
	sem_post(&hold);
	wait_answered();
	assert_false(s->busy);
	assert_false(LIST_EMPTY(&export.leases));
	assert_int_equal(fake.reason, RDMABLK_R_EXPIRED);
	sem_post(&hold);
	wait_gone();
	assert_int_equal(fake.rejects, 2);
	assert_true(LIST_EMPTY(&export.leases));
}

/* The device may still write to the memory of what it has kept, and send events. */
static void device_goes_on(bool queue, bool completions)
{
	if (queue) {
		struct qp_handler *qp = fake.qp->qp_context;

		memset((void *)(uintptr_t)fake.receive, 1, 64);
		qp->established(qp);
		qp->failed(qp, false);
		fake.stuck[fake.nr_stuck++] = fake.qp;
	}
	if (completions) {
		struct cq *cq = fake.cq->cq_context;

		cq_event(cq);
		assert_false(cq_waits(cq));
		fake.stuck[fake.nr_stuck++] = fake.cq;
	}
}

/* The device keeps one object of a login. Its request is refused as before. */
static void a_login_that_cannot_be_undone_keeps_its_memory(void **state)
{
	(void)state;
	for (enum object o = QP; o < ID; o++) {
		if (o == MR)	/* memory that nobody can reach any more */
			continue;
		fake.refuse[o] = o == QP ? 2 : 1;
		assert_int_equal(create(id_new()), RDMABLK_OK);
		assert_int_equal(loop_run(), 0);
		assert_int_equal(fake.reason, RDMABLK_R_NO_MEMORY);
		assert_int_equal(fake.have[o], 1);
		assert_int_equal(fake.have[ID], 0);
		assert_false(session_any());
		assert_false(fake.early);
		device_goes_on(o == QP, o <= CQ);
		memset(fake.have, 0, sizeof(fake.have));
	}
}

/* Writes may come through the queue pair, so the export is not free before it is destroyed. */
static void a_queue_that_fails_to_join_is_fenced(void **state)
{
	const struct wire_request req = { .kind = RDMABLK_KIND_READ, .queue = 1 };
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);

	(void)state;
	fake.no_receive = true;
	fake.refuse[QP] = 1;
	assert_int_equal(session_join(s, request_new(id_new()), &req), RDMABLK_OK);
	wait_answered();
	assert_int_equal(s->state, SESSION_FENCING);
	assert_int_equal(fake.have[QP], 1);
	assert_false(LIST_EMPTY(&export.leases));
	wait_gone();
	assert_true(LIST_EMPTY(&export.leases));
}

/* A control queue reaches nothing of an export. So the session ends; its memory is kept. */
static void a_control_queue_that_stays_keeps_its_memory(void **state)
{
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops };
	struct session *s = session_make(&export);

	(void)state;
	s->conn->setup = (struct conn_setup){ .pd = s->pd, .cq = s->cq.ibv };
	assert_int_equal(conn_open(s->conn), 0);
	assert_int_equal(ctrl_start(&s->ctrl, s->conn->pair), 0);
	fake.refuse[QP] = 2;
	session_end(s, RDMABLK_R_CONNECTION);
	assert_true(LIST_EMPTY(&export.leases));
	assert_int_equal(loop_run(), 0);
	assert_true(fake.gone);
	assert_false(session_any());
	assert_int_equal(fake.have[QP], 1);
	assert_int_equal(fake.have[ID], 0);
	assert_int_equal(device.users, 1);
	device_goes_on(true, true);
}

/* A writer's session that is about to register its memory */
static struct session *registering(struct export *export)
{
	struct session *s = session_make(export);

	free(s->data);
	s->nr_data = 0;
	s->share.queues = 1;
	s->lease.writer = true;
	s->lease.host_id[0] = 1;
	s->state = SESSION_REGISTER;
	return s;
}

static void come_from(struct session *s, uint32_t address)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&s->peer;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(address);
}

static unsigned int went_on, ended_for;

static void count_registered(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (session_registered(s))
		went_on++;
	ended_for = s->end.reason;
}

/*
 * The note of another writer cannot be removed. So the session gets no key, and its export is
 * free again.
 */
static void who_cannot_be_noted_is_not_let_write(void **state)
{
	static const char * const dirs[] = {
		"", "/writers", "/writers/export-00000000-0000-0000-0000-000000000000",
	};
	char dir[] = "/var/tmp/rdmablk-unit-XXXXXX", path[200];
	struct config daemon = { .state_dir = dir };
	struct export_config ec = { .name = "d" };
	struct store_ops ops = { 0 };
	struct export export = { .store = { .ops = &ops, .marked = true },
				 .cfg = &ec, .daemon = &daemon };
	struct session *s = registering(&export);

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 1; i < ARRAY_SIZE(dirs); i++) {	/* a directory in its place */
		snprintf(path, sizeof(path), "%s%s", dir, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_int_equal(session_register(s, count_registered), RDMABLK_OK);
	wait_gone();
	assert_int_equal(went_on, 0);
	assert_int_equal(ended_for, RDMABLK_R_INTERNAL);
	assert_true(LIST_EMPTY(&export.leases));
	snprintf(path, sizeof(path), "%s/writers/file-00000000-0000-0000-0000-000000000000",
		 dir);
	assert_int_equal(unlink(path), 0);
	for (size_t i = ARRAY_SIZE(dirs); i--;) {
		snprintf(path, sizeof(path), "%s%s", dir, dirs[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

/*
 * A state directory that hangs
 */

static struct {
	struct job job;
	int pipe[2];
	bool over;
} hanging;

static void hang_run(struct job *job)
{
	char byte;

	(void)job;
	assert_int_equal(read(hanging.pipe[0], &byte, 1), 1);
}

static void hang_done(struct job *job)
{
	(void)job;
	hanging.over = true;
	if (!session_any())	/* else the end of the session that waits stops the loop */
		loop_stop();
}

static void hang_submit(void)
{
	assert_int_equal(pipe(hanging.pipe), 0);
	hanging.over = false;
	hanging.job = (struct job){ .run = hang_run, .done = hang_done, .kind = JOB_NOTE };
	worker_submit(&hanging.job);
}

static void hang_end(void)
{
	assert_int_equal(write(hanging.pipe[1], "", 1), 1);
}

static void hang_close(void)
{
	assert_true(hanging.over);
	close(hanging.pipe[0]);
	close(hanging.pipe[1]);
}

static void registered_meanwhile(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	assert_true(session_registered(s));
	assert_false(hanging.over);
	loop_stop();
}

static unsigned int registered_late;

static void registered_and_go_on(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	assert_true(hanging.over);
	assert_true(session_registered(s));
	registered_late++;
	session_end(s, RDMABLK_R_CONNECTION);
}

/* Only sessions that need a note wait for the thread that writes notes. */
static void who_needs_no_note_does_not_wait_for_one(void **state)
{
	struct export_config ec = { .name = "d" };
	struct config daemon = { .state_dir = (char *)(uintptr_t)"/dev/null" };
	struct store_ops ops = { 0 };
	struct export noted = { .store = { .ops = &ops, .marked = true },
				.cfg = &ec, .daemon = &daemon };
	struct export free_of_it = { .store.ops = &ops, .cfg = &ec, .daemon = &daemon };
	struct session *waits = registering(&noted), *goes_on = registering(&free_of_it);

	(void)state;
	went_on = 0;
	hang_submit();
	come_from(goes_on, 1);
	come_from(waits, 2);
	assert_int_equal(session_register(waits, count_registered), RDMABLK_OK);
	assert_int_equal(session_register(goes_on, registered_meanwhile), RDMABLK_OK);
	assert_int_equal(loop_run(), 0);
	assert_int_equal(goes_on->state, SESSION_REGISTER);

	/* The end of a session waits for its job; the fence of another session does not. */
	session_end(waits, RDMABLK_R_CONNECTION);
	session_end(goes_on, RDMABLK_R_CONNECTION);
	assert_int_equal(loop_run(), 0);
	assert_true(LIST_EMPTY(&free_of_it.leases));
	assert_int_equal(waits->state, SESSION_CLOSING);
	assert_false(LIST_EMPTY(&noted.leases));
	assert_false(hanging.over);
	fake.early = false;	/* the objects of the other session were still there */
	assert_waits_for(waits, "waits for the state directory /dev/null, to note who");
	hang_end();
	wait_gone();
	assert_int_equal(went_on, 0);
	hang_close();
}

/* Such a login times out. The export stays taken until the note has ended. */
static void who_waits_for_a_note_too_long_has_not_logged_in(void **state)
{
	struct export_config ec = { .name = "d" };
	struct config daemon = { .state_dir = (char *)(uintptr_t)"/dev/null" };
	struct store_ops ops = { 0 };
	struct export export = { .store = { .ops = &ops, .marked = true },
				 .cfg = &ec, .daemon = &daemon };
	struct session *s = registering(&export);
	uint64_t login_ms = cfg.login_ms;
	int64_t end = loop_now() + 60000;

	(void)state;
	went_on = 0;
	hang_submit();
	cfg.login_ms = 50;
	assert_int_equal(session_register(s, count_registered), RDMABLK_OK);
	cfg.login_ms = login_ms;
	look.expired = look_again;
	while (s->state == SESSION_REGISTER && loop_now() < end) {
		loop_timer_start(&look, 1);
		assert_int_equal(loop_run(), 0);
	}
	loop_timer_stop(&look);
	assert_int_equal(s->state, SESSION_CLOSING);
	assert_int_equal(s->end.reason, RDMABLK_R_LOGIN_TIMEOUT);
	assert_false(LIST_EMPTY(&export.leases));
	hang_end();
	wait_gone();
	assert_int_equal(went_on, 0);
	hang_close();
}

/* Must be the last test, because it stops the workers. */
static void the_end_does_not_wait_for_a_state_directory(void **state)
{
	(void)state;
	hang_submit();
	assert_false(worker_stop());
	hang_end();
	assert_int_equal(loop_run(), 0);
	hang_close();
}

static void nothing_done(struct job *job)
{
	(void)job;
}

/* Waits for all jobs: one thread may finish the others while another still has a test's job. */
static void wait_idle(void)
{
	look.expired = look_again;
	while (!worker_idle()) {
		loop_timer_start(&look, 1);
		assert_int_equal(loop_run(), 0);
	}
	loop_timer_stop(&look);
}

/* The sessions of one address register one after the other. Other addresses do not wait. */
static void an_address_registers_one_session_at_a_time(void **state)
{
	struct job hangs[2] = { [0 ... 1] = { .run = hang_run, .done = nothing_done,
					      .kind = JOB_REGISTER } };
	struct export_config ec = { .name = "d" };
	struct store_ops ops = { 0 };
	const struct export plain = { .store.ops = &ops, .cfg = &ec };
	struct export exports[4] = { plain, plain, plain, plain };
	struct session *first = registering(&exports[0]), *next = registering(&exports[1]),
		       *gone_early = registering(&exports[2]), *other = registering(&exports[3]);

	(void)state;
	assert_int_equal(pipe(hanging.pipe), 0);
	hanging.over = true;
	/* Another client than that of the first, so that its turn is before the sessions'. */
	hangs[1].client.s6_addr[0] = 0xfe;
	worker_submit(&hangs[0]);
	worker_submit(&hangs[1]);
	come_from(first, 1);
	come_from(gone_early, 1);
	come_from(next, 1);
	come_from(other, 2);
	((struct sockaddr_in *)&next->peer)->sin_port = 1;
	assert_int_equal(session_register(first, registered_and_go_on), RDMABLK_OK);
	assert_int_equal(session_register(gone_early, count_registered), RDMABLK_OK);
	assert_int_equal(session_register(next, registered_and_go_on), RDMABLK_OK);
	assert_int_equal(session_register(other, registered_and_go_on), RDMABLK_OK);
	assert_true(first->busy && other->busy);
	assert_false(next->busy || gone_early->busy);

	/* A session that ends loses its turn. */
	went_on = 0;
	session_end(gone_early, RDMABLK_R_CONNECTION);
	assert_int_equal(write(hanging.pipe[1], "  ", 2), 2);
	while (session_any())
		assert_int_equal(loop_run(), 0);
	wait_idle();
	assert_int_equal(registered_late, 3);
	assert_int_equal(went_on, 0);
	close(hanging.pipe[0]);
	close(hanging.pipe[1]);
}

/* The completion queue is too short for so many hardware queues; fewer may fit. */
static void a_short_completion_queue_is_a_full_device(void **state)
{
	struct export_config ec = { .name = "d" };
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops, .cfg = &ec };
	struct session *s = registering(&export);

	(void)state;
	s->hello.features = RDMABLK_F_COMMANDS;
	s->share.queues = (uint32_t)device.attr.max_cqe / CMDQ_DEPTH;
	come_from(s, 1);
	went_on = 0;
	assert_int_equal(session_register(s, count_registered), RDMABLK_OK);
	wait_gone();
	assert_int_equal(went_on, 0);
	assert_int_equal(ended_for, RDMABLK_R_DEVICE_FULL);
}

static int64_t time_left;	/* for the next part of a login */

static void granted(struct job *job)
{
	struct session *s = container_of(job, struct session, job);

	if (!session_registered(s) || !session_set_state(s, SESSION_GRANTED))
		return;
	session_login_timer(s);
	time_left = s->timer.deadline - loop_now();
	session_end(s, RDMABLK_R_CONNECTION);
}

/* The registration of a large export may take longer than a login may otherwise. */
static void a_registration_is_no_part_of_the_time_for_a_login(void **state)
{
	struct job hangs[2] = { [0 ... 1] = { .run = hang_run, .done = nothing_done,
					      .kind = JOB_REGISTER } };
	struct export_config ec = { .name = "d" };
	struct store_ops ops = { 0 };
	struct export export = { .store.ops = &ops, .cfg = &ec };
	struct session *s = registering(&export);
	uint64_t login_ms = cfg.login_ms;

	(void)state;
	assert_int_equal(pipe(hanging.pipe), 0);
	hanging.over = true;
	/* Another client than that of the first, so that its turn is before the session's. */
	hangs[1].client.s6_addr[0] = 0xfe;
	worker_submit(&hangs[0]);
	worker_submit(&hangs[1]);
	come_from(s, 1);
	cfg.login_ms = 1000;
	time_left = 0;
	assert_int_equal(session_register(s, granted), RDMABLK_OK);
	look.expired = look_again;
	loop_timer_start(&look, 2 * (int64_t)cfg.login_ms + 100);
	assert_int_equal(loop_run(), 0);
	assert_int_equal(s->state, SESSION_REGISTER);
	assert_int_equal(write(hanging.pipe[1], "  ", 2), 2);
	wait_gone();
	wait_idle();
	cfg.login_ms = login_ms;
	close(hanging.pipe[0]);
	close(hanging.pipe[1]);
	assert_true(time_left > 0 && time_left <= 1000);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest tests[] = {
	TEST(a_login_that_fails_is_undone),
	TEST(a_full_device_is_named),
	TEST(a_queue_is_made_by_a_worker),
	TEST(a_login_that_ends_is_undone_when_its_queue_is_made),
	TEST(a_fence_waits_for_queues_that_are_made),
	TEST(a_login_that_cannot_be_undone_keeps_its_memory),
	TEST(a_queue_that_fails_to_join_is_fenced),
	TEST(a_control_queue_that_stays_keeps_its_memory),
	TEST(who_cannot_be_noted_is_not_let_write),
	TEST(who_needs_no_note_does_not_wait_for_one),
	TEST(who_waits_for_a_note_too_long_has_not_logged_in),
	TEST(an_address_registers_one_session_at_a_time),
	TEST(a_short_completion_queue_is_a_full_device),
	TEST(a_registration_is_no_part_of_the_time_for_a_login),
	TEST(the_end_does_not_wait_for_a_state_directory),
};

int main(void)
{
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	return cmocka_run_group_tests(tests, begin, end);
}
