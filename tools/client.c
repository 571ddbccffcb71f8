// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A visit to a target: a login without an export, of version 2 with a key and of version 1
 * without. Key schedule, seals and MACs are the daemon's own files. Secrets are wiped when they
 * have served. What comes from the target is checked in full before anything of it is used.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../target/base/key_file.h"
#include "../target/wire/crypto.h"
#include "../target/wire/mac.h"

#include "adapter_verbs.h"
#include "client.h"
#include "client_conn.h"
#include "times.h"

#define KEEP_ALIVE_MS	5000	/* asked for; a visit has none */

/**
 * struct client - a visit
 * @conn: control queue
 * @login: as asked for; its pointers are valid until the visit has begun
 * @version: version of the protocol
 * @hello: HELLO as sent; with version 1 only its first part is sent
 * @challenge: CHALLENGE as received; with version 1 only its first part has come
 * @pair: ephemeral key, until PROOF
 * @keys: keys of the seal
 * @sealed: every message is sealed from now on
 * @tx: seal of messages that are sent
 * @rx: seal of messages that are received
 * @msg: the last message received
 * @len: bytes of @msg
 * @welcome: the visit has begun
 * @name: name of the target
 * @pings: number of keep-alives sent
 * @unanswered: the last keep-alive of client_keep_alive() has no answer yet
 * @limit: end of all waits except those of the end, on the clock of times_now(); 0: none
 * @closed: reason of the target's CLOSE
 */
struct client {
	struct client_conn conn;
	struct client_login login;
	unsigned int version;
	struct rdmablk_hello2 hello;
	struct rdmablk_challenge2 challenge;
	struct crypto_pair pair;
	struct rdmablk_keysched_keys keys;
	bool sealed;
	struct rdmablk_sealed tx;
	struct rdmablk_sealed rx;
	__u8 msg[RDMABLK_CTRL_MSG_MAX];
	size_t len;
	bool welcome;
	char name[RDMABLK_NAME_LEN];
	unsigned int pings;
	bool unanswered;
	__u64 limit;
	unsigned int closed;
};

/* The patience of the user, within the limit of client_limit() */
static void be_patient(struct client *c)
{
	__u64 now = times_now(), ms = c->login.tmo_ms, left;

	if (c->limit) {
		left = c->limit > now ? (c->limit - now) / 1000000 : 0;
		ms = left < ms ? left : ms;
	}
	client_conn_deadline(&c->conn, ms);
}

static int no_crypto(struct nl_failure *failure)
{
	return nl_fail(failure, EIO, "libcrypto fails");
}

/*
 * Refusals
 */

/**
 * client_errno() - the errno of a target's refusal
 * @reason: enum rdmablk_reason
 *
 * As rdmablk_wire_errno() of the module has it for disks, with two exceptions. A visit names no
 * export, so RDMABLK_R_NO_EXPORT refuses the host. RDMABLK_R_UNSUPPORTED answers a request that
 * a target of an older version does not know; a disk that gets it lacks a feature.
 *
 * Returns -errno.
 */
