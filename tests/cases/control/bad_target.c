// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bad_target: a target that misbehaves, to show what an initiator makes of it.
 *
 *	bad_target ADDR MODE[=N]...
 *
 * It listens on port $BAD_PORT (30000) for the first mode, on the next port for the second,
 * and so on. It prints "ready" and serves one connection at a time until it is killed. Up
 * to the point where a mode strikes, it behaves like a correct target.
 *
 * With the modes that start with "live" the login succeeds: the export has 1 MiB of zeroes,
 * which cannot be written. Such a mode strikes when the initiator sends its first command;
 * with "soon" in place of "live" it strikes right behind LIVE. "live-no-recv" posts
 * receives for the login and no more. "live-answer" and the modes that start with it have
 * the feature of commands, and send an answer to no command on a write queue.
 * "live-reach-read" and "live-reach-write" access the initiator's memory, and print what
 * its adapter makes of that. The modes that start with "largest" grant all that the
 * protocol allows, see bad_largest.c.
 *
 * With the modes that start with "staged" the login succeeds, too, and READs are commands:
 * the features are COMMANDS, STAGED and LISTS. The target answers every command correctly,
 * a large READ by a list, except a READ that begins at STRIKE_AT. That READ gets what
 * strike_staged() sends in this mode. The modes that start with "limits" send LIMITS with
 * one wrong field.
 *
 * "other" is another target at the address of the target that a disk knows. It refuses the
 * first login, the third and so on with IDENTITY, and grants the others.
 *
 * It has no key, so it sends an initiator of version 2 no sealed message: it accepts, and
 * answers HELLO with a well-formed CHALLENGE. "close=N" closes after HELLO, "close-proof=N"
 * after PROOF.
 *
 * The mode "twice=N" sends messages of type N twice. The login succeeds if the initiator
 * accepts that.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bad_largest.h"
#include "bad_parts.h"
#include "wire/mac.h"
#include "uapi/rdmablk_proto.h"
#include "base/util.h"

#define BASE_PORT	30000
#define MAX_MODES	128
#define PATIENCE_MS	20000
#define EXPORT_BYTES	(1U << 20)
#define SLOTS		RDMABLK_CTRL_RECVS
#define SLOT_BYTES	1024
#define LOGIN_RECVS	4		/* HELLO, PROOF, REGIONS_GET, READY */
#define SENDS		8
#define WR_SEND		100
#define WR_REACH	101
#define CMD_DEPTH	8
#define CMD_SLOT	(SLOTS + SENDS)	/* the first receive of commands on a write queue */
#define NR_SLOTS	(CMD_SLOT + CMD_DEPTH)
#define CMD_SLOT_BYTES	65536		/* of a slot for the data of a command */
#define TRAILER_BYTES	8192
#define STRIKE_AT	(EXPORT_BYTES / 2)

struct mode {
	char name[32];
	unsigned int arg;
	bool has_arg;
	bool soon;
	struct rdma_cm_id *id;
};

/* The one login that is under way */
static struct {
	const struct mode *mode;
	struct rdma_cm_id *id;		/* control queue */
	struct rdma_cm_id *data[2 * RDMABLK_MAX_QUEUES];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_mr *memory_mr;
	struct rdmablk_hello hello;
	struct rdmablk_challenge challenge;
	uint8_t key[RDMABLK_MAC_LEN];
	unsigned int sent;
} s;

static struct mode modes[MAX_MODES];
static int nr_modes;
static unsigned int version = RDMABLK_VERSION_OPEN;	/* of the last connection request */
static struct rdma_event_channel *channel;
static char *slots;
static char *memory;

static const uint8_t no_key[RDMABLK_MAC_LEN];

static void __attribute__((noreturn)) die(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool is(const char *name)
{
	return !strcmp(s.mode->name, name);
}

static bool begins(const char *with)
{
	return !strncmp(s.mode->name, with, strlen(with));
}

static bool is_staged(void)
{
	return begins("staged") || begins("limits");
}

static bool is_largest(void)
{
	return begins(LARGEST);
}

static uint64_t features(void)
{
	if (is_largest())
		return largest_features(s.mode->name);
	if (is_staged())
		return RDMABLK_F_COMMANDS | RDMABLK_F_STAGED | RDMABLK_F_LISTS;
	return begins("live-answer") ? RDMABLK_F_COMMANDS : 0;
}

static unsigned int arg(unsigned int otherwise)
{
	return s.mode->has_arg ? s.mode->arg : otherwise;
}

/*
 * Messages
 */

static void post_recv_on(struct rdma_cm_id *id, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)(slots + i * SLOT_BYTES), SLOT_BYTES,
			       s.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(id->qp, &wr, &bad))
		die("ibv_post_recv");
}

