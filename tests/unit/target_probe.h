/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of the scenarios of target_probe.c, from connecting to the end. A step with a
 * result that no scenario expects ends the program.
 */
#ifndef TARGET_PROBE_H
#define TARGET_PROBE_H

#include <endian.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "uapi/rdmablk_proto.h"
#include "wire/mac.h"

#define BUF_BYTES	(1U << 16)
#define ANSWER		2000	/* id of a receive for an answer */

struct queue {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	bool up;
};

struct probe {
	const char *addr, *export_name, *scenario, *foreign, *replay;
	unsigned int host, boot, instance, generation, queues, keep_alive, hold;
	unsigned int flags, port, expect, arg, features;
	struct rdma_event_channel *channel;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *buf;		/* 4096..8191 receives, 16384.. data, 32768.. sends */
	struct queue ctrl, data[2 * RDMABLK_MAX_QUEUES];
	unsigned int version;	/* 2 with --key */
	unsigned int flip_type, flip_bit;	/* this bit of HELLO or PROOF is flipped */
	uint32_t foreign_qpn;	/* foreign queue pair in a join's MAC */
	uint32_t peer_qpn;	/* peer of the last connected queue */
	struct rdmablk_cm_accept2 accept;
	struct rdmablk_hello hello;
	struct rdmablk_hello2 hello2;
	struct rdmablk_challenge challenge;
	struct rdmablk_grant grant;
	struct rdmablk_limits limits;
	struct rdmablk_region region[RDMABLK_MAX_REGIONS];
	uint8_t key[RDMABLK_MAC_LEN];
	unsigned int ended;	/* reason of the reject or CLOSE */
	bool gone;		/* disconnected */
	unsigned int ka;
	jmp_buf *refused;	/* where to go on instead of ending */
};

/* A scenario and its name. */
struct scenario {
	const char *name;
	void (*run)(void);
};

extern struct probe p;
extern const struct scenario command_scenarios[];
extern const unsigned int nr_command_scenarios;

void __attribute__((noreturn)) finish(int status);
void __attribute__((noreturn)) die(const char *what);
long long now_ms(void);
void prepare(struct queue *q);
bool connect_queue(struct queue *q, const void *data, uint8_t len);
void send_raw(struct queue *q, const void *msg, size_t len);
void send_flipped(unsigned int type, const void *msg, size_t len);
void send_msg(const void *msg, size_t len);
void post_send(struct queue *q, struct ibv_send_wr *wr);
void post(struct queue *q, struct ibv_send_wr *wr, const void *msg, size_t len);
int completion(struct queue *q, struct ibv_wc *wc, long long ms);
unsigned int receive(void *msg, size_t size, long long ms);
void want(unsigned int type, void *msg, size_t size);
struct rdmablk_hdr head(unsigned int type, size_t len);
void fill_hello(void);
void send_hello(void);
struct rdmablk_cm_request ctrl_request(void);
bool connect_ctrl(void);
void login_to_grant(void);
bool join_as(struct queue *q, unsigned int queue, unsigned int kind,
	     unsigned int generation, bool bad_mac);
bool join(unsigned int queue);
void join_all(void);
void send_ready(void);
void login_to_live(void);
void send_command(unsigned int op, unsigned int tag);
unsigned int command(unsigned int op, unsigned int tag);
void post_answer(struct queue *q);
void send_io(struct queue *q, unsigned int op, uint64_t bytes, unsigned int generation);
void want_done(struct queue *q, unsigned int generation);
void logout(void);
void drop_all(void);
enum ibv_wc_status transfer(struct queue *q, bool write, uint32_t region,
			    uint64_t off, uint32_t len, uint32_t rkey_xor);
void verify_all(void);
void scenario_crowd(void);
void scenario_unproven(void);
void scenario_half_open(void);
void scenario_flip_hello(void);
void scenario_flip_proof(void);
void scenario_ends(void);
void proven_begin(const char *file);
void proven_hello(void);
void proven_prove(bool wrong);
size_t proven_seal(const void *msg, size_t len, void *frame);
size_t proven_open(void *frame, size_t len);
void proven_join(struct rdmablk_cm_request *req, uint32_t qpn);
void proven_accepted(const struct rdmablk_cm_request *req);
void wait_closed(long long ms, bool keep_alive);

#endif
