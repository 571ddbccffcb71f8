/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages that a scripted target sends to its only peer: unsealed ones, and frames that it
 * has sent before. The fuzzer defines arrives().
 */
#ifndef SCRIPT_TARGET_H
#define SCRIPT_TARGET_H

#include <string.h>

#include "script.h"

#define SAVED	8	/* frames that a script may repeat */

/* The peer receives a frame. */
static void arrives(const struct frame *f);

static void say(const void *msg, size_t len)
{
	struct frame f = { .len = len, .intact = true };

	memcpy(f.bytes, msg, len);
	change_before(f.bytes, len);
	change_after(&f);
	arrives(&f);
}

static void say_bytes(unsigned int len)
{
	uint8_t bytes[RDMABLK_CTRL_MSG_MAX];

	for (unsigned int i = 0; i < len; i++)
		bytes[i] = (uint8_t)next_byte();
	say(bytes, len);
}

static void say_again(const struct frame *saved)
{
	struct frame f = *saved;

	change_after(&f);
	if (f.len)
		arrives(&f);
}

#endif /* SCRIPT_TARGET_H */
