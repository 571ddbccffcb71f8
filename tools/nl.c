// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generic netlink on libmnl: finding the family, a request with its answers. A
 * refused request comes back as errno and text, with the name of the attribute to
 * blame where the kernel tells its place. nl_late.c handles messages that come after
 * the acknowledgment, and events.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "attr.h"
#include "nl_impl.h"
#include "util.h"

/* Context and result of the control callbacks of one request. */
struct exchange {
	struct nl *nl;
	struct nl_failure *failure;
};

/**
 * nl_set_failure() - stores an error
 * @failure: result
 * @err: errno, positive
 * @text: in words; NULL: those of the errno
 */
void nl_set_failure(struct nl_failure *failure, int err, const char *text)
{
	failure->err = err;
	snprintf(failure->text, sizeof(failure->text), "%s",
		 text ? text : strerror(err));
}

/**
 * nl_fail() - stores an error of the tool's own
 * @failure: result
 * @err: errno, positive
 * @fmt: in words, as for printf()
 *
 * Returns -1.
 */
int nl_fail(struct nl_failure *failure, int err, const char *fmt, ...)
{
	va_list args;

	failure->err = err;
	va_start(args, fmt);
	vsnprintf(failure->text, sizeof(failure->text), fmt, args);
	va_end(args);
	return -1;
}

/* The attribute of our own request whose header is at @offset. */
static const char *attr_at(const struct nl *nl, __u32 offset)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->tx;
	const struct nlattr *attr;

	if (nlh->nlmsg_type != nl->family)
		return NULL;
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if ((const char *)attr == (const char *)nlh + offset)
			return attr_key(mnl_attr_get_type(attr));
	return NULL;
}

/* Takes the extended part of an acknowledgment. */
static void decode_extack(const struct nl *nl, const struct nlmsghdr *nlh,
			  size_t offset, struct nl_failure *failure)
{
	const char *text = NULL, *blamed = NULL;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, offset) {
		switch (mnl_attr_get_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
				text = mnl_attr_get_str(attr);
			break;
		case NLMSGERR_ATTR_OFFS:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
				blamed = attr_at(nl, mnl_attr_get_u32(attr));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
				blamed = attr_key(mnl_attr_get_u32(attr));
			break;
		}
	}
	if (!text && !blamed)
		return;
	snprintf(failure->text, sizeof(failure->text), "%s%s%s%s",
		 text ? text : strerror(failure->err), blamed ? " (" : "",
		 blamed ? blamed : "", blamed ? ")" : "");
}

/**
 * nl_decode_ack() - takes an acknowledgment, or a refusal
 * @nl: connection whose newest request it answers
 * @nlh: NLMSG_ERROR
 * @failure: result; err 0: acknowledged, the text may hold a warning
 *
 * Returns 0, or -1 with errno when the message is malformed.
 */
int nl_decode_ack(const struct nl *nl, const struct nlmsghdr *nlh,
		  struct nl_failure *failure)
{
	const struct nlmsghdr *request = (const struct nlmsghdr *)nl->tx;
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t offset = sizeof(*err);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*err)) {
		errno = EBADMSG;
		return -1;
	}
	failure->err = err->error < 0 ? -err->error : err->error;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		offset += err->msg.nlmsg_len - MNL_NLMSG_HDRLEN;
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		decode_extack(nl, nlh, offset, failure);
	/* The module sends a text with these two errors; generic netlink sends none. */
	if (failure->err == ENOENT && !failure->text[0] &&
	    request->nlmsg_type == nl->family)
		nl_set_failure(failure, EUNATCH,
			       "the kernel module rdmablk was unloaded");
	if (failure->err == EOPNOTSUPP && !failure->text[0] &&
	    request->nlmsg_type == nl->family)
		nl_set_failure(failure, EPROTONOSUPPORT,
			       "the kernel module rdmablk is older than this tool and does not know this command");
	return 0;
}

static int on_error(const struct nlmsghdr *nlh, void *context)
{
	struct exchange *exchange = context;

	return nl_decode_ack(exchange->nl, nlh, exchange->failure) ?
	       MNL_CB_ERROR : MNL_CB_STOP;
}

static int on_done(const struct nlmsghdr *nlh, void *context)
{
	struct exchange *exchange = context;
	const int *err = mnl_nlmsg_get_payload(nlh);

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(*err) && *err < 0) {
		exchange->failure->err = -*err;
		if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
			decode_extack(exchange->nl, nlh, sizeof(*err),
				      exchange->failure);
	}
	return MNL_CB_STOP;
}

