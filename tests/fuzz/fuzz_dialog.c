// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initiators against the target's login and its commands. The input is a script of what
 * they do, four bytes a step. The harness has the keys of all hosts, so it computes the
 * MACs and seals the messages of a script. The script changes them before or after that,
 * repeats them, holds them back, and breaks connections. A model knows from the arrived
 * bytes which initiator has proven which key. A script that begins with OPEN is one of
 * version 1; with UNCACHED the first export is an uncached file. After each step the daemon
 * may have done nothing that the model does not allow. After the last step nothing of any
 * session may be left.
 */
#include <sys/stat.h>

#include "../../target/base/log.h"
#include "../../target/export/export.h"
#include "../../target/export/quota.h"
#include "../../target/session/listener.h"
#include "../../target/session/login.h"
#include "dialog_model.h"
#include "script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN	0xff	/* first byte of a script for a daemon without authentication */
#define UNCACHED	0xfa	/* first byte of a script for an uncached file */
#define UNCACHED_OPEN	0xf9	/* and without authentication */
#define MORE	0xf0	/* first byte of a step about commands */

/*
 * Initiators
 */

static struct rdmablk_hdr head(unsigned int type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16((uint16_t)type),
				     .length = htole16((uint16_t)len) };
}

/* Sends the message. The daemon handles it at once, or when messages are not held any more. */
static void deliver(struct peer *p, const struct frame *f)
{
	const struct conn *conn = session_of(p) ? conn_of_peer(p) : NULL;

	if (!conn || !conn->pair || p->data || p->nr_way == CTRL_RECVS)
		return;
	p->way[(p->first + p->nr_way++) % CTRL_RECVS] = *f;
	if (!world_receive(conn->pair, f->bytes, f->len, IBV_WC_SUCCESS, p))
		p->nr_way--;
}

static void say(struct peer *p, const void *msg, size_t len, bool relayed)
{
	struct frame f = { .len = len, .intact = true, .relayed = relayed };

	memcpy(f.bytes, msg, len);
	change_before(f.bytes, len);
	change_after(&f);
	deliver(p, &f);
}

/* If the script wants it, the first frame after REAUTH_DONE is one of the next epoch. */
static void turn(struct peer *p)
{
	void *old = p->tx.key;

	if (!p->again.tx || rdmablk_sealed_rekey(&p->tx, p->again.tx))
		return;
	p->again.tx = NULL;
	crypto_cipher_free(old);
}

static void say_sealed(struct peer *p, const void *msg, size_t len, bool lost)
{
	struct frame *f = &p->saved[p->nr_saved % SAVED], sent;
	int ret;

	if (!p->tx.key) {
		say(p, msg, len, false);
		return;
	}
	*f = (struct frame){ .sealed = true, .intact = true, .plain_len = len,
			     .seq = p->tx.seq, .epoch = p->tx.epoch };
	memcpy(f->plain, msg, len);
	change_before(f->plain, len);
	ret = rdmablk_sealed_seal(&p->tx, f->plain, len, f->bytes, sizeof(f->bytes));
	CHECK(ret > 0);
	f->len = (size_t)ret;
	p->nr_saved++;
	sent = *f;
	change_after(&sent);
	if (!lost)
		deliver(p, &sent);
}

static uint16_t version(void)
{
	return no_keys ? RDMABLK_VERSION_OPEN : RDMABLK_VERSION_PROVEN;
}

static struct peer *peer_new(uint32_t address)
{
	struct peer *p;
	struct sockaddr_in *in;

	if (nr_peers == PEERS)
		return NULL;
	p = calloc(1, sizeof(*p));
	in = (struct sockaddr_in *)&p->id.route.addr.dst_addr;
	p->id.verbs = &verbs;
	p->id.port_num = 1;
	p->id.route.addr.src_addr.sa_family = AF_INET;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(address);
	p->address = address;
	p->qpn = QPN + 0x10 * nr_peers;
	p->req = (struct rdmablk_cm_request){ .magic = htole32(RDMABLK_MAGIC),
					      .version_min = htole16(version()),
					      .version_max = htole16(version()) };
	peers[nr_peers++] = p;
	return p;
}

