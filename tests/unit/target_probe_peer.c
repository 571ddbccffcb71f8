// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps of target_probe.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "target_probe.h"

#define SENDS_AT	32768
#define SEND_BYTES	1024
#define NR_SENDS	((BUF_BYTES - SENDS_AT) / SEND_BYTES)

struct probe p = { .host = 1, .boot = 1, .instance = 1, .generation = 1, .queues = 2,
	.keep_alive = 5000, .hold = 2000, .port = RDMABLK_PORT,
	.version = RDMABLK_VERSION_OPEN };

static const uint8_t no_key[RDMABLK_MAC_LEN];

void __attribute__((noreturn)) finish(int status)
{
	if (p.refused)
		longjmp(*p.refused, 1);
	if (p.expect) {
		status = p.ended != p.expect;
		if (status)
			printf("expected %u, got %u\n", p.expect, p.ended);
	}
	exit(status);
}

void __attribute__((noreturn)) die(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	finish(1);
}

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/*
 * Connections
 */

static void show_reject(const struct rdma_cm_event *ev)
{
	const struct rdmablk_cm_reject *rej = ev->param.conn.private_data;

	p.ended = ~0U;
	if (ev->param.conn.private_data_len >= sizeof(*rej) &&
	    le32toh(rej->magic) == RDMABLK_MAGIC)
		p.ended = le16toh(rej->reason);
	printf("%s %d %s, status %d\n", "rejected", (int)p.ended,
	       rdmablk_reason_text(p.ended), ev->status);
}

static void keep_accept(const struct rdma_cm_event *ev)
{
	size_t len = ev->param.conn.private_data_len;

	memset(&p.accept, 0, sizeof(p.accept));
	memcpy(&p.accept, ev->param.conn.private_data,
	       len < sizeof(p.accept) ? len : sizeof(p.accept));
	p.peer_qpn = ev->param.conn.qp_num;
}

/* Next CM event; @ms: patience. */
static int cm_event(int ms)
{
	struct pollfd pfd = { .fd = p.channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&pfd, 1, ms) <= 0)
		return -1;
	if (rdma_get_cm_event(p.channel, &ev))
		die("rdma_get_cm_event");
	type = (int)ev->event;
	if (type == RDMA_CM_EVENT_REJECTED)
		show_reject(ev);
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		keep_accept(ev);
	if (type == RDMA_CM_EVENT_DISCONNECTED)
		p.gone = true;
	rdma_ack_cm_event(ev);
	return type;
}

static void cm_expect(int want)
{
	int type = cm_event(20000);

	if (type != want) {
		printf("cm event %s instead of %s\n",
		       type < 0 ? "none" : rdma_event_str((enum rdma_cm_event_type)type),
		       rdma_event_str((enum rdma_cm_event_type)want));
		finish(1);
	}
}

