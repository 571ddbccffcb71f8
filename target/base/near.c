// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The distance is that of optimal string alignment: a letter too many, one that is missing,
 * one that is another, and two neighbours that have changed places count 1 each.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/near.h"

#define LONGEST	63	/* longer words are not compared */

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/**
 * near_distance - how many mistakes make one word of another
 * @a: the one
 * @b: the other
 *
 * Return: their number, case aside; a large one for words of more than 63 letters.
 */
unsigned int near_distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return 2 * LONGEST;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i + 2) % 3];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = least(least(row[j - 1], above[j]) + 1,
				       above[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

/**
 * near_begin - begin a search
 * @n: the search
 * @word: word that is not in the list
 */
void near_begin(struct near *n, const char *word)
{
	size_t len = strlen(word);

	/* A few mistakes turn a short word into any other, so it allows fewer. */
	*n = (struct near){ .word = word,
			    .distance = len < 2 ? 0 : len < 3 ? 2 : len < 6 ? 3 : 4 };
}

/**
 * near_try - look at a word of the list
 * @n: after near_begin(); @n->best is this word, if it is nearer than those before
 * @candidate: the word; the caller keeps it
 */
void near_try(struct near *n, const char *candidate)
{
	unsigned int distance = near_distance(n->word, candidate);

	if (distance >= n->distance)
		return;
	n->distance = distance;
	n->best = candidate;
}