static void ask(struct peer *p)
{
	struct cm_event ev = { .type = RDMA_CM_EVENT_CONNECT_REQUEST, .id = &p->id,
			       .resources = 1, .qpn = p->qpn, .len = sizeof(p->req) };

	change_before((uint8_t *)&p->req, sizeof(p->req));
	memcpy(ev.data, &p->req, sizeof(p->req));
	p->data = p->req.kind != RDMABLK_KIND_CONTROL;
	listening->event(listening, &ev);
}

static struct peer *begin(unsigned int how)
{
	struct peer *p = peer_new(how & 0x80 ? HOME + 1 : HOME);

	if (!p)
		return NULL;
	p->key = how % KEYS;
	if (how & 0x40)
		p->req.version_min = htole16(1);
	ask(p);
	return p;
}

static uint64_t features(bool few)
{
	if (!no_cache)
		return few ? 0 : RDMABLK_F_COMMANDS;
	return RDMABLK_F_COMMANDS | RDMABLK_F_STAGED |
	       (few ? 0 : RDMABLK_F_LISTS | RDMABLK_F_IMPLIED);
}

static void say_hello(struct peer *p, unsigned int flags, unsigned int how)
{
	struct rdmablk_hello2 h = {
		.hello = {
			.hdr = head(RDMABLK_MSG_HELLO, hello_len()),
			.version_min = htole16(version()), .version_max = htole16(version()),
			.flags = htole32(flags & 15),
			.features_offered = htole64(features(how & 8)),
			.generation = htole32(1 + (how >> 6)),
			.nr_queues = htole16((uint16_t)(1 + (how >> 4 & 3))),
			.queue_depth = htole16(16), .keep_alive_ms = htole32(5000),
			.auth_methods = htole32(no_keys ? RDMABLK_AUTH_NONE : RDMABLK_AUTH_PSK),
			.host_name = "host",
		},
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], resume[RDMABLK_KEYSCHED_LEN];

	/* Only a resume names a UUID. */
	if (h.hello.flags & htole32(RDMABLK_HELLO_RESUME) && no_keys) {
		memcpy(h.hello.uuid, export_find("first")->store.uuid, sizeof(h.hello.uuid));
	} else if (h.hello.flags & htole32(RDMABLK_HELLO_RESUME)) {
		CHECK(!rdmablk_keysched_prk0(schedule, keys[p->key]->secret, prk0));
		CHECK(!rdmablk_keysched_resume_key(schedule, prk0, h.hello.nonce, resume));
		CHECK(!rdmablk_keysched_resume(schedule, resume,
					       export_find("first")->store.uuid, h.hello.uuid));
	}
	/* A visit has no other flag and no export, unless the script wants a wrong one. */
	if (!(flags & RDMABLK_HELLO_VISIT) || flags & 0x30)
		snprintf(h.hello.export_name, sizeof(h.hello.export_name), "%s",
			 exports[(flags >> 4) % EXPORTS]);
	h.hello.host_id[0] = how & 4 ? 8 : 7;
	h.hello.boot_nonce[0] = (uint8_t)(1 + (how & 3));
	h.hello.instance_id[0] = (uint8_t)(1 + (flags >> 6));
	memcpy(h.key_id, keys[p->key]->id, sizeof(h.key_id));
	crypto_forget(&p->pair);
	CHECK(!crypto_generate(&p->pair, h.point));
	say(p, &h, hello_len(), false);
}

