/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by tool_shim.c and tool_shim_answers.c */
#ifndef TOOL_SHIM_H
#define TOOL_SHIM_H

#include <stddef.h>
#include <linux/types.h>

#include <libmnl/libmnl.h>

#define FAMILY	0x23
#define GROUP	7
#define PORTID	4711
#define QUEUE	16

/* One datagram of the kernel, usually one message */
struct datagram {
	__u64 bytes[2048];
	size_t len;
	int err;	/* error in place of it */
};

struct mnl_socket {
	struct datagram queue[QUEUE];
	unsigned int head;	/* next to be received */
	unsigned int tail;	/* being written */
	int fd;
	int subscribed;
	__u64 request[128];	/* the newest request */
};

extern struct mnl_socket *here;	/* the socket that is served */
extern int key_added;		/* a key has been loaded */

void die(const char *why);

long number(const char *name);
void deliver(void);
int state_number(const char *name);
void answer_get(const struct nlmsghdr *req, long index);
void answer_stats(const struct nlmsghdr *req, long index);
int is_late(__u8 cmd);
void acknowledge(const struct nlmsghdr *req, __u8 cmd);
void reply(const struct nlmsghdr *req, __u8 cmd, const char *wrong);
void answer_family(const struct nlmsghdr *req);
void put_event(int index, int state, int reason, int failing);
void put_family_event(__u8 cmd, __u16 family);
void overrun(void);
void garbage(const struct nlmsghdr *req);

#endif /* TOOL_SHIM_H */
