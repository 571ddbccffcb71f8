/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean": the word of a list that is nearest to one that is not in it. The command
 * line tool has it, too.
 * PURE: no state, no I/O.
 */
#ifndef RDMABLKD_NEAR_H
#define RDMABLKD_NEAR_H

/**
 * struct near - a search
 * @word: what the user wrote; the caller keeps it
 * @best: the nearest of the words tried, or NULL: none is near
 * @distance: of @best; without one the first distance that is too large
 */
struct near {
	const char *word;
	const char *best;
	unsigned int distance;
};

void near_begin(struct near *n, const char *word);
void near_try(struct near *n, const char *candidate);
unsigned int near_distance(const char *a, const char *b);

#endif
