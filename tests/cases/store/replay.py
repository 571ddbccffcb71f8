# SPDX-License-Identifier: GPL-2.0-or-later
"""What a disk has, at any moment, of what dm-log-writes has seen.

The log has a write only once it is certain to be durable: with the FLUSH that came after
its completion, or when it is a FUA write that has ended. So a disk that did everything up
to an entry, and nothing behind it, is one that lost power there and lost its cache.

On the log device: a sector that counts the entries; then, for each, a sector that says
what it is, and the data. Documentation/admin-guide/device-mapper/log-writes.rst of the
kernel has the meaning, drivers/md/dm-log-writes.c the format.
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
    """Returns all of a log, with the place of each entry's data."""
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
    """Does some entries of a log to a disk"""
    with open(path, "rb") as log, open(image, "r+b") as disk:
        for entry in some:
            if entry.text is not None:
                continue
            log.seek(entry.data)
            disk.seek(entry.offset)
            # What was discarded may read as anything: not as what it was.
            data = bytes(entry.size) if entry.flags & DISCARD else log.read(entry.size)
            if len(data) != entry.size:
                sys.exit(f"the data at {entry.data} is cut short")
            disk.write(data)
