// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target against the tool's visits, those of discover and ping. The input is a script:
 * what the target and others on its network do, and what the user asks for, three bytes a
 * step. The harness has the key, so it can seal the script's messages. The script changes
 * messages before or after sealing, repeats and loses them, completes receives with other
 * things than messages, breaks requests, and is silent. A model knows which messages only
 * the target can have sent, and which contents are right. The tool may believe no other
 * messages, may not wait longer than the user, may access no memory that is not lent, and
 * may keep no key. A script that begins with OPEN is one of version 1, in which the tool
 * believes every sender.
 */
#include "client_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN		0xff	/* first byte of a script for a visit without a key */
#define TMO_MS		5000U	/* the user's patience */
#define SLACK_MS	500U	/* a wait may be so much longer, and by jumps of the clock */
#define JUMP_MS		16U	/* unit of jumps */

/**
 * struct frame - a message on its way to the tool
 * @len: bytes of @bytes; @plain_len: bytes of @plain
 * @seq: its number
 * @sealed: the target has sealed it with the keys of the visit
 * @intact: the bytes have not been changed since
 * @bytes: the bytes as sent
 * @plain: the contents before sealing
 */
struct frame {
	size_t len, plain_len;
	uint64_t seq;
	bool sealed, intact;
	uint8_t bytes[RDMABLK_CTRL_MSG_MAX] __attribute__((aligned(8)));
	uint8_t plain[RDMABLK_CTRL_MSG_MAX] __attribute__((aligned(8)));
};

#include "script_target.h"

/*
 * The target. tx, rx: its ends of the queue; asked: it has a connection request; expected:
 * the message that the tool waits for; point: its own point; honest: that many next answers
 * are right, whatever the script says; exports: number of its exports; odd: flags of a
 * completion that no message can have; flip: a byte of its memory changes after the next
 * WRITE; way: messages in receive buffers
 * memory changes after the next WRITE; way: messages in receive buffers
 */
static struct {
	struct crypt_target end;
	struct rdmablk_sealed tx, rx;
	bool asked;
	uint16_t version;
	uint16_t expected;
	struct rdmablk_hello2 hello;
	uint8_t point[CRYPTO_POINT_LEN];
	struct rdmablk_hdr command;
	char after[RDMABLK_NAME_LEN];
	uint32_t wanted;
	unsigned int honest, exports, odd;
	uint32_t odd_bytes;
	bool flip;
	struct frame way[BUFFERS], saved[SAVED];
	unsigned int nr_saved;
} target;

/*
 * The model. challenge: CHALLENGE as the tool has accepted it; challenged: it has the
 * target's point; opens: the tool has the keys; seq: number of the next frame that the tool
 * may accept; last: the last message that it has taken; right: the tool may believe that
 * message; refuse: since the user asked, a message has refused or could not be believed
 */
static struct {
	struct rdmablk_challenge2 challenge;
	bool challenged, opens;
	uint64_t seq;
	struct frame last;
	bool right, refuse;
} model;

static const struct key_file key = {
	.name = "key",
	.secret = { 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 0x4b, 1, 2, 3, 4, 5, 6, 7,
		    8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 },
	.id = { 1, 2, 3, 4, 5, 6, 7, 8 },
};

static bool open_world;		/* the user has no key: all is version 1 */
static struct client *client;
static struct scratch scratch;
static struct nl_failure failure;
static unsigned int jump_ms;	/* jumps of the clock since a call began, together */
static const uint8_t *input;
static size_t input_len;

/*
 * Whether memory has a key that did not come in with a message: libFuzzer learns keys from this
 * comparison, and writes them into its inputs.
 */
static bool has(const void *data, size_t len, const void *what)
{
	return memmem(data, len, what, RDMABLK_KEYSCHED_LEN) &&
	       !memmem(input, input_len, what, RDMABLK_KEYSCHED_LEN);
}

static bool is_secret(const void *data, size_t len)
{
	const struct rdmablk_keysched_keys *k = &target.end.keys;

	if (has(data, len, key.secret))
		return true;
	return model.opens && (has(data, len, k->i2t) || has(data, len, k->t2i) ||
			       has(data, len, k->join) || has(data, len, k->exporter));
}

/*
 * What the tool sends
 */

