/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_NL_H
#define RDMABLK_TOOLS_NL_H

#include <linux/types.h>

#include <libmnl/libmnl.h>

#include "util.h"

#define NL_FOREVER	(-1)	/* no deadline */
#define NL_WATCHED	2	/* of nl_wait() */

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

/**
 * struct nl_late - how to wait for the reply of a command that takes time
 * @handler: takes the reply of a success apart
 * @context: for @handler
 * @texts: texts for an errno that came without one
 * @limit: seconds after which the kernel counts as stuck; 0: none
 * @interrupted: what a signal means for the command, in words
 */
struct nl_late {
	mnl_cb_t handler;
	void *context;
	const struct errno_text *texts;
	unsigned int limit;
	const char *interrupted;
};

struct nl;

int nl_fail(struct nl_failure *failure, int err, const char *fmt, ...) __printf(3, 4);

struct nl *nl_open(struct nl_failure *failure);
int nl_reopen(struct nl *nl, struct nl_failure *failure);
void nl_close(struct nl *nl);
void nl_closep(struct nl **nl);

struct nlmsghdr *nl_request(struct nl *nl, __u8 cmd, __u16 flags);
int nl_run(struct nl *nl, mnl_cb_t handler, void *context,
	   const struct errno_text *texts, struct nl_failure *failure);
int nl_dump(struct nl *nl, __u8 cmd, mnl_cb_t handler, void *list,
	    void (*clear)(void *list), const struct errno_text *texts,
	    struct nl_failure *failure);
int nl_run_late(struct nl *nl, const struct nl_late *late,
		struct nl_failure *failure);

bool nl_is_final(int err);

void nl_hold_signals(struct nl *nl);
void nl_release_signals(struct nl *nl);
__s64 nl_deadline(unsigned int seconds);
void nl_watch(struct nl *nl, int fd);
int nl_wait_to_write(struct nl *nl, int fd);
int nl_wait(struct nl *nl, __s64 deadline, struct nl_failure *failure);

int nl_subscribe(struct nl *nl, struct nl_failure *failure);
int nl_next_event(struct nl *nl, mnl_cb_t handler, void *context,
		  struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_NL_H */