static void resolve(struct queue *q)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	char port[8];

	snprintf(port, sizeof(port), "%u", p.port);
	if (rdma_getaddrinfo(p.addr, port, &hints, &info))
		die("rdma_getaddrinfo");
	if (rdma_create_id(p.channel, &q->id, q, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(q->id, NULL, info->ai_dst_addr, 5000))
		die("rdma_resolve_addr");
	rdma_freeaddrinfo(info);
	cm_expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(q->id, 5000))
		die("rdma_resolve_route");
	cm_expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void prepare(struct queue *q)
{
	struct ibv_qp_init_attr attr = {
		.cap = { 64, 64, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	resolve(q);
	if (!p.pd) {
		p.pd = ibv_alloc_pd(q->id->verbs);
		p.buf = aligned_alloc(4096, BUF_BYTES);
		if (!p.pd || !p.buf)
			die("alloc");
		memset(p.buf, 0, BUF_BYTES);
		p.mr = ibv_reg_mr(p.pd, p.buf, BUF_BYTES, IBV_ACCESS_LOCAL_WRITE);
		if (!p.mr)
			die("ibv_reg_mr");
	}
	q->cq = ibv_create_cq(q->id->verbs, 256, NULL, NULL, 0);
	if (!q->cq)
		die("ibv_create_cq");
	attr.send_cq = q->cq;
	attr.recv_cq = q->cq;
	if (rdma_create_qp(q->id, p.pd, &attr))
		die("rdma_create_qp");
}

/* Return: whether the connection stands; else it was rejected. */
bool connect_queue(struct queue *q, const void *data, uint8_t len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.initiator_depth = 16,
		.retry_count = 6,
		.rnr_retry_count = 7,
	};
	int type;

	if (rdma_connect(q->id, &param))
		die("rdma_connect");
	do {
		type = cm_event(30000);
	} while (type == RDMA_CM_EVENT_DISCONNECTED);
	q->up = type == RDMA_CM_EVENT_ESTABLISHED;
	if (!q->up && type != RDMA_CM_EVENT_REJECTED)
		printf("connect: event %d\n", type);
	return q->up;
}

static void post_recv(unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)(p.buf + 4096 + 512 * i), 512, p.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(p.ctrl.id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

/*
 * Verbs return an error number and leave errno alone; die() prints errno.
 *
 * On a busy machine the caller may post messages faster than the adapter sends them. The
 * send queue is full then, and has room again a little later.
 */
void post_send(struct queue *q, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	long long end = now_ms() + 20000;

	while ((errno = ibv_post_send(q->id->qp, wr, &bad))) {
		if (errno != ENOMEM || now_ms() > end)
			die("ibv_post_send");
		usleep(1000);
	}
}

/*
 * A message must not change before it has been sent, which may be a while after it was
 * posted: each of the next ones has a place of its own.
 */
void post(struct queue *q, struct ibv_send_wr *wr, const void *msg, size_t len)
{
	static unsigned int sends;
	char *place = p.buf + SENDS_AT + sends++ % NR_SENDS * SEND_BYTES;
	struct ibv_sge sge = { (uintptr_t)place, (uint32_t)len, p.mr->lkey };

	memcpy(place, msg, len);
	wr->wr_id = 1000;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	post_send(q, wr);
}

void send_raw(struct queue *q, const void *msg, size_t len)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	post(q, &wr, msg, len);
}

/* Sends an unsealed message; if its type is @p.flip_type, bit @p.flip_bit is flipped. */
void send_flipped(unsigned int type, const void *msg, size_t len)
{
	uint8_t sent[RDMABLK_CTRL_MSG_MAX];

	memcpy(sent, msg, len);
	if (p.flip_type == type)
		sent[p.flip_bit / 8] ^= (uint8_t)(1U << p.flip_bit % 8);
	send_raw(&p.ctrl, sent, len);
}

/* Sends a message on the control queue, sealed as soon as the login has keys. */
void send_msg(const void *msg, size_t len)
{
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];

	send_raw(&p.ctrl, frame, proven_seal(msg, len, frame));
}

/* Next completion of a queue, 0 with none in time. */
int completion(struct queue *q, struct ibv_wc *wc, long long ms)
{
	long long end = now_ms() + ms;
	int n;

	while (!(n = ibv_poll_cq(q->cq, 1, wc)) && now_ms() < end) {
		cm_event(0);
		usleep(1000);
	}
	return n;
}

