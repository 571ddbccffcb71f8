// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/sealed.c makes the reference frame, that a receiver takes the next frame
 * and nothing else, whatever is changed in it, and that a refused frame does not change the
 * receiver's state.
 */
#include <linux/kernel.h>
#include <openssl/evp.h>

#include "login2.h"
#include "uapi/rdmablk_sealed.h"
#include "unit.h"

#define FRAME	512
#define EXTRA	RDMABLK_SEALED_EXTRA

static int cipher_fails;

static int gcm_seal(void *key, const struct rdmablk_sealed_job *job)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int len;

	if (cipher_fails)
		memset(job->to, 0x5a, job->len);
	else
		assert_true(EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, job->nonce) &&
			    EVP_EncryptUpdate(ctx, NULL, &len, job->aad, (int)job->aad_len) &&
			    EVP_EncryptUpdate(ctx, job->to, &len, job->from, (int)job->len) &&
			    EVP_EncryptFinal_ex(ctx, job->to + len, &len) &&
			    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16,
						job->to + job->len));
	EVP_CIPHER_CTX_free(ctx);
	return cipher_fails;
}

static int gcm_open(void *key, const struct rdmablk_sealed_job *job)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t tag[16];
	int len, ok;

	memcpy(tag, job->from + job->len, sizeof(tag));
	assert_true(EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, job->nonce) &&
		    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) &&
		    EVP_DecryptUpdate(ctx, NULL, &len, job->aad, (int)job->aad_len) &&
		    EVP_DecryptUpdate(ctx, job->to, &len, job->from, (int)job->len));
	ok = EVP_DecryptFinal_ex(ctx, job->to + len, &len);
	EVP_CIPHER_CTX_free(ctx);
	return cipher_fails ? cipher_fails : ok ? 0 : -EBADMSG;
}

static const struct rdmablk_sealed_ops gcm = { .seal = gcm_seal, .open = gcm_open };

static uint8_t key0[32], key1[32], key2[32], message[RDMABLK_SEALED_MAX];
static struct rdmablk_sealed tx, rx;

static int setup(void **state)
{
	(void)state;
	login2_bytes(key0, LOGIN2_T2I);
	login2_bytes(key1, LOGIN2_I2T);
	login2_bytes(key2, LOGIN2_EXPORT);
	unit_random_bytes(message, sizeof(message));
	rdmablk_sealed_init(&tx, &gcm, key0);
	rdmablk_sealed_init(&rx, &gcm, key0);
	cipher_fails = 0;
	return 0;
}

static size_t seal(uint8_t *frame, size_t len)
{
	assert_int_equal(rdmablk_sealed_seal(&tx, message, len, frame, FRAME), len + EXTRA);
	return len + EXTRA;
}

/* In memory of exactly that size, so that the sanitizer sees an access beyond it */
static int open_frame(const void *frame, size_t len)
{
	size_t room = len > EXTRA ? len - EXTRA : 1;
	uint8_t *copy = malloc(len ? len : 1), *msg = malloc(room);
	int ret;

	assert_true(copy && msg);
	memcpy(copy, frame, len);
	memset(msg, 0xee, room);
	ret = rdmablk_sealed_open(&rx, copy, len, msg, room);
	if (ret > 0)
		assert_memory_equal(msg, message, ret);
	free(copy);
	free(msg);
	return ret;
}

static void refused(const void *frame, size_t len)
{
	struct rdmablk_sealed before = rx;

	assert_int_equal(open_frame(frame, len), -EBADMSG);
	assert_memory_equal(&rx, &before, sizeof(rx));
}

static void taken(const void *frame, size_t len)
{
	uint64_t seq = rx.seq;

	assert_int_equal(open_frame(frame, len), len - EXTRA);
	assert_int_equal(rx.seq, seq + 1);
}

static void reference_frame(void **state)
{
	uint8_t frame[FRAME], text[16];

	(void)state;
	login2_bytes(message, LOGIN2_MESSAGE);
	assert_int_equal(seal(frame, 16), 56);
	assert_hex(frame, LOGIN2_FRAME);
	assert_int_equal(rdmablk_sealed_open(&rx, frame, 56, text, sizeof(text)), 16);
	assert_hex(text, LOGIN2_MESSAGE);
	assert_int_equal(tx.seq, 1);
	assert_int_equal(rx.seq, 1);
}

/* Number and epoch are where the layout says, lowest byte first. */
static void head_and_nonce(void **state)
{
	static const uint8_t want[24] = {
		15, 0, 0x39, 0, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0,
		0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	};
	static const uint8_t nonce[12] = {
		0x78, 0x56, 0x34, 0x12, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	};
	uint8_t frame[FRAME], text[17 + 16];
	struct rdmablk_sealed_job job = {
		.nonce = nonce, .aad = want, .aad_len = sizeof(want), .from = frame + 24,
		.len = 17, .to = text,
	};

	(void)state;
	tx.epoch = 0x12345678;
	tx.seq = 0x0123456789abcdef;
	rx = tx;
	assert_int_equal(seal(frame, 17), 0x39);
	assert_memory_equal(frame, want, sizeof(want));
	assert_int_equal(gcm_open(key0, &job), 0);
	assert_memory_equal(text, message, 17);
	taken(frame, 0x39);
}

