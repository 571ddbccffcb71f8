// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An export that moves from one daemon to another, with its state beside its data: it is the
 * same export with the same last writer, each daemon has its own state-dir, and one daemon has
 * it at a time. With epoch=stable it also has the same epoch on every host, and no cache.
 *
 * Sources: target/export/export.c target/export/identity.c target/export/export_writer.c
 *	   target/base/state_file.c target/staged/store_none.c target/store/file_identity.c
 * Libraries: libcrypto libsystemd liburing json-c
 */
#include "target_last_writer.h"

#include <json-c/json.h>
#include <signal.h>

#include "../../target/admin/control_answer.h"
#include "../../target/base/log.h"
#include "../../target/base/state_file.h"
#include "../../target/staged/store_none.h"

#define PORTABLE	"cache=none,epoch=stable,state="

static char portable[400];

static int setup(void **state)
{
	int ret = files_setup(state);

	if (ret)
		return ret;
	files_new("disk", SIZE);
	snprintf(portable, sizeof(portable), "%s%s", spec_of("d", "disk", PORTABLE),
		 files_path("state"));
	return mkdir(files_path("state"), 0755);
}

/* Return: result of the start; 0: the caller has to call stop() */
static int try_start(const char *dir, const char *spec, char *why, size_t size)
{
	int ret;

	log_keep(why, size);
	ret = open_with(dir, spec);
	log_keep(NULL, 0);
	if (ret)
		stop();
	return ret;
}

static void the_uuid_moves_with_the_data(void **state)
{
	uint8_t uuid[RDMABLK_ID_LEN];

	(void)state;
	start_with("here", portable);
	memcpy(uuid, export_find("d")->store.uuid, sizeof(uuid));
	stop();
	assert_int_equal(access(files_path("state/d.uuid"), F_OK), 0);
	assert_int_not_equal(access(files_path("here/d.uuid"), F_OK), 0);
	start_with("there", portable);
	assert_memory_equal(export_find("d")->store.uuid, uuid, sizeof(uuid));
	stop();
}

static void the_last_writer_moves_with_the_data(void **state)
{
	(void)state;
	start_with("here", portable);
	assert_true(let_write("d", &lease_a));
	stop();
	assert_int_not_equal(access(files_path("here/" LAST_WRITER_DIR), F_OK), 0);
	assert_int_equal(resume_of("there", portable), 1);
	start_with("there", portable);
	assert_true(let_write("d", &lease_b));
	stop();
	assert_int_equal(resume_of("here", portable), 2);
}

/* An export without a state of its own has it in the daemon's directory, which does not move. */
static void without_a_state_it_is_another_export(void **state)
{
	char spec[400];

	(void)state;
	snprintf(spec, sizeof(spec), "%s", spec_of("d", "disk", "cache=none,epoch=stable"));
	start_with("here", spec);
	let_write("d", &lease_a);
	stop();
	assert_int_equal(access(files_path("here/d.uuid"), F_OK), 0);
	assert_int_equal(resume_of("there", spec), 0);
}

/* Holds the lock of an export, as another daemon, until it is killed. */
static pid_t other_daemon(const char *path)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (state_file_lock(path) < 0)
			_exit(1);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void one_daemon_at_a_time(void **state)
{
	char why[300];
	pid_t pid = other_daemon(files_path("state/d.lock"));

	(void)state;
	assert_int_equal(try_start("here", portable, why, sizeof(why)), -EBUSY);
	assert_non_null(strstr(why, "/state/d.lock: another daemon has it"));
	/* another export may use the directory; this one may when the other daemon has ended */
	snprintf(why, sizeof(why), "e,memory,size=1M,state=%s", files_path("state"));
	start_with("here", why);
	stop();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	start_with("here", portable);
	assert_int_equal(state_file_lock(files_path("state/d.lock")), -EBUSY);
	/* opened again by the same daemon */
	renew("d");
	assert_int_equal(state_file_lock(files_path("state/d.lock")), -EBUSY);
	stop();
	/* a start that cannot open the store leaves no lock behind */
	assert_int_equal(rename(files_path("disk"), files_path("away")), 0);
	assert_int_equal(try_start("here", portable, why, sizeof(why)), -ENOENT);
	assert_int_equal(rename(files_path("away"), files_path("disk")), 0);
	start_with("here", portable);
	stop();
}

