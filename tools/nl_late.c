// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages that the module sends later: the reply of a long command, and events.
 *
 * A reply has the sequence number of its request and may even overtake the
 * acknowledgment; the command is over when both have come, or when it was refused.
 * If the socket is closed before that, the kernel gives up a connect. A signal
 * therefore ends the wait, not the program, which closes the socket and says so.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "nl_impl.h"
#include "rdmablk_netlink.h"
#include "util.h"

#define MAX_ERRNO	4095
#define CTRL_GROUP	GENL_ID_CTRL	/* group "notify" of the controller */

static const int signals[NL_SIGNALS] = { SIGINT, SIGTERM, SIGHUP };
static atomic_int caught;	/* signal, or 0 */

static void on_signal(int number)
{
	caught = number;
}

/**
 * nl_hold_signals() - from now on signals end nl_wait(), not the program
 * @nl: the connection
 *
 * Between two waits the signals are blocked. An ignored signal stays ignored.
 */
void nl_hold_signals(struct nl *nl)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;
	size_t i;

	caught = 0;
	sigemptyset(&set);
	for (i = 0; i < NL_SIGNALS; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &nl->mask);
	for (i = 0; i < NL_SIGNALS; i++) {
		sigaction(signals[i], NULL, &nl->old[i]);
		if (nl->old[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	nl->held = true;
}

/**
 * nl_release_signals() - ends what nl_hold_signals() began; may be called twice
 * @nl: the connection
 */
void nl_release_signals(struct nl *nl)
{
	size_t i;

	if (!nl->held)
		return;
	nl->held = false;
	for (i = 0; i < NL_SIGNALS; i++)
		sigaction(signals[i], &nl->old[i], NULL);
	sigprocmask(SIG_SETMASK, &nl->mask, NULL);
}

static __s64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/**
 * nl_deadline() - a moment in the future, for nl_wait()
 * @seconds: from now
 */
__s64 nl_deadline(unsigned int seconds)
{
	return now_ms() + seconds * 1000LL;
}

/*
 * Waits @ms at most. Returns 1: there is something to receive; NL_WATCHED: only from the
 * watched descriptor; 0: nothing; -1 and errno on an error.
 */
static int poll_socket(struct nl *nl, __s64 ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	struct pollfd fds[] = {
		{ .fd = mnl_socket_get_fd(nl->sock), .events = POLLIN },
		{ .fd = nl->watched, .events = POLLIN },
	};
	int ret = ppoll(fds, nl->watched < 0 ? 1 : 2, ms < 0 ? NULL : &left,
			nl->held ? &nl->mask : NULL);

	if (ret <= 0)
		return ret;
	return fds[0].revents ? 1 : NL_WATCHED;
}

/**
 * nl_watch() - lets another descriptor end nl_wait(), too
 * @nl: the connection
 * @fd: the descriptor, or -1 for none
 */
void nl_watch(struct nl *nl, int fd)
{
	nl->watched = fd;
}

/**
 * nl_wait() - waits until there is something to receive
 * @nl: the connection
 * @deadline: from nl_deadline(), or NL_FOREVER
 * @failure: result; EINTR: a signal came, and nothing is to be received
 *
 * Returns 1, NL_WATCHED when there is something to read from the descriptor of nl_watch(), 0
 * when the deadline has passed, or -1 when @failure tells why.
 */
int nl_wait(struct nl *nl, __s64 deadline, struct nl_failure *failure)
{
	__s64 left;
	int ret;

	for (;;) {
		left = NL_FOREVER;
		if (deadline != NL_FOREVER)
			left = deadline > now_ms() ? deadline - now_ms() : 0;
		/* A message that came before the signal still counts. */
		ret = poll_socket(nl, caught ? 0 : left);
		if (ret > 0)
			return ret;
		if (!ret && !caught)
			return 0;
		if (!ret) {
			nl_set_failure(failure, EINTR, "interrupted");
			return -1;
		}
		if (errno != EINTR) {
			nl_set_failure(failure, errno, NULL);
			return -1;
		}
	}
}

/**
 * nl_wait_to_write() - waits until a file takes output
 * @nl: the connection: its signals end the wait
 * @fd: of the file; a pipe takes PIPE_BUF bytes then
 *
 * Returns 0, or -1 when a signal has come, and the file still takes nothing.
 */
int nl_wait_to_write(struct nl *nl, int fd)
{
	struct pollfd fds = { .fd = fd, .events = POLLOUT };
	static const struct timespec now;
	int ret;

	do
		ret = ppoll(&fds, 1, caught ? &now : NULL, nl->held ? &nl->mask : NULL);
	while (ret < 0 && errno == EINTR && !caught);
	return ret > 0 ? 0 : -1;
}

/* Is this the controller saying that our family is gone? */
static bool family_is_gone(const struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	mnl_attr_for_each(attr, nlh, sizeof(*genl))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_validate(attr, MNL_TYPE_U16) >= 0 &&
		    mnl_attr_get_u16(attr) == nl->family)
			return true;
	return false;
}

static int join(struct nl *nl, __u32 group, struct nl_failure *failure)
{
	if (mnl_socket_setsockopt(nl->sock, NETLINK_ADD_MEMBERSHIP, &group,
				  sizeof(group)) >= 0)
		return 0;
	nl_set_failure(failure, errno, NULL);
	return -1;
}

/* The state of a command. */
struct outcome {
	struct nl *nl;
	const struct nl_late *late;
	struct nl_failure *failure;
	__u8 cmd;
	bool acked;	/* or refused */
	bool replied;	/* or there will be no reply */
};

static void fail(struct outcome *outcome, int err, const char *text)
{
	outcome->acked = true;
	outcome->replied = true;
	nl_set_failure(outcome->failure, err, text);
}

static void take_ack(struct outcome *outcome, const struct nlmsghdr *nlh)
{
	struct nl_failure failure = { 0 };

	if (nl_decode_ack(outcome->nl, nlh, &failure)) {
		fail(outcome, EBADMSG, "the kernel sent a malformed answer");
		return;
	}
	outcome->acked = true;
	if (failure.err)
		outcome->replied = true;
	if (failure.err || (failure.text[0] && !outcome->failure->text[0]))
		*outcome->failure = failure;
}

static void take_text(const struct nlattr *attr, struct nl_failure *failure)
{
	const char *text = mnl_attr_get_payload(attr);
	size_t i, len = mnl_attr_get_payload_len(attr);

	for (i = 0; i < len && text[i] && i < sizeof(failure->text) - 1; i++)
		failure->text[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
	failure->text[i] = '\0';
}

static void take_reply(struct outcome *outcome, const struct nlmsghdr *nlh)
{
	struct nl_failure failure = { 0 };
	const struct nlattr *attr;
	__s32 err = 0;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == RDMABLK_ATTR_TEXT)
			take_text(attr, &failure);
		if (mnl_attr_get_type(attr) != RDMABLK_ATTR_ERROR)
			continue;
		err = mnl_attr_validate(attr, MNL_TYPE_U32) < 0 ? 1 :
		      (__s32)mnl_attr_get_u32(attr);
	}
	if (err < 0 && err >= -MAX_ERRNO)
		failure.err = -err;
	else if (err || outcome->late->handler(nlh, outcome->late->context) < 0)
		nl_set_failure(&failure, EBADMSG, "the kernel sent a malformed answer");
	outcome->replied = true;
	if (failure.err || failure.text[0])
		*outcome->failure = failure;
}