/* The MAC is right, or made with another key or for another queue pair. */
static void say_proof(struct peer *p, unsigned int how)
{
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], th[RDMABLK_KEYSCHED_LEN];
	const struct conn *conn = session_of(p) ? conn_of_peer(p) : NULL;
	unsigned int key = how & 1 ? p->key : p->known;

	if (!conn || !conn->pair)
		return;
	if (no_keys) {
		CHECK(!mac_proof(no_key, &p->hello.hello, &p->challenge.challenge, proof.mac));
		proof.mac[how & 31] ^= how >> 5;
		say(p, &proof, sizeof(proof), false);
		return;
	}
	memcpy(th, p->th, sizeof(th));
	if (how & 6 && p->asked) {
		CHECK(!rdmablk_keysched_th0(schedule, p->qpn + (how >> 1 & 1),
					    conn->pair->qp_num + (how >> 2 & 1), &p->hello,
					    sizeof(p->hello), th));
		CHECK(!rdmablk_keysched_th1(schedule, th, &p->challenge, sizeof(p->challenge),
					    th));
	}
	CHECK(!rdmablk_keysched_prk0(schedule, keys[key]->secret, prk0));
	CHECK(!rdmablk_keysched_proof(schedule, prk0, th, proof.mac));
	say(p, &proof, sizeof(proof), how & 6);
}

static void say_reauth(struct peer *p, unsigned int key)
{
	struct rdmablk_reauth msg = { .hdr = head(RDMABLK_MSG_REAUTH, sizeof(msg)) };

	memcpy(msg.key_id, keys[key % KEYS]->id, sizeof(msg.key_id));
	crypto_forget(&p->again.pair);
	CHECK(!crypto_generate(&p->again.pair, msg.point));
	say_sealed(p, &msg, sizeof(msg), false);
}

static void say_reauth_proof(struct peer *p, unsigned int how)
{
	struct rdmablk_reauth_proof msg = { .hdr = head(RDMABLK_MSG_REAUTH_PROOF, sizeof(msg)) };
	unsigned int key = how & 1 ? how >> 1 : p->again.known;
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];

	CHECK(!rdmablk_keysched_prk0(schedule, keys[key % KEYS]->secret, prk0));
	CHECK(!rdmablk_keysched_proof(schedule, prk0, p->again.th, msg.mac));
	say_sealed(p, &msg, sizeof(msg), false);
}

/* A message that follows a proven login, or one of a live session */
static void say_something(struct peer *p, unsigned int what, unsigned int how)
{
	struct rdmablk_regions_get regions = {
		.hdr = head(RDMABLK_MSG_REGIONS_GET, sizeof(regions)),
		.first = htole32(how),
	};
	struct rdmablk_command cmd = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
				       .op = htole16(RDMABLK_OP_KEEPALIVE) };
	struct rdmablk_close close = { .hdr = head(RDMABLK_MSG_CLOSE, sizeof(close)),
				       .reason = htole16((uint16_t)how),
				       .version_min = htole16(version()),
				       .version_max = htole16(version()) };
	struct rdmablk_list_get list_get = { .hdr = head(RDMABLK_MSG_LIST_GET,
							 sizeof(list_get)) };
	struct rdmablk_scratch_get scratch_get = {
		.hdr = head(RDMABLK_MSG_SCRATCH_GET, sizeof(scratch_get)),
		.bytes = htole32((how >> 1) << 14),
	};
	struct rdmablk_hdr bare;
	const void *msg = &bare;
	size_t len = sizeof(bare);

	switch (what & 7) {
	case 0:
		msg = &regions;
		len = sizeof(regions);
		break;
	case 1:
		cmd.hdr.tag = htole16(how & 3);
		cmd.hdr.generation = htole32(how);
		msg = &cmd;
		len = sizeof(cmd);
		break;
	case 2:
		cmd.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
		cmd.op = htole16(RDMABLK_OP_LOGOUT);
		cmd.flags = htole16(how & RDMABLK_LOGOUT_CLEAN);
		msg = &cmd;
		len = sizeof(cmd);
		break;
	case 3:
		msg = &close;
		len = sizeof(close);
		break;
	case 4:
		bare = head(RDMABLK_MSG_READY, len);
		break;
	case 5:
		bare = head(RDMABLK_MSG_LIMITS_GET, len);
		break;
	case 6:
		if (how & 1) {
			msg = &scratch_get;
			len = sizeof(scratch_get);
			break;
		}
		if (how >> 1)
			snprintf(list_get.after, sizeof(list_get.after), "%s",
				 exports[how % EXPORTS]);
		msg = &list_get;
		len = sizeof(list_get);
		break;
	default:
		bare = head(how, len);
		break;
	}
	if (what & 0x40)
		turn(p);
	if (what & 0x80)
		say(p, msg, len, false);
	else
		say_sealed(p, msg, len, what & 0x20);
}

