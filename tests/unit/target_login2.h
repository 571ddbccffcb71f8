/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Initiators that log in with version 2. They use the daemon's key schedule and frames, but
 * have the other end of each.
 */
#ifndef TARGET_LOGIN2_H
#define TARGET_LOGIN2_H

#include <arpa/inet.h>
#include <dlfcn.h>
#include <openssl/evp.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../target/base/key_file.h"
#include "../../target/base/log.h"
#include "../../target/rdma/cm.h"
#include "../../target/session/listener.h"
#include "../../target/session/login.h"
#include "../../target/wire/mac.h"
#include "target_admin.h"

#ifndef PEERS
#define PEERS		4096
#endif
#define HOME		100	/* address of the hosts with an address */
#define QPN		0x100U	/* of the first queue pair of an initiator */

static const struct rdmablk_keysched *schedule = &crypto_keysched;

/* An initiator's connection, or an id of the daemon's own. */
struct peer {
	struct rdma_cm_id id;
	struct rdmablk_cm_request req;
	uint32_t qpn;
	struct rdmablk_cm_accept2 accept;
	size_t accept_len;
	struct rdmablk_cm_reject reject;
	bool own;		/* an id of the daemon */
	bool accepted;
	unsigned int refused;	/* reason of a rejection */
	atomic_bool gone;
	uint32_t address;
	const struct key_file *key;
	struct rdmablk_hello2 hello;
	struct rdmablk_challenge2 challenge;
	struct rdmablk_grant grant;
	struct rdmablk_regions regions;
	struct rdmablk_limits limits;
	struct rdmablk_answer answer;
	struct rdmablk_event_msg event;
	struct rdmablk_reauth_challenge reauth;
	struct rdmablk_visit visit;
	struct rdmablk_list list;
	struct rdmablk_scratch scratch;
	struct rdmablk_close close;
	struct crypto_pair pair;
	uint8_t th[RDMABLK_KEYSCHED_LEN];
	struct rdmablk_keysched_keys keys;
	bool seals;		/* the daemon takes and sends sealed messages */
	bool bare;		/* the last message was not sealed */
	struct rdmablk_sealed tx, rx;
	unsigned int messages;	/* of the daemon */
	bool live;
	bool done;		/* REAUTH_DONE */
};

static inline struct rdmablk_hdr head(uint16_t type, size_t len)
{
	return (struct rdmablk_hdr){ .type = htole16(type),
				     .length = htole16((uint16_t)len) };
}

static inline void take(void *to, size_t size, const void *msg, size_t len)
{
	assert_true(len <= size);
	memcpy(to, msg, len);
}

/* Gets what the daemon sends, unchanged, unless NULL. */
static void (*relay)(const void *msg, size_t len);

static inline void sent(struct peer *p, const void *msg, size_t len)
{
	uint8_t plain[RDMABLK_SEALED_MAX];
	struct rdmablk_hdr hdr;

	p->messages++;
	if (relay) {
		relay(msg, len);
		return;
	}
	memcpy(&hdr, msg, sizeof(hdr));
	p->bare = le16toh(hdr.type) != RDMABLK_MSG_SEALED;
	if (!p->bare) {
		int ret = rdmablk_sealed_open(&p->rx, msg, len, plain, sizeof(plain));

		assert_true(p->seals && ret > 0);
		msg = plain;
		len = (size_t)ret;
		memcpy(&hdr, msg, sizeof(hdr));
	}
	assert_int_equal(le16toh(hdr.length), len);
	switch (le16toh(hdr.type)) {
	case RDMABLK_MSG_CHALLENGE:
		assert_true(len == sizeof(p->challenge) || len == sizeof(p->challenge.challenge));
		take(&p->challenge, sizeof(p->challenge), msg, len);
		break;
	case RDMABLK_MSG_GRANT:
		assert_int_equal(len, 192);
		take(&p->grant, sizeof(p->grant), msg, len);
		break;
	case RDMABLK_MSG_REGIONS:
		assert_int_equal(len, 280);
		take(&p->regions, sizeof(p->regions), msg, len);
		break;
	case RDMABLK_MSG_LIMITS:
		assert_int_equal(len, 88);
		take(&p->limits, sizeof(p->limits), msg, len);
		break;
	case RDMABLK_MSG_ANSWER:
		take(&p->answer, sizeof(p->answer), msg, len);
		break;
	case RDMABLK_MSG_EVENT:
		take(&p->event, sizeof(p->event), msg, len);
		break;
	case RDMABLK_MSG_LIVE:
		p->live = true;
		break;
	case RDMABLK_MSG_REAUTH_CHALLENGE:
		take(&p->reauth, sizeof(p->reauth), msg, len);
		break;
	case RDMABLK_MSG_REAUTH_DONE:
		p->done = true;
		break;
	case RDMABLK_MSG_VISIT:
		take(&p->visit, sizeof(p->visit), msg, len);
		break;
	case RDMABLK_MSG_LIST:
		take(&p->list, sizeof(p->list), msg, len);
		break;
	case RDMABLK_MSG_SCRATCH:
		take(&p->scratch, sizeof(p->scratch), msg, len);
		break;
	case RDMABLK_MSG_CLOSE:
		take(&p->close, sizeof(p->close), msg, len);
		break;
	default:
		fail();
	}
}

