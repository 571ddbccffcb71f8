# SPDX-License-Identifier: GPL-2.0-or-later
"""What a disk has at any moment of a log of dm-log-writes.

A write is in the log only when it is certain to be durable: with the first FLUSH after its
completion, or, for a FUA write, when it has ended. So a disk that has all entries up to one, and
none behind it, is a disk that lost power and its cache at that point.

The log device has a sector with the number of entries. Then each entry has a sector that says
what it is, and its data. The kernel's Documentation/admin-guide/device-mapper/log-writes.rst
has the meaning, drivers/md/dm-log-writes.c the format.
"""

import collections
import struct
import sys

MAGIC, VERSION = 0x6A736677736872, 1
SUPER = struct.Struct("<QQQI")
ENTRY = struct.Struct("<QQQQ")
FLUSH, FUA, DISCARD, MARK, METADATA = 1, 2, 4, 8, 16

Entry = collections.namedtuple("Entry", "offset size flags data text")


def entries(path):
    """Returns all entries of a log, with the place of each entry's data."""
    with open(path, "rb") as log:
        return list(read(log))


def read(log):
    magic, version, count, sector = SUPER.unpack(log.read(SUPER.size))
    if magic != MAGIC or version != VERSION:
        sys.exit(f"no log of dm-log-writes: {magic:x}, version {version}")
    place = sector
    for number in range(count):
        log.seek(place)
        start, sectors, flags, length = ENTRY.unpack(log.read(ENTRY.size))
        if flags & ~(FLUSH | FUA | DISCARD | MARK | METADATA):
            sys.exit(f"entry {number} has unknown flags {flags:x}")
        text = log.read(length).decode() if flags & MARK else None
        if not flags & MARK and length:
            sys.exit(f"entry {number} has {length} bytes of another kind")
        place += sector
        yield Entry(start * sector, sectors * sector, flags, place, text)
        if not flags & DISCARD:
            place += sectors * sector


def apply(path, image, some):
    """Applies some entries of a log to a disk."""
    with open(path, "rb") as log, open(image, "r+b") as disk:
        for entry in some:
            if entry.text is not None:
                continue
            log.seek(entry.data)
            disk.seek(entry.offset)
            # Discarded data may read as anything, but the test must not find its old contents.
            data = bytes(entry.size) if entry.flags & DISCARD else log.read(entry.size)
            if len(data) != entry.size:
                sys.exit(f"the data at {entry.data} is cut short")
            disk.write(data)