int client_errno(unsigned int reason)
{
	switch (reason) {
	case RDMABLK_R_NO_EXPORT:
	case RDMABLK_R_AUTH_REQUIRED:
	case RDMABLK_R_AUTH_FAILED:
		return -EACCES;
	case RDMABLK_R_AUTH_KEY:
		return -EKEYREJECTED;
	case RDMABLK_R_LIMIT_LOGINS:
	case RDMABLK_R_LIMIT_SESSIONS:
	case RDMABLK_R_LIMIT_QUEUES:
	case RDMABLK_R_LIMIT_MEMORY:
	case RDMABLK_R_DEVICE_FULL:
		return -ENOSPC;
	case RDMABLK_R_VERSION:
	case RDMABLK_R_UNSUPPORTED:
		return -EPROTONOSUPPORT;
	case RDMABLK_R_MAGIC:
	case RDMABLK_R_MALFORMED:
	case RDMABLK_R_STATE:
	case RDMABLK_R_FEATURE:
		return -EPROTO;
	case RDMABLK_R_SHUTDOWN:
		return -ECONNREFUSED;
	case RDMABLK_R_DEVICE_GONE:
		return -ENODEV;
	case RDMABLK_R_LOGIN_TIMEOUT:
		return -ETIMEDOUT;
	case RDMABLK_R_KICKED:
	case RDMABLK_R_EXPIRED:
	case RDMABLK_R_ACCESS:
	case RDMABLK_R_CONNECTION:
		return -ECONNRESET;
	case RDMABLK_R_NO_MEMORY:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/* @version_max: the highest that the target speaks */
static int refused(const struct client *c, unsigned int reason, unsigned int version_max,
		   struct nl_failure *failure)
{
	bool greets = !c->sealed && !c->challenge.challenge.session_id;
	const char *text = rdmablk_reason_text(reason);

	if (reason == RDMABLK_R_AUTH_REQUIRED && c->version == RDMABLK_VERSION_OPEN)
		text = "the target demands a key: --key NAME";
	else if (reason == RDMABLK_R_VERSION && c->version == RDMABLK_VERSION_PROVEN &&
		 version_max == RDMABLK_VERSION_OPEN)
		text = "the target takes no keys: set auth = psk there, or leave --key out";
	else if (reason == RDMABLK_R_NO_EXPORT)
		text = "the target takes no connections from this address";
	else if (reason == RDMABLK_R_MALFORMED && c->conn.up && greets)
		text = "the target is too old to be asked without an export";
	return nl_fail(failure, -client_errno(reason), "%s", text);
}

/*
 * Messages
 */

static struct rdmablk_hdr head(unsigned int type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16(type), .length = htole16(len) };
}

static int send_msg(struct client *c, const void *msg, size_t len, struct nl_failure *failure)
{
	__u8 frame[RDMABLK_CTRL_MSG_MAX];
	int bytes;

	if (!c->sealed)
		return client_conn_send(&c->conn, msg, len, failure);
	bytes = rdmablk_sealed_seal(&c->tx, msg, len, frame, sizeof(frame));
	if (bytes < 0)
		return no_crypto(failure);
	return client_conn_send(&c->conn, frame, bytes, failure);
}

static unsigned int type_of(const struct client *c)
{
	struct rdmablk_hdr hdr;

	memcpy(&hdr, c->msg, sizeof(hdr));
	return le16toh(hdr.type);
}

/*
 * Opens a frame in its place. A target that does not know the key cannot seal: its CLOSE comes as
 * the first message, without a seal. Anybody could have sent that, so what the tool says about it
 * is only a hint.
 */
static int unseal(struct client *c, struct nl_failure *failure)
{
	__u8 plain[RDMABLK_CTRL_MSG_MAX];
	int len;

	if (!c->sealed || (!c->rx.seq && type_of(c) == RDMABLK_MSG_CLOSE))
		return 0;
	len = rdmablk_sealed_open(&c->rx, c->msg, c->len, plain, sizeof(plain));
	if (len < 0)
		return nl_fail(failure, EPROTO, "a message is not sealed as it should be");
	memcpy(c->msg, plain, len);
	c->len = len;
	return 0;
}

static int check_head(const struct client *c, struct nl_failure *failure)
{
	struct rdmablk_hdr hdr;

	memcpy(&hdr, c->msg, sizeof(hdr));
	if (c->len < sizeof(hdr) || le16toh(hdr.length) != c->len || hdr.reserved ||
	    hdr.reserved2)
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	return 0;
}

/* Opens a message, and takes CLOSE for the failure that it is. A visit has no events. */
static int take_in(struct client *c, size_t bytes, struct nl_failure *failure)
{
	struct rdmablk_close close;

	c->len = bytes;
	if (c->len < sizeof(struct rdmablk_hdr))
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	if (unseal(c, failure) || check_head(c, failure))
		return -1;
	if (type_of(c) == RDMABLK_MSG_CLOSE && c->len == sizeof(close)) {
		memcpy(&close, c->msg, sizeof(close));
		c->closed = le16toh(close.reason);
		return refused(c, le16toh(close.reason), le16toh(close.version_max), failure);
	}
	return 0;
}

/* Receives a message of this type and length. */
static int receive(struct client *c, unsigned int type, size_t len, struct nl_failure *failure)
{
	int bytes = client_conn_receive(&c->conn, c->msg, failure);

	if (bytes < 0 || take_in(c, bytes, failure))
		return -1;
	if (type_of(c) != type || c->len != len)
		return nl_fail(failure, EPROTO, "message %u of %zu bytes has come, not %u of %zu",
			       type_of(c), c->len, type, len);
	return 0;
}

/* Whether a received name is valid: printable, with a NUL. */
static bool name_ok(const char *name)
{
	size_t i, len = strnlen(name, RDMABLK_NAME_LEN);

	for (i = 0; i < len; i++)
		if (name[i] < 0x20 || name[i] > 0x7e)
			return false;
	return len < RDMABLK_NAME_LEN;
}

/*
 * The login
 */

static int say_hello(struct client *c, struct nl_failure *failure)
{
	bool proven = c->version == RDMABLK_VERSION_PROVEN;
	size_t len = proven ? sizeof(c->hello) : sizeof(c->hello.hello);
	struct rdmablk_hello *hello = &c->hello.hello;

	*hello = (struct rdmablk_hello){
		.hdr = head(RDMABLK_MSG_HELLO, len),
		.version_min = htole16(c->version),
		.version_max = htole16(c->version),
		.flags = htole32(RDMABLK_HELLO_VISIT),
		.generation = htole32(1),
		.nr_queues = htole16(1),
		.queue_depth = htole16(1),
		.keep_alive_ms = htole32(KEEP_ALIVE_MS),
		.auth_methods = htole32(proven ? RDMABLK_AUTH_PSK : RDMABLK_AUTH_NONE),
	};
	memcpy(hello->host_id, c->login.host_id, sizeof(hello->host_id));
	gethostname(hello->host_name, sizeof(hello->host_name) - 1);
	if (!name_ok(hello->host_name))
		memset(hello->host_name, 0, sizeof(hello->host_name));
	if (mac_random(hello->boot_nonce, sizeof(hello->boot_nonce)) ||
	    mac_random(hello->instance_id, sizeof(hello->instance_id)) ||
	    mac_random(hello->nonce, sizeof(hello->nonce)))
		return no_crypto(failure);
	if (proven) {
		c->hello.group = htole16(RDMABLK_GROUP_P256);
		c->hello.suite = htole16(RDMABLK_SUITE_AES256_GCM);
		memcpy(c->hello.key_id, c->login.key->id, sizeof(c->hello.key_id));
		if (crypto_generate(&c->pair, c->hello.point))
			return no_crypto(failure);
	}
	return send_msg(c, &c->hello, len, failure);
}

static int take_challenge(struct client *c, struct nl_failure *failure)
{
	bool proven = c->version == RDMABLK_VERSION_PROVEN;
	size_t len = proven ? sizeof(c->challenge) : sizeof(c->challenge.challenge);
	struct rdmablk_challenge2 in = { 0 };

	if (receive(c, RDMABLK_MSG_CHALLENGE, len, failure))
		return -1;
	memcpy(&in, c->msg, len);
	if (le16toh(in.challenge.version) != c->version || in.challenge.reserved ||
	    in.challenge.auth_method != c->hello.hello.auth_methods ||
	    in.challenge.features || !in.challenge.session_id ||
	    (proven && (in.group != c->hello.group || in.suite != c->hello.suite ||
			in.reserved)))
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	c->challenge = in;
	return 0;
}

/* The MAC of PROOF of version 1, whose key everybody knows */
static int prove(struct client *c, struct rdmablk_proof *proof)
{
	static const __u8 no_key[RDMABLK_MAC_LEN];

	return mac_proof(no_key, &c->hello.hello, &c->challenge.challenge, proof->mac);
}

/* The same of version 2, and the keys of the seal */
static int prove2(struct client *c, struct rdmablk_proof *proof)
{
	__u8 prk0[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN];
	__u8 th[RDMABLK_KEYSCHED_LEN], z[RDMABLK_KEYSCHED_LEN];
	const struct rdmablk_keysched *k = &crypto_keysched;
	int ret;

	ret = rdmablk_keysched_prk0(k, c->login.key->secret, prk0);
	ret = ret ?: rdmablk_keysched_th0(k, c->conn.id->qp->qp_num, c->conn.qpn, &c->hello,
					  sizeof(c->hello), th);
	ret = ret ?: rdmablk_keysched_th1(k, th, &c->challenge, sizeof(c->challenge), th);
	ret = ret ?: rdmablk_keysched_proof(k, prk0, th, proof->mac);
	ret = ret ?: crypto_agree(&c->pair, c->challenge.point, z);
	ret = ret ?: rdmablk_keysched_prk1(k, prk0, th, z, prk1);
	ret = ret ?: rdmablk_keysched_th2(k, th, proof->mac, th);
	ret = ret ?: rdmablk_keysched_keys(k, prk1, th, &c->keys);
	crypto_forget(&c->pair);
	mac_wipe(prk0, sizeof(prk0));
	mac_wipe(prk1, sizeof(prk1));
	mac_wipe(z, sizeof(z));
	return ret;
}

static int seal_from_now_on(struct client *c)
{
	rdmablk_sealed_init(&c->tx, &crypto_sealed, crypto_cipher(c->keys.i2t, true));
	rdmablk_sealed_init(&c->rx, &crypto_sealed, crypto_cipher(c->keys.t2i, false));
	mac_wipe(&c->keys, sizeof(c->keys));
	c->sealed = true;
	return c->tx.key && c->rx.key ? 0 : -1;
}

static int say_proof(struct client *c, struct nl_failure *failure)
{
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };
	bool proven = c->version == RDMABLK_VERSION_PROVEN;

	if (proven ? prove2(c, &proof) : prove(c, &proof))
		return no_crypto(failure);
	if (send_msg(c, &proof, sizeof(proof), failure))
		return -1;
	if (proven && seal_from_now_on(c))
		return no_crypto(failure);
	return 0;
}

