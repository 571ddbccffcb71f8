// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The form with two machines. They describe their ends to each other over TCP, with one
 * message each, of fixed size and little endian. The connection lasts as long as the
 * rounds: its end tells the listening side that they are over.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/types.h>

#include "ordering.h"
#include "pattern.h"

#define MAGIC		0x676e697265644f52ULL	/* "ROdering" */
#define VERSION		1
#define DEFAULT_PORT	"20421"
#define MAX_NUMBER	0xffffffU	/* of queue pairs and packets: 24 bits */
#define LISTEN_S	600	/* until the other machine calls */
#define ASK_S		10	/* for the message of the side that calls */
#define ANSWER_S	60	/* registering memory takes long */
#define HOST_LEN	256

struct wire_offer {
	__u8 gid[16];
	__le16 lid;
	__u8 mtu;
	__u8 link_layer;
	__le32 rkey;
	__le64 address;
	struct {
		__le32 qpn;
		__le32 psn;
	} queue[MAX_QUEUES];
};

/**
 * struct wire_ask - from the side that measures
 * @magic: MAGIC
 * @version: VERSION
 * @pairs: of queue pairs
 * @bytes: of the area of each pair
 * @relaxed: 1: register with relaxed ordering
 * @reserved: 0
 * @offer: the near end
 */
struct wire_ask {
	__le64 magic;
	__le32 version;
	__le32 pairs;
	__le64 bytes;
	__le32 relaxed;
	__le32 reserved;
	struct wire_offer offer;
};

/**
 * struct wire_answer - from the side that listens
 * @magic: MAGIC
 * @version: VERSION
 * @failed: 0, or 1: see @why
 * @why: text that ends with a NUL
 * @offer: the far end, ready
 */
struct wire_answer {
	__le64 magic;
	__le32 version;
	__le32 failed;
	char why[REPORT_LEN];
	struct wire_offer offer;
};

_Static_assert(sizeof(struct wire_offer) == 32 + 8 * MAX_QUEUES, "no padding");
_Static_assert(sizeof(struct wire_ask) == 32 + sizeof(struct wire_offer), "no padding");
_Static_assert(sizeof(struct wire_answer) == 16 + REPORT_LEN + sizeof(struct wire_offer),
	       "no padding");

static void pack_offer(struct wire_offer *wire, const struct offer *offer)
{
	unsigned int i;

	memcpy(wire->gid, offer->gid.raw, sizeof(wire->gid));
	wire->lid = htole16(offer->lid);
	wire->mtu = offer->mtu;
	wire->link_layer = offer->link_layer;
	wire->rkey = htole32(offer->rkey);
	wire->address = htole64(offer->address);
	for (i = 0; i < MAX_QUEUES; i++) {
		wire->queue[i].qpn = htole32(offer->queue[i].qpn);
		wire->queue[i].psn = htole32(offer->queue[i].psn);
	}
}

/* Return: whether this is a valid offer of @pairs pairs. */
static bool parse_offer(const struct wire_offer *wire, unsigned int pairs, struct offer *offer)
{
	unsigned int i;

	*offer = (struct offer){
		.lid = le16toh(wire->lid),
		.mtu = wire->mtu,
		.link_layer = wire->link_layer,
		.rkey = le32toh(wire->rkey),
		.address = le64toh(wire->address),
	};
	memcpy(offer->gid.raw, wire->gid, sizeof(wire->gid));
	for (i = 0; i < 2 * pairs; i++) {
		offer->queue[i].qpn = le32toh(wire->queue[i].qpn);
		offer->queue[i].psn = le32toh(wire->queue[i].psn);
		if (offer->queue[i].qpn > MAX_NUMBER || offer->queue[i].psn > MAX_NUMBER)
			return false;
	}
	return wire->mtu >= IBV_MTU_256 && wire->mtu <= IBV_MTU_4096;
}

/* Splits "HOST", "HOST:PORT" or "[IPV6]:PORT". Return: whether the form is valid. */
static bool cut(const char *where, char *host, const char **port)
{
	const char *colon = strrchr(where, ':'), *end = where + strlen(where);
	size_t len;

	*port = DEFAULT_PORT;
	if (*where == '[') {
		end = strchr(++where, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && colon == strchr(where, ':')) {
		end = colon;
	} else {
		colon = NULL;	/* no port, or IPv6 without brackets */
	}
	if (colon)
		*port = colon + 1;
	len = end - where;
	if (!len || len >= HOST_LEN || !**port)
		return false;
	memcpy(host, where, len);
	host[len] = '\0';
	return true;
}

/* Return: the addresses, or NULL after a complaint. */
static struct addrinfo *resolve(const char *where, int flags)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	struct addrinfo *list = NULL;
	char host[HOST_LEN];
	const char *port;
	int err;

	if (!cut(where, host, &port)) {
		report_failure(where, "is not HOST, HOST:PORT or [IPV6]:PORT");
		return NULL;
	}
	err = getaddrinfo(host, port, &hints, &list);
	if (!err)
		return list;
	report_failure(where, "%s", gai_strerror(err));
	return NULL;
}

