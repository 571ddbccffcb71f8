// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receiver of sealed frames. The input is a script that delivers frames of the sender:
 * in any order, changed, cut, extended, with a forged header, or bytes of its own. The
 * harness has the keys. Only the next frame, unchanged, may be accepted; anything else that
 * arrives changes nothing.
 */
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "../../target/wire/crypto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES	6
#define FIRST	3	/* number of the first frame of the second epoch */
#define LONGEST	1024

/* What is left of the script; it reads as zeroes after its end */
struct script {
	const uint8_t *at;
	size_t left;
};

static uint8_t msg[FRAMES][RDMABLK_SEALED_MAX], frame[FRAMES][LONGEST];
static size_t frame_len[FRAMES];
static void *key[2], *seals[2];
static struct rdmablk_sealed rx;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static unsigned int next_byte(struct script *s)
{
	if (!s->left)
		return 0;
	s->left--;
	return *s->at++;
}

static unsigned int next_length(struct script *s)
{
	unsigned int low = next_byte(s);

	return (low | next_byte(s) << 8) % LONGEST;
}

static void setup(void)
{
	static const unsigned int len[FRAMES] = { 16, 17, 472, 16, 48, 192 };
	struct rdmablk_sealed tx;
	const char *missing;
	uint8_t secret[32];

	check(!crypto_start(&missing));
	for (int epoch = 0; epoch < 2; epoch++) {
		memset(secret, 1 + epoch, sizeof(secret));
		key[epoch] = crypto_cipher(secret, false);
		seals[epoch] = crypto_cipher(secret, true);
		check(key[epoch] && seals[epoch]);
	}
	rdmablk_sealed_init(&tx, &crypto_sealed, seals[0]);
	for (unsigned int i = 0; i < FRAMES; i++) {
		if (i == FIRST)
			check(!rdmablk_sealed_rekey(&tx, seals[1]));
		memset(msg[i], 0x11 * i, len[i]);
		frame_len[i] = rdmablk_sealed_seal(&tx, msg[i], len[i], frame[i], LONGEST);
		check(frame_len[i] == len[i] + RDMABLK_SEALED_EXTRA);
	}
}

/* A frame in its place and with the right key, but of a length that no message has */
static size_t seal_wrong_length(uint8_t *bytes, unsigned int n)
{
	unsigned int len = n < RDMABLK_SEALED_MIN ? n : RDMABLK_SEALED_MAX + 1 + n % 400;
	uint8_t nonce[RDMABLK_SEALED_NONCE_LEN] = { rx.epoch, 0, 0, 0, rx.seq };
	const struct rdmablk_sealed_job job = {
		.nonce = nonce, .aad = bytes, .aad_len = RDMABLK_SEALED_HEAD_LEN,
		.from = bytes + RDMABLK_SEALED_HEAD_LEN, .len = len,
		.to = bytes + RDMABLK_SEALED_HEAD_LEN,
	};

	memset(bytes, 0, LONGEST);
	bytes[0] = RDMABLK_SEALED_TYPE;
	bytes[2] = (len + RDMABLK_SEALED_EXTRA) & 0xff;
	bytes[3] = (len + RDMABLK_SEALED_EXTRA) >> 8;
	bytes[8] = rx.epoch;
	bytes[16] = rx.seq;
	check(!crypto_sealed.seal(seals[rx.epoch], &job));
	return len + RDMABLK_SEALED_EXTRA;
}

/* Whether these bytes are the frame that the receiver waits for */
static bool is_next(const uint8_t *bytes, size_t len)
{
	if (rx.seq >= FRAMES || (rx.seq == FIRST && !rx.next))
		return false;
	return len == frame_len[rx.seq] && !memcmp(bytes, frame[rx.seq], len);
}

/* In a buffer of exactly that size, so that the sanitizer sees accesses beyond it */
static void deliver(const uint8_t *bytes, size_t len, size_t room)
{
	struct rdmablk_sealed before = rx;
	bool next = is_next(bytes, len) && room >= len - RDMABLK_SEALED_EXTRA;
	uint8_t *copy = malloc(len ? len : 1), *text = malloc(room ? room : 1);
	int ret;

	check(copy && text);
	memcpy(copy, bytes, len);
	ret = rdmablk_sealed_open(&rx, copy, len, text, room);
	check(next == (ret > 0));
	if (next) {
		check((size_t)ret == len - RDMABLK_SEALED_EXTRA);
		check(!memcmp(text, msg[before.seq], ret));
		check(rx.seq == before.seq + 1);
		check(rx.epoch == before.seq / FIRST && rx.key == key[rx.epoch]);
	} else {
		check(!memcmp(&rx, &before, sizeof(rx)));
	}
	free(copy);
	free(text);
}

static void step(struct script *s)
{
	unsigned int what = next_byte(s) % 8, i = next_byte(s) % FRAMES, n;
	unsigned int next = rx.seq < FRAMES ? (unsigned int)rx.seq : FRAMES - 1;
	size_t room = next_byte(s) % 4 == 3 ? next_length(s) : LONGEST;
	uint8_t bytes[LONGEST];
	size_t len = frame_len[i];

	memcpy(bytes, frame[i], LONGEST);
	switch (what) {
	case 0:
		break;
	case 1:	/* bits that are changed */
		for (n = next_byte(s) % 8; n; n--) {
			unsigned int at = next_length(s);

			bytes[at % len] ^= next_byte(s);
		}
		break;
	case 2:	/* another length */
		len = next_length(s);
		break;
	case 3:	/* another length, also in its header */
		len = next_length(s);
		bytes[2] = len & 0xff;
		bytes[3] = len >> 8;
		break;
	case 4:	/* the header of the next frame, except its length */
		memcpy(bytes, frame[next], RDMABLK_SEALED_HEAD_LEN);
		memcpy(bytes + 2, frame[i] + 2, 2);
		break;
	case 5:
		if (!rx.epoch && !rx.next)
			check(!rdmablk_sealed_prepare(&rx, key[1]));
		return;
	case 6:	/* bytes of the script */
		len = next_length(s);
		for (n = 0; n < len; n++)
			bytes[n] = next_byte(s);
		break;
	case 7:
		len = seal_wrong_length(bytes, next_byte(s));
		break;
	}
	deliver(bytes, len, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, size };

	if (!key[0])
		setup();
	rdmablk_sealed_init(&rx, &crypto_sealed, key[0]);
	while (s.left)
		step(&s);
	return 0;
}
