/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection as nl.c and nl_late.c see it; private to the two. */
#ifndef RDMABLK_TOOLS_NL_IMPL_H
#define RDMABLK_TOOLS_NL_IMPL_H

#include <signal.h>
#include <stdbool.h>

#include "nl.h"

#define NL_TX_BYTES	1024
#define NL_RX_BYTES	32768
#define NL_SIGNALS	3	/* SIGINT, SIGTERM, SIGHUP */

/**
 * struct nl - a connection to the module
 * @sock: the socket, of libmnl
 * @family: number of the family "rdmablk"
 * @events: number of its multicast group
 * @seq: sequence number of the newest request
 * @watched: a descriptor that ends a wait, too, or -1
 * @held: signals end a wait, not the program; @mask and @old are valid
 * @mask: the signal mask before that
 * @old: the signal actions before that
 * @tx: the newest request; an answer points into it
 * @rx: answers
 */
struct nl {
	struct mnl_socket *sock;
	__u16 family;
	__u32 events;
	__u32 seq;
	int watched;
	bool held;
	sigset_t mask;
	struct sigaction old[NL_SIGNALS];
	__u64 tx[NL_TX_BYTES / sizeof(__u64)];
	__u64 rx[NL_RX_BYTES / sizeof(__u64)];
};

bool nl_is_whole(const struct nlmsghdr *nlh, int left);
void nl_set_failure(struct nl_failure *failure, int err, const char *text);
int nl_decode_ack(const struct nl *nl, const struct nlmsghdr *nlh,
		  struct nl_failure *failure);
void nl_explain(const struct errno_text *texts, struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_NL_IMPL_H */