static void limit(int sock, int seconds)
{
	struct timeval time = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static int say(const char *who, int sock, const void *message, size_t bytes)
{
	if (send(sock, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes)
		return 0;
	return report_failure(who, "the connection broke before all was said: %s",
			      strerror(errno));
}

static int hear(const char *who, int sock, void *message, size_t bytes)
{
	ssize_t got = recv(sock, message, bytes, MSG_WAITALL);

	if (got == (ssize_t)bytes)
		return 0;
	if (got < 0 && errno != EAGAIN)
		return report_failure(who, "the connection broke: %s", strerror(errno));
	return report_failure(who, got < 0 ? "no message came in time" :
			      "the message is too short");
}

/* --- the side that listens ------------------------------------------------------------ */

static int open_listener(const char *where, int *sock)
{
	struct addrinfo *list = resolve(where, AI_NUMERICHOST);
	int one = 1, ret = 0;

	if (!list)
		return STATUS_NOT_RUN;
	*sock = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(*sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (*sock < 0 || bind(*sock, list->ai_addr, list->ai_addrlen) || listen(*sock, 1))
		ret = report_failure(where, "cannot listen: %s", strerror(errno));
	freeaddrinfo(list);
	return ret;
}

/* Waits for one caller and accepts it. */
static int await_caller(const char *where, int listener, int *sock, char *who)
{
	struct pollfd pollfd = { .fd = listener, .events = POLLIN };
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	printf("rdmablk-ordering: listening on %s\n", where);
	fflush(stdout);
	if (poll(&pollfd, 1, LISTEN_S * 1000) != 1)
		return report_failure(where, "nobody has called in %u s", LISTEN_S);
	*sock = accept4(listener, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC);
	if (*sock < 0)
		return report_failure(where, "cannot accept: %s", strerror(errno));
	if (getnameinfo((struct sockaddr *)&addr, len, who, HOST_LEN, NULL, 0, NI_NUMERICHOST))
		snprintf(who, HOST_LEN, "the caller");
	return 0;
}

static int check_ask(const char *who, const struct wire_ask *ask)
{
	uint32_t pairs = le32toh(ask->pairs);
	uint64_t bytes = le64toh(ask->bytes);

	if (le64toh(ask->magic) != MAGIC)
		return report_failure(who, "it is not rdmablk-ordering that has called");
	if (le32toh(ask->version) != VERSION)
		return report_failure(who, "its rdmablk-ordering speaks version %u, this one %u",
				      le32toh(ask->version), VERSION);
	if (!pairs || pairs > MAX_PAIRS || bytes < PATTERN_LINE ||
	    bytes > area_bytes(MAX_BYTES) || bytes % PATTERN_LINE ||
	    le32toh(ask->relaxed) > 1 || ask->reserved)
		return report_failure(who, "it asks for %u pairs of %llu bytes, which cannot be",
				      pairs, (unsigned long long)bytes);
	return 0;
}

/* Makes the far end that the caller asked for. */
static int answer_to(const char *who, const struct wire_ask *ask, const struct port *port,
		     struct end *end, struct offer *offer)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	uint32_t pairs = le32toh(ask->pairs);
	struct offer peer;
	int ret = check_ask(who, ask);

	if (ret)
		return ret;
	if (!parse_offer(&ask->offer, pairs, &peer))
		return report_failure(who, "its queue pairs cannot be");
	if (ask->relaxed)
		access |= IBV_ACCESS_RELAXED_ORDERING;
	ret = end_open(end, port, pairs, pairs * le64toh(ask->bytes), access);
	if (!ret)
		ret = end_connect(end, &peer);
	if (!ret)
		end_offer(end, offer);
	return ret;
}

/* The caller closes the connection at the end; keep-alives find a caller that has died. */
static int await_end(const char *who, int sock)
{
	int one = 1, idle = 10, pause = 5, probes = 3;
	ssize_t got;
	char byte;

	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof(pause));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	limit(sock, 0);
	got = recv(sock, &byte, 1, 0);
	if (!got)
		return 0;
	return report_failure(who, got > 0 ? "it has said more than it should" :
			      "it has gone in the middle of the rounds: %s", strerror(errno));
}

static int serve(const char *who, int sock, const struct port *port, struct end *end)
{
	struct wire_answer answer = { 0 };
	struct offer offer = { 0 };
	struct wire_ask ask;
	int ret, failed;

	limit(sock, ASK_S);
	ret = hear(who, sock, &ask, sizeof(ask));
	if (ret)
		return ret;
	failed = answer_to(who, &ask, port, end, &offer);
	answer.magic = htole64(MAGIC);
	answer.version = htole32(VERSION);
	answer.failed = htole32(failed ? 1 : 0);
	snprintf(answer.why, sizeof(answer.why), "%s", failed ? report_last : "");
	pack_offer(&answer.offer, &offer);
	ret = say(who, sock, &answer, sizeof(answer));
	if (ret || failed)
		return STATUS_NOT_RUN;
	ret = await_end(who, sock);
	if (!ret)
		printf("rdmablk-ordering: %s has written and read here\n", who);
	return ret;
}

/**
 * peer_serve() - be the far end, for one caller
 * @opts: where to listen
 * @port: of the memory
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int peer_serve(const struct options *opts, const struct port *port)
{
	int listener = -1, sock = -1, ret;
	struct end end = { 0 };
	char who[HOST_LEN];

	ret = open_listener(opts->listen, &listener);
	if (!ret)
		ret = await_caller(opts->listen, listener, &sock, who);
	if (!ret)
		ret = serve(who, sock, port, &end);
	end_close(&end);
	if (sock >= 0)
		close(sock);
	if (listener >= 0)
		close(listener);
	return ret;
}

/* --- the side that measures ----------------------------------------------------------- */

static int dial(const char *where, int *sock)
{
	struct addrinfo *list = resolve(where, 0), *at;
	int err = 0;

	if (!list)
		return STATUS_NOT_RUN;
	for (at = list; at; at = at->ai_next) {
		*sock = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (*sock < 0)
			continue;
		limit(*sock, ASK_S);
		if (!connect(*sock, at->ai_addr, at->ai_addrlen))
			break;
		err = errno;
		close(*sock);
		*sock = -1;
	}
	freeaddrinfo(list);
	if (*sock >= 0)
		return 0;
	return report_failure(where, "cannot connect: %s (does it --listen there?)",
			      strerror(err ?: errno));
}

static int check_answer(const char *who, struct wire_answer *answer, unsigned int pairs,
			struct offer *target)
{
	char *p;

	if (le64toh(answer->magic) != MAGIC || le32toh(answer->version) != VERSION)
		return report_failure(who, "no rdmablk-ordering of this version listens there");
	if (answer->failed) {
		answer->why[sizeof(answer->why) - 1] = '\0';
		for (p = answer->why; *p; p++)
			if (*p < ' ' || *p > '~')
				*p = '?';
		return report_failure(who, "it says: %s", answer->why);
	}
	if (!parse_offer(&answer->offer, pairs, target))
		return report_failure(who, "its queue pairs cannot be");
	return 0;
}

/**
 * peer_ask() - have the target make the far end
 * @opts: which target, and how large
 * @end: the near end
 * @target: set: the far end
 * @sock: set: to be closed when the rounds are over; -1 as long as there is none
 *
 * Return: 0, or STATUS_NOT_RUN after a complaint.
 */
int peer_ask(const struct options *opts, const struct end *end, struct offer *target, int *sock)
{
	struct wire_answer answer;
	struct wire_ask ask = {
		.magic = htole64(MAGIC),
		.version = htole32(VERSION),
		.pairs = htole32(opts->pairs),
		.bytes = htole64(area_bytes(opts->max_bytes)),
		.relaxed = htole32(opts->relaxed),
	};
	struct offer own;
	int ret;

	end_offer(end, &own);
	pack_offer(&ask.offer, &own);
	ret = dial(opts->target, sock);
	if (ret)
		return ret;
	ret = say(opts->target, *sock, &ask, sizeof(ask));
	if (ret)
		return ret;
	limit(*sock, ANSWER_S);
	ret = hear(opts->target, *sock, &answer, sizeof(answer));
	return ret ?: check_answer(opts->target, &answer, opts->pairs, target);
}