static void every_length(void **state)
{
	uint8_t frame[FRAME + 1];

	(void)state;
	for (size_t len = RDMABLK_SEALED_MIN; len <= RDMABLK_SEALED_MAX; len++)
		taken(frame, seal(frame, len));
	assert_int_equal(rx.seq, RDMABLK_SEALED_MAX - RDMABLK_SEALED_MIN + 1);
}

static void seals_only_messages(void **state)
{
	const struct rdmablk_sealed before = tx;
	uint8_t frame[FRAME];

	(void)state;
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 15, frame, FRAME), -EMSGSIZE);
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 473, frame, FRAME + 1), -EMSGSIZE);
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 472, frame, 511), -EMSGSIZE);
	assert_memory_equal(&tx, &before, sizeof(tx));
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 472, frame, 512), 512);
	assert_int_equal(rdmablk_sealed_open(&rx, frame, 512, message, 471), -EMSGSIZE);
	assert_int_equal(rx.seq, 0);
}

static void every_bit_flip(void **state)
{
	static const size_t lengths[] = { 16, 17, 88, 472 };
	uint8_t frame[FRAME];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t len = seal(frame, lengths[i]);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			frame[bit / 8] ^= 1 << bit % 8;
			refused(frame, len);
			frame[bit / 8] ^= 1 << bit % 8;
		}
		taken(frame, len);
	}
}

/* With the length in the head as it was, and with the new length */
static void truncated_and_extended(void **state)
{
	uint8_t frame[2 * FRAME] = { 0 }, changed[2 * FRAME];
	size_t len;

	(void)state;
	len = seal(frame, 100);
	for (size_t other = 0; other < sizeof(frame); other++) {
		if (other == len)
			continue;
		refused(frame, other);
		memcpy(changed, frame, sizeof(frame));
		changed[2] = other & 0xff;
		changed[3] = other >> 8;
		refused(changed, other);
	}
	taken(frame, len);
}

static void reordered_and_repeated(void **state)
{
	uint8_t frame[8][FRAME];
	size_t len[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		len[i] = seal(frame[i], 16 + i);
	for (int next = 0; next < 8; next++) {
		for (int i = 0; i < 8; i++)
			if (i != next)
				refused(frame[i], len[i]);
		taken(frame[next], len[next]);
	}
	for (int i = 0; i < 8; i++)
		refused(frame[i], len[i]);
}

/* A frame with another number or epoch under the same key, and a head as the receiver wants it */
static void number_and_epoch_are_sealed(void **state)
{
	uint8_t frame[FRAME];
	size_t len;

	(void)state;
	tx.seq = 1;
	len = seal(frame, 32);
	frame[16] = 0;
	refused(frame, len);
	tx.seq = 0;
	tx.epoch = 1;
	len = seal(frame, 32);
	frame[8] = 0;
	refused(frame, len);
}

static void other_direction_and_noise(void **state)
{
	uint8_t frame[FRAME];
	size_t len;

	(void)state;
	tx.key = key1;
	len = seal(frame, 64);
	refused(frame, len);
	for (int i = 0; i < 2000; i++) {
		unit_random_bytes(frame, sizeof(frame));
		refused(frame, unit_random() % sizeof(frame));
	}
	memset(frame, 0, sizeof(frame));
	refused(frame, 56);
}

/* Frames that a peer has sealed with the right key, with lengths that no message has */
static void lengths_that_no_message_has(void **state)
{
	static const size_t lengths[] = { 0, 1, 15, 473, 500 };
	uint8_t frame[2 * FRAME], nonce[12] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t len = lengths[i] + EXTRA;
		const struct rdmablk_sealed_job job = {
			.nonce = nonce, .aad = frame, .aad_len = 24, .from = frame + 24,
			.len = lengths[i], .to = frame + 24,
		};

		memset(frame, 0, sizeof(frame));
		frame[0] = 15;
		frame[2] = len & 0xff;
		frame[3] = len >> 8;
		assert_int_equal(gcm_seal(key0, &job), 0);
		refused(frame, len);
	}
}

