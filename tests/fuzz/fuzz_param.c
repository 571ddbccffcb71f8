// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect= strings: whatever the text is, each element is accepted as a whole or refused
 * with a reason, and parsing ends.
 */
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "param.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *cursor = text, *before = text, *why = NULL;
	struct rdmablk_param_spec spec;
	int ret;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((ret = rdmablk_param_next(&cursor, &spec, &why)) > 0) {
		if (!spec.addr[0] || !spec.port || rdmablk_param_check_name(spec.name, &why) ||
		    !memchr(spec.addr, 0, sizeof(spec.addr)) ||
		    (cursor && cursor <= before))
			abort();
		before = cursor;
	}
	if (ret && !why)
		abort();
	free(text);
	return 0;
}