static void target_asked(const struct rdmablk_cm_request *req)
{
	target.version = open_world ? RDMABLK_VERSION_OPEN : RDMABLK_VERSION_PROVEN;
	assert_int_equal(le32toh(req->magic), RDMABLK_MAGIC);
	assert_int_equal(le16toh(req->version_min), target.version);
	assert_int_equal(le16toh(req->version_max), target.version);
	assert_int_equal(req->kind, RDMABLK_KIND_CONTROL);
	target.asked = true;
}

static void hello_comes(const void *msg, size_t len)
{
	const struct rdmablk_hello *hello = &target.hello.hello;

	assert_int_equal(len, open_world ? sizeof(*hello) : sizeof(target.hello));
	memcpy(&target.hello, msg, len);
	assert_int_equal(le32toh(hello->flags), RDMABLK_HELLO_VISIT);
	assert_int_equal(hello->export_name[0], 0);
	target.expected = RDMABLK_MSG_CHALLENGE;
	if (open_world)
		return;
	assert_int_equal(le32toh(hello->auth_methods), RDMABLK_AUTH_PSK);
	assert_memory_equal(target.hello.key_id, key.id, sizeof(key.id));
	memcpy(target.end.key, key.secret, sizeof(target.end.key));
	crypt_target_hello(&target.end, QPN_I, QPN_T, msg, len, target.hello.point,
			   target.point);
}

/* PROOF must be right for the last CHALLENGE that the tool has accepted, whoever sent it. */
static void proof_comes(const void *msg, size_t len)
{
	const struct rdmablk_proof *proof = msg;
	size_t taken = open_world ? sizeof(model.challenge.challenge) : sizeof(model.challenge);

	assert_int_equal(len, sizeof(*proof));
	assert_int_equal(model.last.plain_len, taken);
	memcpy(&model.challenge, model.last.plain, taken);
	target.expected = RDMABLK_MSG_VISIT;
	if (open_world)
		return;
	crypt_target_challenge(&target.end, &model.challenge, sizeof(model.challenge));
	assert_int_equal(crypt_target_proof(&target.end, proof->mac), 0);
	rdmablk_sealed_init(&target.tx, &crypto_sealed,
			    crypto_cipher(target.end.keys.t2i, true));
	rdmablk_sealed_init(&target.rx, &crypto_sealed,
			    crypto_cipher(target.end.keys.i2t, false));
	model.challenged = !memcmp(model.challenge.point, target.point, sizeof(target.point));
	model.opens = true;
}

static void sealed_comes(const void *msg, size_t len)
{
	const struct rdmablk_scratch_get *get = msg;
	const struct rdmablk_list_get *list = msg;
	struct rdmablk_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	assert_int_equal(le16toh(hdr.length), len);
	switch (le16toh(hdr.type)) {
	case RDMABLK_MSG_LIST_GET:
		memcpy(target.after, list->after, sizeof(target.after));
		target.expected = RDMABLK_MSG_LIST;
		break;
	case RDMABLK_MSG_SCRATCH_GET:
		target.wanted = le32toh(get->bytes);
		target.expected = RDMABLK_MSG_SCRATCH;
		break;
	case RDMABLK_MSG_COMMAND:
		target.command = hdr;
		target.expected = RDMABLK_MSG_ANSWER;
		break;
	default:
		fail();
	}
}

/* After PROOF every message must be sealed, unless the two sides have different keys. */
static void target_got(const void *msg, size_t len)
{
	uint8_t plain[RDMABLK_CTRL_MSG_MAX] __attribute__((aligned(8)));
	struct rdmablk_hdr hdr;
	int ret;

	memcpy(&hdr, msg, sizeof(hdr));
	switch (le16toh(hdr.type)) {
	case RDMABLK_MSG_HELLO:
		assert_false(model.opens);
		hello_comes(msg, len);
		return;
	case RDMABLK_MSG_PROOF:
		assert_false(model.opens);
		proof_comes(msg, len);
		return;
	}
	if (open_world) {
		sealed_comes(msg, len);
		return;
	}
	assert_int_equal(le16toh(hdr.type), RDMABLK_SEALED_TYPE);
	ret = rdmablk_sealed_open(&target.rx, msg, len, plain, sizeof(plain));
	assert_true(ret > 0 || !model.challenged);
	if (ret > 0)
		sealed_comes(plain, (size_t)ret);
}

