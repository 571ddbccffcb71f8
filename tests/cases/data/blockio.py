# SPDX-License-Identifier: GPL-2.0-or-later
"""Direct vectored I/O on a disk whose expected contents are known.

Disk keeps a model of what the disk must hold. Each read is compared with it at
once; same_as_arena() compares the target's memory with it.
"""
import ctypes
import json
import mmap
import os
import struct
import subprocess

PAGE = 4096
MIB = 1 << 20
PAGEMAP = "/proc/self/pagemap"
RDMABLK = os.environ.get(
    "RDMABLK", os.environ["RDMABLK_TOP"] + "/tools/rdmablk")


def status():
    """What the module says of the disk."""
    out = subprocess.run([RDMABLK, "status", "rdmablk0", "--json"],
                         check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["devices"][0]


def mapped(pages):
    """Memory whose pages are allocated already."""
    return mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE |
                     mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)


def frames(memory):
    """Numbers of the physical pages behind mapped memory."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with open(PAGEMAP, "rb") as file:
        file.seek(start // PAGE * 8)
        entries = file.read(len(memory) // PAGE * 8)
    return [entry[0] & ((1 << 55) - 1)
            for entry in struct.iter_unpack("<Q", entries)]


def pieces(count, size, shift=0):
    """COUNT pieces of memory of SIZE bytes, SHIFT bytes into their pages.

    They come in order of falling physical address. So no page is contiguous with the one before
    it, and each piece within one page is a segment of its own. The kernel 'debug' does not tell
    physical addresses, but gives out pages one after the other, up or down. There the function
    leaves a page between any two pieces.
    """
    pages = (shift + size + PAGE - 1) // PAGE
    if os.path.exists(PAGEMAP):
        memory = mapped(count * pages)
        first = frames(memory)[::pages]
        order = sorted(range(count), key=lambda i: first[i], reverse=True)
        starts = [i * pages * PAGE + shift for i in order]
    else:
        memory = mapped(count * (pages + 1))
        starts = [i * (pages + 1) * PAGE + shift for i in range(count)]
    view = memoryview(memory)
    return [view[at:at + size] for at in starts]


class Disk:
    """The disk and its model."""

    def __init__(self, path, arena):
        self.fd = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.size = os.lseek(self.fd, 0, os.SEEK_END)
        self.arena = arena
        with open(arena, "rb") as file:
            self.model = bytearray(file.read(self.size))

    def write(self, pos, buffers):
        """Fills the buffers with new data and writes them with one call."""
        for buffer in buffers:
            data = os.urandom(len(buffer))
            buffer[:] = data
            self.model[pos:pos + len(data)] = data
            pos += len(data)
        total = sum(map(len, buffers))
        done = os.pwritev(self.fd, buffers, pos - total)
        assert done == total, f"wrote {done} of {total} at {pos - total}"

    def read(self, pos, buffers):
        """Reads into the buffers with one call and compares."""
        for buffer in buffers:
            buffer[:] = b"\xa5" * len(buffer)
        total = sum(map(len, buffers))
        done = os.preadv(self.fd, buffers, pos)
        assert done == total, f"read {done} of {total} at {pos}"
        for buffer in buffers:
            want = self.model[pos:pos + len(buffer)]
            assert buffer == want, f"wrong data at {pos}"
            pos += len(buffer)

    def same_as_arena(self):
        """The target's memory holds what the model says, everywhere."""
        with open(self.arena, "rb") as file:
            data = file.read(self.size)
        if data == self.model:
            return
        at = next(i for i in range(self.size) if data[i] != self.model[i])
        raise AssertionError(f"the target's memory is wrong at {at}")