#include "target_peers.h"

/* Number of ECDH computations begun by the daemon and the test */
static unsigned int agreements;

int EVP_PKEY_derive_init(EVP_PKEY_CTX *ctx)
{
	int (*init)(EVP_PKEY_CTX *ctx);

	agreements++;
	*(void **)&init = dlsym(RTLD_NEXT, "EVP_PKEY_derive_init");
	return init(ctx);
}

/*
 * Hosts: home may come only from its address, named has an id, reader may only read, thief may
 * steal
 */

enum { HOME_KEY, HOME_NEW, NAMED_KEY, READER_KEY, THIEF_KEY, STRANGER_KEY, KEYS };

static struct key_file *keys[KEYS];
static bool later;

static inline time_t late(time_t *now)
{
	(void)now;
	return time(NULL) + (later ? 100000000 : 0);
}

static const char *key_new(unsigned int n)
{
	static const char *const names[] = { "home", "home-new", "named", "reader", "thief",
					     "stranger" };
	const char *path = files_path(names[n]);

	keys[n] = key_file_alloc();
	assert_non_null(keys[n]);
	assert_int_equal(key_file_generate(keys[n], names[n]), 0);
	assert_true(key_file_format(keys[n]));
	files_text(path, keys[n]->text);
	assert_int_equal(chmod(path, 0600), 0);
	return path;
}

static inline void expired(void)
{
}

static inline void hosts_begin(void)
{
	char spec[512];

	snprintf(spec, sizeof(spec), "home,key=%s,key=%s,address=0.0.0.%u,expires=2027-06-30",
		 key_new(HOME_KEY), key_new(HOME_NEW), HOME);
	config_host_spec(&cfg, spec);
	snprintf(spec, sizeof(spec),
		 "named,key=%s,host-id=07000000-0000-0000-0000-000000000000",
		 key_new(NAMED_KEY));
	config_host_spec(&cfg, spec);
	snprintf(spec, sizeof(spec), "reader,key=%s", key_new(READER_KEY));
	config_host_spec(&cfg, spec);
	snprintf(spec, sizeof(spec), "thief,key=%s", key_new(THIEF_KEY));
	config_host_spec(&cfg, spec);
	key_new(STRANGER_KEY);
	assert_int_equal(cfg.errors, 0);
	cfg.auth = AUTH_PSK;
	memset(cfg.target_id, 5, sizeof(cfg.target_id));
	export_find("first")->cfg->allow = strdup("home, named, reader:ro, thief:rw+steal");
	host_time = late;
	assert_int_equal(host_start(&cfg, expired), 0);
	quota_expect(host_expects);
}

/*
 * An initiator
 */

static inline struct peer *begin_from(uint32_t address, unsigned int key)
{
	static uint32_t qpn = QPN;
	struct peer *p = peer_new(address);

	p->address = address;
	p->key = keys[key];
	p->qpn = qpn++;
	p->req.version_min = htole16(2);
	p->req.version_max = htole16(2);
	ask(p);
	return p;
}

static inline struct peer *begin(unsigned int key)
{
	struct peer *p = begin_from(HOME, key);

	assert_int_equal(p->refused, RDMABLK_OK);
	assert_int_equal(p->accept_len, sizeof(p->accept));
	assert_int_equal(le16toh(p->accept.accept.version), 2);
	return p;
}

