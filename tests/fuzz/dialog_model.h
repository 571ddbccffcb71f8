/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of the target's login. From the bytes that arrive it knows which key each
 * initiator has proven, and so what the daemon may do. In version 1, which has no keys, it
 * knows what each initiator has sent. It also models which commands the daemon may answer.
 *
 * A harness calls check_all() between its steps; target_world.h calls the rest.
 */
#ifndef DIALOG_MODEL_H
#define DIALOG_MODEL_H

#include "../../target/base/key_file.h"
#include "../../target/export/host.h"
#include "../../target/wire/crypto.h"
#include "../../target/wire/mac.h"
#include "target_world.h"

#define PEERS		12
#define SAVED		8	/* frames that a script may repeat */
#define TAGS		32	/* of a write queue that a script may use */
#define QPN		0x100	/* of the first initiator */
#define HOME		100	/* address that host home may come from */
#define NOW		1800000000L	/* of the clock of keys */

enum { HOME_KEY, HOME_NEW, NAMED_KEY, READER_KEY, THIEF_KEY, STRANGER_KEY, KEYS };
enum { FIRST, SECOND, NOTHING, EXPORTS };

/* For each key: its host, and the host's rights to each export */
static const struct {
	const char *host;
	unsigned int right[EXPORTS];
} hosts[KEYS] = {
	[HOME_KEY]	= { "home", { ALLOW_READ | ALLOW_WRITE } },
	[HOME_NEW]	= { "home", { ALLOW_READ | ALLOW_WRITE } },
	[NAMED_KEY]	= { "named", { ALLOW_READ | ALLOW_WRITE, ALLOW_READ } },
	[READER_KEY]	= { "reader", { ALLOW_READ } },
	[THIEF_KEY]	= { "thief", { ALLOW_READ | ALLOW_WRITE | ALLOW_STEAL } },
	[STRANGER_KEY]	= { "stranger", { 0 } },
};

static const char *const exports[EXPORTS] = { "first", "second", "nothing" };
static const char *const lists[] = { "home, named, reader:ro, thief:rw+steal", "reader:ro" };

/**
 * struct frame - a message on its way to the daemon
 * @len: bytes of @bytes
 * @plain_len: bytes of @plain
 * @seq: its number; @epoch: epoch of its keys
 * @sealed: the harness has sealed it with the keys of the session
 * @intact: the bytes have not been changed since
 * @relayed: a PROOF for another pair of queue pairs
 * @bytes: the bytes as sent
 * @plain: the contents before sealing
 */
struct frame {
	size_t len, plain_len;
	uint64_t seq;
	uint32_t epoch;
	bool sealed, intact, relayed;
	uint8_t bytes[RDMABLK_CTRL_MSG_MAX] __attribute__((aligned(8)));
	uint8_t plain[RDMABLK_CTRL_MSG_MAX] __attribute__((aligned(8)));
};

/**
 * struct peer - an initiator's connection, and what the model knows of it
 * @data: it is a data queue
 * @owner: of a data queue: the control connection
 * @key: the key that the initiator uses
 * @relayed: of a data queue: the request is signed for another queue pair
 * @hello: HELLO as it has arrived; @asked: whether it has; @known: its key
 * @pair: ephemeral key
 * @th: transcript
 * @right: a right PROOF has arrived
 * @secrets: the harness has the keys of the session, too
 * @rights: rights to the export when PROOF arrived
 * @visits: the initiator may visit: a right PROOF has followed the HELLO of a visit
 * @borrows: SCRATCH_GET has arrived in the visit; @wanted: the most that may be lent, bytes;
 *	@lent: SCRATCH was sent
 * @epoch: epoch of the next frame that the daemon may accept; @seq: its number
 * @announced: REAUTH_DONE was sent: a frame of the next epoch may follow
 * @clean: LOGOUT has announced that nothing is unflushed
 * @joined: queues that have been accepted; @joins: their number
 * @again: the same state for the reauthentication under way
 * @tag: of a data queue: for each tag the number of unanswered commands, and the last of them;
 *	@begun: its I/O has begun
 * @next: of a data queue: the tag after that of the last command; TAGS: none
 * @way: messages that the daemon has not handled yet
 * @was_ending: the session was ending when the first of them arrived
 * @was_sealed: the session took only sealed frames then
 * @taken: the daemon may accept the message
 */
struct peer {
	struct rdma_cm_id id;
	bool gone, data, accepted;
	struct peer *owner;
	uint32_t address, qpn;
	unsigned int key;
	struct rdmablk_cm_request req;
	bool relayed;

	struct rdmablk_hello2 hello;
	struct crypto_pair pair;
	struct rdmablk_challenge2 challenge;
	uint8_t th[RDMABLK_KEYSCHED_LEN];
	struct rdmablk_keysched_keys keys;
	bool asked, challenged, right, secrets;
	bool visits, borrows, lent;
	uint32_t wanted;
	unsigned int known, rights;