/*
 * Messages of the target, and of others
 */

static unsigned int type_in(const struct frame *f)
{
	struct rdmablk_hdr hdr = { 0 };

	memcpy(&hdr, f->plain, sizeof(hdr));
	return f->plain_len < sizeof(hdr) ? 0 : le16toh(hdr.type);
}

/* With seals: a message that only the target can have sent. Before that: any message. */
static bool is_right(const struct frame *f, const struct ibv_wc *wc)
{
	bool is_message = wc->opcode == IBV_WC_RECV && wc->byte_len == f->len &&
			  !(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV));

	if (!model.opens)
		return is_message;
	return is_message && f->sealed && f->intact && model.challenged && f->seq == model.seq;
}

static void tool_takes(const struct ibv_wc *wc)
{
	struct frame *f = &model.last;
	struct rdmablk_scratch msg;

	*f = target.way[wc->wr_id];
	if (!model.opens) {
		memcpy(f->plain, f->bytes, f->len);
		f->plain_len = f->len;
	}
	model.right = is_right(f, wc);
	model.seq += model.right && model.opens;
	if (!model.right || type_in(f) == RDMABLK_MSG_CLOSE)
		model.refuse = true;
	memcpy(&msg, f->plain, sizeof(msg));
	if (model.refuse || type_in(f) != RDMABLK_MSG_SCRATCH)
		return;
	hw.iova = le64toh(msg.iova);
	hw.rkey = le32toh(msg.rkey);
	hw.bytes = le32toh(msg.bytes);
}

static void arrives(const struct frame *f)
{
	bool write = target.odd & 1;
	unsigned int nr = hw.recvs[0];

	if (!hw.up || hw.error || !hw.nr_recvs)
		return;
	target.way[nr] = *f;
	if (!write)	/* else the buffer has an old message */
		memcpy((uint8_t *)hw.mrs[0]->addr + nr * RDMABLK_CTRL_MSG_MAX, f->bytes, f->len);
	complete_recv(IBV_WC_SUCCESS, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		      target.odd >> 1 & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV),
		      (uint32_t)f->len + target.odd_bytes);
	target.odd = 0;
	target.odd_bytes = 0;
}

/* @how: 1: lost, 2: not sealed */
static void answer_with(const void *msg, size_t len, unsigned int how)
{
	struct frame *f = &target.saved[target.nr_saved % SAVED], sent;
	int ret;

	if (how & 2 || !target.tx.key) {
		say(msg, len);
		return;
	}
	*f = (struct frame){ .sealed = true, .intact = true, .seq = target.tx.seq,
			     .plain_len = len };
	memcpy(f->plain, msg, len);
	change_before(f->plain, len);
	ret = rdmablk_sealed_seal(&target.tx, f->plain, len, f->bytes, sizeof(f->bytes));
	assert_true(ret > 0);
	f->len = (size_t)ret;
	target.nr_saved++;
	sent = *f;
	change_after(&sent);
	if (!(how & 1))
		arrives(&sent);
}

static void say_challenge(unsigned int how)
{
	const struct rdmablk_hello *hello = &target.hello.hello;
	size_t len = open_world ? sizeof(struct rdmablk_challenge) :
		     sizeof(struct rdmablk_challenge2);
	struct rdmablk_challenge2 msg = {
		.challenge = {
			.hdr = head(RDMABLK_MSG_CHALLENGE, len),
			.version = htole16(target.version),
			.auth_method = hello->auth_methods,
			.session_id = htole64(0x1122334455667788),
		},
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};

	memcpy(msg.point, target.point, sizeof(msg.point));
	answer_with(&msg, len, how);
}

static void say_list(unsigned int how)
{
	struct rdmablk_list msg = { .hdr = head(RDMABLK_MSG_LIST, sizeof(msg)) };
	unsigned int nr = 0;
	char name[3] = "e0";

	for (unsigned int i = 0; i < target.exports; i++) {
		name[1] = (char)('0' + i);
		if (strcmp(name, target.after) <= 0)
			continue;
		if (nr == RDMABLK_LISTED_PER_MSG) {
			msg.more = htole32(1);
			break;
		}
		msg.listed[nr] = (struct rdmablk_listed){ .size = htole64(1 << 20),
							  .logical_block = htole32(512) };
		memcpy(msg.listed[nr++].name, name, sizeof(name));
	}
	msg.count = htole32(nr);
	answer_with(&msg, sizeof(msg), how);
}