/* A receive of a write queue */
void post_answer(struct queue *q)
{
	struct ibv_recv_wr wr = { .wr_id = ANSWER }, *bad;

	errno = ibv_post_recv(q->id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

/* A command on a write queue, always with the same tag, for the range from 0 on */
void send_io(struct queue *q, unsigned int op, uint64_t bytes, unsigned int generation)
{
	struct rdmablk_command cmd = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
		.op = htole16((uint16_t)op),
		.bytes = htole64(bytes),
	};

	cmd.hdr.tag = htole16(1);
	cmd.hdr.generation = htole32(generation);
	send_raw(q, &cmd, sizeof(cmd));
}

/* The answer to send_io(), and a receive for the next one */
void want_done(struct queue *q, unsigned int generation)
{
	struct ibv_wc wc;
	uint32_t imm;

	do {
		if (completion(q, &wc, 60000) <= 0)
			die("no answer");
		if (wc.status)
			die(ibv_wc_status_str(wc.status));
	} while (wc.wr_id != ANSWER);
	imm = be32toh(wc.imm_data);
	if (RDMABLK_IMM_TAG(imm) != 1 || RDMABLK_IMM_GENERATION(imm) != generation ||
	    RDMABLK_IMM_STATUS(imm))
		die("a wrong answer");
	post_answer(q);
}

static void drop(struct queue *q)
{
	if (!q->id)
		return;
	if (q->id->qp)
		rdma_destroy_qp(q->id);
	rdma_destroy_id(q->id);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	*q = (struct queue){ 0 };
}

/* Drops a session with one hardware queue, whatever it is doing. */
void drop_all(void)
{
	drop(&p.data[0]);
	drop(&p.data[1]);
	drop(&p.ctrl);
	rdma_destroy_event_channel(p.channel);
	p.channel = NULL;
}

/* Next message; 0: CLOSE, disconnected or none in time. */
unsigned int receive(void *msg, size_t size, long long ms)
{
	const struct rdmablk_close *close;
	struct ibv_wc wc;

	while (completion(&p.ctrl, &wc, ms) > 0) {
		const struct rdmablk_hdr *hdr;
		size_t len;

		if (wc.status) {
			printf("control queue: %s\n", ibv_wc_status_str(wc.status));
			p.gone = true;
			return 0;
		}
		if (wc.wr_id == 1000)
			continue;
		len = proven_open(p.buf + 4096 + 512 * wc.wr_id, wc.byte_len);
		hdr = (void *)(p.buf + 4096 + 512 * wc.wr_id);
		close = (const void *)hdr;
		if (le16toh(hdr->length) != len)
			die("length of a message");
		if (le16toh(hdr->type) == RDMABLK_MSG_CLOSE) {
			p.ended = le16toh(close->reason);
			printf("closed %u %s, retry after %u ms\n", p.ended,
			       rdmablk_reason_text(p.ended),
			       le32toh(close->retry_after_ms));
			return 0;
		}
		if (msg)
			memcpy(msg, hdr, len < size ? len : size);
		post_recv((unsigned int)wc.wr_id);
		return le16toh(hdr->type);
	}
	return 0;
}

void want(unsigned int type, void *msg, size_t size)
{
	unsigned int got;

	do {
		got = receive(msg, size, 60000);
	} while (got == RDMABLK_MSG_EVENT);
	if (got != type) {
		if (!p.ended)
			printf("message %u instead of %u\n", got, type);
		finish(1);
	}
}

/*
 * Login
 */

struct rdmablk_hdr head(unsigned int type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16((uint16_t)type),
				     .length = htole16((uint16_t)len) };
}

void fill_hello(void)
{
	struct rdmablk_hello *h = &p.hello;

	*h = (struct rdmablk_hello){
		.hdr = head(RDMABLK_MSG_HELLO, sizeof(*h)),
		.version_min = htole16((uint16_t)p.version),
		.version_max = htole16((uint16_t)p.version),
		.flags = htole32(p.flags),
		.generation = htole32(p.generation),
		.nr_queues = htole16((uint16_t)p.queues),
		.queue_depth = htole16(128),
		.keep_alive_ms = htole32(p.keep_alive),
		.auth_methods = htole32(RDMABLK_AUTH_NONE),
		.features_offered = htole64(p.features),
	};
	h->host_id[0] = (uint8_t)p.host;
	h->host_id[1] = (uint8_t)(p.host >> 8);
	h->boot_nonce[0] = (uint8_t)p.boot;
	h->instance_id[0] = (uint8_t)p.instance;
	mac_random(h->nonce, sizeof(h->nonce));
	snprintf(h->host_name, sizeof(h->host_name), "probe%u", p.host);
	snprintf(h->export_name, sizeof(h->export_name), "%s", p.export_name);
	if (p.version == RDMABLK_VERSION_PROVEN)
		proven_hello();
}

void send_hello(void)
{
	fill_hello();
	if (p.version == RDMABLK_VERSION_PROVEN)
		send_flipped(RDMABLK_MSG_HELLO, &p.hello2, sizeof(p.hello2));
	else
		send_raw(&p.ctrl, &p.hello, sizeof(p.hello));
}

struct rdmablk_cm_request ctrl_request(void)
{
	return (struct rdmablk_cm_request){ .magic = htole32(RDMABLK_MAGIC),
		.version_min = htole16((uint16_t)p.version),
		.version_max = htole16((uint16_t)p.version) };
}

bool connect_ctrl(void)
{
	struct rdmablk_cm_request req = ctrl_request();

	prepare(&p.ctrl);
	for (unsigned int i = 0; i < RDMABLK_CTRL_RECVS; i++)
		post_recv(i);
	return connect_queue(&p.ctrl, &req, sizeof(req));
}