static int take_visit(struct client *c, struct nl_failure *failure)
{
	struct rdmablk_visit visit;

	if (receive(c, RDMABLK_MSG_VISIT, sizeof(visit), failure))
		return -1;
	memcpy(&visit, c->msg, sizeof(visit));
	if (visit.session_id != c->challenge.challenge.session_id || visit.reserved ||
	    !name_ok(visit.target_name))
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	memcpy(c->name, visit.target_name, sizeof(c->name));
	c->welcome = true;
	return 0;
}

static int connect_to(struct client *c, struct nl_failure *failure)
{
	const struct rdmablk_cm_request request = {
		.magic = htole32(RDMABLK_MAGIC),
		.version_min = htole16(c->version),
		.version_max = htole16(c->version),
		.kind = RDMABLK_KIND_CONTROL,
	};

	if (!client_conn_open(&c->conn, c->login.target, &request, failure))
		return 0;
	if (c->conn.reason)
		refused(c, c->conn.reason, c->conn.version_max, failure);
	return -1;
}

/**
 * client_open() - logs in without an export
 * @login: where, and who
 * @failure: why it was not possible
 *
 * Returns the visit, for client_close(), or NULL.
 */
struct client *client_open(const struct client_login *login, struct nl_failure *failure)
{
	struct client *c = calloc(1, sizeof(*c));
	const char *missing = "";

