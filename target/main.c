// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablkd: start, signals, shutdown.
 *
 * Start: the daemon fills its exports, then listens, then tells systemd "ready". Before that a
 * signal ends the process at once, and that is not a failure.
 *
 * Shutdown, in this order:
 *
 *  - Logins are refused. Live sessions are told, and get their time.
 *  - Sessions that may have something to flush get CACHE_MS, also those that are logging in
 *    again. A FLUSH of cache=full that is under way then may take as long as it needs. A
 *    device that has just lost its session, or has logged out with more to flush, may log in
 *    again until CACHE_MS are over. One that was told of the end and could not flush may not.
 *  - Nobody listens any more, and every session is ended. The process ends when the last
 *    session is gone and all files are closed, or after SHUTDOWN_MS at the latest.
 *
 * Data has no such limit. The process waits for the store threads, whether they work for a
 * session or bring a file up to date, and for the end of sessions that keep a file from being
 * brought up to date. A sync of an uncached file gets CACHE_MS: if its outcome is not known by
 * then, unflushed data counts as lost. The process does not wait for other I/O of such a file,
 * nor for a file that is being opened: none of their data is in this process alone.
 *
 * A second signal ends the process at once, whether the loop still runs or has ended.
 *
 * If a file could not be brought up to date, and no kept arena has what it lacks, the daemon has
 * failed. With a kept arena it has not: the next daemon brings the file up to date.
 *
 * The end of the command of --run is like a first signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include "admin/admin.h"
#include "admin/admin_step.h"
#include "admin/control.h"
#include "base/audit.h"
#include "base/captive.h"
#include "base/late_signals.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/meminfo.h"
#include "base/sandbox.h"
#include "base/util.h"
#include "base/watchdog.h"
#include "base/worker.h"
#include "config/options.h"
#include "export/export.h"
#include "export/host.h"
#include "export/identity.h"
#include "export/quota.h"
#include "rdma/cm.h"
#include "rdma/device.h"
#include "rdma/numa.h"
#include "session/listener.h"
#include "session/login.h"
#include "session/session.h"
#include "staged/staged_io.h"
#include "store/arena.h"
#include "store/file.h"
#include "wire/crypto.h"

#define SHUTDOWN_MS	5000
#define CACHE_MS	60000	/* for initiators to flush and log out, and for syncs */
#define REST_MS		2000	/* for sessions to end after their store threads */
#define LOOK_MS		20	/* between looks whether the last file is up to date */
#define LATE_MS		1000	/* between looks whether sessions still flush */

static void signal_ready(struct loop_source *src);
static void shutdown_timer_expired(struct loop_timer *timer);

static struct {
	struct config cfg;
	struct loop_source signals;
	struct loop_timer timer;
	bool stopping;		/* the shutdown has begun */
	bool flushing;		/* waits only for sessions with something to flush */
	bool closing;		/* every session has been told to end */
	int64_t reported;		/* when the log last said what the shutdown waits for, ms */
	int64_t deadline;	/* when the wait for sessions ends, ms */
	int64_t closed;		/* when every session was told to end, ms */
	unsigned int reloads;	/* reloads asked for by SIGHUP and not done yet */
} daemon_state = {
	.signals = { .fd = -1, .ready = signal_ready },
	.timer = { .expired = shutdown_timer_expired },
};

static void exit_failed(void)
{
	audit_stop(EXIT_FAILED, captive_status());
	log_stop();
	_exit(EXIT_FAILED);
}

static void device_gone(struct device *dev)
{
	session_end_device(dev);
	listener_close_device(dev);
}

static void arena_broken(void)
{
	struct export *e;

	while ((e = export_broken()))
		session_end_broken(e);
}

/* Whether the process would lose data if it ended now */
static bool stores_left(void)
{
	bool ghosts = session_ghosts();
	unsigned int files = ghosts ? 0 : export_close_unused();
	unsigned int sessions = session_cmdqs_busy();
	unsigned int held = export_held();
	int64_t now = loop_now();
	bool young = now - daemon_state.closed < CACHE_MS;
	unsigned int syncs = young ? staged_syncing() : 0;

	if (!ghosts && !files && !sessions && !held && !syncs)
		return false;
	if (now - daemon_state.reported < SHUTDOWN_MS)
		return true;
	daemon_state.reported = now;
	/* A driver may keep some objects for ever: the process waits CACHE_MS at most. */
	if (files || sessions || young)
		sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%d", 2 * SHUTDOWN_MS * 1000);
	if (sessions)
		log_info("waiting for the stores of %u sessions", sessions);
	if (files)
		log_info("waiting for the files of %u exports", files);
	if (held)
		log_info("waiting for the end of sessions of %u exports", held);
	if (syncs)
		log_info("waiting for the syncs of %u files", syncs);
	return true;
}

