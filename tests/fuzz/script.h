/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input of a fuzzer of dialogues is a script. A step of it may tell how the next
 * message is changed. The fuzzer must define struct frame first, with @bytes, @len and
 * @intact.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of the script; it reads as zeroes after its end */
static struct {
	const uint8_t *at;
	size_t left;
} script;

/* How the next message is changed: before it is sealed, after that, or in its length. */
static struct {
	bool before, after;
	unsigned int before_at, after_at;
	uint8_t before_with, after_with;
	int longer;
} change;

static unsigned int next_byte(void)
{
	if (!script.left)
		return 0;
	script.left--;
	return *script.at++;
}

static void change_before(uint8_t *msg, size_t len)
{
	if (change.before && len)
		msg[change.before_at % len] ^= change.before_with;
	change.before = false;
}

static void change_after(struct frame *f)
{
	size_t len = f->len;

	if (change.after && len) {
		f->bytes[change.after_at % len] ^= change.after_with;
		f->intact = f->intact && !change.after_with;
	}
	len = (size_t)((int)len + change.longer);
	if (change.longer && len <= sizeof(f->bytes)) {
		f->len = len;
		f->intact = false;
	}
	change.after = false;
	change.longer = 0;
}

#endif /* SCRIPT_H */