/* Up to PROOF. In version 2 what follows is sealed. */
static void prove(void)
{
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };

	if (p.version == RDMABLK_VERSION_PROVEN) {
		proven_prove(!strcmp(p.scenario, "bad-proof"));
		return;
	}
	want(RDMABLK_MSG_CHALLENGE, &p.challenge, sizeof(p.challenge));
	mac_proof(no_key, &p.hello, &p.challenge, proof.mac);
	mac_session_key(no_key, &p.hello, &p.challenge, p.key);
	if (!strcmp(p.scenario, "bad-proof"))
		proof.mac[5] ^= 1;
	send_raw(&p.ctrl, &proof, sizeof(proof));
}

/* A message of version 1 has a MAC of its first @len bytes; in version 2 it was sealed. */
static void check_mac(const char *label, const void *msg, size_t len, const uint8_t *got)
{
	uint8_t mac[RDMABLK_MAC_LEN];

	if (p.version == RDMABLK_VERSION_PROVEN)
		return;
	mac_message(p.key, label, msg, len, mac);
	if (!mac_equal(mac, got))
		die(label);
}

static void get_regions(void)
{
	uint32_t nr = le32toh(p.grant.nr_regions);

	for (uint32_t first = 0; first < nr;) {
		struct rdmablk_regions_get get = {
			.hdr = head(RDMABLK_MSG_REGIONS_GET, sizeof(get)),
			.first = htole32(first),
		};
		struct rdmablk_regions regions;

		send_msg(&get, sizeof(get));
		want(RDMABLK_MSG_REGIONS, &regions, sizeof(regions));
		check_mac(RDMABLK_LABEL_REGIONS, &regions,
			  offsetof(struct rdmablk_regions, mac), regions.mac);
		memcpy(&p.region[first], regions.region,
		       le32toh(regions.count) * sizeof(regions.region[0]));
		first += le32toh(regions.count);
	}
}

void login_to_grant(void)
{
	if (!connect_ctrl())
		finish(1);
	send_hello();
	prove();
	want(RDMABLK_MSG_GRANT, &p.grant, sizeof(p.grant));
	check_mac(RDMABLK_LABEL_GRANT, &p.grant, offsetof(struct rdmablk_grant, mac),
		  p.grant.mac);
	printf("granted %016llx size %llu regions %u of %llu",
	       (unsigned long long)le64toh(p.grant.session_id),
	       (unsigned long long)le64toh(p.grant.size), le32toh(p.grant.nr_regions),
	       (unsigned long long)le64toh(p.grant.region_bytes));
	printf(" queues %u flags %u read depth %u keep-alive %u timeout %u epoch %02x%02x\n",
	       le16toh(p.grant.nr_queues), le32toh(p.grant.flags),
	       le16toh(p.grant.read_depth), le32toh(p.grant.keep_alive_ms),
	       le32toh(p.grant.session_tmo_ms), p.grant.epoch[0], p.grant.epoch[1]);
	fflush(stdout);
}

bool join_as(struct queue *q, unsigned int queue, unsigned int kind,
	     unsigned int generation, bool bad_mac)
{
	struct rdmablk_cm_request req = ctrl_request();
	bool proven = p.version == RDMABLK_VERSION_PROVEN;

	req.kind = (uint8_t)kind;
	req.queue = htole16((uint16_t)queue);
	req.generation = htole32(generation);
	req.session_id = p.grant.session_id;
	prepare(q);
	if (proven)
		proven_join(&req, q->id->qp->qp_num ^ p.foreign_qpn);
	else
		mac_message(p.key, RDMABLK_LABEL_JOIN, &req,
			    offsetof(struct rdmablk_cm_request, mac), req.mac);
	req.mac[0] ^= bad_mac;
	if (!connect_queue(q, &req, sizeof(req)))
		return false;
	if (proven)
		proven_accepted(&req);
	return true;
}

bool join(unsigned int queue)
{
	return join_as(&p.data[queue - 1], queue, queue & 1 ? RDMABLK_KIND_READ :
		       RDMABLK_KIND_WRITE, p.generation, false);
}

void send_ready(void)
{
	struct rdmablk_ready ready = { .hdr = head(RDMABLK_MSG_READY, sizeof(ready)) };

	send_msg(&ready, sizeof(ready));
}