	if (!c || (login->key && crypto_start(&missing))) {
		nl_fail(failure, c ? EIO : ENOMEM, "%s%s", c ? "libcrypto lacks " : "no memory",
			missing);
		free(c);
		return NULL;
	}
	c->login = *login;
	c->version = login->key ? RDMABLK_VERSION_PROVEN : RDMABLK_VERSION_OPEN;
	c->conn.requests = login->requests;
	c->conn.stop = login->stop;
	client_conn_deadline(&c->conn, login->tmo_ms);
	if (!connect_to(c, failure) && !say_hello(c, failure) && !take_challenge(c, failure) &&
	    !say_proof(c, failure) && !take_visit(c, failure))
		return c;
	client_close(c);
	return NULL;
}

static void log_out(struct client *c)
{
	const size_t len = sizeof(struct rdmablk_answer);
	struct rdmablk_command command = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(command)),
		.op = htole16(RDMABLK_OP_LOGOUT),
	};
	struct nl_failure ignored;

	command.hdr.tag = htole16(RDMABLK_TAG_LOGOUT);
	command.hdr.generation = htole32(1);
	client_conn_deadline(&c->conn, c->login.tmo_ms);
	if (!send_msg(c, &command, sizeof(command), &ignored) &&
	    (!c->unanswered || !receive(c, RDMABLK_MSG_ANSWER, len, &ignored)))
		receive(c, RDMABLK_MSG_ANSWER, len, &ignored);
}

/**
 * client_leave() - ends a visit and all that is under way; memory for it is not used any more
 * @client: as returned by client_open(); client_close() is due
 *
 * A target that has ended the visit itself answers no LOGOUT.
 */
