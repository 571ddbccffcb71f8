// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that a target lends, READ and written with a pattern. Each 8 bytes of the pattern carry
 * the round in which they were written and their own place, or a hash of both, in turn: bytes of
 * another round or of another place are seen, and those that can be read say which. The round
 * comes first, lowest byte first, so that one byte differs from that of the round before.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client_conn.h"
#include "scratch.h"
#include "times.h"

/**
 * scratch_open() - borrows a scratch region
 * @scratch: zeroed; to be closed in any case, before the visit
 * @client: visit that was opened with requests
 * @bytes: wanted, 1 to RDMABLK_MAX_SCRATCH
 * @failure: why it was not possible
 *
 * Returns 0, with fewer bytes perhaps, or with none: then @scratch->lent has the reason; or -1.
 */
int scratch_open(struct scratch *scratch, struct client *client, __u32 bytes,
		 struct nl_failure *failure)
{
	struct client_scratch *lent = &scratch->lent;
	void *mem;

	scratch->client = client;
	if (client_lend(client, bytes, lent, failure))
		return -1;
	if (!lent->bytes)
		return 0;
	mem = mmap(NULL, 2UL * lent->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (mem == MAP_FAILED)
		return nl_fail(failure, ENOMEM, "no memory");
	scratch->out = mem;
	scratch->in = scratch->out + lent->bytes;
	scratch->mr = ibv_reg_mr(client_connection(client)->pd, mem, 2UL * lent->bytes,
				 IBV_ACCESS_LOCAL_WRITE);
	if (!scratch->mr)
		return nl_fail(failure, errno, "memory cannot be registered: %s",
			       strerror(errno));
	return 0;
}

/**
 * scratch_close() - gives a scratch region back, which ends the visit
 * @scratch: opened, or what scratch_open() has made of it; zeroed afterwards
 *
 * The adapter may write to memory of this host as long as requests are under way.
 */
void scratch_close(struct scratch *scratch)
{
	bool used = false;

	if (scratch->mr) {
		client_leave(scratch->client);
		used = ibv_dereg_mr(scratch->mr);
	}
	if (scratch->out && !used)
		munmap(scratch->out, 2UL * scratch->lent.bytes);
	*scratch = (struct scratch){ 0 };
}

static __u64 word_of(__u32 round, __u32 offset)
{
	__u64 word = (__u64)offset << 32 | round;

	if (offset & 8) {
		word = (word ^ word >> 33) * 0xff51afd7ed558ccdULL;
		word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ULL;
		word ^= word >> 33;
	}
	return htole64(word);
}

/**
 * scratch_fill() - makes the pattern of the next round, to be written
 * @scratch: open
 * @bytes: from the beginning of the region
 *
 * The place of what will be read has no byte of the pattern: READs that bring nothing are seen.
 */
void scratch_fill(struct scratch *scratch, __u32 bytes)
{
	__u32 offset;

	scratch->round++;
	for (offset = 0; offset < bytes; offset += 8) {
		__u64 word = word_of(scratch->round, offset);
		__u32 left = bytes - offset;

		memcpy(scratch->out + offset, &word, left < 8 ? left : 8);
		word = ~word;
		memcpy(scratch->in + offset, &word, left < 8 ? left : 8);
	}
}

/**
 * scratch_check() - compares what was read with what was written
 * @scratch: open
 * @offset: in the region
 * @bytes: how many
 * @damage: set with false: the first difference
 *
 * Returns whether they are the same.
 */
bool scratch_check(const struct scratch *scratch, __u32 offset, __u32 bytes,
		   struct scratch_damage *damage)
{
	const __u8 *out = scratch->out + offset, *in = scratch->in + offset;
	__u32 at = 0;

	if (!memcmp(out, in, bytes))
		return true;
	while (out[at] == in[at])
		at++;
	at -= (offset + at) % 8 < at ? (offset + at) % 8 : at;
	*damage = (struct scratch_damage){
		.offset = offset + at,
		.bytes = bytes - at < 8 ? bytes - at : 8,
	};
	memcpy(damage->expected, out + at, damage->bytes);
	memcpy(damage->got, in + at, damage->bytes);
	return false;
}

/**
 * scratch_post() - begins to write to the region, or to read from it
 * @scratch: open
 * @write: write, else read
 * @id: of the request, for client_done(); below the requests of the visit
 * @offset: in the region
 * @bytes: how many
 * @failure: why it was not possible
 *
 * Returns 0 or -1.
 */
int scratch_post(struct scratch *scratch, bool write, unsigned int id, __u32 offset,
		 __u32 bytes, struct nl_failure *failure)
{
	const struct client_conn_request request = {
		.write = write,
		.id = id,
		.local = (write ? scratch->out : scratch->in) + offset,
		.bytes = bytes,
		.lkey = scratch->mr->lkey,
		.remote = scratch->lent.iova + offset,
		.rkey = scratch->lent.rkey,
	};

	return client_conn_post(client_connection(scratch->client), &request, failure);
}

/**
 * scratch_do() - writes or reads the beginning of the region, nothing else being under way
 * @scratch: open
 * @write: write, else read
 * @bytes: how many
 * @ns: set: how long it took, nanoseconds
 * @failure: why it was not possible
 *
 * Returns 0 or -1.
 */
int scratch_do(struct scratch *scratch, bool write, __u32 bytes, __u64 *ns,
	       struct nl_failure *failure)
{
	__u64 before = times_now();
	unsigned int id;

	if (scratch_post(scratch, write, 0, 0, bytes, failure) ||
	    client_done(scratch->client, &id, failure))
		return -1;
	*ns = times_now() - before;
	return 0;
}

/**
 * scratch_find_mtu() - finds out whether packets of the queue pair's MTU arrive
 * @scratch: open
 * @mtu: of the queue pair, bytes
 * @passes: set: the largest packet that has arrived in both directions, bytes; 0: none
 * @failure: why a larger one has not; ETIMEDOUT: it was lost. The connection is of no more use
 *	then
 *
 * A network that carries less than its hosts believe loses the large packets alone: messages
 * arrive, data does not.
 *
 * Returns 0 or -1.
 */
int scratch_find_mtu(struct scratch *scratch, unsigned int mtu, unsigned int *passes,
		     struct nl_failure *failure)
{
	unsigned int bytes;
	__u64 ns;

	*passes = 0;
	for (bytes = 256; bytes <= mtu && bytes <= scratch->lent.bytes; bytes *= 2) {
		if (scratch_do(scratch, true, bytes, &ns, failure) ||
		    scratch_do(scratch, false, bytes, &ns, failure))
			return -1;
		*passes = bytes;
	}
	return 0;
}
