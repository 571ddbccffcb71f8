#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes with fsync, and checks what fsync has promised.

durable.py write DEVICE BYTES LOG [WRITERS [EVERY]]
    Each writer has a part of the device. It writes stamped blocks at random, endlessly, with an
    fsync after every EVERY writes. LOG gets a line before and after each step, in order.
    Ends with status 0 when a request fails.

durable.py check FILE BYTES LOG [fsynced|acknowledged]
    Each block of FILE has the last data written before an fsync that has returned (or the last
    data whose write has returned), or newer data that was written.
"""

import mmap
import os
import random
import struct
import sys
import threading

BLOCK = 4096
STAMP = struct.Struct("<QQ")


def stamped(block, number):
    return STAMP.pack(block, number) * (BLOCK // STAMP.size)


def writer(fd, log, part, blocks, every):
    chance = random.Random(part)
    page = mmap.mmap(-1, BLOCK)
    number = 0
    try:
        while True:
            number += 1
            block = part * blocks + chance.randrange(blocks)
            page[:] = stamped(block, number)
            os.write(log, b"w %d %d %d\n" % (part, block, number))
            os.pwritev(fd, [page], block * BLOCK)
            os.write(log, b"W %d %d %d\n" % (part, block, number))
            if number % every == 0:
                os.write(log, b"f %d\n" % part)
                os.fsync(fd)
                os.write(log, b"F %d\n" % part)
    except OSError as error:
        os.write(log, b"# writer %d: %s\n" % (part, error.strerror.encode()))


def write(device, size, path, writers=4, every=16):
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    blocks = size // BLOCK // writers
    threads = [threading.Thread(target=writer, args=(fd, log, n, blocks, every))
               for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def promised(path, rule):
    """The oldest write that each block may hold, the newest one tried, the number of fsyncs."""
    least, most, done, marked, fsyncs = {}, {}, {}, {}, 0
    with open(path, encoding="ascii") as log:
        for line in log:
            word, *numbers = line.split()
            if not line.endswith("\n") or word == "#":
                continue
            part, *what = map(int, numbers)
            if word == "w":
                most[what[0]] = what[1]
            elif word == "W":
                done.setdefault(part, {})[what[0]] = what[1]
                if rule == "acknowledged":
                    least[what[0]] = what[1]
            elif word == "f":
                marked[part] = dict(done.get(part, {}))
            else:
                fsyncs += 1
                least.update(marked[part])
    return least, most, fsyncs


def check(path, size, log, rule="fsynced"):
    least, most, fsyncs = promised(log, rule)
    bad = 0
    with open(path, "rb") as data:
        for block in range(size // BLOCK):
            content = data.read(BLOCK)
            number = STAMP.unpack_from(content)[1]
            if number == 0 and content == bytes(BLOCK) and block not in least:
                continue
            if content != stamped(block, number) or number > most.get(block, 0) or \
                    number < least.get(block, 0):
                bad += 1
                print(f"block {block}: {number}, at least {least.get(block, 0)},"
                      f" at most {most.get(block, 0)}")
    print(f"{len(least)} blocks promised by {fsyncs} fsyncs, {bad} bad")
    if bad or not least:
        sys.exit(1)


def main():
    command, path, size, log = sys.argv[1:5]
    if command == "write":
        write(path, int(size), log, *map(int, sys.argv[5:]))
    else:
        check(path, int(size), log, *sys.argv[5:])


main()
