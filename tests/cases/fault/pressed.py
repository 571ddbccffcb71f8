# SPDX-License-Identifier: GPL-2.0-or-later
"""pressed.py MIB [CGROUP]: uses more memory than there is, until its input ends.

Each page is stamped with its number and the round, and checked before it is stamped
again, in an order that read-ahead cannot guess. Prints a line every so many pages, and at
the end, after a last check of all memory, that the memory is unchanged.
"""
import mmap
import select
import struct
import sys

PAGE = 4096
STEP = 61
LINE = 256


def stamp(page, turn):
    return struct.pack("<QQ", page * 0x9E3779B97F4A7C15 % (1 << 64), turn) * 256


def check(memory, page, turn):
    if memory[page * PAGE:(page + 1) * PAGE] != stamp(page, turn):
        sys.exit(f"page {page} is not what it was made in round {turn}")


def over():
    return select.select([sys.stdin], [], [], 0)[0]


def main():
    pages = int(sys.argv[1]) * 256 // STEP * STEP + 1
    if len(sys.argv) > 2:
        with open(sys.argv[2] + "/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")
    memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE)
    visits = 0
    while not (visits % LINE == 0 and visits >= pages and over()):
        turn, place = divmod(visits, pages)
        page = place * STEP % pages
        if turn:
            check(memory, page, turn - 1)
        memory[page * PAGE:(page + 1) * PAGE] = stamp(page, turn)
        visits += 1
        if visits % LINE == 0:
            print(visits, pages, flush=True)
    turn, place = divmod(visits, pages)
    for at in range(pages):
        check(memory, at * STEP % pages, turn if at < place else turn - 1)
    print("the same", flush=True)


main()