/* Context of mnl_cb_run2(): a handler for answers, with its own context. */
struct delivery {
	struct exchange exchange;	/* first: the control callbacks see this */
	mnl_cb_t handler;
	void *context;
};

static int on_data(const struct nlmsghdr *nlh, void *context)
{
	struct delivery *delivery = context;

	/* Events have no sequence number. */
	if (!delivery->handler || nlh->nlmsg_seq != delivery->exchange.nl->seq)
		return MNL_CB_OK;
	return delivery->handler(nlh, delivery->context);
}

/**
 * nl_is_whole() - whether a message lies in what was received
 * @nlh: where the message begins
 * @left: bytes from there on
 *
 * libmnl takes lengths of 2^31 and more for negative, that is, for small.
 */
bool nl_is_whole(const struct nlmsghdr *nlh, int left)
{
	return mnl_nlmsg_ok(nlh, left) && nlh->nlmsg_len <= (unsigned int)left;
}

/*
 * Drops the rest of a dump during which devices came or went: until it is over, the kernel begins
 * no other one for this socket. @bytes: of what was received last. Returns -1 with EINTR, or with
 * another errno after an error.
 */
static int drop_dump(struct nl *nl, ssize_t bytes)
{
	const struct nlmsghdr *nlh;
	int left;

	while (bytes >= 0) {
		nlh = (const struct nlmsghdr *)nl->rx;
		left = bytes;
		for (; nl_is_whole(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_seq != nl->seq || (nlh->nlmsg_type != NLMSG_DONE &&
							  nlh->nlmsg_type != NLMSG_ERROR))
				continue;
			errno = EINTR;
			return -1;
		}
		bytes = mnl_socket_recvfrom(nl->sock, nl->rx, sizeof(nl->rx));
	}
	return -1;
}

static int receive_answer(struct nl *nl, struct delivery *delivery)
{
	static mnl_cb_t control[] = {
		[NLMSG_ERROR] = on_error,
		[NLMSG_DONE] = on_done,
	};
	unsigned int portid = mnl_socket_get_portid(nl->sock);
	ssize_t bytes;
	int ret;

	do {
		bytes = mnl_socket_recvfrom(nl->sock, nl->rx, sizeof(nl->rx));
		if (bytes < 0)
			return -1;
		ret = mnl_cb_run2(nl->rx, bytes, nl->seq, portid, on_data,
				  delivery, control,
				  ARRAY_SIZE(control));
		if (ret < 0 && errno == EINTR)
			return drop_dump(nl, bytes);
	} while (ret > MNL_CB_STOP);
	return ret;
}

/**
 * nl_request() - begins a request to the module
 * @nl: the connection
 * @cmd: enum rdmablk_cmd
 * @flags: NLM_F_DUMP, or 0
 *
 * Returns the message, to put attributes into; nl_run() sends it.
 */
struct nlmsghdr *nl_request(struct nl *nl, __u8 cmd, __u16 flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(nl->tx);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = nl->family;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = ++nl->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = RDMABLK_GENL_VERSION;
	return nlh;
}

/**
 * nl_explain() - adds a text to a refusal that has no text
 * @texts: what an errno means here; NULL: strerror()
 * @failure: err is set; gets a text unless it has one
 */
void nl_explain(const struct errno_text *texts, struct nl_failure *failure)
{
	if (failure->text[0])
		return;
	if (failure->err == EPERM)
		nl_set_failure(failure, EPERM,
			       "not permitted: this needs CAP_NET_ADMIN (run it as root)");
	for (; !failure->text[0] && texts && texts->err; texts++)
		if (texts->err == failure->err)
			nl_set_failure(failure, failure->err, texts->text);
	if (!failure->text[0])
		nl_set_failure(failure, failure->err, NULL);
}

/**
 * nl_run() - sends the request and takes in the answers
 * @nl: the connection, after nl_request()
 * @handler: called for each answer, or NULL
 * @context: for @handler
 * @texts: words for an errno that came without; NULL: strerror()
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int nl_run(struct nl *nl, mnl_cb_t handler, void *context,
	   const struct errno_text *texts, struct nl_failure *failure)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)nl->tx;
	struct delivery delivery = {
		.exchange = { .nl = nl, .failure = failure },
		.handler = handler,
		.context = context,
	};

	memset(failure, 0, sizeof(*failure));
	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0 ||
	    receive_answer(nl, &delivery) < 0)
		nl_set_failure(failure, errno, NULL);
	if (!failure->err)
		return 0;

	nl_explain(texts, failure);
	return -1;
}

/**
 * nl_is_final() - whether a request about another disk would fail with the same error, or the
 *	user wants no more of them
 * @err: of a request, 0 or positive
 */
