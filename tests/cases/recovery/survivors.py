#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""survivors.py PID: keeps the RDMA resources of a process until this script is killed

It imitates a fork of the process: the process may end, but its queue pairs and registrations
stay.
"""

import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from borrow import borrow	# noqa: E402, it is not beside this file


def main():
    pid = int(sys.argv[1])
    kept = list(borrow(pid, lambda _, path: path.startswith("/dev/infiniband/uverbs")))
    if not kept:
        sys.exit(f"{pid} has no RDMA device")
    print(f"kept {len(kept)}", flush=True)
    signal.pause()


main()
