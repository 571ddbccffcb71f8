/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_NL_H
#define RDMABLK_TOOLS_NL_H

#include <linux/types.h>

#include <libmnl/libmnl.h>

/**
 * struct nl_failure - what the kernel said about a request
 * @err: errno, positive; 0: done
 * @text: the reason in words; with @err 0 a warning, or empty
 */
struct nl_failure {
	int err;
	char text[256];
};

/**
 * struct errno_text - what an errno means as the answer to a certain command
 * @err: errno; 0 ends a table
 * @text: for a kernel that sends no words of its own
 */
struct errno_text {
	int err;
	const char *text;
};

struct nl;

struct nl *nl_open(struct nl_failure *failure);
void nl_close(struct nl *nl);
void nl_closep(struct nl **nl);

struct nlmsghdr *nl_request(struct nl *nl, __u8 cmd, __u16 flags);
int nl_run(struct nl *nl, mnl_cb_t handler, void *context,
	   const struct errno_text *texts, struct nl_failure *failure);

int nl_subscribe(struct nl *nl, struct nl_failure *failure);
int nl_next_event(struct nl *nl, mnl_cb_t handler, void *context,
		  struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_NL_H */