static void post_recv(unsigned int i)
{
	post_recv_on(i < CMD_SLOT ? s.id : s.data[1], i);
}

/* Posts receives for commands, before the write queue is connected. */
static void post_command_recvs(void)
{
	for (unsigned int i = CMD_SLOT; i < NR_SLOTS; i++)
		post_recv(i);
}

static void post_msg(const void *msg, size_t len)
{
	/* Buffers are used in turn, so a message under way is not overwritten. */
	char *buf = slots + (SLOTS + s.sent++ % SENDS) * SLOT_BYTES;
	struct ibv_sge sge = { (uintptr_t)buf, (uint32_t)len, s.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = WR_SEND, .sg_list = &sge, .num_sge = len > 0,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	memcpy(buf, msg, len);
	if (ibv_post_send(s.id->qp, &wr, &bad))
		die("ibv_post_send");
}

static void send_msg(const void *msg, size_t len)
{
	const struct rdmablk_hdr *hdr = msg;

	post_msg(msg, len);
	if (is("twice") && le16toh(hdr->type) == arg(0))
		post_msg(msg, len);
}

static void send_random(size_t len)
{
	char junk[SLOT_BYTES];

	mac_random(junk, sizeof(junk));
	send_msg(junk, len);
}

static void *slot_msg(const struct ibv_wc *wc)
{
	return slots + wc->wr_id * SLOT_BYTES;
}

/*
 * Return: type of the next message, which stays in its slot until @wc is used again; 0 if
 * the connection is over or no message came in time.
 */
static unsigned int receive(struct ibv_wc *wc, int ms)
{
	const struct rdmablk_hdr *hdr;

	for (; ms > 0; ms--) {
		if (!ibv_poll_cq(s.cq, 1, wc)) {
			usleep(1000);
			continue;
		}
		if (wc->wr_id == WR_REACH) {
			printf("%s: %s\n", s.mode->name, ibv_wc_status_str(wc->status));
			rdma_disconnect(s.data[1]);
			return 0;
		}
		if (wc->status)
			return 0;
		if (wc->wr_id >= WR_LARGEST) {
			largest_command(wc);
			continue;
		}
		if (wc->wr_id >= WR_SEND)
			continue;
		hdr = slot_msg(wc);
		return wc->byte_len < sizeof(*hdr) ? 0 : le16toh(hdr->type);
	}
	return 0;
}

static void send_close(unsigned int reason)
{
	struct rdmablk_close msg = {
		.hdr = head(RDMABLK_MSG_CLOSE, sizeof(msg)),
		.reason = htole16((uint16_t)reason),
		.version_min = htole16((uint16_t)version),
		.version_max = htole16((uint16_t)version),
	};

	send_msg(&msg, sizeof(msg));
}

/*
 * Connections
 */

/* Return: false if the peer has withdrawn its request meanwhile. */
static bool make_queue(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s.cq, .recv_cq = s.cq,
		.cap = { 64, 64, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	if (!rdma_create_qp(id, s.pd, &attr))
		return true;
	if (errno != EINVAL)
		die("rdma_create_qp");
	printf("%s: a request was withdrawn\n", s.mode->name);
	return false;
}

static void accept_with(struct rdma_cm_id *id, unsigned int speaks,
			unsigned int queue, uint8_t resources)
{
	struct rdmablk_cm_accept2 acc2 = {
		.accept = {
			.magic = htole32(RDMABLK_MAGIC),
			.version = htole16((uint16_t)speaks),
			.queue = htole16((uint16_t)queue),
		},
	};
	struct rdmablk_cm_accept *acc = &acc2.accept;
	struct rdma_conn_param param = {
		.private_data = &acc2,
		.private_data_len = version == RDMABLK_VERSION_PROVEN ? sizeof(acc2) :
				    sizeof(*acc),
		.responder_resources = resources,
		/*
		 * A READ by this end needs a responder resource, which the initiator does
		 * not offer.
		 */
		.initiator_depth = is("live-reach-read"),
		.rnr_retry_count = is("live-no-recv") ? 1 : 7,
	};

	if (is("bad-accept"))
		mac_random(acc, sizeof(*acc));
	if (is("empty-accept"))
		param.private_data_len = 0;
	if (is("accept-reserved"))
		acc->reserved = 1;
	if (rdma_accept(id, &param))
		printf("rdma_accept: %s\n", strerror(errno));
}

/* With the reason VERSION the reject claims that this target speaks the other version. */
static void reject(struct rdma_cm_id *id)
{
	unsigned int speaks = arg(0) == RDMABLK_R_VERSION ? 3 - version : version;
	struct rdmablk_cm_reject rej = {
		.magic = htole32(RDMABLK_MAGIC),
		.reason = htole16((uint16_t)arg(0)),
		.version_min = htole16((uint16_t)speaks),
		.version_max = htole16((uint16_t)speaks),
	};

	if (is("reject-random"))
		mac_random(&rej, sizeof(rej));
	rdma_reject(id, &rej, is("reject-empty") ? 0 : sizeof(rej));
	rdma_destroy_id(id);
}

static void session_begin(struct rdma_cm_id *id)
{
	s.id = id;
	s.pd = ibv_alloc_pd(id->verbs);
	s.cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0);
	if (!s.pd || !s.cq)
		die("cannot make a queue");
	s.mr = ibv_reg_mr(s.pd, slots, NR_SLOTS * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
	s.memory_mr = ibv_reg_mr(s.pd, memory, EXPORT_BYTES,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!s.mr || !s.memory_mr)
		die("ibv_reg_mr");
	if (!make_queue(id))
		die("rdma_create_qp");
	for (unsigned int i = 0; i < (is("live-no-recv") ? LOGIN_RECVS : SLOTS); i++)
		post_recv(i);
}

static void queue_end(struct rdma_cm_id **id)
{
	if (!*id)
		return;
	rdma_disconnect(*id);
	rdma_destroy_qp(*id);
	rdma_destroy_id(*id);
	*id = NULL;
}

static void session_end(void)
{
	if (!s.id)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(s.data); i++)
		queue_end(&s.data[i]);
	queue_end(&s.id);
	ibv_destroy_cq(s.cq);
	largest_end();
	ibv_dereg_mr(s.mr);
	ibv_dereg_mr(s.memory_mr);
	ibv_dealloc_pd(s.pd);
	memset(&s, 0, sizeof(s));
}

/*
 * Login. Each step returns whether the login goes on.
 */

static bool send_challenge(void)
{
	struct rdmablk_challenge *c = &s.challenge;

	*c = (struct rdmablk_challenge){
		.hdr = head(RDMABLK_MSG_CHALLENGE, sizeof(*c)),
		.version = htole16(1),
		.auth_method = htole32(RDMABLK_AUTH_NONE),
		.session_id = htole64(0x1234),
	};
	mac_random(c->nonce, sizeof(c->nonce));
	c->features = htole64(features());
	if (is("challenge-version"))
		c->version = htole16(99);
	if (is("challenge-auth"))
		c->auth_method = htole32(RDMABLK_AUTH_PSK);
	if (is("challenge-features"))
		c->features = htole64(1ULL << 63);
	if (is("challenge-session"))
		c->session_id = 0;
	if (is("challenge-reserved"))
		c->reserved = 1;
	send_msg(c, sizeof(*c));
	return strncmp(s.mode->name, "challenge", 9);
}

static bool handle_hello(const void *msg)
{
	char zero[RDMABLK_CTRL_MSG_MAX] = { 0 };
	static const uint16_t size[] = { 16, 280, 72, 48, 224, 24, 312, 16, 16, 64,
					 32, 32, 32 };
	static unsigned int logins;
	struct rdmablk_challenge2 challenge2;
	struct rdmablk_hdr hdr;

	memcpy(&s.hello, msg, sizeof(s.hello));
	if (is("silent"))
		return true;
	if (is("late"))
		usleep(arg(0) * 1000);
	if (is("hang-up")) {
		session_end();
		return false;
	}
	if (is("close")) {
		send_close(arg(0));
		return true;
	}
	if (is("other") && logins++ % 2 == 0) {
		send_close(RDMABLK_R_IDENTITY);
		return true;
	}
	if (is("random")) {
		send_random(arg(RDMABLK_CTRL_MSG_MAX));
		return true;
	}
	if (is("type")) {
		hdr = head(arg(1), size[arg(1)]);
		memcpy(zero, &hdr, sizeof(hdr));
		send_msg(zero, size[arg(1)]);
		return true;
	}
	if (version == RDMABLK_VERSION_PROVEN) {
		fill_challenge2(&challenge2);
		send_msg(&challenge2, sizeof(challenge2));
		return true;
	}
	send_challenge();
	return true;
}

static void fill_grant(struct rdmablk_grant *g)
{
	static unsigned int grants;

	*g = (struct rdmablk_grant){
		.hdr = head(RDMABLK_MSG_GRANT, sizeof(*g)),
		.session_id = s.challenge.session_id,
		.features = s.challenge.features,
		.uuid = { 0xba, 0xd0 },
		.epoch = { 1 },
		.size = htole64(EXPORT_BYTES),
		.region_bytes = htole64(EXPORT_BYTES),
		.nr_regions = htole32(1),
		.logical_block = htole32(512),
		.physical_block = htole32(4096),
		.nr_queues = htole16(1),
		.queue_depth = htole16(16),
		.read_depth = htole16(16),
		.keep_alive_ms = s.hello.keep_alive_ms,
		.session_tmo_ms = htole32(le32toh(s.hello.keep_alive_ms) + 1000),
		.target_name = "bad",
	};
	if (is_largest())
		largest_grant(s.mode->name, &s.hello, g);
	if (is_staged()) {
		g->flags = htole32(RDMABLK_GRANT_STAGED);
		g->region_bytes = 0;
		g->nr_regions = 0;
	}
	/* The first grant has half the size. Later ones have all of it. */
	if (is("live-grown") && !grants++)
		g->size = htole64(EXPORT_BYTES / 2);
	if (is("grant-size"))
		g->size = htole64(EXPORT_BYTES + 1);
	if (is("grant-huge"))
		g->size = htole64(~0ULL << 9);
	if (is("grant-regions"))
		g->nr_regions = htole32(2);
	if (is("grant-block"))
		g->logical_block = htole32(arg(1024));
	if (is("grant-queues"))
		g->nr_queues = htole16((uint16_t)arg(0));
	if (is("full-data"))
		g->nr_queues = s.hello.nr_queues;
	if (is("grant-depth"))
		g->queue_depth = htole16((uint16_t)arg(0));
	if (is("grant-name"))
		memset(g->target_name, 'x', sizeof(g->target_name));
	if (is("grant-keep-alive")) {
		g->keep_alive_ms = htole32(arg(0));
		g->session_tmo_ms = htole32(arg(0) + 1000);
	}
	if (is("grant-timeout"))
		g->session_tmo_ms = htole32(arg(1));
	if (is("grant-io"))
		g->max_io = htole32(arg(513));
	if (is("grant-flags"))
		g->flags = htole32(arg(0x80));
}

static void handle_proof(void)
{
	struct rdmablk_event_msg grown = {
		.hdr = head(RDMABLK_MSG_EVENT, sizeof(grown)),
		.event = htole16(RDMABLK_EVENT_RESIZE),
		.value = htole64(EXPORT_BYTES),
	};
	struct rdmablk_grant g;
	uint8_t *bytes = (uint8_t *)&g;

	if (is("no-grant"))
		return;
	if (is("close-proof")) {
		send_close(arg(0));
		return;
	}
	mac_session_key(no_key, &s.hello, &s.challenge, s.key);
	fill_grant(&g);
	/* The byte is not one of the MAC, so the MAC is right and the contents are wrong. */
	if (is("grant-flip"))
		bytes[arg(0)] ^= 0xff;
	mac_message(s.key, RDMABLK_LABEL_GRANT, &g,
		    offsetof(struct rdmablk_grant, mac), g.mac);
	if (is("grant-mac"))
		g.mac[arg(0)] ^= 1;
	send_msg(&g, sizeof(g));
	if (is("live-grown"))
		send_msg(&grown, sizeof(grown));
}

static void handle_regions_get(const struct rdmablk_regions_get *get)
{
	struct rdmablk_regions r = {
		.hdr = head(RDMABLK_MSG_REGIONS, sizeof(r)),
		.count = htole32(1),
		.region = { {
			.iova = htole64((uintptr_t)memory),
			.rkey = htole32(s.memory_mr->rkey),
		} },
	};

	if (is_largest())
		largest_regions(&r, le32toh(get->first));
	if (is("regions-count"))
		r.count = htole32(arg(0));
	if (is("regions-first"))
		r.first = htole32(1);
	if (is("regions-rest"))
		r.region[1].rkey = htole32(1);
	if (is("regions-wrap"))
		r.region[0].iova = htole64(~0ULL - 4095);
	if (is("live-wrong-key"))
		r.region[0].rkey ^= htole32(0x500);
	if (is("live-outside"))
		r.region[0].iova = htole64((uintptr_t)memory + EXPORT_BYTES);
	mac_message(s.key, RDMABLK_LABEL_REGIONS, &r,
		    offsetof(struct rdmablk_regions, mac), r.mac);
	if (is("regions-mac"))
		r.mac[31] ^= 1;
	send_msg(&r, sizeof(r));
}

static void fill_limits_staged(struct rdmablk_limits *l)
{
	l->ops = htole32(RDMABLK_OP_BIT(RDMABLK_OP_FENCE) | RDMABLK_OP_BIT(RDMABLK_OP_READ) |
			 RDMABLK_OP_BIT(RDMABLK_OP_WRITE));
	l->trailer_bytes = htole32(TRAILER_BYTES);
	l->slot_bytes = htole32(CMD_SLOT_BYTES);
	l->slot_iova = htole64((uintptr_t)memory);
	l->slot_rkey = htole32(s.memory_mr->rkey);
	if (is("staged-slot-outside"))
		l->slot_iova = htole64((uintptr_t)memory + EXPORT_BYTES);
	if (is("limits-slot"))
		l->slot_bytes = htole32(arg(0));
	if (is("limits-wrap"))
		l->slot_iova = htole64(~0ULL - CMD_SLOT_BYTES);
	if (is("limits-trailer"))
		l->trailer_bytes = htole32(arg(0));
	if (is("limits-ops"))
		l->ops = htole32(arg(0));
	if (is("limits-depth"))
		l->cmd_depth = htole16((uint16_t)arg(0));
	if (is("limits-reserved"))
		l->reserved = 1;
}

static void handle_limits_get(void)
{
	struct rdmablk_limits limits = {
		.hdr = head(RDMABLK_MSG_LIMITS, sizeof(limits)),
		.ops = htole32(RDMABLK_OP_BIT(RDMABLK_OP_FENCE)),
		.cmd_depth = htole16(CMD_DEPTH),
	};

	if (is_largest())
		largest_limits(s.mode->name, &limits);
	if (is_staged())
		fill_limits_staged(&limits);
	mac_message(s.key, RDMABLK_LABEL_LIMITS, &limits,
		    offsetof(struct rdmablk_limits, mac), limits.mac);
	if (is("limits-mac"))
		limits.mac[0] ^= 1;
	send_msg(&limits, sizeof(limits));
}

static void handle_ready(void)
{
	struct rdmablk_live live = { .hdr = head(RDMABLK_MSG_LIVE, sizeof(live)) };

	if (is("no-live"))
		return;
	if (is("live-head"))
		live.hdr.reserved = 1;
	if (is("live-no-recv") && hurry_rnr(s.id->qp))
		die("ibv_modify_qp");
	send_msg(&live, sizeof(live));
}

/* Posts an operation with @len bytes of data on the write queue. */
static void post_data(enum ibv_wr_opcode op, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)(slots + SLOTS * SLOT_BYTES), len, s.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = len > 0,
				  .opcode = op, .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (op == IBV_WR_SEND_WITH_IMM)
		wr.imm_data = htobe32(RDMABLK_IMM(CMD_DEPTH - 1, 0, RDMABLK_OK));
	else if (op != IBV_WR_SEND)	/* an address that most machines have */
		wr.wr.rdma.remote_addr = 1 << 20;
	if (ibv_post_send(s.data[1]->qp, &wr, &bad))
		die("ibv_post_send");
}