/* Every session was told to end: looks whether all has ended, and ends the process. */
static void look_for_end(void)
{
	bool stores = stores_left();
	int64_t now = loop_now();

	if (stores && daemon_state.deadline < now + REST_MS)
		daemon_state.deadline = now + REST_MS;
	if (!stores && !session_any() && worker_idle()) {
		loop_stop();
		return;
	}
	if (!stores && now >= daemon_state.deadline) {
		log_err("%s after %lld ms: exiting", session_any() ?
			"sessions are still not closed" : "a file does not answer",
			(long long)(now - daemon_state.closed));
		staged_abandon();
		exit_failed();
	}
	loop_timer_start(&daemon_state.timer, LOOK_MS);
}

static void close_sessions(void)
{
	daemon_state.closing = true;
	daemon_state.reported = loop_now();
	daemon_state.closed = daemon_state.reported;
	daemon_state.deadline = daemon_state.reported + SHUTDOWN_MS;
	listener_close_all();
	session_end_all(RDMABLK_R_SHUTDOWN);
	look_for_end();
}

static void session_gone(void)
{
	/* Begin with this: a removal that waits for the session then goes to a worker. */
	admin_session_gone();
	if (daemon_state.closing)
		look_for_end();
	else if (daemon_state.flushing && !session_expected())
		close_sessions();
}

/* Ends sessions whose time to flush is over. Return: how many go on, because they are flushing */
static unsigned int end_late(unsigned int nr)
{
	unsigned int late = session_end_late(NULL, RDMABLK_R_SHUTDOWN);

	if (nr > late)
		log_warn("%u sessions have not flushed in %d s", nr - late,
			 CACHE_MS / 1000);
	return late;
}

/* The time of sessions with nothing to flush is over. Called again until none has to flush. */
static void drained(void)
{
	int64_t now = loop_now(), left = daemon_state.deadline - now;
	unsigned int nr = session_caches(NULL), away = export_awaiting();

	if (left <= 0) {
		nr = end_late(nr);
		away = 0;
	}
	if (!nr && !away) {
		close_sessions();
		return;
	}
	if (left <= 0 || left > LATE_MS)
		left = LATE_MS;
	if (!daemon_state.flushing || now - daemon_state.reported >= SHUTDOWN_MS) {
		daemon_state.reported = now;
		if (nr)
			log_info("waiting for %u sessions to flush", nr);
		if (away)
			log_info("waiting for the initiators of %u exports to come back",
				 away);
	}
	/* Enough until stores_left() extends the time for the first time, if that is next. */
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(left + 2 * SHUTDOWN_MS) * 1000);
	daemon_state.flushing = true;
	loop_timer_start(&daemon_state.timer, left);
}

static void shutdown_timer_expired(struct loop_timer *timer)
{
	(void)timer;
	if (daemon_state.closing)
		look_for_end();
	else
		drained();
}

static void shutdown_begin(const char *name)
{
	unsigned int live;

	log_info("%s: shutting down", name);
	sd_notify(0, "STOPPING=1");
	daemon_state.stopping = true;
	daemon_state.deadline = loop_now() + CACHE_MS;
	login_refuse_all(RDMABLK_R_SHUTDOWN, daemon_state.deadline);
	admin_shutdown();
	live = session_drain(NULL, daemon_state.cfg.drain_ms, CACHE_MS);
	if (live && daemon_state.cfg.drain_ms)
		loop_timer_start(&daemon_state.timer,
				 (int64_t)daemon_state.cfg.drain_ms);
	else
		drained();
}

static void reload_done(struct admin *a)
{
	daemon_state.reloads--;
	admin_reload_log(a);
	sd_notify(0, "READY=1");
	admin_free(a);
}

