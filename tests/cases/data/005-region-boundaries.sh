#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An export of several registered regions, with a partly filled last one, reads as one piece.
# Each byte is right across the end of every region, for any size and position of a request,
# direct or buffered. A request is split where a region ends.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

serve 10752K,region=1M
load_module connect="$TARGET_ADDR/disk0"
expect 11 "$(status regions)" "the number of regions"
expect 1024 "$(($(<$QUEUE/chunk_sectors) / 2))" "KiB that a request cannot cross"
expect $((10752 << 10)) "$(blockdev --getsize64 "$DEV")" "the size"

# No size of these divides a region.
random_file 10752K /tmp/pattern
dd if=/tmp/pattern of="$DEV" bs=1536K oflag=direct status=none
same_as_target /tmp/pattern
dd if="$DEV" bs=2560K iflag=direct status=none |
	cmp - /tmp/pattern || fail "direct reads across regions are wrong"

PYTHONPATH=$CASES/data /usr/bin/python3 - <<'PYTHON' || fail "see above"
import os
from blockio import Disk, MIB, pieces, status

disk = Disk("/dev/rdmablk0", "/dev/shm/disk0")
ends = range(MIB, disk.size, MIB)
for end in ends:
    for before, after in ((1, 1), (1, 16), (77, 3), (1023, 1024)):
        if end + after * 512 > disk.size:
            after = 1
        size = (before + after) * 512
        disk.write(end - before * 512, pieces(1, size))
        disk.read(end - before * 512, pieces(1, size))
    # Each side alone, which is one request at the very edge.
    requests = status()["writes"]
    disk.write(end - 512, pieces(1, 512))
    disk.write(end, pieces(1, 512))
    assert status()["writes"] - requests == 2
    disk.read(end - 1024, pieces(4, 512))

# One call over two region ends: three requests, none crosses an end.
before = status()
disk.write(5 * MIB - 1536, pieces(2, MIB))
disk.read(5 * MIB - 1536, pieces(2, MIB))
after = status()
assert after["writes"] - before["writes"] >= 3
assert after["reads"] - before["reads"] >= 3
disk.same_as_arena()

# Buffered, at odd bytes.
with open("/dev/rdmablk0", "r+b", buffering=0) as file:
    for end in ends:
        data = os.urandom(777)
        os.pwrite(file.fileno(), data, end - 333)
        disk.model[end - 333:end + 444] = data
    os.fsync(file.fileno())
disk.same_as_arena()

# The rest in the last region, up to its last sector.
disk.write(disk.size - 512 * 1024, pieces(128, 4096))
disk.write(disk.size - 512, pieces(1, 512))
disk.read(disk.size - MIB, pieces(1, MIB))
disk.same_as_arena()
PYTHON
device_same_as_target
still_live
disconnect
