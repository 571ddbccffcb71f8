// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command of --run. A process that has registered memory must not fork. The sandbox of the
 * daemon would confine the command, and a forked child would have the keys in its memory. So the
 * daemon forks before all that, and the child waits for a byte that tells it to begin. If the
 * daemon cannot start, the pipe closes without it, and the child ends.
 *
 * The child keeps the terminal and the process group of the daemon: a command may ask
 * questions, and Ctrl-C is for both.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/captive.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/util.h"

/* Exit statuses, as of a shell */
#define NOT_RUN		126
#define NOT_FOUND	127

static void process_ended(struct loop_source *src);

static struct {
	struct loop_source process;	/* pidfd; -1: there is no command */
	pid_t pid;
	int go;				/* the word to begin is written here */
	bool over;			/* @status is known */
	int status;
	void (*ended)(void);
} captive = {
	.process = { .fd = -1, .ready = process_ended },
	.go = -1,
};

static int fill_environment(const struct captive_place *place)
{
	if (setenv("RDMABLK_ADDRESS", place->address, 1) ||
	    setenv("RDMABLK_EXPORT", place->export, 1) ||
	    setenv("RDMABLK_CONTROL", place->control, 1))
		return -1;
	return place->uri ? setenv("RDMABLK_URI", place->uri, 1) : unsetenv("RDMABLK_URI");
}

/* Nobody but the child knows why. The log has no thread yet. */
static _Noreturn void not_run(void)
{
	int error = errno;

	log_err("cannot run the command: /bin/sh: %s", strerror(error));
	_exit(error == ENOENT ? NOT_FOUND : NOT_RUN);
}

static _Noreturn void child(const char *command, const struct captive_place *place, int go,
			    pid_t parent)
{
	ssize_t n;
	char word;

	/* A daemon that is killed takes the command with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(NOT_RUN);
	do
		n = read(go, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)	/* the daemon has failed, and says so */
		_exit(NOT_RUN);
	if (!fill_environment(place))
		execl("/bin/sh", "sh", "-c", command, NULL);
	not_run();
}

/**
 * captive_prepare - make the process of the command, which waits
 * @command: for the shell; NULL: there is none, and nothing happens
 * @place: where it finds the daemon
 *
 * Before there are threads, registered memory, a sandbox or keys.
 *
 * Return: 0 or -errno.
 */
int captive_prepare(const char *command, const struct captive_place *place)
{
	pid_t parent = getpid();
	int ends[2], ret;

	if (!command)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	captive.pid = fork();
	if (!captive.pid) {
		close(ends[1]);
		child(command, place, ends[0], parent);
	}
	ret = captive.pid < 0 ? -errno : 0;
	close(ends[0]);
	captive.go = ends[1];
	if (!ret)
		captive.process.fd = (int)syscall(SYS_pidfd_open, captive.pid, 0);
	return ret ?: captive.process.fd < 0 ? -errno : 0;
}

static const char *meaning(int status)
{
	switch (status) {
	case NOT_RUN:
		return ": it, or a program that it names, cannot be run";
	case NOT_FOUND:
		return ": a program that it names was not found";
	default:
		return "";
	}
}

/* Return: whether it has ended; @options: of waitid() */
static bool reap(int options)
{
	siginfo_t info = { 0 };

	if (captive.over || captive.process.fd < 0)
		return captive.over;
	if (waitid(P_PIDFD, (id_t)captive.process.fd, &info, WEXITED | options) ||
	    !info.si_pid)
		return false;
	captive.over = true;
	captive.status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	if (captive.ended)	/* it was begun */
		log_info("the command has ended with status %d%s", captive.status,
			 meaning(captive.status));
	return true;
}

static void process_ended(struct loop_source *src)
{
	if (!reap(WNOHANG))
		return;
	loop_del(src);
	captive.ended();
}

/**
 * captive_start - let the command begin
 * @ended: called in the loop when it has ended
 *
 * Return: 0 or -errno.
 */
int captive_start(void (*ended)(void))
{
	int ret = 0;

	if (captive.process.fd < 0)
		return 0;
	captive.ended = ended;
	ret = loop_add(&captive.process);
	/* The loop notices a child that has ended. */
	if (!ret && write(captive.go, "", 1) != 1 && errno != EPIPE)
		ret = -errno;
	close(captive.go);
	captive.go = -1;
	return ret;
}

/**
 * captive_signal - pass a signal on to the command
 * @signo: the daemon got it from a process, not from the terminal, which signals both
 */
void captive_signal(int signo)
{
	if (captive.process.fd >= 0 && !captive.over)
		syscall(SYS_pidfd_send_signal, captive.process.fd, signo, NULL, 0);
}

/**
 * captive_end - the status that the daemon ends with
 * @status: its own
 * @patience_ms: how long a command is waited for that has not ended
 *
 * After the loop has ended.
 *
 * Return: @status if it is a failure, or there is no command; else that of the command, 128
 * and the number of the signal that ended it; EXIT_FAILED if it runs still: it is told to end.
 */
int captive_end(int status, int patience_ms)
{
	struct pollfd process = { .fd = captive.process.fd, .events = POLLIN };

	if (captive.go >= 0)
		close(captive.go);
	captive.go = -1;
	if (captive.process.fd < 0)
		return status;
	if (!captive.over && poll(&process, 1, patience_ms) > 0)
		reap(WNOHANG);
	if (!captive.over) {
		log_info("the command has not ended: it is told to");
		captive_signal(SIGTERM);
	}
	close(captive.process.fd);
	captive.process.fd = -1;
	if (status != EXIT_DONE)
		return status;
	return captive.over ? captive.status : EXIT_FAILED;
}

/**
 * captive_status - the status of the command, whatever the daemon ends with
 *
 * Return: 0 to 255, 128 and the number of the signal that ended it; -1: it was not begun, or
 * it runs still.
 */
int captive_status(void)
{
	return captive.ended && captive.over ? captive.status : -1;
}