static void say_visit(unsigned int how)
{
	struct rdmablk_visit msg = {
		.hdr = head(RDMABLK_MSG_VISIT, sizeof(msg)),
		.session_id = model.challenge.challenge.session_id,
		.target_name = "target",
	};

	answer_with(&msg, sizeof(msg), how);
}

static void say_scratch(unsigned int how)
{
	struct rdmablk_scratch msg = {
		.hdr = head(RDMABLK_MSG_SCRATCH, sizeof(msg)),
		.iova = htole64(0x7f0000001000), .rkey = htole32(0x55),
		.bytes = htole32(target.wanted),
	};

	answer_with(&msg, sizeof(msg), how);
}

static void say_answer(unsigned int how)
{
	struct rdmablk_answer msg = { .hdr = head(RDMABLK_MSG_ANSWER, sizeof(msg)) };

	msg.hdr.tag = target.command.tag;
	msg.hdr.generation = target.command.generation;
	answer_with(&msg, sizeof(msg), how);
}

static void say_close(unsigned int how, uint16_t reason)
{
	struct rdmablk_close msg = {
		.hdr = head(RDMABLK_MSG_CLOSE, sizeof(msg)),
		.reason = htole16(reason),
		.version_min = htole16(1),
		.version_max = htole16(how >> 2 ?: target.version),
	};

	answer_with(&msg, sizeof(msg), how);
}

/* Sends the message that the tool waits for, or another one. */
static void answer(uint16_t type, unsigned int how)
{
	struct rdmablk_hdr hdr = head(type, sizeof(hdr));

	switch (type) {
	case RDMABLK_MSG_CHALLENGE:
		say_challenge(how);
		break;
	case RDMABLK_MSG_VISIT:
		say_visit(how);
		break;
	case RDMABLK_MSG_LIST:
		say_list(how);
		break;
	case RDMABLK_MSG_SCRATCH:
		say_scratch(how);
		break;
	case RDMABLK_MSG_ANSWER:
		say_answer(how);
		break;
	default:
		answer_with(&hdr, sizeof(hdr), how);
		break;
	}
}

/* The tool's connection request is accepted or refused. */
static void decide(unsigned int how, unsigned int with)
{
	static const enum rdma_cm_event_type outcomes[] = {
		RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
		RDMA_CM_EVENT_DEVICE_REMOVAL, RDMA_CM_EVENT_ADDR_CHANGE,
		RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};
	struct rdmablk_cm_accept2 acc = {
		.accept = { .magic = htole32(RDMABLK_MAGIC), .version = htole16(target.version) },
	};
	struct rdmablk_cm_reject rej = {
		.magic = htole32(RDMABLK_MAGIC), .reason = htole16((uint16_t)with),
		.version_min = htole16(1), .version_max = htole16(1 + (how >> 7)),
	};
	uint8_t *data = (how & 7) == 1 ? (uint8_t *)&rej : (uint8_t *)&acc;
	size_t len = (how & 7) == 1 ? sizeof(rej) : sizeof(acc);

	if ((how & 7) == 3)
		data[with % len] ^= how >> 3 ?: 1;
	if ((how & 7) == 4)
		len = with % len;
	switch (how & 7) {
	case 1:
		tell(RDMA_CM_EVENT_REJECTED, (int)(how >> 3), data, (uint8_t)(with ? len : 0));
		break;
	case 2:
		tell(outcomes[with % ARRAY_SIZE(outcomes)], -(int)(how >> 3), data, (uint8_t)len);
		break;
	default:
		tell(RDMA_CM_EVENT_ESTABLISHED, 0, data, (uint8_t)len);
		break;
	}
	target.asked = false;
}

static void complete_request(enum ibv_wc_status status)
{
	const struct posted *p = &hw.posted[0];
	bool flip = target.flip && hw.nr_posted && p->opcode == IBV_WR_RDMA_WRITE;
	uint64_t at = p->remote;

	if (!hw.nr_posted || p->opcode == IBV_WR_SEND)
		return;
	if (status) {
		break_off(status);
		return;
	}
	complete_posted(IBV_WC_SUCCESS);
	complete_sends();
	if (flip) {
		hw.memory[at] ^= 1;
		target.flip = false;
	}
}