static void take_message(struct outcome *outcome, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	unsigned int portid = mnl_socket_get_portid(outcome->nl->sock);
	bool mine = nlh->nlmsg_seq == outcome->nl->seq &&
		    mnl_nlmsg_portid_ok(nlh, portid);

	if (mine && nlh->nlmsg_type == NLMSG_ERROR) {
		take_ack(outcome, nlh);
		return;
	}
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl))
		return;
	if (family_is_gone(outcome->nl, nlh))
		fail(outcome, EUNATCH, "the kernel module rdmablk was unloaded");
	else if (mine && nlh->nlmsg_type == outcome->nl->family &&
		 genl->cmd == outcome->cmd && !outcome->replied)
		take_reply(outcome, nlh);
}

static void receive(struct outcome *outcome)
{
	struct nl *nl = outcome->nl;
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->rx;
	ssize_t bytes = mnl_socket_recvfrom(nl->sock, nl->rx, sizeof(nl->rx));
	int left = bytes;

	if (bytes < 0) {
		/* ENOBUFS: too many families came and went, not our reply */
		if (errno != EINTR && errno != ENOBUFS)
			fail(outcome, errno, NULL);
		return;
	}
	for (; nl_is_whole(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		take_message(outcome, nlh);
}

static void follow(struct outcome *outcome)
{
	unsigned int limit = outcome->late->limit;
	__s64 deadline = limit ? nl_deadline(limit) : NL_FOREVER;
	struct nl *nl = outcome->nl;
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->tx;
	struct nl_failure failure = { 0 };
	char text[80];

	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		fail(outcome, errno, NULL);
	while (!outcome->acked || !outcome->replied) {
		switch (nl_wait(nl, deadline, &failure)) {
		case 1:
			receive(outcome);
			break;
		case 0:
			snprintf(text, sizeof(text),
				 "the kernel has not answered for %u s; given up",
				 limit);
			fail(outcome, ETIME, text);
			break;
		default:
			fail(outcome, failure.err, failure.err == EINTR ?
			     outcome->late->interrupted : failure.text);
		}
	}
}

/**
 * nl_run_late() - sends the request of a command that takes time, and waits for it
 * @nl: the connection, after nl_request()
 * @late: how to wait
 * @failure: result; EINTR: a signal came; ETIME: the limit has passed. The kernel
 *	goes on until the connection is closed, in both cases.
 *
 * Returns 0 or -1, when @failure tells why.
 */
int nl_run_late(struct nl *nl, const struct nl_late *late,
		struct nl_failure *failure)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->tx;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct outcome outcome = {
		.nl = nl,
		.late = late,
		.failure = failure,
		.cmd = genl->cmd,
	};

	memset(failure, 0, sizeof(*failure));
	if (join(nl, CTRL_GROUP, failure))
		return -1;
	nl_hold_signals(nl);
	follow(&outcome);
	nl_release_signals(nl);
	if (!failure->err)
		return 0;
	nl_explain(late->texts, failure);
	return -1;
}

/**
 * nl_subscribe() - joins the events, and those of the controller, which tell
 *	when the module goes away
 * @nl: the connection
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int nl_subscribe(struct nl *nl, struct nl_failure *failure)
{
	memset(failure, 0, sizeof(*failure));
	return join(nl, nl->events, failure) || join(nl, CTRL_GROUP, failure) ? -1 : 0;
}

/**
 * nl_next_event() - waits for events
 * @nl: the connection, after nl_subscribe()
 * @handler: called for each one
 * @context: for @handler
 * @failure: result; ENOBUFS: some were lost, the next ones will come
 *
 * Returns 0 or -1, when @failure tells why.
 */
int nl_next_event(struct nl *nl, mnl_cb_t handler, void *context,
		  struct nl_failure *failure)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->rx;
	ssize_t bytes = mnl_socket_recvfrom(nl->sock, nl->rx, sizeof(nl->rx));
	int left = bytes;

	memset(failure, 0, sizeof(*failure));
	if (bytes < 0) {
		nl_set_failure(failure, errno, NULL);
		return -1;
	}
	for (; nl_is_whole(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

		if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl))
			continue;
		if (family_is_gone(nl, nlh)) {
			nl_set_failure(failure, EUNATCH,
				       "the kernel module rdmablk was unloaded");
			return -1;
		}
		if (nlh->nlmsg_type == nl->family &&
		    genl->cmd == RDMABLK_CMD_EVENT)
			handler(nlh, context);
	}
	return 0;
}