	struct rdmablk_sealed tx, rx;
	uint32_t epoch;
	uint64_t seq;
	bool announced, granted, clean, live;
	bool joined[2 * RDMABLK_MAX_QUEUES + 1];
	unsigned int joins;

	struct {
		struct rdmablk_reauth msg;
		struct rdmablk_reauth_challenge challenge;
		struct crypto_pair pair;
		struct rdmablk_keysched_keys keys;
		uint8_t th[RDMABLK_KEYSCHED_LEN];
		bool asked, challenged, right, secrets;
		unsigned int known;
		void *tx;
	} again;

	struct tag {
		unsigned int waits, op, flags;
		uint64_t offset, bytes;
		uint8_t generation;
		bool begun;
	} tag[TAGS];
	unsigned int next;

	struct frame way[CTRL_RECVS], saved[SAVED];
	unsigned int first, nr_way, nr_saved;
	bool was_ending, was_sealed, taken;
};

static const struct rdmablk_keysched *schedule = &crypto_keysched;
static struct config cfg;
static struct key_file *keys[KEYS];
static struct peer *peers[PEERS];
static unsigned int nr_peers, nr_idle_timers;
static unsigned int list;	/* in force, of lists */
static bool later;		/* the keys of home have expired */
static bool no_keys;		/* without authentication: all is version 1 */
static bool no_cache;		/* the first export is an uncached file */
static const uint8_t no_key[RDMABLK_MAC_LEN];

static struct peer *peer_of_id(struct rdma_cm_id *id)
{
	return container_of(id, struct peer, id);
}

static struct conn *conn_of_peer(const struct peer *p)
{
	return p->gone ? NULL : container_of(p->id.context, struct conn, cm);
}

/* Return: NULL if the session does not exist yet, or any more. */
static struct session *session_of(const struct peer *p)
{
	struct conn *conn = p->accepted ? conn_of_peer(p) : NULL;

	return conn ? conn->owner : NULL;
}

static bool is_ending(const struct session *s)
{
	return s->state >= SESSION_CLOSING;
}

/*
 * The model: what a host may do
 */

static unsigned int key_named(const uint8_t *key_id)
{
	unsigned int n = 0;

	while (n < STRANGER_KEY && memcmp(keys[n]->id, key_id, sizeof(keys[n]->id)))
		n++;
	return n;
}

static bool is_home(unsigned int key)
{
	return key == HOME_KEY || key == HOME_NEW;
}

/* Whether this key may be used from this address now */
static bool is_in_force(unsigned int key, uint32_t address)
{
	return key != STRANGER_KEY && (!is_home(key) || (address == HOME && !later));
}

static unsigned int rights_to(unsigned int key, const struct rdmablk_hello2 *hello,
			      const char *name)
{
	unsigned int e = FIRST;

	while (e < NOTHING && strncmp(name, exports[e], sizeof(hello->hello.export_name)))
		e++;
	if (no_keys)
		return e < NOTHING ? ALLOW_READ | ALLOW_WRITE | ALLOW_STEAL : 0;
	if (key == NAMED_KEY && hello->hello.host_id[0] != 7)
		return 0;
	if (e == FIRST && list && key != READER_KEY)
		return 0;
	return hosts[key].right[e];
}

static unsigned int rights_of(unsigned int key, const struct rdmablk_hello2 *hello)
{
	return rights_to(key, hello, hello->hello.export_name);
}

static bool is_visit(const struct peer *p)
{
	return p->hello.hello.flags == htole32(RDMABLK_HELLO_VISIT);
}

static bool may_write(const struct peer *p)
{
	return p->rights & ALLOW_WRITE &&
	       !(le32toh(p->hello.hello.flags) & RDMABLK_HELLO_READ_ONLY);
}

static void expect_proof(const struct peer *p, uint8_t *mac)
{
	uint8_t prk0[RDMABLK_KEYSCHED_LEN];

	CHECK(!rdmablk_keysched_prk0(schedule, keys[p->known]->secret, prk0));
	CHECK(!rdmablk_keysched_proof(schedule, prk0, p->th, mac));
}

/*
 * The keys that follow from a PROOF; false if the harness does not know the initiator's
 * half.
 */
