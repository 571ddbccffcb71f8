#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Awkward requests carry every byte: as many discontiguous segments as the disk takes, which go
# out as one chain of at most four work requests and no more than needed; 1 MiB of discontiguous
# pages, which is several such requests; as many of them at once as there are tags; segments of
# 512 bytes; buffers at any address that the queue allows; the last sector of the disk, and
# nothing behind it. None of them makes the module allocate memory. A connect does allocate
# memory, and the check notices that.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/lib/allocations.sh
source "$RDMABLK_TOP/tests/lib/allocations.sh"

serve 8M
load_module connect="$TARGET_ADDR/disk0"
(($(<$QUEUE/max_sectors_kb) >= 1024)) ||
	fail "requests of 1 MiB get split: max_sectors_kb $(<$QUEUE/max_sectors_kb)"
(($(<$QUEUE/max_segments) >= 64)) ||
	fail "requests of 64 pages get split: max_segments $(<$QUEUE/max_segments)"
expect "$(<$QUEUE/max_segments)" "$(status max_segments)" "status' max_segments"
(($(<$QUEUE/max_segments) <= 4 * $(status sge_per_wr))) ||
	fail "a request may be more than four work requests"
random_file 8M $ARENA.new
dd if=$ARENA.new of="$DEV" bs=1M oflag=direct status=none

PYTHONPATH=$CASES/data /usr/bin/python3 - <<'PYTHON' || fail "see above"
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from blockio import Disk, MIB, PAGE, pieces, status

disk = Disk("/dev/rdmablk0", "/dev/shm/disk0")
per_wr = status()["sge_per_wr"]
most = status()["max_segments"]


def one_request(op, pos, buffers, kind):
    """One system call is one request and the fewest work requests."""
    before = status()
    op(pos, buffers)
    after = status()
    requests = after[kind] - before[kind]
    chain = after["work_requests"] - before["work_requests"]
    want = -(-len(buffers) // per_wr)
    assert requests == 1, f"{len(buffers)} segments: {requests} {kind}"
    assert chain == want, \
        f"{len(buffers)} segments: {chain} work requests, not {want}"


# Few segments have memory of their tag, more of a reserve.
for count in (1, 2, 8, 9, per_wr, per_wr + 1, 2 * per_wr, most - 1, most):
    one_request(disk.write, 512, pieces(count, PAGE), "writes")
    one_request(disk.read, 512, pieces(count, PAGE), "reads")
# A mebibyte, aligned as file systems like it.
before = status()
disk.write(MIB, pieces(256, PAGE))
disk.read(MIB, pieces(256, PAGE))
after = status()
for kind in ("writes", "reads"):
    assert after[kind] - before[kind] == -(-256 // most), \
        f"256 segments: {after[kind] - before[kind]} {kind} of {most}"
# The same bytes arrive in another arrangement of memory.
disk.read(MIB - 512, pieces(515, 2048))
disk.read(0, pieces(2, MIB))

# 256 requests: each processor has tags for 128 of them, but memory and send slots for
# about 64. Those that find none wait; that some do is up to the scheduler.
jobs = [pieces(1024, PAGE) for _ in range(16)]
with ThreadPoolExecutor(len(jobs)) as pool:
    for done in [pool.submit(disk.read, MIB, job) for job in jobs]:
        done.result()

# Segments of one sector; some of them share a page.
one_request(disk.write, 3 * MIB + 512, pieces(most, 512), "writes")
one_request(disk.read, 3 * MIB + 512, pieces(most, 512), "reads")
disk.write(3 * MIB, pieces(700, 512))
disk.read(3 * MIB, pieces(100, 3584))

# Buffers that start anywhere in a page and cross it.
with open("/sys/block/rdmablk0/queue/dma_alignment", encoding="ascii") as f:
    step = int(f.read()) + 1
for shift in (step, 3 * step, PAGE - step):
    disk.write(4 * MIB + 1536, pieces(7, 7680, shift))
    disk.read(4 * MIB + 1536, pieces(7, 7680, shift))
    disk.read(4 * MIB, pieces(3, 33280, PAGE // 2 + step))
if step > 1:
    try:
        os.preadv(disk.fd, pieces(1, PAGE, 1), 0)
        raise SystemExit("a buffer below the DMA alignment is accepted")
    except OSError as error:
        assert error.errno == errno.EINVAL, error

# The end of the disk.
disk.write(disk.size - 512, pieces(1, 512))
disk.read(disk.size - 512, pieces(1, 512))
disk.write(disk.size - MIB, pieces(256, PAGE))
disk.read(disk.size - MIB, pieces(256, PAGE))
assert os.preadv(disk.fd, pieces(1, 512), disk.size) == 0
assert os.preadv(disk.fd, pieces(1, PAGE), disk.size - 512) == 512
try:
    os.pwritev(disk.fd, pieces(1, 512), disk.size)
    raise SystemExit("a write behind the end is accepted")
except OSError as error:
    assert error.errno == errno.ENOSPC, error
disk.same_as_arena()
PYTHON
needs_no_memory fio --name=scattered --filename="$DEV" --direct=1 --ioengine=libaio \
	--iodepth=32 --rw=randrw --bsrange=512-1M --size=8M --loops=2
still_live
disconnect
needs_memory connect
disconnect