/*
 * @how: from its own queue pair and address; signed for another queue pair; or an old
 * request
 */
static void join(struct peer *p, unsigned int queue, unsigned int how)
{
	struct peer *d = peer_new(p->address + (how & 1));

	if (!d)
		return;
	d->owner = p;
	d->next = TAGS;
	d->key = p->key;
	d->req.kind = queue & 1 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;
	d->req.queue = htole16((uint16_t)queue);
	d->req.generation = htole32(le32toh(p->hello.hello.generation) + (how >> 2 & 1));
	d->req.session_id = p->challenge.challenge.session_id;
	d->relayed = how & 2;
	d->qpn += how >> 1 & 1;
	CHECK(!join_mac(p, d, d->req.mac));
	d->qpn -= how >> 1 & 1;
	if (how & 8)
		d->req.mac[how >> 4] ^= 1;
	for (unsigned int i = 0; how & 16 && i < nr_peers; i++)
		if (peers[i]->owner == p && peers[i] != d) {
			d->req = peers[i]->req;
			d->relayed = true;
			break;
		}
	ask(d);
	world_settle();
}

static void log_in(unsigned int how, unsigned int flags)
{
	struct peer *p = begin(how);

	if (!p)
		return;
	world_settle();
	say_hello(p, flags, 0);
	world_settle();
	say_proof(p, 0);
	world_settle();
	join(p, 1, 0);
	join(p, 2, 0);
	say_something(p, 4, 0);
}

/* Return: a data queue of a session; NULL if the session has fewer. */
static struct peer *queue_of(const struct peer *p, unsigned int skip)
{
	for (unsigned int i = 0; i < nr_peers; i++) {
		const struct conn *conn = peers[i]->accepted ? conn_of_peer(peers[i]) : NULL;

		if (peers[i]->owner == p && conn && conn->pair && !skip--)
			return peers[i];
	}
	return NULL;
}

/* Fills in a command from the script, in the form of its operation, or nearly so. */
static size_t build_command(struct rdmablk_command *cmd, unsigned int op, unsigned int tag)
{
	struct rdmablk_range *range = (struct rdmablk_range *)(cmd + 1);
	unsigned int how = next_byte(), nr = 0;

	*cmd = (struct rdmablk_command){
		.hdr = { .type = htole16(RDMABLK_MSG_COMMAND), .tag = htole16((uint16_t)tag),
			 .generation = htole32(next_byte()) },
		.op = htole16((uint16_t)(RDMABLK_OP_FENCE + op)),
		.flags = htole16(how & 3),
	};
	if (cmd->op == htole16(RDMABLK_OP_DIRTY))
		nr = how >> 2 & 15;
	else if (how & 4)
		nr = 1;
	for (unsigned int i = 0; i < (nr ?: 1); i++)
		range[i] = (struct rdmablk_range){
			.offset = htole64((uint64_t)next_byte() << 12),
			.bytes = htole64((uint64_t)next_byte() << (how & 0x40 ? 9 : 12)),
		};
	if (cmd->op != htole16(RDMABLK_OP_DIRTY)) {
		cmd->offset = nr ? range[0].offset : 0;
		cmd->bytes = nr ? range[0].bytes : 0;
		nr = how & 0x80 ? 1 : 0;
	}
	cmd->hdr.length = htole16((uint16_t)(sizeof(*cmd) + nr * sizeof(*range)));
	return sizeof(*cmd) + nr * sizeof(*range);
}