static bool derive(unsigned int key, struct crypto_pair *pair, const uint8_t *sent,
		   const uint8_t *point, const uint8_t *mac, uint8_t *th,
		   struct rdmablk_keysched_keys *out)
{
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN], z[RDMABLK_KEYSCHED_LEN];
	struct crypto_pair twin;
	uint8_t other[RDMABLK_POINT_LEN], z2[RDMABLK_KEYSCHED_LEN];

	if (!pair->pkey || crypto_agree(pair, point, z))
		return false;
	/*
	 * If the half that has arrived is that of our pair, both agree on a secret with a
	 * third half.
	 */
	CHECK(!crypto_generate(&twin, other));
	if (crypto_agree(&twin, sent, z)) {
		crypto_forget(&twin);
		return false;
	}
	CHECK(!crypto_agree(pair, other, z2));
	crypto_forget(&twin);
	if (memcmp(z, z2, sizeof(z)))
		return false;
	CHECK(!crypto_agree(pair, point, z));
	CHECK(!rdmablk_keysched_prk0(schedule, keys[key]->secret, prk0));
	CHECK(!rdmablk_keysched_prk1(schedule, prk0, th, z, prk1));
	CHECK(!rdmablk_keysched_th2(schedule, th, mac, th));
	CHECK(!rdmablk_keysched_keys(schedule, prk1, th, out));
	return true;
}

/*
 * The model: what arrives
 */

/* The type of a message that passes the daemon's check of the header, or 0 */
static unsigned int type_of(const void *msg, size_t len)
{
	struct rdmablk_hdr hdr;

	if (len < sizeof(hdr))
		return 0;
	memcpy(&hdr, msg, sizeof(hdr));
	return le16toh(hdr.length) == len ? le16toh(hdr.type) : 0;
}

static size_t hello_len(void)
{
	return no_keys ? sizeof(struct rdmablk_hello) : sizeof(struct rdmablk_hello2);
}

/* A login to an export, or a visit and nothing else. No other HELLO gets a CHALLENGE. */
static bool is_whole(const struct rdmablk_hello *h)
{
	static const uint8_t none[RDMABLK_ID_LEN];
	uint32_t flags = le32toh(h->flags);
	bool resume = flags & RDMABLK_HELLO_RESUME, visit = flags == RDMABLK_HELLO_VISIT;

	if (!h->nr_queues || le16toh(h->nr_queues) > RDMABLK_MAX_QUEUES || !h->queue_depth ||
	    !h->keep_alive_ms || !h->generation)
		return false;
	if (!visit && flags & ~RDMABLK_HELLO_FLAGS)
		return false;
	return visit == !h->export_name[0] && (resume || !memcmp(h->uuid, none, sizeof(none)));
}

static size_t challenge_len(void)
{
	return no_keys ? sizeof(struct rdmablk_challenge) : sizeof(struct rdmablk_challenge2);
}

static void hello_arrives(struct peer *p, const struct session *s, const struct frame *f)
{
	if (f->len != hello_len() || p->asked)
		return;
	memcpy(&p->hello, f->bytes, f->len);
	p->asked = true;
	if (no_keys)
		return;
	p->known = key_named(p->hello.key_id);
	CHECK(!rdmablk_keysched_th0(schedule, p->qpn, s->conn->pair->qp_num, f->bytes, f->len,
				    p->th));
}

/* In version 1 anybody can compute the MAC, and it must be right. */
static void open_proof_arrives(struct peer *p, const struct rdmablk_proof *proof)
{
	const struct rdmablk_challenge *c = &p->challenge.challenge;
	uint8_t mac[RDMABLK_MAC_LEN];

	CHECK(!mac_proof(no_key, &p->hello.hello, c, mac));
	CHECK(!mac_session_key(no_key, &p->hello.hello, c, p->keys.join));
	p->right = !memcmp(mac, proof->mac, sizeof(mac));
	p->visits = p->right && is_visit(p);
	p->secrets = p->right;
	p->rights = rights_of(0, &p->hello);
}

static void proof_arrives(struct peer *p, const struct session *s, const struct frame *f)
{
	const struct rdmablk_proof *proof = (const void *)f->bytes;
	uint8_t mac[RDMABLK_MAC_LEN];

	if (type_of(f->bytes, f->len) != RDMABLK_MSG_PROOF || f->len != sizeof(*proof) ||
	    !p->challenged || s->state != SESSION_PROOF)
		return;
	if (no_keys) {
		open_proof_arrives(p, proof);
		return;
	}
	expect_proof(p, mac);
	p->right = is_in_force(p->known, p->address) && !f->relayed &&
		   !memcmp(mac, proof->mac, sizeof(mac));
	if (p->right)
		p->rights = rights_of(p->known, &p->hello);
	p->visits = p->right && is_visit(p);
	if (!p->right)
		return;
	p->secrets = derive(p->known, &p->pair, p->hello.point, p->challenge.point, mac, p->th,
			    &p->keys);
	if (!p->secrets)
		return;
	rdmablk_sealed_init(&p->tx, &crypto_sealed, crypto_cipher(p->keys.i2t, true));
	rdmablk_sealed_init(&p->rx, &crypto_sealed, crypto_cipher(p->keys.t2i, false));
}