/* The daemon does not make the directory, whose file system may not be mounted yet. */
static void a_state_is_not_made(void **state)
{
	char why[300];

	(void)state;
	assert_int_equal(rename(files_path("state"), files_path("elsewhere")), 0);
	assert_int_equal(try_start("here", portable, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "export d: cannot lock "));
	assert_int_not_equal(access(files_path("state"), F_OK), 0);
	assert_int_equal(rename(files_path("elsewhere"), files_path("state")), 0);
}

/* What the open export grants. */
static uint32_t grant_flags(void)
{
	const struct store *s = &export_find("d")->store;
	struct store_limits limits;

	s->ops->limits(s, &limits);
	return limits.flags;
}

static void a_stable_epoch_is_that_of_the_file(void **state)
{
	uint8_t stable[RDMABLK_ID_LEN], boot[RDMABLK_ID_LEN];

	(void)state;
	start_with("here", portable);
	memcpy(stable, export_find("d")->store.epoch, sizeof(stable));
	assert_false(grant_flags() & RDMABLK_GRANT_CACHE);
	assert_true(grant_flags() & RDMABLK_GRANT_STAGED);
	stop();
	start_with("there", spec_of("d", "disk", "cache=none"));
	memcpy(boot, export_find("d")->store.epoch, sizeof(boot));
	assert_true(grant_flags() & RDMABLK_GRANT_CACHE);
	stop();
	assert_memory_not_equal(boot, stable, sizeof(stable));
	/* a failed sync on this host loses nothing that was acknowledged */
	start_with("here", portable);
	staged_fail(&((struct store_none *)export_find("d")->store.priv)->staged, -EIO);
	assert_memory_equal(export_find("d")->store.epoch, stable, sizeof(stable));
	stop();
	start_with("here", portable);
	assert_memory_equal(export_find("d")->store.epoch, stable, sizeof(stable));
	stop();
	/* another file in its place */
	assert_int_equal(files_run("cp %s %s", files_path("disk"), files_path("copy")), 0);
	assert_int_equal(rename(files_path("copy"), files_path("disk")), 0);
	start_with("here", portable);
	assert_memory_not_equal(export_find("d")->store.epoch, stable, sizeof(stable));
	stop();
}

static void the_administrator_sees_it(void **state)
{
	struct json_object *answer, *list, *e, *value;

	(void)state;
	for (int stable = 0; stable < 2; stable++) {
		start_with("here", stable ? portable : spec_of("d", "disk", "cache=none"));
		answer = control_list("");
		assert_true(json_object_object_get_ex(answer, "exports", &list));
		e = json_object_array_get_idx(list, 0);
		assert_true(json_object_object_get_ex(e, "state_dir", &value));
		assert_string_equal(json_object_get_string(value),
				    files_path(stable ? "state" : "here"));
		assert_true(json_object_object_get_ex(e, "stable_epoch", &value));
		assert_int_equal(json_object_get_boolean(value), stable);
		json_object_put(answer);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_uuid_moves_with_the_data),
		cmocka_unit_test(the_last_writer_moves_with_the_data),
		cmocka_unit_test(without_a_state_it_is_another_export),
		cmocka_unit_test(one_daemon_at_a_time),
		cmocka_unit_test(a_state_is_not_made),
		cmocka_unit_test(a_stable_epoch_is_that_of_the_file),
		cmocka_unit_test(the_administrator_sees_it),
	};

	return cmocka_run_group_tests_name("moved", tests, setup, files_teardown);
}
