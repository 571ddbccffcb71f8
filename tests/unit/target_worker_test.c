// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workers are fair: among the jobs of one kind each client gets its turn, whatever others have
 * submitted, and the jobs of one client run in their order. The threads of workers have names
 * and leave signals to the loop. A kind that ends no job for long is reported.
 *
 * Sources: target/base/worker.c target/base/thread.c
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../target/base/log.h"
#include "../../target/base/util.h"
#include "../../target/base/worker.h"
#include "last_line.h"

#define MANY	100U
#define ONE	JOB_NOTE	/* a kind with one thread: the order shows */
#define SECONDS	60		/* after which a test that hangs is ended */

/* clock_gettime() replaces that of libc: time passes only when the test says so. */
static struct timespec now;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = now;
	return 0;
}

struct step {
	struct job job;
	unsigned int nr;
};

static struct {
	pthread_mutex_t lock;
	unsigned int order[4 * MANY];	/* numbers of the jobs, as they ran */
	unsigned int ran;
	unsigned int done;
	unsigned int wanted;
	sem_t begun;
	sem_t hold;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void step_run(struct job *job)
{
	const struct step *step = container_of(job, struct step, job);

	pthread_mutex_lock(&seen.lock);
	seen.order[seen.ran++] = step->nr;
	pthread_mutex_unlock(&seen.lock);
}

static void step_done(struct job *job)
{
	struct step *step = container_of(job, struct step, job);

	free(step);
	if (++seen.done == seen.wanted)
		loop_stop();
}

static void gate_run(struct job *job)
{
	(void)job;
	sem_post(&seen.begun);
	sem_wait(&seen.hold);
}

static struct step *step_new(uint8_t client, unsigned int nr, void (*run)(struct job *job))
{
	struct step *step = calloc(1, sizeof(*step));

