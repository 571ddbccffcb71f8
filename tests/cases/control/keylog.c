// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs the secrets of a daemon's logins, so that a test can search for them. For
 * LD_PRELOAD. Each key of 32 bytes that the daemon gives libcrypto, and each shared secret
 * of ECDH, becomes a line "USE HEX" of the file that RDMABLK_KEYLOG names.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES	32

static int file = -1;

/* The file is opened before the daemon confines itself. */
static void __attribute__((constructor)) begin(void)
{
	const char *path = getenv("RDMABLK_KEYLOG");

	if (path)
		file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void tell(const char *use, const unsigned char *key)
{
	char line[16 + 2 * BYTES + 2];
	int len = snprintf(line, sizeof(line), "%s ", use);

	for (int i = 0; i < BYTES; i++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, "%02x", key[i]);
	line[len++] = '\n';
	if (file >= 0 && write(file, line, (size_t)len) != len)
		abort();
}

int EVP_MAC_init(EVP_MAC_CTX *ctx, const unsigned char *key, size_t len,
		 const OSSL_PARAM params[])
{
	int (*real)(EVP_MAC_CTX *ctx, const unsigned char *key, size_t len,
		    const OSSL_PARAM params[]);

	if (key && len == BYTES)
		tell("hmac", key);
	*(void **)&real = dlsym(RTLD_NEXT, "EVP_MAC_init");
	return real(ctx, key, len, params);
}

int EVP_CipherInit_ex2(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const unsigned char *key,
		       const unsigned char *iv, int enc, const OSSL_PARAM params[])
{
	int (*real)(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const unsigned char *key,
		    const unsigned char *iv, int enc, const OSSL_PARAM params[]);

	if (key)
		tell("cipher", key);
	*(void **)&real = dlsym(RTLD_NEXT, "EVP_CipherInit_ex2");
	return real(ctx, cipher, key, iv, enc, params);
}

int EVP_PKEY_derive(EVP_PKEY_CTX *ctx, unsigned char *key, size_t *len)
{
	int (*real)(EVP_PKEY_CTX *ctx, unsigned char *key, size_t *len);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "EVP_PKEY_derive");
	ret = real(ctx, key, len);
	if (ret == 1 && key && *len == BYTES)
		tell("ecdh", key);
	return ret;
}
