#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leak.py ADDRESS DAEMON-PID ROUNDS: does connecting leave anything behind?

A round is a connect, some I/O, a disconnect, and a connect that fails. After a few rounds that
fill caches, the script counts the objects of the kernel's slab caches, the kernel's pages, and
the memory and descriptors of the daemon before, in the middle and at the end of ROUNDS rounds.
A count that grows by at least one per round in both halves may be a leak. Pools of memory also
grow like that until they are large enough, so the script then runs more rounds, and reports
what still grows.
"""

import collections
import glob
import mmap
import os
import re
import sys
import time

import rdmablknl as nl

BLOCK = 65536
BLOCKS = 256     # of the disk
MOST_LOOKS = 12


def meminfo():
    """Pages by name."""
    with open("/proc/meminfo", encoding="ascii") as f:
        return {line.split(":")[0]: int(line.split()[1]) // 4 for line in f if " kB" in line}


def set_file(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


class Pages:
    """Pages that the kernel has allocated and not freed, by the stack of the allocation.

    The number of all pages in use varies by more than a leak of one page a round does. So
    each allocation and each free is traced. Movable pages are left out: they belong to
    programs and to the page cache. Pages of vmalloc() have no events; VmallocUsed counts them.
    """

    TRACING = "/sys/kernel/tracing"
    BUFFER = 32 << 10    # KiB for each processor
    NOT_MOVABLE = "!(gfp_flags & 8)"    # ___GFP_MOVABLE
    EVENT = re.compile(r".*? \[(\d+)\] .* (mm_page_alloc|mm_page_free): .*pfn=(\S+)")
    STACK = re.compile(r".*? \[(\d+)\] .*: <stack trace>")

    def __init__(self):
        self.stacks = {}    # by the number of the page
        set_file(f"{self.TRACING}/buffer_size_kb", str(self.BUFFER))
        set_file(f"{self.TRACING}/options/overwrite", "0")
        set_file(f"{self.TRACING}/options/sym-offset", "1")
        set_file(f"{self.TRACING}/events/kmem/mm_page_alloc/filter", self.NOT_MOVABLE)
        set_file(f"{self.TRACING}/events/kmem/mm_page_alloc/trigger",
                 f"stacktrace if {self.NOT_MOVABLE}")
        for event in ("mm_page_alloc", "mm_page_free"):
            set_file(f"{self.TRACING}/events/kmem/{event}/enable", "1")

    def complete(self):
        """Fails if the buffer was too small."""
        for path in glob.glob(f"{self.TRACING}/per_cpu/cpu*/stats"):
            with open(path, encoding="ascii") as f:
                stats = dict(line.split(": ", 1) for line in f)
            for name in ("overrun", "commit overrun", "dropped events"):
                if int(stats[name]):
                    sys.exit(f"{path}: {name}: {stats[name]}")

    def read(self):
        """Reads what was traced since it was read last."""
        set_file(f"{self.TRACING}/tracing_on", "0")
        self.complete()
        # An interrupt may allocate between an allocation and its stack, on the same processor.
        waiting = collections.defaultdict(list)
        frames = []
        with open(f"{self.TRACING}/trace", encoding="ascii") as trace:
            for line in trace:
                if line.startswith(" => "):
                    frames.append(line[4:].strip())
                    continue
                event = self.EVENT.match(line)
                stack = self.STACK.match(line)
                if event and event[2] == "mm_page_alloc":
                    waiting[event[1]].append(event[3])
                elif event:
                    self.stacks.pop(event[3], None)
                elif stack:
                    frames = []
                    if waiting[stack[1]]:
                        self.stacks[waiting[stack[1]].pop()] = frames
        set_file(f"{self.TRACING}/trace", "\n")
        set_file(f"{self.TRACING}/tracing_on", "1")

    def counts(self):
        """The number of pages by stack.

        Callers of the module's code are left out: an interrupt may call it from anywhere.
        """
        self.read()
        counts = collections.Counter()
        for frames in self.stacks.values():
            ours = [i for i, frame in enumerate(frames) if frame.endswith("[rdmablk]")]
            counts[" < ".join(frames[1:ours[-1] + 1] if ours else frames[1:])] += 1
        return counts


def kernel(pages):
    """Objects in use by cache, after the caches gave back their spare memory."""
    set_file("/proc/sys/vm/drop_caches", "3")
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        try:
            set_file(path, "1")
        except OSError:
            pass
    caches = {}
    with open("/proc/slabinfo", encoding="ascii") as f:
        for line in f:
            words = line.split()
            if words[0].startswith(("kmalloc", "dma-kmalloc", "rdmablk", "request",
                                    "bio-", "biovec", "blk", "bdev_cache",
                                    "kernfs_node_cache", "percpu", "rxe", "ib_")):
                caches[words[0]] = int(words[1])
    info = meminfo()
    return {**caches, "Percpu": info["Percpu"], "VmallocUsed": info["VmallocUsed"],
            **pages.counts()}


def daemon(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        resident = int(f.read().split()[1])
    return {"daemon's pages": resident,
            "daemon's descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "daemon's threads": len(os.listdir(f"/proc/{pid}/task"))}


def transfer(path, round_nr):
    """Writes a block of its own, and reads it back."""
    disk = os.open(path, os.O_RDWR | os.O_DIRECT)
    buffer = mmap.mmap(-1, BLOCK)
    pattern = bytes([round_nr & 0xff]) * BLOCK
    buffer.write(pattern)
    offset = round_nr % BLOCKS * BLOCK
    os.pwritev(disk, [buffer], offset)
    buffer.seek(0)
    buffer.write(b"\xff" * BLOCK)
    os.preadv(disk, [buffer], offset)
    os.close(disk)
    if buffer[:] != pattern:
        sys.exit("what was read is not what was written")


def rounds(sock, host, first, last):
    for i in range(first, last):
        index = sock.connect(host, "disk0")
        transfer(f"/dev/rdmablk{index}", i)
        sock.disconnect(index)
        request = nl.attr(nl.TARGET, nl.address(host)) + nl.string(nl.EXPORT, "none")
        got = sock.error(nl.CONNECT, request)
        if got != "ENOENT":
            sys.exit(f"connect to an export that does not exist: {got}")


def look(pid, pages):
    # time for RCU and workers to free what they still have
    time.sleep(1)
    return {**kernel(pages), **daemon(pid)}


def growing(looks, rounds_between):
    """What has grown by at least one object a round from each look to the next."""
    return [name for name in looks[-1]
            if all(after.get(name, 0) - before.get(name, 0) >= rounds_between
                   for before, after in zip(looks, looks[1:]))]


def main():
    host, pid, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sock = nl.Netlink()
    half = count // 2
    rounds(sock, host, 0, 8)
    pages = Pages()
    looks = [look(pid, pages)]
    done = 8
    start = time.monotonic()
    while len(looks) < 3 or (growing(looks, half) and len(looks) < MOST_LOOKS):
        rounds(sock, host, done, done + half)
        done += half
        looks.append(look(pid, pages))
    print(f"{done - 8} rounds, {(time.monotonic() - start) / (done - 8):.2f} s each")
    for name in looks[-1]:
        values = [one.get(name, 0) for one in looks]
        if len(set(values)) > 1 and "<" not in name:
            print(f"{name}: {values[0]}", *(f"{b - a:+}" for a, b in zip(values, values[1:])))
    leaks = growing(looks, half)
    if looks[-1]["daemon's descriptors"] > looks[0]["daemon's descriptors"]:
        leaks.append("daemon's descriptors")
    if leaks:
        sys.exit(f"these have leaked: {leaks}")


main()
