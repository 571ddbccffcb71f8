// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts of keys. An accepted text is the canonical text of its key. A refusal has a reason
 * and leaves no key behind. An input that begins with 'k' is a name and a key instead of a
 * text, so that checksums are right; its second byte chooses a byte of the text to change.
 */
#include <stdlib.h>
#include <string.h>

#include "../../target/base/key_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PREFIX_LEN	14

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Return: whether the text was accepted. The parser may not read bytes behind it. */
static bool parse(struct key_file *key, const void *data, size_t size)
{
	static const uint8_t nothing[KEY_FILE_SECRET_LEN];
	char *text = malloc(size), why[KEY_FILE_WHY] = "";
	bool ok;

	check(text || !size);
	if (size)
		memcpy(text, data, size);
	memset(key->secret, 'x', sizeof(key->secret));
	ok = !key_file_parse(key, text, size, why);
	if (ok) {
		check(key_file_name_ok(key->name, strlen(key->name)));
		check(key_file_format(key) == size && !memcmp(key->text, text, size));
	} else {
		check(memchr(why, 0, sizeof(why)) && why[0]);
		check(!memcmp(key->secret, nothing, sizeof(nothing)));
	}
	free(text);
	return ok;
}

/* A changed byte behind the name, also one of the key, is noticed. */
static void change(struct key_file *key, const uint8_t *data, size_t size)
{
	char text[KEY_FILE_TEXT_LEN];
	size_t len, at, name;

	if (size < 2 + sizeof(key->secret))
		return;
	memcpy(key->secret, data + 2, sizeof(key->secret));
	name = size - 2 - sizeof(key->secret);
	if (!key_file_name_ok((const char *)data + size - name, name))
		return;
	memcpy(key->name, data + size - name, name);
	key->name[name] = '\0';
	len = key_file_format(key);
	memcpy(text, key->text, len);
	check(parse(key, text, len));

	at = data[1] % len;
	text[at] ^= 1 << data[1] % 8;
	check(!parse(key, text, len) || (at >= PREFIX_LEN && at < PREFIX_LEN + name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct key_file *key;

	if (!key)
		key = key_file_alloc();
	check(key);
	if (size > 2 && data[0] == 'k')
		change(key, data, size);
	else
		parse(key, data, size);
	return 0;
}
