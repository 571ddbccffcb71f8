# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors of other processes, by pidfd_getfd(2), for which Python has no name yet."""

import ctypes
import os

PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)


def borrow(pid, wanted):
    """Copies of the descriptors of a process for which wanted(number, path) holds."""
    pidfd = os.pidfd_open(pid)
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            if not wanted(number, os.readlink(f"/proc/{pid}/fd/{number}")):
                continue
            fd = LIBC.syscall(PIDFD_GETFD, pidfd, int(number), 0)
            if fd < 0:
                err = ctypes.get_errno()
                raise OSError(err, os.strerror(err), f"descriptor {number}")
            yield fd
    finally:
        os.close(pidfd)