	assert_non_null(step);
	step->nr = nr;
	step->job = (struct job){ .run = run, .done = step_done, .kind = ONE };
	step->job.client.s6_addr[15] = client;
	return step;
}

static void submit(uint8_t client, unsigned int nr)
{
	seen.wanted++;
	worker_submit(&step_new(client, nr, step_run)->job);
}

/* Keeps the thread busy with a job of @client until the test has submitted all jobs. */
static void hold(uint8_t client)
{
	seen.ran = 0;
	seen.done = 0;
	seen.wanted = 1;
	worker_submit(&step_new(client, 0, gate_run)->job);
	sem_wait(&seen.begun);
}

static void run_all(void)
{
	sem_post(&seen.hold);
	assert_int_equal(loop_run(), 0);
	assert_int_equal(seen.ran, seen.wanted - 1);
	assert_true(worker_idle());
}

/* Return: how many jobs ran before job @nr. */
static unsigned int place(unsigned int nr)
{
	unsigned int i = 0;

	while (i < seen.ran && seen.order[i] != nr)
		i++;
	assert_true(i < seen.ran);
	return i;
}

/* At most one waiting job runs before that of another client, whenever that is submitted. */
static void one_job_of_another_client_goes_first(void **state)
{
	(void)state;
	hold(1);
	for (unsigned int i = 1; i <= MANY; i++) {
		submit(1, i);
		if (i == MANY / 2)
			submit(2, 1000);
	}
	submit(3, 2000);
	run_all();
	assert_true(place(1000) <= 1);
	assert_true(place(2000) <= 2);	/* behind one of each */
}

static void jobs_of_a_client_keep_their_order(void **state)
{
	unsigned int last[4] = { 0 };

	(void)state;
	hold(0);
	for (unsigned int i = 1; i <= MANY; i++)
		for (uint8_t client = 0; client < 3; client++)
			submit(client, 1000U * client + i);
	run_all();
	for (unsigned int i = 0; i < seen.ran; i++) {
		unsigned int client = seen.order[i] / 1000;

		assert_int_equal(seen.order[i], 1000 * client + last[client] + 1);
		last[client]++;
		/* turn by turn: nobody is ahead of another by more than one */
		for (unsigned int other = 0; other < 3; other++)
			assert_true(last[client] <= last[other] + 1);
	}
	for (unsigned int client = 0; client < 3; client++)
		assert_int_equal(last[client], MANY);
}

/* Many clients submit one job each. */
static void new_clients_do_not_starve_an_old_one(void **state)
{
	(void)state;
	hold(1);
	for (unsigned int i = 1; i <= 10; i++)
		submit(1, i);
	for (unsigned int i = 0; i < MANY; i++)
		submit((uint8_t)(10 + i), 1000 + i);
	run_all();
	/* one turn per round of all clients; the others have only one round */
	assert_int_equal(place(1), 0);
	assert_int_equal(place(2), MANY + 1);
	assert_int_equal(place(10), MANY + 9);
}

static struct {
	char name[16];
	sigset_t blocked;
} thread;

static void thread_run(struct job *job)
{
	(void)job;
	pthread_getname_np(pthread_self(), thread.name, sizeof(thread.name));
	pthread_sigmask(SIG_BLOCK, NULL, &thread.blocked);
}

static void threads_have_names_and_leave_signals(void **state)
{
	sigset_t here;

	(void)state;
	seen.ran = 0;
	seen.done = 0;
	seen.wanted = 1;
	worker_submit(&step_new(0, 0, thread_run)->job);
	assert_int_equal(loop_run(), 0);
	assert_string_equal(thread.name, "note");
	assert_int_equal(sigismember(&thread.blocked, SIGTERM), 1);
	assert_int_equal(sigismember(&thread.blocked, SIGBUS), 0);
	pthread_sigmask(SIG_BLOCK, NULL, &here);
	assert_int_equal(sigismember(&here, SIGTERM), 0);
}

static void owned_run(struct job *job)
{
	struct step *step = container_of(job, struct step, job);

	seen.order[seen.ran++] = step->nr;
	free(step);
}

/* Jobs of a worker run in order, and their owner frees them. worker_end() waits for all. */
static void a_worker_ends_when_its_jobs_have_run(void **state)
{
	struct worker w;

	(void)state;
	worker_init(&w, "owned", 1);
	assert_true(worker_end(&w, 0));		/* it never had a thread */
	worker_init(&w, "owned", 1);
	seen.ran = 0;
	for (unsigned int i = 0; i < MANY; i++) {
		struct step *step = step_new(0, i, owned_run);

		step->job.done = NULL;
		assert_int_equal(worker_add(&w, &step->job), 0);
	}
	assert_int_equal(w.nr, 1);
	assert_true(worker_end(&w, 0));
	assert_int_equal(seen.ran, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(seen.order[i], i);
}

/* worker_end() waits no longer than asked, and may be called again. */
static void a_worker_that_hangs_is_not_waited_for(void **state)
{
	struct job job = { .run = gate_run };
	struct worker w;

	(void)state;
	/* worker_end() takes its deadline from @now, and the C library waits by the real clock. */
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	worker_init(&w, "owned", 1);
	assert_int_equal(worker_add(&w, &job), 0);
	sem_wait(&seen.begun);
	assert_false(worker_end(&w, 1));
	sem_post(&seen.hold);
	assert_true(worker_end(&w, 0));
}

static void passed(struct loop_timer *timer)
{
	(void)timer;
	loop_stop();
}

/* Return: how many lines the loop has logged after so many seconds. */
static unsigned int pass(unsigned int seconds)
{
	struct loop_timer timer = { .expired = passed };
	unsigned int before = lines;

	loop_timer_start(&timer, seconds * 1000);
	now.tv_sec += seconds;
	assert_int_equal(loop_run(), 0);
	return lines - before;
}

static void a_kind_that_ends_no_job_is_reported(void **state)
{
	(void)state;
	hold(1);
	submit(1, 1);
	assert_int_equal(pass(29), 0);
	assert_int_equal(pass(1), 1);
	assert_string_equal(last_line,
			    "worker note has ended no job for 30 s; does the state directory hang?");
	assert_int_equal(pass(30), 1);
	assert_string_equal(last_line,
			    "worker note has ended no job for 60 s; does the state directory hang?");
	run_all();
	assert_int_equal(pass(100), 0);
}

/* One job waits 29 s, the next one 20 s. */
static void a_kind_that_ends_jobs_is_not_reported(void **state)
{
	(void)state;
	hold(1);
	seen.wanted++;
	worker_submit(&step_new(1, 0, gate_run)->job);
	assert_int_equal(pass(29), 0);
	sem_post(&seen.hold);
	sem_wait(&seen.begun);
	assert_int_equal(pass(0), 0);	/* the loop hears of the first */
	assert_int_equal(pass(20), 0);
	sem_post(&seen.hold);
	assert_int_equal(loop_run(), 0);
	assert_true(worker_idle());
}

/* A job of the administrator is not reported: opening a store may take hours. */
static void the_administrator_may_wait(void **state)
{
	struct step *step = step_new(0, 0, gate_run);

	(void)state;
	step->job.kind = JOB_ADMIN;
	worker_submit(&step->job);
	sem_wait(&seen.begun);
	assert_int_equal(pass(100), 0);
	assert_int_equal(pass(20), 0);

	/* A job that has begun meanwhile is not late, although its kind has ended none for long. */
	hold(1);
	assert_int_equal(pass(20), 0);
	seen.wanted++;
	sem_post(&seen.hold);
	sem_post(&seen.hold);
	assert_int_equal(loop_run(), 0);
	assert_true(worker_idle());
}

static int begin(void **state)
{
	(void)state;
	alarm(SECONDS);
	return sem_init(&seen.begun, 0, 0) || sem_init(&seen.hold, 0, 0) || loop_init() ||
	       worker_start();
}

/* Sets the time ahead of the real clock, because worker_stop() waits until a moment in future. */
static int end(void **state)
{
	(void)state;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	now.tv_sec += SECONDS;
	worker_stop();
	loop_exit();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_job_of_another_client_goes_first),
		cmocka_unit_test(jobs_of_a_client_keep_their_order),
		cmocka_unit_test(new_clients_do_not_starve_an_old_one),
		cmocka_unit_test(threads_have_names_and_leave_signals),
		cmocka_unit_test(a_kind_that_ends_no_job_is_reported),
		cmocka_unit_test(a_kind_that_ends_jobs_is_not_reported),
		cmocka_unit_test(the_administrator_may_wait),
		cmocka_unit_test(a_worker_ends_when_its_jobs_have_run),
		cmocka_unit_test(a_worker_that_hangs_is_not_waited_for),
	};

	return cmocka_run_group_tests_name("worker", tests, begin, end);
}