static void get_limits(void)
{
	struct rdmablk_limits_get get = {
		.hdr = head(RDMABLK_MSG_LIMITS_GET, sizeof(get)),
	};

	send_msg(&get, sizeof(get));
	want(RDMABLK_MSG_LIMITS, &p.limits, sizeof(p.limits));
	check_mac(RDMABLK_LABEL_LIMITS, &p.limits, offsetof(struct rdmablk_limits, mac),
		  p.limits.mac);
}

void join_all(void)
{
	get_regions();
	if (p.features & RDMABLK_F_COMMANDS)
		get_limits();
	for (unsigned int q = 1; q <= 2U * le16toh(p.grant.nr_queues); q++)
		if (!join(q))
			finish(1);
}

void login_to_live(void)
{
	login_to_grant();
	join_all();
	send_ready();
	want(RDMABLK_MSG_LIVE, NULL, 0);
	printf("live, region %llx:%x\n", (unsigned long long)le64toh(p.region[0].iova),
	       le32toh(p.region[0].rkey));
	fflush(stdout);
}

void send_command(unsigned int op, unsigned int tag)
{
	struct rdmablk_command cmd = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
		.op = htole16((uint16_t)op),
	};

	cmd.hdr.tag = htole16((uint16_t)tag);
	cmd.hdr.generation = htole32(++p.ka);
	send_msg(&cmd, sizeof(cmd));
}

unsigned int command(unsigned int op, unsigned int tag)
{
	struct rdmablk_answer answer;

	send_command(op, tag);
	want(RDMABLK_MSG_ANSWER, &answer, sizeof(answer));
	if (le32toh(answer.hdr.generation) != p.ka || le16toh(answer.hdr.tag) != tag)
		die("generation or tag of an answer");
	return le16toh(answer.status);
}

void logout(void)
{
	if (command(RDMABLK_OP_LOGOUT, RDMABLK_TAG_LOGOUT))
		die("logout");
	rdma_disconnect(p.ctrl.id);
	puts("logged out");
}

/*
 * I/O
 */

enum ibv_wc_status transfer(struct queue *q, bool write, uint32_t region,
			    uint64_t off, uint32_t len, uint32_t rkey_xor)
{
	struct ibv_sge sge = { (uintptr_t)(p.buf + 16384), len, p.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = le64toh(p.region[region].iova) + off;
	wr.wr.rdma.rkey = le32toh(p.region[region].rkey) ^ rkey_xor;
	post_send(q, &wr);
	do {	/* a command's own completion may come after its answer */
		if (completion(q, &wc, 20000) <= 0)
			return IBV_WC_GENERAL_ERR;
	} while (wc.wr_id != 1 && !wc.status);
	return wc.status;
}

void verify_all(void)
{
	uint64_t size = le64toh(p.grant.size), bytes = le64toh(p.grant.region_bytes);
	char *data = p.buf + 16384;

	for (int write = 1; write >= 0; write--) {
		for (uint32_t r = 0; r < le32toh(p.grant.nr_regions); r++) {
			uint64_t len = size - r * bytes < bytes ? size - r * bytes : bytes;

			for (int end = 0; end < 2; end++) {
				char byte = (char)(r * 2 + (unsigned int)end + 1);
				enum ibv_wc_status status;

				memset(data, write ? byte : 0, 4096);
				status = transfer(&p.data[write], write, r,
						  end ? len - 4096 : 0, 4096, 0);
				if (status) {
					printf("transfer: %s\n", ibv_wc_status_str(status));
					finish(1);
				}
				for (int i = 0; i < 4096; i++)
					if (data[i] != byte)
						die("data differ");
			}
		}
	}
	puts("verified");
}

void wait_closed(long long ms, bool keep_alive)
{
	long long end = now_ms() + ms, next = now_ms();
	unsigned int type;

	while (!p.ended && !p.gone && now_ms() < end) {
		if (keep_alive && now_ms() >= next) {
			send_command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE);
			next = now_ms() + le32toh(p.grant.keep_alive_ms) / 2;
		}
		type = receive(NULL, 0, 50);
		if (type == RDMABLK_MSG_EVENT) {
			puts("event");
			fflush(stdout);
		}
	}
	/* A CLOSE may have come in while something else was waited for. */
	while (p.gone && !p.ended && receive(NULL, 0, 0))
		;
	if (p.gone && !p.ended)
		puts("disconnected");
}
