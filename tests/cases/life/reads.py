#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""reads.py DISK: reads the first block of the disk again and again, at most a hundred times a
second, until a read fails. So in an outage one read is waiting."""

import mmap
import os
import sys
import time


def main():
    disk = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
    block = mmap.mmap(-1, 4096)
    while True:
        os.preadv(disk, [block], 0)
        time.sleep(0.01)


main()