static bool strike_data(void)
{
	if (is("live-answer"))
		post_data(IBV_WR_SEND_WITH_IMM, WR_SEND, 0);
	else if (is("live-answer-list"))
		post_data(IBV_WR_SEND, WR_SEND, 0);
	else if (is("live-answer-data"))
		post_data(IBV_WR_SEND_WITH_IMM, WR_SEND, 64);
	else if (is("live-reach-read"))
		post_data(IBV_WR_RDMA_READ, WR_REACH, 64);
	else if (is("live-reach-write"))
		post_data(IBV_WR_RDMA_WRITE, WR_REACH, 64);
	else
		return false;
	return true;
}

/*
 * Staged sessions: answers on the write queue
 */

/*
 * A SEND of @len bytes of @buf, which must fit a slot. With @buf NULL it sends bytes of the
 * export, which are all zero. With @imm NULL it has no immediate data.
 */
static void post_answer(const void *buf, size_t len, const uint32_t *imm)
{
	char *out = slots + (SLOTS + s.sent++ % SENDS) * SLOT_BYTES;
	struct ibv_sge sge = { (uintptr_t)memory, (uint32_t)len, s.memory_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = WR_SEND, .sg_list = &sge, .num_sge = len > 0,
				  .opcode = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (buf) {
		memcpy(out, buf, len);
		sge.addr = (uintptr_t)out;
		sge.lkey = s.mr->lkey;
	}
	if (imm)
		wr.imm_data = htobe32(*imm);
	if (ibv_post_send(s.data[1]->qp, &wr, &bad))
		die("ibv_post_send");
}

/* A list of @len bytes, SLOT_BYTES at most, in which each answer is @imm */
static void post_list(uint32_t imm, size_t len)
{
	uint32_t list[SLOT_BYTES / sizeof(imm)];

	if (len > sizeof(list))
		len = sizeof(list);
	for (size_t i = 0; i * sizeof(imm) < len; i++)
		list[i] = htole32(imm);
	post_answer(list, len, NULL);
}

static bool has_trailer(const struct rdmablk_command *cmd)
{
	return le16toh(cmd->op) == RDMABLK_OP_READ && le16toh(cmd->flags) & RDMABLK_IO_TRAILER;
}

/* The answer of a correct target. The data in the slots is zeroes, too. */
static void answer_staged(const struct rdmablk_command *cmd)
{
	uint32_t imm = RDMABLK_IMM(le16toh(cmd->hdr.tag), le32toh(cmd->hdr.generation),
				   RDMABLK_OK);

	if (has_trailer(cmd))
		post_answer(NULL, le64toh(cmd->bytes), &imm);
	else
		post_list(imm, sizeof(imm));
}

/*
 * Answers that name no command in flight, or one that was answered already. The mode
 * "staged-HOW" sends such an answer by itself, the mode "staged-list-HOW" in a list.
 *
 * Return: whether this mode sends such an answer.
 */
static bool strike_with_tag(const struct rdmablk_command *cmd, const char *how, bool list)
{
	unsigned int tag = le16toh(cmd->hdr.tag), generation = le32toh(cmd->hdr.generation);
	size_t times = 1;
	uint32_t imm;

	if (!strcmp(how, "free"))
		tag = tag == CMD_DEPTH - 1 ? tag - 1 : CMD_DEPTH - 1;
	else if (!strcmp(how, "reserved"))
		tag = 0;
	else if (!strcmp(how, "beyond"))
		tag = CMD_DEPTH;
	else if (!strcmp(how, "stale"))
		generation--;
	else if (!strcmp(how, "early"))
		generation++;
	else if (!strcmp(how, "twice"))
		times = 2;
	else
		return false;
	imm = RDMABLK_IMM(tag, generation, RDMABLK_OK);
	if (list) {
		post_list(imm, times * sizeof(imm));
		return true;
	}
	while (times--)
		post_answer(NULL, has_trailer(cmd) ? le64toh(cmd->bytes) : 0, &imm);
	return true;
}

/* Return: whether this mode sends anything but a correct answer. */
static bool strike_staged(const struct rdmablk_command *cmd)
{
	bool list = begins("staged-list-");
	uint32_t done = RDMABLK_IMM(le16toh(cmd->hdr.tag), le32toh(cmd->hdr.generation),
				    RDMABLK_OK);
	uint32_t failed = done | RDMABLK_R_STORE_IO;

	if (strike_with_tag(cmd, s.mode->name + (list ? 12 : 7), list))
		return true;
	if (is("staged-list-bytes"))		/* a list whose first answer is right */
		post_list(done, arg(0));
	else if (is("staged-list-data"))	/* without the data that the READ asks for */
		post_list(done, sizeof(done));
	else if (is("staged-bytes"))		/* data of another length than was asked for */
		post_answer(NULL, arg(0), &done);
	else if (is("staged-error-data"))
		post_answer(NULL, le64toh(cmd->bytes), &failed);
	else if (is("staged-error"))		/* these two are allowed */
		post_answer(NULL, 0, &failed);
	else if (is("staged-list-error"))
		post_list(failed, sizeof(failed));
	else
		return false;
	return true;
}

static void handle_data_command(const struct rdmablk_command *cmd)
{
	if (le64toh(cmd->offset) != STRIKE_AT || !strike_staged(cmd))
		answer_staged(cmd);
}

/* Return: whether this mode strikes, with an error or otherwise. */
static bool strike(void)
{
	struct rdmablk_grant grant;

	if (is("live-random")) {
		send_random(arg(64));
	} else if (is("live-close")) {
		send_close(arg(0));
	} else if (is("live-grant")) {
		fill_grant(&grant);
		send_msg(&grant, sizeof(grant));
	} else if (is("live-hang-up")) {
		rdma_disconnect(s.id);
	} else if (is("live-drop-data")) {
		rdma_disconnect(s.data[0]);
	} else if (is("live-oversize")) {
		send_random(SLOT_BYTES);
	} else {
		return strike_data();
	}
	return true;
}

/* A live session, and then? */
static void handle_command(const struct rdmablk_command *cmd)
{
	struct rdmablk_answer answer = {
		.hdr = head(RDMABLK_MSG_ANSWER, sizeof(answer)),
	};
	struct rdmablk_event_msg event = {
		.hdr = head(RDMABLK_MSG_EVENT, sizeof(event)),
		.event = htole16(0x4242),
	};

	if (is("live-mute") || (!s.mode->soon && strike()))
		return;
	answer.hdr.tag = cmd->hdr.tag;
	answer.hdr.generation = cmd->hdr.generation;
	if (is("live-stale"))
		answer.hdr.generation = htole32(le32toh(cmd->hdr.generation) + 1);
	if (is("live-tag"))
		answer.hdr.tag = htole16(RDMABLK_CTRL_TAGS);
	if (is("live-status"))
		answer.status = htole16(0x7777);
	if (is("live-events"))
		send_msg(&event, sizeof(event));
	send_msg(&answer, sizeof(answer));
}

static void handle_message(struct ibv_wc *wc)
{
	unsigned int type = le16toh(((struct rdmablk_hdr *)slot_msg(wc))->type);
	struct rdmablk_command cmd;

	if (wc->wr_id >= CMD_SLOT) {
		memcpy(&cmd, slot_msg(wc), sizeof(cmd));
		post_recv((unsigned int)wc->wr_id);
		handle_data_command(&cmd);
		return;
	}
	switch (type) {
	case RDMABLK_MSG_HELLO:
		if (!handle_hello(slot_msg(wc)))
			return;
		break;
	case RDMABLK_MSG_PROOF:
		handle_proof();
		break;
	case RDMABLK_MSG_REGIONS_GET:
		handle_regions_get(slot_msg(wc));
		break;
	case RDMABLK_MSG_LIMITS_GET:
		handle_limits_get();
		break;
	case RDMABLK_MSG_READY:
		handle_ready();
		if (s.mode->soon)
			strike();
		break;
	case RDMABLK_MSG_COMMAND:
		handle_command(slot_msg(wc));
		break;
	case RDMABLK_MSG_CLOSE:
		printf("%s: closed with %u\n", s.mode->name,
		       le16toh(((struct rdmablk_close *)slot_msg(wc))->reason));
		break;
	default:
		break;
	}
	if (!is("live-no-recv"))
		post_recv((unsigned int)wc->wr_id);
}

/*
 * Events
 */

static void connect_request(struct rdma_cm_event *ev)
{
	struct rdmablk_cm_request req;
	struct rdma_cm_id *id = ev->id;
	const struct mode *mode = ev->listen_id->context;
	uint8_t resources = ev->param.conn.responder_resources;
	unsigned int queue;

	memcpy(&req, ev->param.conn.private_data, sizeof(req));
	queue = le16toh(req.queue);
	rdma_ack_cm_event(ev);
	if (queue) {
		if (s.id && is("full-data")) {
			reject(id);
			return;
		}
		if (!s.id || queue > (is_largest() ? ARRAY_SIZE(s.data) : 2) ||
		    is("reject-data")) {
			rdma_reject(id, NULL, 0);
			rdma_destroy_id(id);
			return;
		}
		queue_end(&s.data[queue - 1]);
		s.data[queue - 1] = id;
		if (!make_queue(id)) {
			rdma_destroy_id(id);
			s.data[queue - 1] = NULL;
			return;
		}
		if (is_largest())
			largest_joined(s.pd, id->qp, queue);
		if (is_staged() && queue == 2)
			post_command_recvs();
		accept_with(id, 1, is("data-queue") ? queue + 1 : queue,
			    is("no-read-depth") ? 0 : resources);
		return;
	}
	/* The mode "deaf" ignores the request, and keeps the session of another port. */
	if (!strcmp(mode->name, "deaf"))
		return;
	session_end();
	s.mode = mode;
	version = le16toh(req.version_max);
	if (!strncmp(mode->name, "reject", 6) && !is("reject-data")) {
		reject(id);
		return;
	}
	session_begin(id);
	accept_with(id, is("accept-version") ? arg(99) : version, is("accept-queue") ? 7 : 0, 0);
}

static void cm_event(void)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel, &ev))
		die("rdma_get_cm_event");
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		connect_request(ev);
	} else if (ev->event == RDMA_CM_EVENT_DISCONNECTED && ev->id == s.id) {
		rdma_ack_cm_event(ev);
		session_end();
	} else {
		rdma_ack_cm_event(ev);
	}
}

