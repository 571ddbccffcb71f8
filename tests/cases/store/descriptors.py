#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes commands on open files, a line each, and prints an answer to each.

    open NAME PATH [direct] [dsync] [ro]
    borrow NAME PID PATH [direct]    copies the descriptor that a process has of PATH
    close NAME
    write NAME OFFSET BYTES SEED
    read NAME OFFSET BYTES
    check NAME OFFSET BYTES SEED    what was written with that seed; 'zero': zeroes
    fill NAME OFFSET BYTES SEED STEP    writes of STEP bytes until one fails
    fsync NAME

The answer is 'ok', the name of an errno, 'short' or 'differs'. The answer to 'fill' is the
number of bytes written and the name. Each read and write is one system call.
"""

import errno
import mmap
import os
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from borrow import borrow	# noqa: E402, it is not beside this file

SECTOR = 512
STAMP = struct.Struct("<QQ")
FLAGS = {"direct": os.O_DIRECT, "dsync": os.O_DSYNC, "ro": 0}
fds = {}


def pattern(offset, size, seed):
    if seed == "zero":
        return bytes(size)
    return b"".join(STAMP.pack(sector, int(seed)) * (SECTOR // STAMP.size)
                    for sector in range(offset // SECTOR, (offset + size) // SECTOR))


def write(fd, offset, size, seed):
    buf = mmap.mmap(-1, size)
    buf[:] = pattern(offset, size, seed)
    return os.pwritev(fd, [buf], offset) == size


def read(fd, offset, size):
    buf = mmap.mmap(-1, size)
    return buf if os.preadv(fd, [buf], offset) == size else None


def fill(fd, offset, size, seed, step):
    done = 0
    try:
        while done < size:
            if not write(fd, offset + done, step, seed):
                return f"{done} short"
            done += step
    except OSError as error:
        return f"{done} {errno.errorcode[error.errno]}"
    return f"{done} ok"


def flags_of(pid, number):
    with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as info:
        return next(int(line.split()[1], 8) for line in info if line.startswith("flags:"))


def borrow_file(pid, path, direct):
    path = os.path.realpath(path)
    for fd in borrow(pid, lambda number, other: other == path and
                     bool(flags_of(pid, number) & os.O_DIRECT) == direct):
        return fd
    raise FileNotFoundError(errno.ENOENT, path)


def do(command, name, *words):
    if command == "open":
        flags = os.O_RDONLY if "ro" in words else os.O_RDWR
        for word in words[1:]:
            flags |= FLAGS[word]
        fds[name] = os.open(words[0], flags)
        return "ok"
    if command == "borrow":
        fds[name] = borrow_file(int(words[0]), words[1], "direct" in words[2:])
        return "ok"
    fd = fds[name]
    if command == "close":
        os.close(fds.pop(name))
    elif command == "fsync":
        os.fsync(fd)
    elif command == "fill":
        return fill(fd, int(words[0]), int(words[1]), words[2], int(words[3]))
    elif command == "write":
        return "ok" if write(fd, int(words[0]), int(words[1]), words[2]) else "short"
    else:
        buf = read(fd, int(words[0]), int(words[1]))
        if buf is None:
            return "short"
        if command == "check" and buf[:] != pattern(int(words[0]), int(words[1]), words[2]):
            return "differs"
    return "ok"


def main():
    for line in sys.stdin:
        try:
            answer = do(*line.split())
        except OSError as error:
            answer = errno.errorcode[error.errno]
        print(answer, flush=True)


main()