static void reload(uid_t uid)
{
	struct admin *a;

	log_info("SIGHUP: looking at the configuration and the files again");
	audit_reopen();		/* also when the next line returns */
	if (daemon_state.reloads == 2)	/* the second has not begun, and will see all changes */
		return;
	a = admin_alloc(ADMIN_RELOAD);
	if (!a)
		return;
	daemon_state.reloads++;
	a->done = reload_done;
	a->uid = uid;
	a->by_signal = true;
	a->patient = true;	/* a signal gets no answer that says "try again" */
	admin_submit(a);
}

static void signal_ready(struct loop_source *src)
{
	struct signalfd_siginfo info;

	while (read(src->fd, &info, sizeof(info)) == sizeof(info)) {
		const char *name = info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";

		if (info.ssi_signo == SIGHUP) {
			reload((uid_t)info.ssi_uid);
		} else if (daemon_state.stopping) {
			log_warn("%s again: exiting at once", name);
			staged_abandon();
			export_log_lost();
			exit_failed();
		} else {
			if (info.ssi_pid)	/* not the terminal's */
				captive_signal((int)info.ssi_signo);
			shutdown_begin(name);
		}
	}
}

static void command_ended(void)
{
	if (!daemon_state.stopping)
		shutdown_begin("the command is over");
}

/* Makes the command's process, before there are threads, a sandbox or keys. */
static int prepare_command(const struct config *cfg)
{
	const char *at = cfg->listen[0].text, *export = TAILQ_FIRST(&cfg->exports)->name;
	bool any = !strncmp(at, "0.0.0.0:", 8) || !strncmp(at, "[::]:", 5);
	char uri[ADDR_TEXT + RDMABLK_NAME_LEN + 1];
	const struct captive_place place = {
		.uri = any ? NULL : uri, .address = at, .export = export,
		.control = cfg->control ?: CONFIG_CONTROL,
	};

	snprintf(uri, sizeof(uri), "%s/%s", at, export);
	return captive_prepare(cfg->run, &place);
}

static atomic_int early_status = EXIT_DONE;

/* Ends the process at once: filling the exports may take hours, and no session has one yet. */
static void early_signal(int signo)
{
	static const char text[] = "rdmablkd: ended by a signal before it was ready\n";

	(void)signo;
	log_signal(text, sizeof(text) - 1);
	_exit(atomic_load(&early_status));
}

static int early_signals_init(void)
{
	const struct sigaction action = { .sa_handler = early_signal };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);	/* stays pending until the daemon can reload */
	return sigprocmask(SIG_BLOCK, &set, NULL) || sigaction(SIGTERM, &action, NULL) ||
	       sigaction(SIGINT, &action, NULL) ? -errno : 0;
}

static int signals_init(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	daemon_state.signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon_state.signals.fd < 0) {
		int ret = -errno;

		/* A daemon that cannot read signals must not block them. */
		sigdelset(&set, SIGHUP);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		return ret;
	}
	return loop_add(&daemon_state.signals);
}

static int fail(const char *what, int ret)
{
	log_err("%s: %s", what, strerror(-ret));
	return EXIT_FAILED;
}

static int audit_begin(const struct config *cfg)
{
	int ret = audit_start();
	struct json_object *line = ret ? NULL : audit_line("start");

	audit_text(line, "daemon", RDMABLKD_VERSION);
	audit_text(line, "target", cfg->name);
	audit_number(line, "pid", (uint64_t)getpid());
	audit_bool(line, "insecure", cfg->insecure);
	audit_text(line, "auth", cfg->auth == AUTH_PSK ? "psk" : "none");
	audit_write(line);
	return ret;
}

static int serve(struct config *cfg)
{
	int ret = cm_init();

	if (ret)
		return fail(CM_MISSING, ret);
	device_init(device_gone);
	admin_init(cfg);
	if (listener_open_all(cfg) || control_open(cfg->control))
		return EXIT_FAILED;
	log_ready();
	ret = log_start();
	if (ret)
		return fail("cannot start the thread of the log", ret);
	ret = audit_begin(cfg);
	if (ret)
		return fail("cannot start the thread of the audit log", ret);
	sd_notify(0, "READY=1");
	ret = captive_start(command_ended);
	if (ret)
		return fail("cannot start the command", ret);
	watchdog_start();
	ret = loop_run();
	watchdog_stop();
	return ret ? fail("event loop", ret) : EXIT_DONE;
}