static void epochs(void **state)
{
	uint8_t old[2][FRAME], new[2][FRAME], again[FRAME];
	size_t len[2], new_len[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		len[i] = seal(old[i], 20);
	assert_int_equal(rdmablk_sealed_rekey(&tx, key1), 0);
	assert_int_equal(tx.epoch, 1);
	assert_int_equal(tx.seq, 2);
	for (int i = 0; i < 2; i++)
		new_len[i] = seal(new[i], 20);
	/* Frames as if the old epoch went on */
	tx = (struct rdmablk_sealed) { .ops = &gcm, .key = key0, .seq = 3 };
	seal(again, 20);

	taken(old[0], len[0]);
	assert_int_equal(rdmablk_sealed_prepare(&rx, key1), 0);
	assert_int_equal(rdmablk_sealed_prepare(&rx, key2), -EBUSY);
	refused(new[0], new_len[0]);		/* its turn has not come */
	taken(old[1], len[1]);			/* was still under way */
	assert_int_equal(rx.epoch, 0);
	assert_ptr_equal(rx.key, key0);
	new[0][30] ^= 1;
	refused(new[0], new_len[0]);
	new[0][30] ^= 1;
	taken(new[0], new_len[0]);
	assert_int_equal(rx.epoch, 1);
	assert_ptr_equal(rx.key, key1);
	assert_null(rx.next);
	refused(again, 60);			/* the old key is not valid now */
	taken(new[1], new_len[1]);
}

/* A frame of a new epoch is taken only when the key for it is there, and no epoch is skipped. */
static void epochs_come_one_by_one(void **state)
{
	uint8_t frame[FRAME];
	size_t len;

	(void)state;
	assert_int_equal(rdmablk_sealed_rekey(&tx, key1), 0);
	len = seal(frame, 20);
	refused(frame, len);
	tx.seq = 0;
	assert_int_equal(rdmablk_sealed_rekey(&tx, key1), 0);
	len = seal(frame, 20);
	assert_int_equal(rdmablk_sealed_prepare(&rx, key1), 0);
	refused(frame, len);
	/* The new key with the old epoch, and the old key with the new one */
	tx = (struct rdmablk_sealed) { .ops = &gcm, .key = key1 };
	len = seal(frame, 20);
	refused(frame, len);
	tx = (struct rdmablk_sealed) { .ops = &gcm, .key = key0, .epoch = 1 };
	len = seal(frame, 20);
	refused(frame, len);
	tx = (struct rdmablk_sealed) { .ops = &gcm, .key = key1, .epoch = 1 };
	len = seal(frame, 20);
	taken(frame, len);
}

static void numbers_end(void **state)
{
	uint8_t frame[FRAME];
	struct rdmablk_sealed before;

	(void)state;
	tx.seq = UINT64_MAX - 1;
	rx = tx;
	taken(frame, seal(frame, 16));
	before = tx;
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 16, frame, FRAME), -EOVERFLOW);
	assert_memory_equal(&tx, &before, sizeof(tx));
	assert_int_equal(open_frame(frame, 56), -EOVERFLOW);
	tx.epoch = UINT32_MAX;
	rx = tx;
	before = tx;
	assert_int_equal(rdmablk_sealed_rekey(&tx, key1), -EOVERFLOW);
	assert_memory_equal(&tx, &before, sizeof(tx));
	assert_int_equal(rdmablk_sealed_prepare(&rx, key1), -EOVERFLOW);
	assert_null(rx.next);
}

static void errors_of_the_cipher(void **state)
{
	const uint8_t zero[16] = { 0 };
	struct rdmablk_sealed before = tx;
	uint8_t frame[FRAME], text[16];

	(void)state;
	cipher_fails = -ENOMEM;
	assert_int_equal(rdmablk_sealed_seal(&tx, message, 16, frame, FRAME), -ENOMEM);
	assert_memory_equal(&tx, &before, sizeof(tx));
	cipher_fails = 0;
	seal(frame, 16);
	before = rx;
	cipher_fails = -ENOMEM;
	assert_int_equal(rdmablk_sealed_open(&rx, frame, 56, text, sizeof(text)), -ENOMEM);
	assert_memory_equal(&rx, &before, sizeof(rx));
	assert_memory_equal(text, zero, sizeof(text));
	cipher_fails = 0;
	frame[55] ^= 1;
	assert_int_equal(rdmablk_sealed_open(&rx, frame, 56, text, sizeof(text)), -EBADMSG);
	assert_memory_equal(text, zero, sizeof(text));
	frame[55] ^= 1;
	taken(frame, 56);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reference_frame, setup),
		cmocka_unit_test_setup(head_and_nonce, setup),
		cmocka_unit_test_setup(every_length, setup),
		cmocka_unit_test_setup(seals_only_messages, setup),
		cmocka_unit_test_setup(every_bit_flip, setup),
		cmocka_unit_test_setup(truncated_and_extended, setup),
		cmocka_unit_test_setup(reordered_and_repeated, setup),
		cmocka_unit_test_setup(number_and_epoch_are_sealed, setup),
		cmocka_unit_test_setup(other_direction_and_noise, setup),
		cmocka_unit_test_setup(lengths_that_no_message_has, setup),
		cmocka_unit_test_setup(epochs, setup),
		cmocka_unit_test_setup(epochs_come_one_by_one, setup),
		cmocka_unit_test_setup(numbers_end, setup),
		cmocka_unit_test_setup(errors_of_the_cipher, setup),
	};

	return cmocka_run_group_tests_name("sealed", tests, NULL, NULL);
}