bool nl_is_final(int err)
{
	return err == EINTR || err == EUNATCH || err == EPERM;
}

/* A dump is repeated when devices came or went. */
#define DUMP_TRIES	8

/**
 * nl_dump() - asks for all devices
 * @nl: the connection
 * @cmd: enum rdmablk_cmd
 * @handler: called for each answer
 * @list: for @handler
 * @clear: empties it: a dump is repeated when devices came or went
 * @texts: as for nl_run()
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int nl_dump(struct nl *nl, __u8 cmd, mnl_cb_t handler, void *list,
	    void (*clear)(void *list), const struct errno_text *texts,
	    struct nl_failure *failure)
{
	int try, ret = -1;

	for (try = 0; try < DUMP_TRIES; try++) {
		clear(list);
		nl_request(nl, cmd, NLM_F_DUMP);
		ret = nl_run(nl, handler, list, texts, failure);
		if (!ret || failure->err != EINTR)
			break;
	}
	return ret;
}

static void decode_groups(struct nl *nl, const struct nlattr *groups)
{
	const struct nlattr *group, *attr;

	mnl_attr_for_each_nested(group, groups) {
		const char *name = "";
		__u32 id = 0;

		mnl_attr_for_each_nested(attr, group) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
				name = mnl_attr_get_str(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				id = mnl_attr_get_u32(attr);
		}
		if (!strcmp(name, RDMABLK_GENL_EVENTS))
			nl->events = id;
	}
}

static int on_family(const struct nlmsghdr *nlh, void *context)
{
	const struct nlattr *attr;
	struct nl *nl = context;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
			decode_groups(nl, attr);
	}
	return MNL_CB_OK;
}

static int find_family(struct nl *nl, struct nl_failure *failure)
{
	struct nlmsghdr *nlh = nl_request(nl, CTRL_CMD_GETFAMILY, 0);

	nlh->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, RDMABLK_GENL_NAME);
	if (!nl_run(nl, on_family, nl, NULL, failure) && nl->family)
		return 0;
	if (failure->err && failure->err != ENOENT)
		return -1;
	if (!access("/sys/module/rdmablk", F_OK))
		nl_set_failure(failure, EOPNOTSUPP,
			       "rdmablk is managed from the initial network namespace only");
	else
		nl_set_failure(failure, EUNATCH,
			       "the kernel module rdmablk is not loaded (modprobe rdmablk)");
	return -1;
}

/* Returns 0 or -1, when @failure tells why. */
static int connect_module(struct nl *nl, struct nl_failure *failure)
{
	char text[128];
	int one = 1;

	memset(failure, 0, sizeof(*failure));
	nl->family = 0;
	nl->sock = mnl_socket_open(NETLINK_GENERIC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		snprintf(text, sizeof(text), "generic netlink: %s", strerror(errno));
		nl_set_failure(failure, errno, text);
		return -1;
	}
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &one, sizeof(one));
	return find_family(nl, failure);
}

/**
 * nl_open() - connects to the module
 * @failure: result
 *
 * Returns the connection, or NULL when @failure tells why not.
 */
struct nl *nl_open(struct nl_failure *failure)
{
	struct nl *nl = calloc(1, sizeof(*nl));

	if (!nl) {
		nl_set_failure(failure, ENOMEM, NULL);
		return NULL;
	}
	nl->seq = time(NULL);
	nl->watched = -1;
	if (!connect_module(nl, failure))
		return nl;
	nl_close(nl);
	return NULL;
}

/**
 * nl_reopen() - connects to a module that was loaded again
 * @nl: the connection; its signals stay held, without a gap, and its descriptor watched
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why; nl_close() in both cases.
 */
int nl_reopen(struct nl *nl, struct nl_failure *failure)
{
	mnl_socket_close(nl->sock);
	return connect_module(nl, failure);
}

/**
 * nl_close() - ends what nl_open() began
 * @nl: the connection, may be NULL
 */
void nl_close(struct nl *nl)
{
	if (!nl)
		return;
	nl_release_signals(nl);
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl);
}

/**
 * nl_closep() - nl_close() for the cleanup attribute
 * @nl: variable that goes out of scope
 */
void nl_closep(struct nl **nl)
{
	nl_close(*nl);
}
