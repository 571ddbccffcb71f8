// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults on demand. Only in builds with FAULTS=1.
 */
#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "base/value.h"

static const char * const fault_names[FAULT_COUNT] = {
	[FAULT_NO_KEEPALIVE_ANSWER]	= "no-keepalive-answer",
	[FAULT_NO_FENCE]		= "no-fence",
	[FAULT_SLOW_FENCE]		= "slow-fence",
	[FAULT_GRANT_EARLY]		= "grant-early",
	[FAULT_NO_RECV]			= "no-recv",
	[FAULT_CORRUPT_GRANT]		= "corrupt-grant",
	[FAULT_BAD_VERSION]		= "bad-version",
	[FAULT_FOREIGN_ACCEPT]		= "foreign-accept",
	[FAULT_FULL_REJECT]		= "full-reject",
	[FAULT_FLIP_CHALLENGE]		= "flip-challenge",
	[FAULT_FLIP_ACCEPT]		= "flip-accept",
	[FAULT_UNSEALED_CLOSE]		= "unsealed-close",
	[FAULT_UNSEALED_RESIZE]		= "unsealed-resize",
	[FAULT_SLOW_LOGIN]		= "slow-login",
	[FAULT_LOST_FLUSH]		= "lost-flush",
	[FAULT_EARLY_FLUSH]		= "early-flush",
	[FAULT_EARLY_ZEROES]		= "early-zeroes",
	[FAULT_LOST_DIRTY]		= "lost-dirty",
	[FAULT_LOST_END]		= "lost-end",
	[FAULT_NO_STORE_WAIT]		= "no-store-wait",
	[FAULT_SLOW_STORE]		= "slow-store",
	[FAULT_SAME_EPOCH]		= "same-epoch",
	[FAULT_FORGET_WRITER]		= "forget-writer",
	[FAULT_FOLD_SCRATCH]		= "fold-scratch",
};

static uint64_t faults[FAULT_COUNT];
static uint64_t flipped[FAULT_COUNT];	/* how many bits so far */

/**
 * fault - value of a fault
 * @which: fault
 *
 * Return: the value; 0: the fault is off. Any thread.
 */
uint64_t fault(enum fault which)
{
	return faults[which];
}

/**
 * fault_once - value of a fault that happens once, which switches it off
 * @which: fault
 *
 * Return: as of fault(). In the loop.
 */
uint64_t fault_once(enum fault which)
{
	uint64_t value = faults[which];

	faults[which] = 0;
	return value;
}

/**
 * fault_flip - flip a bit of a message, if the fault is on
 * @which: fault, whose value is a number of bits
 * @bytes: message
 * @len: bytes
 *
 * Flips bit 0 of the first message. In each later message the bit is so many bits further on; bit
 * 0 follows the last bit. In the loop.
 */
void fault_flip(enum fault which, void *bytes, size_t len)
{
	uint64_t bit;

	if (!faults[which])
		return;
	bit = flipped[which]++ * faults[which] % (8 * len);
	((uint8_t *)bytes)[bit / 8] ^= (uint8_t)(1U << bit % 8);
	log_info("fault: %s: bit %llu of %zu bytes flipped", fault_names[which],
		 (unsigned long long)bit, len);
}

/**
 * fault_set - switch a fault on
 * @word: NAME or NAME=VALUE
 *
 * Before any other thread exists.
 *
 * Return: 0 or -1: there is no such fault.
 */
int fault_set(const char *word)
{
	size_t len = strcspn(word, "=");
	uint64_t value = 1;

	if (word[len] && (value_number(word + len + 1, &value) || !value))
		return -1;
	for (int i = 0; i < FAULT_COUNT; i++) {
		if (strlen(fault_names[i]) == len &&
		    !strncmp(fault_names[i], word, len)) {
			faults[i] = value;
			return 0;
		}
	}
	return -1;
}

/**
 * fault_options - the faults, for --help
 *
 * Return: text.
 */
const char *fault_options(void)
{
	return "\nTests only:\n"
	       "  --fault no-keepalive-answer|no-fence|slow-fence=MS|grant-early|\n"
	       "\tno-recv|corrupt-grant|bad-version|foreign-accept|full-reject|flip-challenge=BITS|\n"
	       "\tflip-accept=BITS|unsealed-close=REASON|unsealed-resize=BYTES|slow-login=MS|\n"
	       "\tlost-flush|early-flush|early-zeroes|lost-dirty|lost-end|no-store-wait|\n"
	       "\tslow-store=MS|same-epoch|forget-writer|fold-scratch\n"
	       "  fault=FILE\n\tkey of an export: rules by which requests to its file fail\n";
}