/* Ends the reading of signals from the signalfd. */
static void late_signals_init(void)
{
	sigset_t set;
	int ret;

	/* From here on early_signal() ends the process as one that has failed. */
	atomic_store(&early_status, EXIT_FAILED);
	if (daemon_state.signals.fd < 0)	/* early_signal() is still the handler */
		return;
	ret = late_signals_start(daemon_state.stopping, staged_abandon);
	if (!ret)
		return;
	log_warn("no thread to wait for signals: %s; the next one ends the process as SIGKILL does",
		 strerror(-ret));
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Return: whether all data of the exports is in their files or in kept arenas */
static bool tear_down(void)
{
	bool kept;

	late_signals_init();
	listener_close_all();
	control_close();
	loop_timer_stop(&daemon_state.timer);
	export_close_unused();	/* a worker may wait for a file that does not answer */
	if (!worker_stop()) {
		log_err("the state directory %s does not answer: exiting",
			daemon_state.cfg.state_dir);
		staged_abandon();
		exit_failed();
	}
	device_exit();
	cm_exit();
	kept = export_close_all();
	host_stop();
	arena_guard_exit();
	if (daemon_state.signals.fd >= 0)
		close(daemon_state.signals.fd);
	loop_exit();
	crypto_stop();
	return kept;
}

/* Keeps the use of state directories. A file system that is mounted there later is not covered. */
static int keep_states(const struct config *cfg)
{
	const struct export_config *ec;
	int ret = 0;

	TAILQ_FOREACH(ec, &cfg->exports, entry)
		if (!ret && ec->state)
			ret = sandbox_allow(ec->state, SANDBOX_MANAGE);
	return ret;
}

/* Directories and files that only a confined daemon has to name. */
static int keep_configured(const struct config *cfg)
{
	char *dirs __cleanup_free = strdup(cfg->directories), *rest = dirs, *dir;
	const struct export_config *ec;
	int ret = dirs ? 0 : -ENOMEM;

	while (!ret && (dir = strsep(&rest, ":"))) {
		ret = access(dir, F_OK) ? -errno : sandbox_allow(dir, SANDBOX_CREATE);
		if (ret)
			log_err("directories: %s: %s", dir, strerror(-ret));
	}
	TAILQ_FOREACH(ec, &cfg->exports, entry) {
		if (!ret && ec->file)
			ret = sandbox_allow(ec->file, SANDBOX_WRITE);
		if (!ret && ec->arena)
			ret = sandbox_allow_beside(ec->arena, SANDBOX_CREATE);
	}
	return ret ?: sandbox_allow("/dev/infiniband", SANDBOX_WRITE) ?:
	       sandbox_allow("/proc/self", SANDBOX_WRITE);	/* meminfo_protect() */
}

/* Before there is a second thread. */
static int enter_sandbox(const struct config *cfg)
{
	int ret = sandbox_begin(cfg->directories);

	if (ret && !cfg->directories) {
		log_info("no sandbox: Landlock: %s", strerror(-ret));
		return 0;
	}
	ret = ret ?: sandbox_allow_own(cfg->state_dir) ?:
	      sandbox_allow(CONFIG_RUN_DIR, SANDBOX_MANAGE) ?:
	      sandbox_allow_beside(cfg->control ?: CONFIG_CONTROL, SANDBOX_MANAGE);
	if (!ret && cfg->audit)
		ret = sandbox_allow_beside(cfg->audit, SANDBOX_CREATE);
	ret = ret ?: keep_states(cfg);
	if (!ret && cfg->directories)
		ret = keep_configured(cfg);
	ret = ret ?: sandbox_enter();
	if (ret)
		log_err("cannot enter the sandbox of Landlock: %s", strerror(-ret));
	return ret;
}

/*
 * Each session has a descriptor for its commands, and more with a file. The soft limit is
 * often 1024, for programs that use select().
 */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_warn("cannot raise the limit of open files: %s", strerror(errno));
}

/*
 * Before there are threads, because they would have to wait for the search of crypto_start().
 *
 * The heap has the keys of sessions, and for a while what a login derives from its key. So core
 * dumps are forbidden. The limit is one byte, because a dump to a pipe ignores a limit of zero.
 */
static int start_crypto(const struct config *cfg)
{
	const struct rlimit core = { 1, 1 };
	const char *missing;

	if (cfg->auth != AUTH_PSK)
		return 0;
	if (setrlimit(RLIMIT_CORE, &core)) {
		log_err("auth = psk: cannot forbid core dumps: %s", strerror(errno));
		return -errno;
	}
	if (!crypto_start(&missing))
		return 0;
	log_err("auth = psk: libcrypto has no %s", missing);
	return -ENOTSUP;
}

