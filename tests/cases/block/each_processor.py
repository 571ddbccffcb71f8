# SPDX-License-Identifier: GPL-2.0-or-later
"""each_processor.py DEV: a write of 4 KiB from each processor, one after the other

Each processor writes a place of its own. Prints a line for each: its number, the offset.
"""
import mmap
import os
import sys

BYTES = 4096


def main():
    disk = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, BYTES)
    for cpu in sorted(os.sched_getaffinity(0)):
        page[:] = cpu.to_bytes(8, "little") * (BYTES // 8)
        os.sched_setaffinity(0, {cpu})
        if os.pwrite(disk, page, cpu * BYTES) != BYTES:
            sys.exit(f"processor {cpu}: short write")
        print(cpu, cpu * BYTES)


main()
