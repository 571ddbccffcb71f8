#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that were synced, on a disk whose writes are logged by dm-log-writes.

synced.py DIR DEVICE WRITERS STEPS
    Each writer makes files, rewrites blocks of another file in place, and removes files. For
    each fsync or fdatasync that has returned it puts a promise, a mark, into the log of the
    device-mapper's DEVICE. Before it removes a file it marks the file as gone.

moments.py checks the promises: files have their promised contents, and blocks have theirs or
newer ones.

In a block that is rewritten each byte is the number of the write, because an unsynced block may
be half old and half new.
"""

import fcntl
import hashlib
import os
import random
import struct
import sys
import threading

BLOCK, BLOCKS, NEWEST = 4096, 32, 250
DM_IOCTL = struct.Struct("<3I7IQ128s129s7x")	# struct dm_ioctl
DM_TARGET_MSG = 3 << 30 | DM_IOCTL.size << 16 | 0xFD << 8 | 14


class Log:
    """Puts marks into the log of a device, by the ioctl of 'dmsetup message'."""

    def __init__(self, device):
        self.device = device.encode()
        self.control = os.open("/dev/mapper/control", os.O_RDWR)

    def mark(self, *words):
        message = b"mark " + ":".join(map(str, words)).encode() + b"\0"
        size = DM_IOCTL.size + 8 + len(message)
        head = DM_IOCTL.pack(4, 0, 0, size, DM_IOCTL.size, 0, 0, 0, 0, 0, 0,
                             self.device, b"")
        fcntl.ioctl(self.control, DM_TARGET_MSG,
                    bytearray(head + struct.pack("<Q", 0) + message))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:32]


def sync_directory(fd, path):
    os.fsync(fd)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(directory)
    os.close(directory)


def make_file(path, log, name, size):
    data = os.urandom(size)
    fd = os.open(f"{path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, data)
    sync_directory(fd, path)
    os.close(fd)
    log.mark("file", name, digest(data))


def writer(path, log, number, steps, failed):
    chance = random.Random(number)
    newest, files = [0] * BLOCKS, []
    try:
        table = os.open(f"{path}/{number}.table", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(table, bytes(BLOCK * BLOCKS))
        sync_directory(table, path)
        for step in range(steps):
            name = f"{number}.{step}"
            make_file(path, log, name, chance.randrange(40000))
            files.append(name)
            for block in chance.sample(range(BLOCKS), 4):
                newest[block] += 1
                os.pwrite(table, bytes([newest[block]]) * BLOCK, block * BLOCK)
            os.fdatasync(table)
            log.mark("table", number, bytes(newest).hex())
            if step % 3 == 2:
                gone = files.pop(chance.randrange(len(files)))
                log.mark("gone", gone)
                os.unlink(f"{path}/{gone}")
    except OSError as error:
        failed.append(f"writer {number}: {error}")


def write(path, device, writers, steps):
    log, failed = Log(device), []
    if steps > NEWEST:
        sys.exit(f"more than {NEWEST} steps")
    threads = [threading.Thread(target=writer, args=(path, log, n, steps, failed))
               for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit("\n".join(failed))


class Promises:
    """The promises of marks: contents of files by name, least numbers of blocks by writer"""

    def __init__(self):
        self.files, self.tables, self.gone = {}, {}, []

    def add(self, marks):
        for mark in marks:
            word, *rest = mark.split(":")
            if word == "file":
                self.files[rest[0]] = rest[1]
            elif word == "table":
                self.tables[rest[0]] = bytes.fromhex(rest[1])
            elif word == "gone":
                self.gone.append(rest[0])
            else:
                sys.exit(f"unknown mark {mark}")

    def forget(self):
        """Files that add() was told to be gone are not promised any more from here on."""
        for name in self.gone:
            self.files.pop(name)
        self.gone = []

    def __str__(self):
        return f"{len(self.files)} files and {len(self.tables)} tables promised"


def content(path):
    with open(path, "rb") as file:
        return file.read()


def broken(path, promises):
    """Yields a line for each promise that a directory does not keep"""
    for name, want in promises.files.items():
        try:
            if digest(content(f"{path}/{name}")) != want:
                yield f"file {name} is not what was synced"
        except OSError as error:
            yield f"file {name}: {error.strerror}"
    for name, least in promises.tables.items():
        try:
            data = content(f"{path}/{name}.table")
        except OSError as error:
            yield f"table {name}: {error.strerror}"
            continue
        for block, number in enumerate(least):
            have = data[block * BLOCK:(block + 1) * BLOCK]
            if len(have) != BLOCK or not number <= min(have) <= max(have) <= NEWEST:
                yield f"table {name}, block {block}: not as new as {number}"


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