static int run(struct config *cfg)
{
	int ret = prepare_command(cfg);

	if (ret)
		return fail("cannot make a process for the command", ret);
	allow_descriptors();
	ret = loop_init() ?: early_signals_init();
	if (ret)
		return fail("cannot start the event loop", ret);
	if (start_crypto(cfg))
		return EXIT_FAILED;
	if (enter_sandbox(cfg) || audit_open(cfg->audit))
		return EXIT_FAILED;
	if (cfg->auth == AUTH_PSK &&
	    (host_start(cfg, session_hosts_changed) || identity_target(cfg)))
		return EXIT_FAILED;
	ret = session_init(session_gone);
	if (ret)
		return fail("no random numbers", ret);
	quota_init(cfg);
	quota_expect(host_expects);
	quota_rate_init(cfg);
	ret = arena_guard_init(arena_broken);
	if (ret)
		return fail("cannot catch SIGBUS", ret);
	meminfo_expose();
	if (export_open_all(cfg))
		return EXIT_FAILED;
	meminfo_protect();
	ret = signals_init();
	if (ret)
		return fail("cannot wait for signals", ret);
	ret = worker_start();
	return ret ? fail("cannot start workers", ret) : serve(cfg);
}

/*
 * --check: whether the daemon could start on this host with a configuration that has no
 * mistakes. A daemon may be running with that configuration, so nothing is locked, created
 * or listened on, and free memory is not looked at. Whether another process uses a file or
 * a port is not known before the start.
 */
static int check_file(const struct export_config *ec)
{
	const struct file_params params = {
		.name = ec->name, .path = ec->file, .read_only = ec->read_only,
		.size = ec->size, .block = (uint32_t)ec->block,
	};

	return ec->file ? file_check(&params) : 0;
}

static int check_state(const struct export_config *ec)
{
	int ret;

	if (!ec->state || !faccessat(AT_FDCWD, ec->state, W_OK | X_OK, AT_EACCESS))
		return 0;
	ret = -errno;
	log_err("export %s: cannot lock %s: %s", ec->name, ec->state, strerror(-ret));
	return ret;
}

static int check_export(const struct config *cfg, const struct export_config *ec)
{
	struct numa_place place;
	int ret = check_file(ec);

	if (ec->arena)
		ret = arena_check(ec->arena) ?: ret;
	ret = check_state(ec) ?: ret;
	return numa_find(cfg, ec, &place) ?: ret;
}

/* Checks the keys of hosts; prints each problem. */
static int check_keys(struct config *cfg)
{
	struct host_table *table = host_load(cfg, HOST_KEEP_NONE);
	int ret = table ? 0 : -EINVAL;

	host_discard(table);
	return ret;
}

/* Logs each problem. Return: 0 or -errno of one of them. */
static int check_host(struct config *cfg)
{
	const struct export_config *ec;
	int ret = 0, wrong;

	TAILQ_FOREACH(ec, &cfg->exports, entry) {
		wrong = check_export(cfg, ec);
		ret = wrong ?: ret;
	}
	if (cfg->auth == AUTH_PSK)
		ret = check_keys(cfg) ?: ret;
	wrong = loop_init() ?: cm_init();
	if (wrong) {
		log_err(CM_MISSING ": %s", strerror(-wrong));
		return wrong;
	}
	for (unsigned int i = 0; i < cfg->nr_listen; i++) {
		wrong = listener_check(&cfg->listen[i]);
		ret = wrong ?: ret;
	}
	cm_exit();
	loop_exit();
	return ret;
}

int main(int argc, char **argv)
{
	struct config *cfg = &daemon_state.cfg;
	int ret, own;

	config_init(cfg);
	ret = options_parse(cfg, argc, argv);
	if (ret == OPTIONS_CHECK) {
		log_setup(LOG_ERR);
		ret = check_host(cfg) ? EXIT_FAILED : EXIT_DONE;
	} else if (ret == OPTIONS_RUN) {
		log_setup(cfg->log_level);
		ret = run(cfg);
		own = tear_down() ? ret : EXIT_FAILED;
		ret = captive_end(own, SHUTDOWN_MS);
		audit_stop(own, captive_status());
		if (ret == EXIT_DONE)
			log_info("done");
		log_stop();
	}
	config_free(cfg);
	return ret;
}
