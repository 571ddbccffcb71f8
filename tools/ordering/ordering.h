/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of rdmablk-ordering: options, the port, the ends of queue pairs, the rounds. */
#ifndef RDMABLK_ORDERING_H
#define RDMABLK_ORDERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define MAX_PAIRS	64
#define MAX_QUEUES	(2 * MAX_PAIRS)
#define MAX_BYTES	(1U << 20)	/* of a WRITE */
#define AREA_WRITES	4		/* WRITEs of the largest size that an area has room for */
#define MAX_EXAMPLES	8		/* wrong READs that are described */

/* Queue pairs of a pair, by number */
#define QUEUE_WRITE(pair)	(2 * (pair))
#define QUEUE_READ(pair)	(2 * (pair) + 1)

/**
 * enum status - how the program ends, see rdmablk-ordering(8)
 * @STATUS_ORDERED: no wrong READ, or help was asked for
 * @STATUS_STALE: a READ had other data than the WRITE before it
 * @STATUS_NOT_RUN: wrong usage, or it could not run, or was interrupted
 */
enum status {
	STATUS_ORDERED,
	STATUS_STALE,
	STATUS_NOT_RUN,
};

/**
 * struct options - what the user wants
 * @device: name of the RDMA device
 * @port: its port, from 1 on
 * @gid_index: of the port's own address; -1: choose one
 * @listen: address at which to wait for the measuring machine, or NULL
 * @target: the machine whose memory is written and read; NULL: this one
 * @count: rounds, of all pairs together
 * @seconds: time for them; 0: no limit
 * @pairs: of queue pairs that are busy at the same time
 * @min_bytes: of a WRITE
 * @max_bytes: of a WRITE
 * @relaxed: register the memory with relaxed ordering
 * @no_wait: post the READ without waiting for the WRITE
 * @json: print JSON
 */
struct options {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int port;
	int gid_index;
	const char *listen;
	const char *target;
	uint64_t count;
	unsigned int seconds;
	unsigned int pairs;
	uint32_t min_bytes;
	uint32_t max_bytes;
	bool relaxed;
	bool no_wait;
	bool json;
};

#define OPTIONS_RUN	(-1)

int options_parse(struct options *opts, int argc, char **argv);

/**
 * struct port - a port of an open RDMA device
 * @ctx: the device
 * @name: of device and port, for people
 * @num: number of the port
 * @gid_index: of @gid
 * @gid: address
 * @global: peers are reached by their GID
 * @attr: what the device says of the port
 */
struct port {
	struct ibv_context *ctx;
	char name[IBV_SYSFS_NAME_MAX + 16];
	uint8_t num;
	uint8_t gid_index;
	union ibv_gid gid;
	bool global;
	struct ibv_port_attr attr;
};

int port_open(struct port *port, const struct options *opts);
void port_close(struct port *port);

/**
 * struct offer - what one end tells the other
 * @gid: of its port
 * @lid: of its port
 * @mtu: of its port, enum ibv_mtu
 * @link_layer: of its port, IBV_LINK_LAYER_*
 * @rkey: of its memory
 * @address: of its memory
 * @queue: its queue pairs, and the number of the first packet that each sends
 */
struct offer {
	union ibv_gid gid;
	uint16_t lid;
	uint8_t mtu;
	uint8_t link_layer;
	uint32_t rkey;
	uint64_t address;
	struct {
		uint32_t qpn;
		uint32_t psn;
	} queue[MAX_QUEUES];
};

/**
 * struct end - one end of all queue pairs, with its memory
 * @port: where they are
 * @pd: of all
 * @cq: for what the queue pairs send; they receive nothing
 * @mr: the registered memory
 * @memory: the memory itself
 * @bytes: its length
 * @nr_queues: number of queue pairs
 * @queue: the queue pairs
 * @psn: number of the first packet that each sends
 */
struct end {
	const struct port *port;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	void *memory;
	size_t bytes;
	unsigned int nr_queues;
	struct ibv_qp *queue[MAX_QUEUES];
	uint32_t psn[MAX_QUEUES];
};

int end_open(struct end *end, const struct port *port, unsigned int pairs, size_t bytes,
	     int access);
void end_offer(const struct end *end, struct offer *offer);
int end_connect(struct end *end, const struct offer *peer);
void end_close(struct end *end);

int peer_serve(const struct options *opts, const struct port *port);
int peer_ask(const struct options *opts, const struct end *end, struct offer *target, int *sock);

/**
 * struct example - a READ with wrong data
 * @pair: of queue pairs
 * @counter: of the WRITE
 * @offset: of the WRITE, in the pair's area, bytes
 * @bytes: of the WRITE
 * @first: offset of the first wrong word in the READ's data, bytes
 * @found: that word
 * @lines: lines of PATTERN_LINE bytes that are wrong
 * @damaged: the READ has data that no WRITE had written
 */
struct example {
	unsigned int pair;
	uint64_t counter;
	uint32_t offset;
	uint32_t bytes;
	uint32_t first;
	uint64_t found;
	uint32_t lines;
	bool damaged;
};

/**
 * struct result - the outcome of all rounds
 * @rounds: number of rounds done
 * @stale: READs with data of an earlier WRITE
 * @damaged: READs with data that no WRITE had written
 * @ns: the duration of the rounds
 * @interrupted: by a signal
 * @nr_examples: how many of @example are set
 * @example: the first wrong READs
 */
struct result {
	uint64_t rounds;
	uint64_t stale;
	uint64_t damaged;
	uint64_t ns;
	bool interrupted;
	unsigned int nr_examples;
	struct example example[MAX_EXAMPLES];
};

int rounds_run(const struct options *opts, struct end *end, const struct offer *target,
	       struct result *result);
uint64_t rounds_now(void);

#define REPORT_LEN	768

extern bool report_json;
extern char report_last[REPORT_LEN];

int report_failure(const char *what, const char *fmt, ...)
	__attribute__((__format__(printf, 2, 3)));
int report_result(const struct options *opts, const struct port *port,
		  const struct result *result);

static inline size_t area_bytes(uint32_t max_bytes)
{
	return (size_t)max_bytes * AREA_WRITES;
}

#endif /* RDMABLK_ORDERING_H */