/* Return: whether the daemon may accept the frame, by its number and its keys. */
static bool is_next(const struct peer *p, const struct frame *f)
{
	return f->sealed && f->intact && f->seq == p->seq &&
	       (f->epoch == p->epoch || (p->announced && f->epoch == p->epoch + 1));
}

static void reauth_arrives(struct peer *p, const struct frame *f)
{
	if (f->plain_len != sizeof(p->again.msg) || p->again.asked || !p->live)
		return;
	memcpy(&p->again.msg, f->plain, sizeof(p->again.msg));
	p->again.asked = true;
	p->again.known = key_named(p->again.msg.key_id);
	CHECK(!rdmablk_keysched_reauth(schedule, p->th, f->plain, f->plain_len, p->again.th));
}

static void reauth_proof_arrives(struct peer *p, const struct frame *f)
{
	const struct rdmablk_reauth_proof *proof = (const void *)f->plain;
	uint8_t mac[RDMABLK_MAC_LEN], prk0[RDMABLK_KEYSCHED_LEN];

	if (f->plain_len != sizeof(*proof) || !p->again.challenged)
		return;
	CHECK(!rdmablk_keysched_prk0(schedule, keys[p->again.known]->secret, prk0));
	CHECK(!rdmablk_keysched_proof(schedule, prk0, p->again.th, mac));
	p->again.right = is_in_force(p->again.known, p->address) &&
			 !strcmp(hosts[p->again.known].host, hosts[p->known].host) &&
			 !memcmp(mac, proof->mac, sizeof(mac));
	if (!p->again.right)
		return;
	p->again.secrets = derive(p->again.known, &p->again.pair, p->again.msg.point,
				  p->again.challenge.point, mac, p->again.th, &p->again.keys);
	if (p->again.secrets && !p->rx.next)
		CHECK(!rdmablk_sealed_prepare(&p->rx, crypto_cipher(p->again.keys.t2i, false)));
}

static void command_arrives(struct peer *p, const struct rdmablk_command *cmd)
{
	if (le16toh(cmd->op) == RDMABLK_OP_LOGOUT)
		p->clean |= le16toh(cmd->flags) & RDMABLK_LOGOUT_CLEAN;
}

/* Only the first SCRATCH_GET of a visit counts. A wrong one is lent nothing. */
static void scratch_get_arrives(struct peer *p, const void *msg, size_t len)
{
	struct rdmablk_scratch_get get;
	uint32_t bytes;

	if (!p->visits || p->borrows)
		return;
	p->borrows = true;
	if (len != sizeof(get))
		return;
	memcpy(&get, msg, sizeof(get));
	bytes = le32toh(get.bytes);
	if (!get.reserved && bytes <= RDMABLK_MAX_SCRATCH)
		p->wanted = bytes < cfg.scratch ? bytes : (uint32_t)cfg.scratch;
}

static void sealed_arrives(struct peer *p, const struct frame *f)
{
	p->seq++;
	if (f->epoch != p->epoch) {
		p->epoch = f->epoch;
		p->announced = false;
	}
	switch (type_of(f->plain, f->plain_len)) {
	case RDMABLK_MSG_REAUTH:
		reauth_arrives(p, f);
		break;
	case RDMABLK_MSG_REAUTH_PROOF:
		reauth_proof_arrives(p, f);
		break;
	case RDMABLK_MSG_COMMAND:
		if (f->plain_len == sizeof(struct rdmablk_command))
			command_arrives(p, (const void *)f->plain);
		break;
	case RDMABLK_MSG_SCRATCH_GET:
		scratch_get_arrives(p, f->plain, f->plain_len);
		break;
	}
}

static void peer_arrives(struct peer *p)
{
	const struct frame *f = &p->way[p->first];
	const struct session *s = session_of(p);

	CHECK(s && p->nr_way);
	p->was_ending = is_ending(s);
	p->was_sealed = s->ctrl.sealed;
	p->taken = !p->was_sealed || is_next(p, f);
	if (p->was_ending)
		return;
	if (p->was_sealed) {
		if (p->taken)
			sealed_arrives(p, f);
	} else if (s->state == SESSION_HELLO) {
		hello_arrives(p, s, f);
	} else if (s->state == SESSION_PROOF) {
		proof_arrives(p, s, f);
	} else if (type_of(f->bytes, f->len) == RDMABLK_MSG_SCRATCH_GET) {
		scratch_get_arrives(p, f->bytes, f->len);
	} else if (f->len == sizeof(struct rdmablk_command)) {
		command_arrives(p, (const void *)f->bytes);
	}
}

