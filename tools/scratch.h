/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_SCRATCH_H
#define RDMABLK_TOOLS_SCRATCH_H

#include <stdbool.h>

#include "client.h"

struct ibv_mr;

/**
 * struct scratch - a scratch region of the target, and a copy of it here; zeroed: none
 * @client: the visit to which it is lent
 * @lent: the region
 * @out: what is written, @lent.bytes
 * @in: what was read, @lent.bytes behind @out
 * @mr: registration of both, local rights only
 * @round: of the pattern in @out
 */
struct scratch {
	struct client *client;
	struct client_scratch lent;
	__u8 *out;
	__u8 *in;
	struct ibv_mr *mr;
	__u32 round;
};

/**
 * struct scratch_damage - where what was read is not what was written
 * @offset: in the region, of 8 bytes, or of what there is of them
 * @bytes: how many, 1 to 8
 * @expected: what was written, a byte a place
 * @got: what was read
 */
struct scratch_damage {
	__u32 offset;
	__u32 bytes;
	__u8 expected[8];
	__u8 got[8];
};

int scratch_open(struct scratch *scratch, struct client *client, __u32 bytes,
		 struct nl_failure *failure);
void scratch_close(struct scratch *scratch);
void scratch_fill(struct scratch *scratch, __u32 bytes);
bool scratch_check(const struct scratch *scratch, __u32 offset, __u32 bytes,
		   struct scratch_damage *damage);
int scratch_post(struct scratch *scratch, bool write, unsigned int id, __u32 offset,
		 __u32 bytes, struct nl_failure *failure);
int scratch_do(struct scratch *scratch, bool write, __u32 bytes, __u64 *ns,
	       struct nl_failure *failure);
int scratch_find_mtu(struct scratch *scratch, unsigned int mtu, unsigned int *passes,
		     struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_SCRATCH_H */