/* A READ or a WRITE, with its data behind it if its flags say so */
static size_t build_data(struct rdmablk_command *cmd, bool write, unsigned int tag)
{
	unsigned int how = next_byte(), unit = how & 0x80 ? 12 : 9;
	size_t len = sizeof(*cmd);

	*cmd = (struct rdmablk_command){
		.hdr = { .type = htole16(RDMABLK_MSG_COMMAND), .tag = htole16((uint16_t)tag),
			 .generation = htole32(next_byte()) },
		.op = htole16(write ? RDMABLK_OP_WRITE : RDMABLK_OP_READ),
		.flags = htole16(how & 3),
		.offset = htole64((uint64_t)next_byte() << unit),
		.bytes = htole64((uint64_t)next_byte() << 9),
	};
	if (write && how & RDMABLK_IO_TRAILER)
		len += le64toh(cmd->bytes) & (2 * RDMABLK_MAX_TRAILER - 1);
	cmd->hdr.length = htole16((uint16_t)len);
	return len;
}

union command {
	struct rdmablk_command cmd;
	uint8_t bytes[sizeof(struct rdmablk_command) + 2 * RDMABLK_MAX_TRAILER];
};

/* Return: length of the longest command for which a write queue has room, bytes. */
static size_t longest(void)
{
	return no_cache ? sizeof(struct rdmablk_command) + STAGED_TRAILER : CMDQ_BYTES;
}

/* Sends a command on a write queue; on a read queue this breaks the protocol. */
static void say_command(struct peer *p, unsigned int where, const union command *msg, size_t len)
{
	const struct rdmablk_command *cmd = &msg->cmd;
	struct peer *d = queue_of(p, where & 7);
	const struct session *s = session_of(p);
	unsigned int tag = le16toh(cmd->hdr.tag);

	if (!d || !s)
		return;
	len = (size_t)((int)len + change.longer);
	change.longer = 0;
	/* The receives of the queue have no room for a longer message. */
	if (len > longest() ||
	    !world_receive(conn_of_peer(d)->pair, msg, len, IBV_WC_SUCCESS, NULL))
		return;
	d->next = tag < TAGS ? tag + 1 : TAGS;
	if (tag >= TAGS)
		return;
	d->tag[tag] = (struct tag){
		.waits = d->tag[tag].waits + 1,
		.op = le16toh(cmd->op), .flags = le16toh(cmd->flags),
		.offset = le64toh(cmd->offset), .bytes = le64toh(cmd->bytes),
		.generation = (uint8_t)le32toh(cmd->hdr.generation),
	};
}

/* Sends a command on a write queue; for an uncached file perhaps one with data. */
static void command(struct peer *p, unsigned int where, unsigned int what, bool data)
{
	union command msg = { 0 };
	size_t len = data ? build_data(&msg.cmd, what & 0x80, what & 31) :
			    build_command(&msg.cmd, what & 7, what >> 3 & 15);

	change_before(msg.bytes, len);
	say_command(p, where, &msg, len);
}

/*
 * A WRITE without a command, with its data in the slot, by the next tag and its next
 * generation
 */
static void implied(struct peer *p, unsigned int where, unsigned int what)
{
	uint32_t at = next_byte() | (what & 8 ? 0x3fffff00 : 0), len = next_byte() << 9;
	struct peer *d = queue_of(p, where & 7);
	const struct session *s = session_of(p);
	struct tag *tag;

	if (!d || !s)
		return;
	len += what & 4 ? 1 : 0;
	world.imm = at | (what & 1 ? RDMABLK_WRITE_FUA : 0) | (what & 2 ? RDMABLK_WRITE_PAGES : 0);
	if (!world_receive_as(IBV_WC_RECV_RDMA_WITH_IMM, conn_of_peer(d)->pair, NULL, len,
			      IBV_WC_SUCCESS, NULL) || d->next >= TAGS ||
	    !(p->hello.hello.features_offered & htole64(RDMABLK_F_IMPLIED)))
		return;
	tag = &d->tag[d->next++];
	*tag = (struct tag){
		.waits = tag->waits + 1,
		.op = RDMABLK_OP_WRITE, .flags = what & 1 ? RDMABLK_IO_FUA : 0,
		.offset = (uint64_t)at << (what & 2 ? 12 : 9), .bytes = len,
		.generation = (uint8_t)(tag->generation + 1),
	};
}