/* A message that the daemon may not accept ends the session, and must have no other effect. */
static void peer_handled(struct peer *p)
{
	const struct session *s = session_of(p);

	p->first = (p->first + 1) % CTRL_RECVS;
	p->nr_way--;
	if (p->was_ending || !s)
		return;
	if (!p->taken) {
		CHECK(is_ending(s));
		CHECK(s->end.reason == RDMABLK_R_AUTH_FAILED ||
		      s->end.reason == RDMABLK_R_CONNECTION ||
		      s->end.reason == RDMABLK_R_STATE);
		CHECK(!s->login.refused);
	} else if (p->was_sealed && is_ending(s) && p->secrets && !p->again.challenged) {
		CHECK(s->end.reason != RDMABLK_R_AUTH_FAILED);
	}
}

/*
 * The model: what the daemon does
 */

static bool has_won(const struct peer *loser, bool steals)
{
	for (unsigned int i = 0; i < nr_peers; i++) {
		const struct peer *p = peers[i];

		if (p == loser || !p->right)
			continue;
		if (steals && p->rights & ALLOW_STEAL &&
		    le32toh(p->hello.hello.flags) & RDMABLK_HELLO_STEAL)
			return true;
		if (!steals && !strcmp(hosts[p->known].host, hosts[loser->known].host))
			return true;
	}
	return false;
}

/* HELLO must name the UUID of the granted export. */
static bool resumes(const struct peer *p, const struct rdmablk_grant *g)
{
	const struct rdmablk_hello *h = &p->hello.hello;
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], key[RDMABLK_KEYSCHED_LEN];

	if (no_keys)
		return !memcmp(g->uuid, h->uuid, sizeof(h->uuid));
	CHECK(!rdmablk_keysched_prk0(schedule, keys[p->known]->secret, prk0));
	CHECK(!rdmablk_keysched_resume_key(schedule, prk0, h->nonce, key));
	return !rdmablk_keysched_check_resume(schedule, key, g->uuid, h->uuid);
}

static void grant_comes(struct peer *p, const struct rdmablk_grant *g)
{
	if (le32toh(p->hello.hello.flags) & RDMABLK_HELLO_RESUME)
		CHECK(resumes(p, g));
	CHECK(p->rights & ALLOW_READ);
	CHECK(le32toh(g->flags) & RDMABLK_GRANT_READ_ONLY || may_write(p));
	p->granted = true;
	CHECK(g->session_id == p->challenge.challenge.session_id);
}

static void close_comes(struct peer *p, const struct rdmablk_close *c, bool sealed)
{
	unsigned int reason = le16toh(c->reason);

	if (sealed && reason == RDMABLK_R_STOLEN)
		CHECK(has_won(p, true) || le32toh(p->hello.hello.flags) & RDMABLK_HELLO_RESUME);
	if (sealed && reason == RDMABLK_R_REPLACED)
		CHECK(has_won(p, false));
	/* The daemon must not reject a right PROOF as wrong. */
	if (!sealed && p->right)
		CHECK(no_keys ? reason != RDMABLK_R_AUTH_FAILED : reason == RDMABLK_R_MALFORMED);
}

static void reauth_done(struct peer *p)
{
	CHECK(p->again.right);
	p->announced = true;
	p->secrets = p->again.secrets;
	p->known = p->again.known;
	memcpy(p->th, p->again.th, sizeof(p->th));
	p->keys = p->again.keys;
	p->again.asked = false;
	p->again.challenged = false;
	p->again.right = false;
	if (p->secrets && !p->again.tx)
		p->again.tx = crypto_cipher(p->keys.i2t, true);
}

/* A list may contain only exports that the host may use, with the rights that it has. */
static void list_comes(const struct peer *p, const struct rdmablk_list *l)
{
	CHECK(p->visits && le32toh(l->count) <= RDMABLK_LISTED_PER_MSG);
	for (unsigned int i = 0; i < le32toh(l->count); i++) {
		unsigned int rights = rights_to(p->known, &p->hello, l->listed[i].name);

		CHECK(rights & ALLOW_READ);
		CHECK(rights & ALLOW_WRITE ||
		      le32toh(l->listed[i].flags) & RDMABLK_GRANT_READ_ONLY);
	}
}

/* A visit that has asked gets one answer: a region, or a reason. */
static void scratch_comes(struct peer *p, const struct rdmablk_scratch *c)
{
	const struct scratch *scratch = &session_of(p)->scratch;

	CHECK(p->borrows && !p->lent);
	p->lent = true;
	CHECK(!c->bytes == !!c->reason && le32toh(c->bytes) <= p->wanted);
	CHECK(c->bytes || (!c->rkey && !c->iova && !scratch->mr));
	CHECK(!c->bytes || (scratch->mr && le32toh(c->rkey) == scratch->mr->rkey &&
			    le64toh(c->iova) == scratch->iova));
}