static bool act_honestly(void)
{
	uint16_t type = target.expected;

	if (!target.honest)
		return false;
	target.honest--;
	if (target.asked) {
		decide(0, 0);
		return true;
	}
	if (!type) {
		complete_request(IBV_WC_SUCCESS);
		return hw.nr_wc;
	}
	target.expected = 0;
	answer(type, 0);
	return true;
}

static void set(unsigned int what, unsigned int value)
{
	switch (what) {
	case 0:
		hw.shortage = value;
		break;
	case 1:
		hw.deaf = value & 1;
		complete_sends();
		break;
	case 3:
		interrupted = true;
		break;
	case 4:
		target.exports = value % 10;
		break;
	case 5:
		target.flip = true;
		break;
	default:
		clock_ns += (uint64_t)value * JUMP_MS * 1000000;
		jump_ms += value * JUMP_MS;
		break;
	}
}

static void act(unsigned int what, unsigned int a, unsigned int b)
{
	switch (what) {
	case 0:
		target.honest = a;
		break;
	case 1:
		answer(target.expected, b);
		break;
	case 2:
		answer((uint16_t)(a & 31), b);
		break;
	case 3:
		say_close(a, (uint16_t)b);
		break;
	case 4:
		complete_request((enum ibv_wc_status)(b % (IBV_WC_GENERAL_ERR + 1)));
		break;
	case 5:
		if (target.asked)
			decide(a, b);
		break;
	case 6:
		say_again(&target.saved[a % SAVED]);
		break;
	case 7:
		say_bytes(a);
		break;
	case 8:
		if (a & 1)
			tell(RDMA_CM_EVENT_DISCONNECTED, 0, "", 0);
		if (a & 2 && hw.up && !hw.error)
			break_off((enum ibv_wc_status)(1 + b % IBV_WC_GENERAL_ERR));
		break;
	case 9:
		target.odd = a;
		target.odd_bytes = b << 4;
		break;
	case 10:
		change.before = true;
		change.before_at = a << 8 | b;
		change.before_with = (uint8_t)next_byte();
		break;
	case 11:
		change.after = true;
		change.after_at = a << 8 | b;
		change.after_with = (uint8_t)next_byte();
		break;
	case 12:
		change.longer = (int8_t)b;
		break;
	case 13:
		set(a & 7, b);
		break;
	}
}

static bool target_acts(void)
{
	unsigned int what, a;

	if (act_honestly())
		return true;
	if (!script.left)
		return false;
	what = next_byte() % 16;
	a = next_byte();
	act(what, a, next_byte());
	return true;
}

/*
 * The tool's side. Each call either fails with a text for the user, or has believed only
 * what it may. It ends within the user's time.
 */

static uint64_t begun;

static void begins(void)
{
	model.refuse = false;
	memset(&failure, 0, sizeof(failure));
	begun = clock_ns;
	jump_ms = 0;
}

static void took(unsigned int most_ms)
{
	assert_in_range((clock_ns - begun) / 1000000, 0, most_ms + SLACK_MS + jump_ms);
}

static bool ends(int ret)
{
	const char *c = failure.text;

	if (!ret) {
		assert_false(model.refuse);
		return true;
	}
	assert_int_equal(ret, -1);
	assert_in_range(failure.err, 1, 4095);
	assert_true(*c);
	for (; *c; c++)
		assert_in_range(*c, 0x20, 0x7e);
	assert_true(c < failure.text + sizeof(failure.text));
	return false;
}

/* Copies the message that the tool has believed. */
static void copy_last(void *msg, uint16_t type, size_t len)
{
	struct rdmablk_hdr hdr;

	assert_int_equal(model.last.plain_len, len);
	memcpy(msg, model.last.plain, len);
	memcpy(&hdr, msg, sizeof(hdr));
	assert_int_equal(le16toh(hdr.type), type);
	assert_int_equal(le16toh(hdr.length), len);
	assert_true(!hdr.reserved && !hdr.reserved2);
}

static void is_printable(const char *name, size_t room)
{
	assert_non_null(memchr(name, 0, room));
	for (; *name; name++)
		assert_in_range(*name, 0x20, 0x7e);
}