/*
 * Events of connections, keys and time
 */

static void connection_event(struct peer *p, unsigned int what)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_ESTABLISHED,
		RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_DEVICE_REMOVAL,
		RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};
	struct cm_event ev = { .id = &p->id, .type = types[what % ARRAY_SIZE(types)] };
	struct conn *conn = p->accepted ? conn_of_peer(p) : NULL;

	if (!conn)
		return;
	/* A WRITE WITH IMMEDIATE has a length, but no message. */
	if (what >= 0xe0 && conn->pair && !conn->queue)
		world_receive_as(IBV_WC_RECV_RDMA_WITH_IMM, conn->pair, NULL, (what & 0x1f) * 8,
				 IBV_WC_SUCCESS, NULL);
	else if (what & 0x80 && conn->pair)
		world_receive(conn->pair, NULL, 0, what & 0x40 ? IBV_WC_LOC_LEN_ERR :
			      IBV_WC_WR_FLUSH_ERR, NULL);
	else if (what & 0x40)
		conn->qp.failed(&conn->qp, what & 1);
	else
		conn->cm.event(&conn->cm, &ev);
}

static void set_list(unsigned int to)
{
	struct export_config *ec = export_find("first")->cfg;

	list = to % ARRAY_SIZE(lists);
	free(ec->allow);
	ec->allow = strdup(lists[list]);
}

static void change_keys(struct peer *p, unsigned int what, unsigned int ms)
{
	struct session *s = session_of(p);

	switch (what & 3) {
	case 0:
		later = !later;
		break;
	case 1:
		if (s)
			session_key_ends(s, ms * 100);
		break;
	case 2:
		set_list(list + 1);
		session_hosts_changed();
		break;
	case 3:
		session_hosts_changed();
		break;
	}
}

static void change_next(unsigned int what, unsigned int at, unsigned int with)
{
	switch (what) {
	case 0:
		change.before = true;
		change.before_at = at;
		change.before_with = (uint8_t)with;
		break;
	case 1:
		change.after = true;
		change.after_at = at;
		change.after_with = (uint8_t)with;
		break;
	default:
		change.longer = (int8_t)with;
		break;
	}
}

static void say_again(struct peer *p, unsigned int which)
{
	struct frame f = p->saved[which % SAVED];

	change_after(&f);
	if (f.len)
		deliver(p, &f);
}

static void say_bytes(struct peer *p, unsigned int len)
{
	uint8_t bytes[RDMABLK_CTRL_MSG_MAX];

	for (unsigned int i = 0; i < len; i++)
		bytes[i] = (uint8_t)next_byte();
	say(p, bytes, len, false);
}

static void let_time_pass(unsigned int n)
{
	world_advance((n & 15) << (n >> 4));
}

static void step_of(struct peer *p, unsigned int what, unsigned int a, unsigned int b)
{
	switch (what) {
	case 1:
		say_hello(p, a, b);
		break;
	case 2:
		say_proof(p, a);
		break;
	case 3:
		say_something(p, a, b);
		break;
	case 4:
		join(p, a & 15, b);
		break;
	case 5:
		say_again(p, a);
		break;
	case 6:
		say_reauth(p, a);
		break;
	case 7:
		say_reauth_proof(p, a);
		break;
	case 8:
		say_bytes(p, a);
		break;
	case 9:
		connection_event(p, a);
		break;
	case 10:
		change_keys(p, a, b);
		break;
	}
}

/* Tells the daemon, or an export, to end. */
static void begin_end(unsigned int how, unsigned int ms)
{
	const struct export *only = how & 1 ? export_find("first") : NULL;

	if (!only)
		login_refuse_all(RDMABLK_R_SHUTDOWN, loop_now() + ms * 100);
	session_drain(only, cfg.drain_ms, how & 2 ? 10000 : 0);
	if (how & 4)
		session_end_late(only, only ? RDMABLK_R_EXPORT_GONE : RDMABLK_R_SHUTDOWN);
	if (how & 8 && only)
		session_end_export(only, RDMABLK_R_EXPORT_GONE);
}