/* LIMITS must announce the slots of this session, or none. */
static void limits_come(const struct peer *p, const struct rdmablk_limits *l)
{
	const struct session *s = session_of(p);
	const struct staged *st = s ? s->staged : NULL;

	CHECK(p->granted && s);
	CHECK(le32toh(l->slot_rkey) == (st ? st->slot_mr->rkey : 0));
	CHECK(le64toh(l->slot_iova) == (st ? st->slot_iova : 0));
}

/* A message that only a proven initiator may see */
static void secret_comes(struct peer *p, unsigned int type, const void *msg)
{
	switch (type) {
	case RDMABLK_MSG_GRANT:
		grant_comes(p, msg);
		break;
	case RDMABLK_MSG_REGIONS:
		CHECK(p->granted);
		break;
	case RDMABLK_MSG_LIMITS:
		limits_come(p, msg);
		break;
	case RDMABLK_MSG_LIVE:
		CHECK(p->granted);
		p->live = true;
		break;
	case RDMABLK_MSG_REAUTH_CHALLENGE:
		CHECK(p->again.asked && p->live);
		CHECK(!strcmp(hosts[p->again.known].host, hosts[p->known].host));
		memcpy(&p->again.challenge, msg, sizeof(p->again.challenge));
		CHECK(!rdmablk_keysched_th1(schedule, p->again.th, msg,
					    sizeof(p->again.challenge), p->again.th));
		p->again.challenged = true;
		break;
	case RDMABLK_MSG_REAUTH_DONE:
		reauth_done(p);
		break;
	case RDMABLK_MSG_CLOSE:
		close_comes(p, msg, true);
		break;
	case RDMABLK_MSG_VISIT:
		CHECK(p->visits);
		break;
	case RDMABLK_MSG_LIST:
		list_comes(p, msg);
		break;
	case RDMABLK_MSG_SCRATCH:
		scratch_comes(p, msg);
		break;
	case RDMABLK_MSG_ANSWER:
	case RDMABLK_MSG_EVENT:
		break;
	default:
		CHECK(!"a message of the target");
	}
}

static void peer_sent(struct peer *p, const void *msg, size_t len)
{
	unsigned int type = type_of(msg, len);
	uint8_t plain[RDMABLK_SEALED_MAX] __attribute__((aligned(8)));
	void *old = p->rx.key;
	int ret;

	if (type != RDMABLK_MSG_SEALED) {
		if (type == RDMABLK_MSG_CHALLENGE) {
			CHECK(len == challenge_len() && p->asked && !p->challenged);
			CHECK(is_whole(&p->hello.hello));
			memcpy(&p->challenge, msg, len);
			CHECK(!rdmablk_keysched_th1(schedule, p->th, msg, len, p->th));
			p->challenged = true;
		} else if (no_keys && type != RDMABLK_MSG_CLOSE) {
			CHECK(p->right);
			secret_comes(p, type, msg);
		} else {
			CHECK(type == RDMABLK_MSG_CLOSE);
			close_comes(p, msg, false);
		}
		return;
	}
	CHECK(p->right);
	if (!p->secrets)
		return;
	ret = rdmablk_sealed_open(&p->rx, msg, len, plain, sizeof(plain));
	if (ret < 0 && p->again.right && !p->again.secrets)
		p->secrets = false;	/* keys from a half without a known private key */
	if (!p->secrets)
		return;
	CHECK(ret > 0);
	if (p->rx.key != old)
		crypto_cipher_free(old);
	secret_comes(p, type_of(plain, (size_t)ret), plain);
}

/* The MAC of a request to join; version 1 names no queue pair in it. */
static int join_mac(const struct peer *owner, const struct peer *d, uint8_t *mac)
{
	if (no_keys)
		return mac_message(owner->keys.join, RDMABLK_LABEL_JOIN, &d->req,
				   offsetof(struct rdmablk_cm_request, mac), mac);
	return rdmablk_keysched_join(schedule, owner->keys.join, &d->req, d->qpn, mac);
}

/* Only the queue pair that the session's own initiator has named may join, and only once. */
static void join_accepted(struct peer *d, const struct conn *conn,
			  const struct rdma_conn_param *param)
{
	const struct rdmablk_cm_accept2 *acc = param->private_data;
	const struct session *s = conn->owner;
	struct peer *p = peer_of_id(s->conn->id);
	unsigned int queue = le16toh(d->req.queue);
	uint8_t mac[RDMABLK_MAC_LEN];

	CHECK(p->right && p->granted && p->secrets);
	CHECK(d->req.generation == p->hello.hello.generation);
	CHECK(no_keys || (!d->relayed && d->address == p->address));
	CHECK(queue == conn->queue && queue && queue <= s->nr_data);
	CHECK(!p->joined[queue]);
	p->joined[queue] = true;
	p->joins++;
	CHECK(param->private_data_len == (no_keys ? sizeof(acc->accept) : sizeof(*acc)));
	if (no_keys) {
		CHECK(!join_mac(p, d, mac) && !memcmp(mac, d->req.mac, sizeof(mac)));
		return;
	}
	CHECK(!rdmablk_keysched_join(schedule, p->keys.join, &d->req, d->qpn, mac));
	CHECK(!memcmp(mac, d->req.mac, sizeof(mac)));
	CHECK(!rdmablk_keysched_check_accept(schedule, p->keys.join, &acc->accept, d->req.mac,
					     conn->pair->qp_num, acc->mac));
}

