/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A valid message of each kind that a target sends, laid out by hand, with the HELLO, CHALLENGE
 * and GRANT that belong to it. Fuzzers start from these messages, too.
 */
#ifndef UNIT_MESSAGES_H
#define UNIT_MESSAGES_H

#include "wire.h"

#define MSG_SESSION	0x1122334455667788ULL
#define MSG_QUEUE	5
#define MSG_QUEUES	8
#define MSG_DEPTH	128
#define MSG_REGION	(4ULL << 20)
#define MSG_REGIONS	20	/* the last one is half as large */
#define MSG_SIZE	(MSG_REGION * (MSG_REGIONS - 1) + MSG_REGION / 2)
#define MSG_GRANULE	4096
#define MSG_TRAILER	4096
#define MSG_CMDS	16	/* commands in flight on a write queue */
#define MSG_SLOT	(128U << 10)
#define MSG_SLOTS	0x7e0000000000ULL	/* address of the first slot */
/* Bytes of the messages of version 2, which have no MAC */
#define MSG_GRANT2	offsetof(struct rdmablk_grant, mac)
#define MSG_REGIONS2	offsetof(struct rdmablk_regions, mac)
#define MSG_LIMITS2	offsetof(struct rdmablk_limits, mac)

extern struct rdmablk_hello msg_sent;
extern struct rdmablk_hello2 msg_sent2;
extern struct rdmablk_wire_challenge msg_challenged;
extern struct rdmablk_wire_grant msg_granted;
extern struct rdmablk_wire_grant msg_staged;

struct rdmablk_hdr msg_hdr(uint16_t type, size_t size);
void msg_accept(void *msg);
void msg_reject(void *msg);
void msg_challenge(void *msg);
void msg_grant(void *msg);
void msg_regions(void *msg);
void msg_last_regions(void *msg);
void msg_limits(void *msg);
void msg_staged_limits(void *msg);
void msg_live(void *msg);
void msg_answer(void *msg);
void msg_event(void *msg);
void msg_resize(void *msg);
void msg_close(void *msg);
void msg_accept2(void *msg);
void msg_challenge2(void *msg);
void msg_grant2(void *msg);
void msg_regions2(void *msg);
void msg_last_regions2(void *msg);
void msg_limits2(void *msg);
void msg_staged_limits2(void *msg);
void msg_reauth_challenge(void *msg);
void msg_setup(void);

#endif
