#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""insmod.py MODULE <TABLE: loads a module with parameters that it must refuse.

A line of the table is ERRNO<tab>REGEX<tab>PARAMETERS. The load has to fail with that errno
and add one line of level error or worse to the kernel log, or one for each target of a list.
Each of these lines has to match the regex. With 0 in place of the errno the load has to
succeed, and the module is unloaded again.
"""

import ctypes
import errno
import os
import platform
import re
import sys
import time

NUMBERS = {"x86_64": (313, 176), "aarch64": (273, 106)}
FINIT_MODULE, DELETE_MODULE = NUMBERS[platform.machine()]
LIBC = ctypes.CDLL(None, use_errno=True)
ERR = 3     # a log level


def load(module, parameters):
    """Returns 0 or an errno."""
    fd = os.open(module, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if LIBC.syscall(FINIT_MODULE, fd, parameters.encode(), 0):
            return ctypes.get_errno()
        return 0
    finally:
        os.close(fd)


# rxe logs these lines when an answer arrives for a queue pair of a login that has just failed,
# and when a message is longer than its receive, at either end.
NOISE = re.compile(r"^rxe\d+: qp#\d+ (rxe_modify_qp: returned err = -22|"
                   r"\w+: non-flush error status = \d+)$")


def new_lines(log):
    """What the kernel has logged since the last call: (level, text)."""
    lines = []
    while True:
        try:
            record = os.read(log, 8192).decode(errors="replace")
        except BlockingIOError:
            return lines
        head, _, text = record.partition(";")
        lines.append((int(head.split(",")[0]) & 7, text.split("\n")[0]))


def check(module, log, want, regex, parameters):
    """Returns what is wrong, or None."""
    new_lines(log)
    start = time.monotonic()
    got = errno.errorcode.get(load(module, parameters), "0")
    took = time.monotonic() - start
    lines = new_lines(log)
    if got == "0" and LIBC.syscall(DELETE_MODULE, b"rdmablk", os.O_NONBLOCK):
        return "rmmod: " + os.strerror(ctypes.get_errno())
    if got != want:
        return f"{got}, not {want}: {lines}"
    errors = [text for level, text in lines if level <= ERR and not NOISE.search(text)]
    if not all(re.search(regex, text) for text in errors):
        return f"a line does not match '{regex}': {lines}"
    if bool(errors) != (want != "0") or len(errors) > parameters.count(",") + 1:
        return f"{len(errors)} lines of level error: {lines}"
    print(f"{got:15} {took:5.2f} s {errors[0] if errors else ''}")
    return None


def main():
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.lseek(log, 0, os.SEEK_END)
    failed = done = 0
    for line in sys.stdin:
        want, regex, parameters = line.rstrip("\n").split("\t")
        wrong = check(sys.argv[1], log, want, regex, parameters)
        done += 1
        if wrong:
            failed += 1
            print(f"FAIL: {parameters[:100]}: {wrong}")
        if os.path.exists("/sys/module/rdmablk"):
            print(f"FAIL: {parameters[:100]}: the module is still there")
            sys.exit(1)
    print(f"{done} loads, {failed} wrong")
    sys.exit(bool(failed or not done))


main()