static void peer_accepted(struct peer *p, const struct conn *conn,
			  const struct rdma_conn_param *param)
{
	p->accepted = true;
	CHECK(p->data == !!conn->queue);
	if (p->data)
		join_accepted(p, conn, param);
}

static void peer_refused(struct peer *p, const void *data, size_t len)
{
	const struct rdmablk_cm_reject *reject = data;
	const struct peer *owner = p->owner;
	uint8_t mac[RDMABLK_MAC_LEN];

	CHECK(len == sizeof(*reject) && !p->accepted);
	if (!owner || !owner->granted || !owner->secrets || p->relayed)
		return;
	/* The daemon must not reject a right MAC as wrong. */
	CHECK(!join_mac(owner, p, mac));
	CHECK(le16toh(reject->reason) != RDMABLK_R_JOIN_MAC ||
	      memcmp(mac, p->req.mac, sizeof(mac)));
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	const struct session *s;

	if (id->context == listening)
		return 0;
	s = session_of(peer_of_id(id));
	CHECK(!s || !s->scratch.mem || s->end.stuck);
	peer_of_id(id)->gone = true;
	return 0;
}

/* Return: offset of a tag's slot, bytes */
static uint64_t slot_at(const struct staged *st, unsigned int queue, unsigned int tag)
{
	return queue * st->queue_bytes + (uint64_t)tag * st->lanes.scope.slot_bytes;
}

/*
 * The command of this answer must have arrived, and the session must have the right to it.
 * @data: data of the answer, or NULL
 */
static void answer_comes(const struct conn *conn, uint32_t imm, const struct ibv_sge *data)
{
	const struct session *s = conn->owner;
	unsigned int nr = RDMABLK_IMM_TAG(imm), status = RDMABLK_IMM_STATUS(imm);
	struct peer *d = peer_of_id(conn->id);
	struct tag *tag = &d->tag[nr];

	CHECK(nr < TAGS && tag->waits);
	if (tag->waits-- > 1)
		return;
	CHECK(RDMABLK_IMM_GENERATION(imm) == tag->generation);
	CHECK(!data == !(status == RDMABLK_OK && tag->op == RDMABLK_OP_READ &&
			 tag->flags & RDMABLK_IO_TRAILER));
	if (status)
		return;
	if (tag->op >= RDMABLK_OP_DISCARD && tag->op != RDMABLK_OP_READ)
		CHECK(may_write(d->owner));
	if (s->staged && (tag->op >= RDMABLK_OP_DISCARD ||
			  (tag->op == RDMABLK_OP_FLUSH && may_write(d->owner))))
		CHECK(tag->begun);
	if (!data)
		return;
	CHECK(data->addr == s->staged->slot_iova +
			    slot_at(s->staged, (conn->queue - 1U) / 2, nr));
	CHECK(data->lkey == s->staged->slot_mr->lkey && data->length == tag->bytes);
}

static void peer_answered(const struct conn *conn, const struct ibv_send_wr *wr)
{
	const struct session *s = conn->owner;
	const struct ibv_sge *sge = wr->sg_list;
	const struct rdmablk_answers *all;

	CHECK(s->state >= SESSION_LIVE && s->state <= SESSION_STOPPING);
	CHECK(wr->num_sge <= 1);
	if (wr->opcode == IBV_WR_SEND_WITH_IMM) {
		answer_comes(conn, be32toh(wr->imm_data), wr->num_sge ? sge : NULL);
		return;
	}
	CHECK(wr->opcode == IBV_WR_SEND && wr->num_sge);
	CHECK(s->hello.features & RDMABLK_F_LISTS && s->staged);
	CHECK(sge->length <= sizeof(*all) && !(sge->length % sizeof(all->imm[0])));
	all = (const void *)(uintptr_t)sge->addr;
	for (unsigned int i = 0; i < sge->length / sizeof(all->imm[0]); i++)
		answer_comes(conn, le32toh(all->imm[i]), NULL);
}

/*
 * The command of this I/O must have arrived, and the I/O must use only the memory of its
 * tag. When the loop ends a session, the thread may take more commands until the loop has
 * told it.
 */