static void grow(unsigned int to)
{
	struct export *e = export_find("first");
	uint64_t size = (uint64_t)STORE_BYTES * (1 + (to & 3));

	if (size < e->store.size)
		return;
	e->store.size = size;
	session_resized(e);
}

/* Steps of version 2, and of hosts with keys */
static bool needs_keys(unsigned int what)
{
	return what == 6 || what == 7 || what == 10;
}

/* A data queue only has connection events; other steps are its owner's. */
static struct peer *peer_for(unsigned int who, unsigned int what)
{
	struct peer *p = peers[who % nr_peers];

	return what != 9 && p->owner ? p->owner : p;
}

/* A step: WHAT, WHO, and two more bytes */
static void step(void)
{
	unsigned int first = next_byte(), what = first % 18, who = next_byte();
	unsigned int a = next_byte(), b = next_byte();

	if (first >= MORE)
		what = first;
	switch (what) {
	case 0:
		begin(a);
		break;
	case 11:
		log_in(a, b);
		break;
	case 12:
	case 13:
	case 14:
		change_next(what - 12, who << 8 | a, b);
		return;
	case 15:
		let_time_pass(a);
		break;
	case 16:
		world.hold_jobs = a & 1;
		world.hold_sends = a & 2;
		world.hold_messages = a & 4;
		break;
	case 17:
		world_work();
		break;
	case MORE + 11:
		begin_end(a, b);
		break;
	case MORE + 12:
		grow(a);
		break;
	case MORE + 13:
		world.shortage = a & 31;
		break;
	case MORE + 14:
		store_fails = a & 3;
		if (a & 4)
			cfg.scratch = (b & 0x7f) << 13;
		break;
	case MORE + 15:
		if (!store_step())
			io_step();
		break;
	case MORE ... MORE + 10:
		if (!nr_peers)
			break;
		if (no_cache && what == MORE + 10)
			implied(peer_for(who, 0), a, b);
		else
			command(peer_for(who, 0), a, b, no_cache && what == MORE + 9);
		break;
	default:
		if (nr_peers && !(no_keys && needs_keys(what)))
			step_of(peer_for(who, what), what, a, b);
		break;
	}
	world_settle();
	check_all();
}

/* All sessions end, and nothing of them is left. */
static void finish(void)
{
	memset(&change, 0, sizeof(change));
	world.hold_jobs = false;
	world.hold_sends = false;
	world.hold_messages = false;
	world.shortage = 0;
	cfg.scratch = RDMABLK_MAX_SCRATCH;
	login_refuse_all(RDMABLK_OK, 0);
	world_settle();
	session_end_all(RDMABLK_R_SHUTDOWN);
	world_settle();
	check_all();
	for (int i = 0; i < 100 && session_any(); i++)
		world_advance(1000);
	CHECK(!session_any());
	CHECK(!world.jobs && TAILQ_EMPTY(&tasks) && world.timers == nr_idle_timers);
	CHECK(!world.pds && !world.cqs && !world.qps && !world.mrs && device.users == 1);
	CHECK(!world.channels && !world.events && !world.buffers && TAILQ_EMPTY(&ios));
	CHECK(LIST_EMPTY(&export_find("first")->leases));
	CHECK(!quota_visits() && !quota_lent() && !quota_taken()->bytes);
	while (nr_peers) {
		struct peer *p = peers[--nr_peers];

		CHECK(p->gone);
		crypto_forget(&p->pair);
		crypto_forget(&p->again.pair);
		crypto_cipher_free(p->tx.key);
		crypto_cipher_free(p->rx.key);
		crypto_cipher_free(p->rx.next);
		crypto_cipher_free(p->again.tx);
		free(p);
	}
	later = false;
	store_fails = 0;
	export_find("first")->store.size = STORE_BYTES;
	set_list(0);
}

