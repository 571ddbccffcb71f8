#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mapped.py DEVICE MEBIBYTES: writes so much through a mapping, syncs it, and reads it
back directly."""

import mmap
import os
import random
import sys

PIECE = 1 << 20


def main():
    path, size = sys.argv[1], int(sys.argv[2]) << 20
    data = random.Random(size).randbytes(size)
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, size) as mapped:
        for offset in range(0, size, 4096 + 512):
            end = min(offset + 4096 + 512, size)
            mapped[offset:end] = data[offset:end]
        mapped.flush()
    os.close(fd)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, PIECE)
    for offset in range(0, size, PIECE):
        os.preadv(fd, [page], offset)
        if page[:] != data[offset:offset + PIECE]:
            sys.exit(f"{path} differs at {offset} from what was written")


main()