static void io_begins(const struct staged_io *io)
{
	const struct session *s = session_next(NULL);
	unsigned int number, queue, nr;
	const struct lanes *l;
	const char *receives;
	struct peer *d;
	struct tag *tag;

	while (s && !(s->staged && io->cancel == &s->staged->lanes.cancel))
		s = session_next(s);
	CHECK(s && s->state >= SESSION_LIVE && s->state <= SESSION_STOPPING);
	l = &s->staged->lanes;
	number = (unsigned int)(((const char *)io - (const char *)l->tags) / (long)l->tag_bytes);
	queue = number / l->scope.cmd_depth;
	nr = number % l->scope.cmd_depth;
	CHECK(2 * queue + 1 < s->nr_data && s->data[2 * queue + 1] && nr < TAGS);
	CHECK(!l->queue[queue].lane->stopping);
	d = peer_of_id(s->data[2 * queue + 1]->id);
	tag = &d->tag[nr];
	CHECK(io->op == RDMABLK_OP_READ || may_write(d->owner));
	CHECK(io->op == RDMABLK_OP_FLUSH || io->bytes);
	CHECK(io->offset <= s->export->store.size &&
	      io->bytes <= s->export->store.size - io->offset);
	CHECK(tag->waits);
	if (tag->waits > 1)
		return;
	tag->begun = true;
	CHECK(io->op == tag->op && io->offset == tag->offset && io->bytes == tag->bytes);
	if (io->op < RDMABLK_OP_READ)
		return;
	CHECK(io->fua == (io->op == RDMABLK_OP_WRITE && tag->flags & RDMABLK_IO_FUA));
	if (io->op == RDMABLK_OP_READ || !(tag->flags & RDMABLK_IO_TRAILER)) {
		CHECK(io->bytes <= l->scope.slot_bytes);
		CHECK(io->buf == s->staged->slots + slot_at(s->staged, queue, nr));
		return;
	}
	receives = l->queues.receives + (size_t)queue * l->scope.cmd_depth * l->queues.stride;
	CHECK(io->buf >= receives && io->bytes <= RDMABLK_MAX_TRAILER);
	CHECK((size_t)(io->buf - receives) < (size_t)l->scope.cmd_depth * l->queues.stride);
	CHECK(io->buf[-(long)sizeof(struct rdmablk_command) +
		      (long)offsetof(struct rdmablk_hdr, tag)] == (char)nr);
}

static void queue_ready(const struct conn *conn, unsigned int access)
{
	const struct session *s = conn->owner;

	CHECK(!(access & IBV_ACCESS_REMOTE_ATOMIC));
	if (!conn->queue) {
		CHECK(!access || (peer_of_id(s->conn->id)->wanted && s->scratch.mr));
		return;
	}
	if (access & IBV_ACCESS_REMOTE_WRITE)
		CHECK(may_write(peer_of_id(s->conn->id)));
}

static void memory_ready(const struct session *s, int access)
{
	const struct peer *p = peer_of_id(s->conn->id);

	if (p->visits) {
		CHECK(p->wanted && !(access & IBV_ACCESS_REMOTE_ATOMIC));
		return;
	}
	CHECK(p->right && p->rights & ALLOW_READ);
	if (access & IBV_ACCESS_REMOTE_WRITE)
		CHECK(may_write(p));
}

static bool is_zero(const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len--)
		if (*at++)
			return false;
	return true;
}

/* Conditions that hold between any two steps */
static void check_session(const struct session *s)
{
	const struct peer *p = peer_of_id(s->conn->id);

	CHECK(s->version == (no_keys ? RDMABLK_VERSION_OPEN : RDMABLK_VERSION_PROVEN));
	CHECK(!s->ctrl.sealed || p->right || s->state == SESSION_DYING);
	CHECK(!s->end.clean || p->clean);
	if (is_ending(s)) {
		CHECK(is_zero(&s->keying, sizeof(s->keying)));
		CHECK(is_zero(&s->rekeying, sizeof(s->rekeying)));
		CHECK(!s->key_ends.armed);
		return;
	}
	CHECK(s->state != SESSION_VISIT || p->visits);
	CHECK(!p->visits || (!s->leased && !s->nr_data));
	if (s->state >= SESSION_REGISTER) {
		CHECK(!p->visits);
		CHECK(p->right && p->rights & ALLOW_READ && s->ctrl.sealed == !no_keys);
		CHECK(!s->lease.writer || may_write(p));
		CHECK(!s->keying.pair.pkey);
	}
	CHECK(s->joined == p->joins);
	CHECK(s->state != SESSION_LIVE || s->joined == s->nr_data);
}

static void check_all(void)
{
	const struct session *s = NULL;

	while ((s = session_next(s)))
		check_session(s);
}

#endif
