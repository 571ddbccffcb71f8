# SPDX-License-Identifier: GPL-2.0-or-later
"""swapped.py CGROUP MIB: more memory than the cgroup may have.

Each page is stamped with its number and the round. Prints a line after the
rounds, when most of the memory is swapped out, waits for a line, and checks
once more.
"""
import mmap
import struct
import sys

PAGE = 4096
ROUNDS = 2


def stamp(page, turn):
    return struct.pack("<QQ", page * 0x9E3779B97F4A7C15 % (1 << 64), turn) * 256


def check(memory, pages, turn):
    for page in range(pages):
        if memory[page * PAGE:(page + 1) * PAGE] != stamp(page, turn):
            sys.exit(f"page {page} is wrong in round {turn}")


def main():
    pages = int(sys.argv[2]) * 256
    with open(sys.argv[1] + "/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")
    memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE)
    for turn in range(ROUNDS):
        for page in range(pages):
            memory[page * PAGE:(page + 1) * PAGE] = stamp(page, turn)
        check(memory, pages, turn)
    print("swapped", flush=True)
    sys.stdin.readline()
    check(memory, pages, ROUNDS - 1)
    print("the same", flush=True)


main()