void client_leave(struct client *client)
{
	if (client->welcome && !client->conn.gone && !client->closed)
		log_out(client);
	client->welcome = false;
	client_conn_hang_up(&client->conn);
}

/**
 * client_close() - ends a visit, unless client_leave() has
 * @client: as returned by client_open()
 */
void client_close(struct client *client)
{
	client_leave(client);
	client_conn_close(&client->conn);
	crypto_forget(&client->pair);
	crypto_cipher_free(client->tx.key);
	crypto_cipher_free(client->rx.key);
	mac_wipe(client, sizeof(*client));
	free(client);
	crypto_stop();
}

/**
 * client_target_name() - what the target calls itself
 * @client: visit
 */
const char *client_target_name(const struct client *client)
{
	return client->name;
}

/**
 * client_mtu() - what a packet of the path to the target carries
 * @client: visit
 *
 * Returns bytes; 0: not known.
 */
unsigned int client_mtu(const struct client *client)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(client->conn.id->qp, &attr, IBV_QP_PATH_MTU, &init))
		return 0;
	return adapter_verbs_bytes(attr.path_mtu);
}

/**
 * client_limit() - bounds all waits of a visit, except those of its end
 * @client: visit
 * @ms: from now on
 */
void client_limit(struct client *client, unsigned int ms)
{
	client->limit = times_now() + ms * 1000000ULL;
}

static int say_keep_alive(struct client *c, struct nl_failure *failure)
{
	struct rdmablk_command command = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(command)),
		.op = htole16(RDMABLK_OP_KEEPALIVE),
	};

	command.hdr.tag = htole16(RDMABLK_TAG_KEEPALIVE);
	command.hdr.generation = htole32(++c->pings);
	return send_msg(c, &command, sizeof(command), failure);
}

/* Checks that the message received answers the last keep-alive. */
static int check_answer(const struct client *c, struct nl_failure *failure)
{
	struct rdmablk_answer answer;

	if (type_of(c) != RDMABLK_MSG_ANSWER || c->len != sizeof(answer))
		return nl_fail(failure, EPROTO,
			       "message %u has come, which nobody has asked for", type_of(c));
	memcpy(&answer, c->msg, sizeof(answer));
	if (le16toh(answer.hdr.tag) != RDMABLK_TAG_KEEPALIVE ||
	    le32toh(answer.hdr.generation) != c->pings || answer.status)
		return nl_fail(failure, EPROTO, "the answer is to another message");
	return 0;
}

/**
 * client_ping() - has the daemon answer a message
 * @client: visit without a keep-alive under way
 * @ns: set: time from the message to the answer, nanoseconds
 * @failure: why none came
 *
 * Returns 0 or -1.
 */
int client_ping(struct client *client, __u64 *ns, struct nl_failure *failure)
{
	__u64 before;

	be_patient(client);
	before = times_now();
	if (say_keep_alive(client, failure) ||
	    receive(client, RDMABLK_MSG_ANSWER, sizeof(struct rdmablk_answer), failure))
		return -1;
	*ns = times_now() - before;
	return check_answer(client, failure);
}

/**
 * client_keep_alive() - says something, so that the daemon does not end the visit
 * @client: visit, with READs or WRITEs under way: client_done() takes the answer
 * @failure: why it was not possible
 *
 * Sends nothing while the last keep-alive has no answer yet.
 *
 * Returns 0 or -1.
 */
int client_keep_alive(struct client *client, struct nl_failure *failure)
{
	if (client->unanswered)
		return 0;
	client->unanswered = true;
	return say_keep_alive(client, failure);
}

static bool scratch_ok(const struct rdmablk_scratch *msg, __u32 bytes)
{
	__u32 lent = le32toh(msg->bytes);

	if (msg->reserved || msg->reserved2 || lent > bytes)
		return false;
	return lent ? !msg->reason : msg->reason && !msg->iova && !msg->rkey;
}

/**
 * client_lend() - asks for memory of the target to READ and WRITE
 * @client: visit that was opened with requests; it may ask once
 * @bytes: wanted, 1 to RDMABLK_MAX_SCRATCH
 * @lent: result, checked; perhaps nothing, which is no failure
 * @failure: why the target could not be asked
 *
 * Returns 0 or -1.
 */
