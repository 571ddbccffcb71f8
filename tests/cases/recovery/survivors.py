#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""survivors.py PID: keeps what a process has of RDMA devices, until it is killed itself

As if the process had forked: when that is gone, its queue pairs and registrations are not.
"""

import ctypes
import os
import signal
import sys

PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)


def main():
    pid = int(sys.argv[1])
    pidfd = os.pidfd_open(pid)
    kept = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        if not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("/dev/infiniband/uverbs"):
            continue
        if LIBC.syscall(PIDFD_GETFD, pidfd, int(fd), 0) < 0:
            sys.exit(f"descriptor {fd}: {os.strerror(ctypes.get_errno())}")
        kept += 1
    if not kept:
        sys.exit(f"{pid} has no RDMA device")
    print(f"kept {kept}", flush=True)
    signal.pause()


main()
