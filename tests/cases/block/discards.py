#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""discards.py DEVICE WRITERS STEPS: writers with a part of the disk each write, zero,
discard and read blocks of it in any order, on any processor, and know what each holds.
What was discarded reads as zeroes."""

import fcntl
import mmap
import os
import random
import struct
import sys
import threading

BLOCK = 4096
BLKDISCARD = 0x1277
BLKZEROOUT = 0x127F
wrong = []


def writer(path, part, blocks, steps):
    chance = random.Random(part)
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, BLOCK)
    first = part * blocks
    holds = [None] * blocks

    def blockwise(start, count, what):
        for i in range(start, start + count):
            holds[i] = what

    for step in range(steps):
        os.sched_setaffinity(0, {chance.choice(sorted(os.sched_getaffinity(os.getpid())))})
        start = chance.randrange(blocks)
        count = min(chance.choice((1, 1, 2, 17)), blocks - start)
        span = struct.pack("QQ", (first + start) * BLOCK, count * BLOCK)
        action = chance.choice("wwzdrr")
        if action == "w":
            stamp = struct.pack("II", part, step) * (BLOCK // 8)
            page[:] = stamp
            os.pwritev(fd, [page], (first + start) * BLOCK)
            holds[start] = stamp
        elif action == "z":
            fcntl.ioctl(fd, BLKZEROOUT, span)
            blockwise(start, count, bytes(BLOCK))
        elif action == "d":
            fcntl.ioctl(fd, BLKDISCARD, span)
            blockwise(start, count, bytes(BLOCK))
        elif holds[start] is not None:
            os.preadv(fd, [page], (first + start) * BLOCK)
            if page[:] != holds[start]:
                wrong.append(f"writer {part}, step {step}, block {first + start}")
                return
    for i, data in enumerate(holds):
        if data is not None:
            os.preadv(fd, [page], (first + i) * BLOCK)
            if page[:] != data:
                wrong.append(f"writer {part}, at the end, block {first + i}")
    os.close(fd)


def main():
    path, writers, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    fd = os.open(path, os.O_RDONLY)
    blocks = os.lseek(fd, 0, os.SEEK_END) // BLOCK // writers
    os.close(fd)
    threads = [threading.Thread(target=writer, args=(path, n, min(blocks, 64), steps))
               for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit("not what was written: " + "; ".join(wrong))


main()
