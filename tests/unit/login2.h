/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reference login of wire version 2: its inputs, and the results of the key schedule. A
 * program that shares nothing with the tested code computed these values.
 */
#ifndef LOGIN2_H
#define LOGIN2_H

#include <stdint.h>
#include <string.h>

#define LOGIN2_QPN_I	0x11
#define LOGIN2_QPN_T	0x22
#define LOGIN2_JOIN_QPN	0x33
#define LOGIN2_HELLO	360	/* bytes, with the public key at the end */
#define LOGIN2_CHALLENGE 160
#define LOGIN2_POINT	64

#define LOGIN2_K	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define LOGIN2_ID	"19146ac7420bf0e2"
#define LOGIN2_D_I	"404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
#define LOGIN2_P_I	"68ec7cf08cd4106e43b14de895426522bd0a45150c027e45c7953434d747e7ba" \
			"e3af39a88ebbee8679bb61e7845c3a89cb9b5a3237c3fdb0b0587dbaf415118d"
#define LOGIN2_D_T	"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
#define LOGIN2_P_T	"13503389436c38c8cb1a381569d72dcb01bb3b99d105d81ffbdb0e2a15f71a0d" \
			"b15fc2d6ce1cae3f34e5bf216bab21a0482a674f313723b4dba076fc8e01c992"
#define LOGIN2_Z	"e7386f570fb26e0b0e928180071ea1c4221363740499a4995f2920b9d54fe421"
#define LOGIN2_UUID	"606162636465666768696a6b6c6d6e6f"
#define LOGIN2_RESUME	"8604657a7a73aeae50150d531f4cda76"
#define LOGIN2_TH0	"1f7d80cc1bd34fe0fc4692d62549ed5ab977da7b1448415d76efac5b1930ac86"
#define LOGIN2_TH1	"34ca1b34d308da5eac74bfb82790d4841b5aaafe848f4f092ffaca06fcbaab01"
#define LOGIN2_PROOF	"4d299328893c26974f2171402e5ab64ad59ad8971c546bf1e821c72631293200"
#define LOGIN2_TH2	"050efd15d73a706e13981fcd8fffeb8a6153c61e839e794d2168872caf7da83e"
#define LOGIN2_I2T	"1a8fd6d5fa46e074fb4222dc384bf0320e21e26214699f8437f1aa409bfea0cc"
#define LOGIN2_T2I	"a3d4d70fbbb34ddb7829e27b0de59f78aec1685da1202c224ef4fea53c16f50c"
#define LOGIN2_K_JOIN	"851f117b8cb4d2695f43392e3ddcc9814772a0d3660b2130cb2ebc34d1d32173"
#define LOGIN2_EXPORT	"1cb22a6a4392607fd5084b0a64f4c34beb89b4714b83a0ccf066e59759f631d6"
#define LOGIN2_JOIN_MAC	"8c7c162a6ba04bf2091ac8aae6fba6fa2c5066fca193f6f057f9bd9b5cae2ec2"

/* The first frame of the target. Its message is a head of 16 bytes with type 7. */
#define LOGIN2_MESSAGE	"07001000000000000000000000000000"
#define LOGIN2_FRAME	"0f0038000000000000000000000000000000000000000000" \
			"25a5e3418b9153b8f7078f21717e2e14bb6e3ad478a4c9045356a43d46a7bc22"

static const uint8_t login2_request[24] = {
	0x72, 0x62, 0x6c, 0x6b, 2, 0, 2, 0, 1, 0, 1, 0, 1, 0, 0, 0, 9,
};

static inline unsigned int login2_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Converts hexadecimal digits to bytes. Return: how many bytes. */
static inline size_t login2_bytes(void *to, const char *hex)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = (uint8_t)(login2_digit(hex[2 * i]) << 4 |
					       login2_digit(hex[2 * i + 1]));
	return len;
}

static inline void login2_hello(uint8_t *hello)
{
	for (int i = 0; i < LOGIN2_HELLO; i++)
		hello[i] = (uint8_t)(i * 7);
	login2_bytes(hello + 296, LOGIN2_P_I);
}

static inline void login2_challenge(uint8_t *challenge)
{
	for (int i = 0; i < LOGIN2_CHALLENGE; i++)
		challenge[i] = (uint8_t)(i * 5);
	login2_bytes(challenge + 96, LOGIN2_P_T);
}

#define assert_hex(data, hex) do {					\
	uint8_t want_[128];						\
									\
	assert_memory_equal(data, want_, login2_bytes(want_, hex));	\
} while (0)

#endif