static inline void fill_hello(struct peer *p)
{
	struct rdmablk_hello2 *h = &p->hello;

	*h = (struct rdmablk_hello2){
		.hello = {
			.hdr = head(RDMABLK_MSG_HELLO, sizeof(*h)),
			.version_min = htole16(2), .version_max = htole16(2),
			.features_offered = htole64(RDMABLK_F_COMMANDS),
			.generation = htole32(1), .nr_queues = htole16(1),
			.queue_depth = htole16(16), .keep_alive_ms = htole32(5000),
			.auth_methods = htole32(RDMABLK_AUTH_PSK),
			.host_name = "host", .export_name = "first",
		},
		.group = htole16(RDMABLK_GROUP_P256),
		.suite = htole16(RDMABLK_SUITE_AES256_GCM),
	};
	h->hello.host_id[0] = 7;
	memcpy(h->hello.instance_id, &p->qpn, sizeof(p->qpn));
	memcpy(h->hello.boot_nonce, &p->qpn, sizeof(p->qpn));
	memcpy(h->key_id, p->key->id, sizeof(h->key_id));
	crypto_forget(&p->pair);
	assert_int_equal(crypto_generate(&p->pair, h->point), 0);
}

static inline void send_hello(struct peer *p)
{
	say(p, &p->hello, sizeof(p->hello));
}

static inline void say_hello(struct peer *p)
{
	fill_hello(p);
	send_hello(p);
	assert_int_equal(le16toh(p->challenge.challenge.hdr.type), RDMABLK_MSG_CHALLENGE);
}

/* Derives the keys of an epoch and the MAC of PROOF, as an initiator with this key does. */
static inline void derive(struct peer *p, const uint8_t *point, struct rdmablk_proof *proof)
{
	uint8_t prk0[RDMABLK_KEYSCHED_LEN], prk1[RDMABLK_KEYSCHED_LEN], z[RDMABLK_KEYSCHED_LEN];

	assert_int_equal(rdmablk_keysched_prk0(schedule, p->key->secret, prk0), 0);
	assert_int_equal(rdmablk_keysched_proof(schedule, prk0, p->th, proof->mac), 0);
	assert_int_equal(crypto_agree(&p->pair, point, z), 0);
	assert_int_equal(rdmablk_keysched_prk1(schedule, prk0, p->th, z, prk1), 0);
	assert_int_equal(rdmablk_keysched_th2(schedule, p->th, proof->mac, p->th), 0);
	assert_int_equal(rdmablk_keysched_keys(schedule, prk1, p->th, &p->keys), 0);
	crypto_forget(&p->pair);
}

static inline struct rdmablk_proof make_proof(struct peer *p)
{
	struct rdmablk_proof proof = { .hdr = head(RDMABLK_MSG_PROOF, sizeof(proof)) };
	uint32_t qpn_t = session_of(p)->conn->pair->qp_num;

	assert_int_equal(rdmablk_keysched_th0(schedule, p->qpn, qpn_t, &p->hello,
					      sizeof(p->hello), p->th), 0);
	assert_int_equal(rdmablk_keysched_th1(schedule, p->th, &p->challenge,
					      sizeof(p->challenge), p->th), 0);
	derive(p, p->challenge.point, &proof);
	rdmablk_sealed_init(&p->tx, &crypto_sealed, crypto_cipher(p->keys.i2t, true));
	rdmablk_sealed_init(&p->rx, &crypto_sealed, crypto_cipher(p->keys.t2i, false));
	p->seals = true;
	return proof;
}

static inline void say_proof(struct peer *p)
{
	struct rdmablk_proof proof = make_proof(p);

	say(p, &proof, sizeof(proof));
}

static inline size_t seal(struct peer *p, const void *msg, size_t len, uint8_t *frame)
{
	int ret = rdmablk_sealed_seal(&p->tx, msg, len, frame, RDMABLK_CTRL_MSG_MAX);

	assert_true(ret > 0);
	return (size_t)ret;
}

static inline void say_sealed(struct peer *p, const void *msg, size_t len)
{
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];

	say(p, frame, seal(p, msg, len, frame));
}

/* A message that is only a head */
static inline void say_head(struct peer *p, uint16_t type)
{
	const struct rdmablk_hdr hdr = head(type, sizeof(hdr));

	say_sealed(p, &hdr, sizeof(hdr));
}

