// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mark begin|end: tells insns.so, outside of the machine, when to count. On any other
 * machine the instructions do nothing.
 */

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin")) {
		__asm__ volatile("xchg %bx,%bx");
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "end")) {
		__asm__ volatile("xchg %cx,%cx");
		return 0;
	}
	fprintf(stderr, "usage: mark begin|end\n");
	return 2;
}