int client_lend(struct client *client, __u32 bytes, struct client_scratch *lent,
		struct nl_failure *failure)
{
	struct rdmablk_scratch_get get = {
		.hdr = head(RDMABLK_MSG_SCRATCH_GET, sizeof(get)),
		.bytes = htole32(bytes),
	};
	struct rdmablk_scratch msg;

	*lent = (struct client_scratch){ 0 };
	be_patient(client);
	if (send_msg(client, &get, sizeof(get), failure) ||
	    receive(client, RDMABLK_MSG_SCRATCH, sizeof(msg), failure)) {
		/* A target that does not know the message ends the visit with this reason. */
		if (client->closed != RDMABLK_R_MALFORMED)
			return -1;
		lent->reason = RDMABLK_R_UNSUPPORTED;
		lent->over = true;
		return 0;
	}
	memcpy(&msg, client->msg, sizeof(msg));
	if (!scratch_ok(&msg, bytes))
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	*lent = (struct client_scratch){
		.iova = le64toh(msg.iova),
		.rkey = le32toh(msg.rkey),
		.bytes = le32toh(msg.bytes),
		.reason = le16toh(msg.reason),
	};
	return 0;
}

/**
 * client_connection() - the connection of a visit, for READs and WRITEs of what it is lent
 * @client: visit
 */
struct client_conn *client_connection(struct client *client)
{
	return &client->conn;
}

/* A message while requests are under way: the answer to a keep-alive, or CLOSE. */
static int take_answer(struct client *c, size_t len, struct nl_failure *failure)
{
	if (take_in(c, len, failure))
		return -1;
	if (!c->unanswered)
		return nl_fail(failure, EPROTO,
			       "message %u has come, which nobody has asked for", type_of(c));
	c->unanswered = false;
	return check_answer(c, failure);
}

/**
 * client_done() - waits for a READ or WRITE, as long as for any answer
 * @client: visit with one under way
 * @id: set: id of the request that is done
 * @failure: why no request is done; perhaps the target has ended the visit
 *
 * Returns 0 or -1.
 */
int client_done(struct client *client, unsigned int *id, struct nl_failure *failure)
{
	struct client_conn_event event;

	be_patient(client);
	for (;;) {
		if (client_conn_done(&client->conn, &event, client->msg, failure))
			return -1;
		if (!event.message)
			break;
		if (take_answer(client, event.len, failure))
			return -1;
	}
	*id = event.id;
	return 0;
}

/* The daemon's own rule for names; a name is a word of "connect HOST/NAME" */
static bool export_name_ok(const char *name)
{
	return name_ok(name) && name[0] && !strpbrk(name, " /,");
}

static bool listed_ok(const struct rdmablk_listed *listed, const char *after)
{
	__u64 size = le64toh(listed->size);
	__u32 block = le32toh(listed->logical_block);

	return export_name_ok(listed->name) && strcmp(listed->name, after) > 0 &&
	       size <= RDMABLK_MAX_SIZE && (block == 512 || block == 4096);
}

/**
 * client_list() - asks for exports
 * @client: visit
 * @after: name before those wanted; "": from the first on
 * @list: result, checked: its names follow each other and @after
 * @failure: why it was not possible
 *
 * Returns 0 or -1.
 */
int client_list(struct client *client, const char *after, struct rdmablk_list *list,
		struct nl_failure *failure)
{
	struct rdmablk_list_get get = { .hdr = head(RDMABLK_MSG_LIST_GET, sizeof(get)) };
	unsigned int i;

	snprintf(get.after, sizeof(get.after), "%s", after);
	client_conn_deadline(&client->conn, client->login.tmo_ms);
	if (send_msg(client, &get, sizeof(get), failure) ||
	    receive(client, RDMABLK_MSG_LIST, sizeof(*list), failure))
		return -1;
	memcpy(list, client->msg, sizeof(*list));
	if (le32toh(list->count) > RDMABLK_LISTED_PER_MSG || le32toh(list->more) > 1 ||
	    (list->more && le32toh(list->count) != RDMABLK_LISTED_PER_MSG))
		return nl_fail(failure, EPROTO, "a message of the target is malformed");
	for (i = 0; i < le32toh(list->count); i++) {
		if (!listed_ok(&list->listed[i], after))
			return nl_fail(failure, EPROTO, "a message of the target is malformed");
		after = list->listed[i].name;
	}
	return 0;
}