static void serve(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_wc wc;

	for (;;) {
		if (poll(&pfd, 1, s.id ? 0 : -1) > 0)
			cm_event();
		if (s.id && receive(&wc, 1))
			handle_message(&wc);
	}
}

static void listen_on(const char *address, struct mode *mode, int port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE,
				       .ai_port_space = RDMA_PS_TCP }, *info;
	char service[16];

	snprintf(service, sizeof(service), "%d", port);
	if (rdma_getaddrinfo(address, service, &hints, &info) ||
	    rdma_create_id(channel, &mode->id, mode, RDMA_PS_TCP) ||
	    rdma_bind_addr(mode->id, info->ai_src_addr) || rdma_listen(mode->id, 16))
		die("cannot listen");
	rdma_freeaddrinfo(info);
}

int main(int argc, char **argv)
{
	const char *port = getenv("BAD_PORT");
	int base = port ? atoi(port) : BASE_PORT;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3 || argc - 2 > MAX_MODES) {
		fprintf(stderr, "usage: bad_target ADDR MODE[=N]...\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	slots = aligned_alloc(4096, NR_SLOTS * SLOT_BYTES);
	memory = aligned_alloc(4096, EXPORT_BYTES);
	if (!channel || !slots || !memory)
		die("start");
	memset(memory, 0, EXPORT_BYTES);
	for (nr_modes = 0; nr_modes < argc - 2; nr_modes++) {
		struct mode *mode = &modes[nr_modes];
		const char *word = argv[2 + nr_modes], *value = strchr(word, '=');

		mode->soon = !strncmp(word, "soon-", 5);
		snprintf(mode->name, sizeof(mode->name), "%s%.*s",
			 mode->soon ? "live-" : "",
			 (int)strcspn(word, "=") - 5 * mode->soon,
			 word + 5 * mode->soon);
		mode->has_arg = value;
		if (value)
			mode->arg = (unsigned int)strtoul(value + 1, NULL, 0);
		listen_on(argv[1], mode, base + nr_modes);
	}
	puts("ready");
	serve();
}