static bool log_in(void)
{
	const struct rdmablk_challenge *ch = &model.challenge.challenge;
	const struct client_login login = {
		.key = open_world ? NULL : &key, .tmo_ms = TMO_MS, .requests = REQUESTS,
		.stop = &interrupted,
	};
	const bool easy = target.honest >= 3 && !hw.shortage;
	struct rdmablk_visit visit;

	begins();
	client = client_open(&login, &failure);
	took(TMO_MS);
	assert_true(client || !easy);
	if (!ends(client ? 0 : -1))
		return false;
	copy_last(&visit, RDMABLK_MSG_VISIT, sizeof(visit));
	assert_true(visit.session_id == ch->session_id && ch->session_id);
	is_printable(visit.target_name, sizeof(visit.target_name));
	assert_string_equal(client_target_name(client), visit.target_name);
	assert_int_equal(le16toh(ch->version), target.version);
	assert_int_equal(ch->auth_method, target.hello.hello.auth_methods);
	assert_true(!ch->features && !ch->reserved);
	assert_false(is_secret(client, sizeof(*client)));
	if (open_world)
		return true;
	assert_int_equal(le16toh(model.challenge.group), RDMABLK_GROUP_P256);
	assert_int_equal(le16toh(model.challenge.suite), RDMABLK_SUITE_AES256_GCM);
	assert_int_equal(model.challenge.reserved, 0);
	return true;
}

/* Asks for pages of exports as discover does. */
static bool list(void)
{
	char after[RDMABLK_NAME_LEN] = "";
	struct rdmablk_list got, msg;

	do {
		begins();
		if (!ends(client_list(client, after, &got, &failure)))
			return false;
		took(TMO_MS);
		copy_last(&msg, RDMABLK_MSG_LIST, sizeof(msg));
		assert_memory_equal(&got, &msg, sizeof(msg));
		assert_in_range(le32toh(got.count), 0, RDMABLK_LISTED_PER_MSG);
		assert_in_range(le32toh(got.more), 0, 1);
		assert_true(!got.more || le32toh(got.count) == RDMABLK_LISTED_PER_MSG);
		for (unsigned int i = 0; i < le32toh(got.count); i++) {
			const struct rdmablk_listed *l = &got.listed[i];

			is_printable(l->name, sizeof(l->name));
			assert_true(strcmp(l->name, after) > 0 && !strpbrk(l->name, " /,"));
			assert_true(le64toh(l->size) <= RDMABLK_MAX_SIZE);
			assert_true(l->logical_block == htole32(512) ||
				    l->logical_block == htole32(4096));
			memcpy(after, l->name, sizeof(after));
		}
	} while (got.more);
	return true;
}

static bool ping(void)
{
	struct rdmablk_answer msg;
	uint64_t ns;

	begins();
	if (!ends(client_ping(client, (__u64 *)&ns, &failure)))
		return false;
	took(TMO_MS);
	copy_last(&msg, RDMABLK_MSG_ANSWER, sizeof(msg));
	assert_int_equal(le16toh(msg.hdr.tag), RDMABLK_TAG_KEEPALIVE);
	assert_int_equal(msg.hdr.generation, target.command.generation);
	assert_int_equal(msg.status, 0);
	return true;
}

static bool borrow(uint32_t wanted)
{
	struct rdmablk_scratch msg;
	struct rdmablk_close close;
	bool ok;

	if (scratch.client)
		return true;
	begins();
	ok = !scratch_open(&scratch, client, wanted, &failure);
	took(TMO_MS);
	if (ok && scratch.lent.over) {
		/* Only an older target closes here. Its CLOSE must be its own. */
		assert_true(model.right);
		copy_last(&close, RDMABLK_MSG_CLOSE, sizeof(close));
		assert_int_equal(le16toh(close.reason), RDMABLK_R_MALFORMED);
		return false;
	}
	if (!ends(ok ? 0 : -1))
		return false;
	copy_last(&msg, RDMABLK_MSG_SCRATCH, sizeof(msg));
	assert_true(le32toh(msg.bytes) <= wanted && !msg.reserved && !msg.reserved2);
	assert_int_equal(scratch.lent.bytes, le32toh(msg.bytes));
	assert_int_equal(!msg.bytes, !!msg.reason);
	assert_true(msg.bytes || (!msg.iova && !msg.rkey));
	return true;
}

