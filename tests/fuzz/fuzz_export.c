// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words of the daemon's command line. The first byte of the input chooses what the rest is:
 * an --export, or one of the kinds of values.
 */
#include <stdlib.h>
#include <string.h>

#include "../../target/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void spec(const char *text)
{
	struct export_config *ec;
	struct config cfg;

	config_init(&cfg);
	config_export_spec(&cfg, text);
	config_finish(&cfg);
	TAILQ_FOREACH(ec, &cfg.exports, entry)
		check(value_name_ok(ec->name, sizeof(ec->name)));
	config_free(&cfg);
}

/* A value that is formatted and parsed again stays the same. */
static void uuid(const char *text)
{
	uint8_t first[RDMABLK_ID_LEN], second[RDMABLK_ID_LEN];
	char written[64];

	if (value_uuid(text, first))
		return;
	value_uuid_text(first, written);
	check(!value_uuid(written, second) && !memcmp(first, second, sizeof(first)));
}

static void address(const char *text)
{
	struct listen_addr first, second;

	if (value_address(text, &first))
		return;
	check(memchr(first.text, 0, sizeof(first.text)));
	check(!value_address(first.text, &second) && !strcmp(first.text, second.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number;
	bool flag;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	check(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0]) {
	case 'n':
		value_number(text, &number);
		break;
	case 's':
		value_size(text, &number);
		break;
	case 'b':
		value_bool(text, &flag);
		break;
	case 'u':
		uuid(text);
		break;
	case 'a':
		address(text);
		break;
	default:
		spec(text);
	}
	free(text);
	return 0;
}