static inline struct peer *granted(unsigned int key)
{
	struct peer *p = begin(key);

	say_hello(p);
	say_proof(p);
	WAIT_FOR(p->grant.hdr.type || p->close.hdr.type);
	assert_int_equal(le16toh(p->close.reason), RDMABLK_OK);
	return p;
}

/* A complete request to join, without its MAC */
static inline struct peer *join_new(const struct peer *p, uint16_t queue)
{
	struct peer *data = peer_new(p->address);

	data->qpn = p->qpn + 0x1000U * (queue + 1U);
	data->req.version_min = htole16(2);
	data->req.version_max = htole16(2);
	data->req.kind = queue & 1 ? RDMABLK_KIND_READ : RDMABLK_KIND_WRITE;
	data->req.queue = htole16(queue);
	data->req.generation = p->hello.hello.generation;
	data->req.session_id = p->grant.session_id;
	return data;
}

static inline void join_sign(const struct peer *p, struct peer *data)
{
	assert_int_equal(rdmablk_keysched_join(schedule, p->keys.join, &data->req, data->qpn,
					       data->req.mac), 0);
}

static inline void join_accepted(const struct peer *p, struct peer *data)
{
	const struct conn *conn;

	ask(data);
	assert_int_equal(data->refused, RDMABLK_OK);
	conn = container_of(data->id.context, struct conn, cm);
	assert_int_equal(data->accept_len, sizeof(data->accept));
	assert_int_equal(le16toh(data->accept.accept.version), 2);
	assert_int_equal(rdmablk_keysched_check_accept(schedule, p->keys.join, &data->accept,
						       data->req.mac, conn->pair->qp_num,
						       data->accept.mac), 0);
}

static inline void join_queue(const struct peer *p, uint16_t queue)
{
	struct peer *data = join_new(p, queue);

	join_sign(p, data);
	join_accepted(p, data);
}

static inline struct peer *log_in(unsigned int key)
{
	struct peer *p = granted(key);

	join_queue(p, 1);
	join_queue(p, 2);
	say_head(p, RDMABLK_MSG_READY);
	assert_true(p->live);
	return p;
}

static inline void keep_alive(struct peer *p)
{
	static uint32_t generation;
	struct rdmablk_command cmd = { .hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)) };

	cmd.hdr.generation = htole32(++generation);
	say_sealed(p, &cmd, sizeof(cmd));
	assert_int_equal(le32toh(p->answer.hdr.generation), generation);
	assert_int_equal(le16toh(p->answer.status), RDMABLK_OK);
}

/* CLOSE has come, sealed or not. */
static inline void assert_closed(struct peer *p, unsigned int reason, bool sealed)
{
	WAIT_FOR(p->close.hdr.type);
	assert_int_equal(le16toh(p->close.reason), reason);
	assert_int_equal(le16toh(p->close.version_min), 2);
	assert_int_equal(le16toh(p->close.version_max), 2);
	assert_int_equal(p->bare, !sealed);
}

static inline void assert_refused(const struct peer *p, unsigned int reason, unsigned int version)
{
	assert_int_equal(p->refused, reason);
	assert_int_equal(le16toh(p->reject.version_min), version);
	assert_int_equal(le16toh(p->reject.version_max), version);
}

/* Each test frees what the daemon does not know. */
static inline int all_forget(void **state)
{
	freeze(false);		/* a test that failed may have left it frozen */
	for (unsigned int i = 1; i < nr_peers; i++) {
		crypto_forget(&peers[i]->pair);
		crypto_cipher_free(peers[i]->tx.key);
	}
	later = false;
	session_end_all(RDMABLK_R_SHUTDOWN);
	advance(5000);
	WAIT_FOR(!session_any());
	for (unsigned int i = 1; i < nr_peers; i++)
		crypto_cipher_free(peers[i]->rx.key);
	return all_end(state);
}

static inline int start_all(void **state)
{
	const char *missing;

	if (crypto_start(&missing) || start(state))
		return -1;
	hosts_begin();
	cfg.max_logins = 4096;
	cfg.max_logins_addr = 4096;
	return 0;
}

static inline int finish_all(void **state)
{
	host_stop();
	for (unsigned int i = 0; i < KEYS; i++)
		key_file_free(keys[i]);
	crypto_stop();
	return finish(state);
}

#endif