/* Return: a size of requests that the user may ask for. */
static uint32_t size_of(unsigned int a)
{
	return 1 + a * (scratch.lent.bytes - 1) / 255;
}

static void check_damage(const struct scratch_damage *damage, uint32_t bytes)
{
	assert_true(hw.damage);
	assert_in_range(damage->bytes, 1, 8);
	assert_true(damage->offset + damage->bytes <= bytes);
	assert_memory_not_equal(damage->expected, damage->got, damage->bytes);
}

static bool measure(unsigned int a)
{
	struct scratch_damage damage;
	uint32_t bytes;
	bool same;
	__u64 ns;

	if (!scratch.mr)
		return true;
	bytes = size_of(a);
	scratch_fill(&scratch, bytes);
	hw.damage = false;
	begins();
	if (!ends(scratch_do(&scratch, true, bytes, &ns, &failure)) ||
	    !ends(scratch_do(&scratch, false, bytes, &ns, &failure)))
		return false;
	took(2 * TMO_MS);
	assert_int_equal(hw.done, 0);
	same = scratch_check(&scratch, 0, bytes, &damage);
	assert_int_equal(same, !hw.damage);
	if (!same)
		check_damage(&damage, bytes);
	return same;
}

static bool find_mtu(void)
{
	const __u32 bytes = scratch.lent.bytes;
	unsigned int passes = 0;

	if (!scratch.mr)
		return true;
	begins();
	if (!ends(scratch_find_mtu(&scratch, 512, &passes, &failure)))
		return false;
	took(4 * TMO_MS);
	assert_int_equal(passes, bytes < 256 ? 0 : bytes < 512 ? 256 : 512);
	return true;
}

/* Does what ping --blast does; the visit ends with it. */
static void blast(unsigned int a)
{
	struct blast b = { .scratch = &scratch, .depth = REQUESTS, .seconds = 1,
			   .stop = &interrupted };
	int ret;

	if (!scratch.mr)
		return;
	b.size = size_of(a);
	hw.damage = false;
	begins();
	ret = blast_run(&b, &failure);
	took(b.seconds * 1000 + BLAST_GRACE_MS + BLAST_DRAIN_MS);
	ends(ret);
	if (b.damaged)
		check_damage(&b.damage, scratch.lent.bytes);
	blast_free(&b);
}

/* Return: whether the user asks for more. */
static bool go_on(unsigned int what, unsigned int a)
{
	switch (what % 8) {
	case 0:
		return list();
	case 1:
		return ping();
	case 2:
		return borrow(1 + a * 64);
	case 3:
		return measure(a);
	case 4:
		blast(a);
		return false;
	case 5:
		client_limit(client, a * 16);
		return true;
	case 6:
		return find_mtu();
	default:
		assert_int_equal(client_mtu(client), IBV_MTU_4096);
		return false;
	}
}

static void leave(void)
{
	begins();
	scratch_close(&scratch);
	client_close(client);
	took(TMO_MS);
}

static void begin(void)
{
	clock_ns = 1000000000;
	interrupted = false;
	jump_ms = 0;
	client = NULL;
	memset(&hw, 0, sizeof(hw));
	memset(&target, 0, sizeof(target));
	memset(&model, 0, sizeof(model));
	memset(&change, 0, sizeof(change));
	target.exports = 7;
}

static void end(void)
{
	assert_int_equal(hw.objects, 0);
	crypt_target_end(&target.end);
	crypto_cipher_free(target.tx.key);
	crypto_cipher_free(target.rx.key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool more;

	setenv("CMOCKA_TEST_ABORT", "1", 1);	/* as other findings end */
	script.at = data;
	script.left = size;
	input = data;
	input_len = size;
	open_world = size && *data == OPEN;
	if (open_world)
		next_byte();
	begin();
	target.honest = next_byte();
	hw.shortage = next_byte();
	hw.eager = hw.shortage >> 7;
	hw.shortage &= 15;
	more = log_in();
	while (more && script.left) {
		unsigned int what = next_byte();

		target.honest = what >> 3;
		more = go_on(what, next_byte());
	}
	if (client)
		leave();
	end();
	return 0;
}