/*
 * The daemon
 */

static char dir[32];

static const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned int next;
	char *p = path[next++ % ARRAY_SIZE(path)];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* The keys are the same in each run, so that an input does the same in each run. */
static const char *make_key(unsigned int n, const char *name)
{
	const char *path = path_of(name);
	FILE *file = fopen(path, "we");

	keys[n] = key_file_alloc();
	CHECK(keys[n] && file);
	snprintf(keys[n]->name, sizeof(keys[n]->name), "%s", name);
	memset(keys[n]->secret, 0x40 + (int)n, sizeof(keys[n]->secret));
	CHECK(!rdmablk_keysched_id(schedule, keys[n]->secret, keys[n]->id));
	CHECK(key_file_format(keys[n]) && fputs(keys[n]->text, file) >= 0);
	CHECK(!fchmod(fileno(file), 0600) && !fclose(file));
	return path;
}

static void add_host(const char *name, const char *first, const char *second, const char *more)
{
	char spec[512];

	snprintf(spec, sizeof(spec), "%s,key=%s%s%s%s", name, first, second ? ",key=" : "",
		 second ?: "", more);
	config_host_spec(&cfg, spec);
}

static time_t key_time(time_t *now)
{
	(void)now;
	return NOW + (later ? 1000000000 : 0);
}

static void nothing(void)
{
}

/* The daemon has read its keys, and needs no file any more. */
static void remove_files(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf --one-file-system %s", dir);
	CHECK(!system(command));
}

static void setup(void)
{
	const char *missing;

	snprintf(dir, sizeof(dir), "/tmp/rdmablk-fuzz-XXXXXX");
	CHECK(mkdtemp(dir) && !crypto_start(&missing));
	log_setup(getenv("VERBOSE") ? LOG_DEBUG : -1);
	config_init(&cfg);
	config_export_spec(&cfg, "first,memory,size=1M,hugepages=no");
	config_export_spec(&cfg, "second,memory,size=1M,hugepages=no");
	cfg.auth = AUTH_PSK;
	free(cfg.state_dir);
	cfg.state_dir = strdup(path_of("state"));
	cfg.listen = calloc(1, sizeof(*cfg.listen));
	cfg.nr_listen = 1;
	make_key(STRANGER_KEY, "stranger");
	add_host("home", make_key(HOME_KEY, "home"), make_key(HOME_NEW, "home-new"),
		 ",address=0.0.0.100,expires=2035-06-30");
	add_host("named", make_key(NAMED_KEY, "named"), NULL,
		 ",host-id=07000000-0000-0000-0000-000000000000");
	add_host("reader", make_key(READER_KEY, "reader"), NULL, "");
	add_host("thief", make_key(THIEF_KEY, "thief"), NULL, ",expires=2090-06-30");
	CHECK(!cfg.errors);
	CHECK(!session_init(nothing));
	quota_init(&cfg);
	/* Runs follow one another, and the clock does not advance between them. */
	cfg.login_rate = 1000000;
	quota_rate_init(&cfg);
	CHECK(!export_open_all(&cfg));
	store_becomes(&export_find("first")->store);
	set_list(0);
	export_find("second")->cfg->allow = strdup("named:ro");
	host_time = key_time;
	CHECK(!host_start(&cfg, session_hosts_changed));
	CHECK(!listener_open_all(&cfg));
	remove_files();
	nr_idle_timers = world.timers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;

	if (!ready)
		setup();
	ready = true;
	script.at = data;
	script.left = size;
	no_keys = size && (*data == OPEN || *data == UNCACHED_OPEN);
	no_cache = size && (*data == UNCACHED || *data == UNCACHED_OPEN);
	if (no_keys || no_cache)
		next_byte();
	cfg.auth = no_keys ? AUTH_NONE : AUTH_PSK;
	store_changes(&export_find("first")->store, no_cache);
	while (script.left)
		step();
	finish();
	return 0;
}
