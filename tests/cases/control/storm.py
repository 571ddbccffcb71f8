#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""storm.py ADDRESS SECONDS EXPORT...: everybody connects, reconnects, disconnects,
lists and asks at once. Every request must be answered, and with an error that makes sense.
At the end all disks are gone.
"""

import random
import struct
import sys
import threading
import time

import rdmablknl as nl

EXPECTED = {
    nl.CONNECT: {"0", "EEXIST", "EBUSY", "ECANCELED"},
    nl.DISCONNECT: {"0", "ENODEV", "EALREADY", "EBUSY", "EAGAIN"},
    nl.GET: {"0", "ENODEV"},
    nl.RECONNECT: {"0", "ENODEV", "EALREADY", "EAGAIN"},
}


def requests(kind, host, exports):
    """One after another, for ever."""
    while True:
        if kind == nl.CONNECT:
            yield nl.CONNECT, nl.attr(nl.TARGET, nl.address(host)) + \
                nl.string(nl.EXPORT, random.choice(exports)) + \
                nl.u32(nl.QUEUES, random.randint(1, 2)), 0
        elif kind == nl.DISCONNECT:
            yield nl.DISCONNECT, nl.u32(nl.INDEX, random.randrange(len(exports))) + \
                random.choice((b"", nl.attr(nl.FORCE))), 0
        elif kind == nl.RECONNECT:
            yield nl.RECONNECT, nl.u32(nl.INDEX, random.randrange(len(exports))), 0
        elif random.random() < 0.5:
            yield nl.GET, nl.u32(nl.INDEX, random.randrange(len(exports))), 0
        else:
            yield nl.GET, b"", nl.NLM_F_DUMP


def worker(kind, host, exports, end, counts, wrong):
    sock = nl.Netlink()
    try:
        for command, attrs, flags in requests(kind, host, exports):
            if time.monotonic() > end or wrong:
                return
            got = sock.error(command, attrs, flags)
            counts[(command, got)] = counts.get((command, got), 0) + 1
            if got not in EXPECTED[command]:
                wrong.append(f"command {command}: {got}")
    except OSError as e:
        wrong.append(f"command {kind}: {e}")


def main():
    host, seconds, exports = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    end = time.monotonic() + seconds
    counts, wrong = {}, []
    threads = [threading.Thread(target=worker,
                                args=(kind, host, exports, end, counts, wrong))
               for kind in (nl.CONNECT, nl.CONNECT, nl.CONNECT, nl.DISCONNECT,
                            nl.DISCONNECT, nl.GET, nl.RECONNECT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(counts)
    if wrong:
        sys.exit("\n".join(wrong))
    for key in ((nl.CONNECT, "0"), (nl.DISCONNECT, "0"), (nl.GET, "0"),
                (nl.RECONNECT, "0")):
        if not counts.get(key):
            sys.exit(f"never happened: {key}")
    sock = nl.Netlink()
    for disk in sock.dump():
        sock.disconnect(struct.unpack("I", disk[nl.INDEX])[0], nl.attr(nl.FORCE))
    if sock.dump():
        sys.exit("disks are left")


main()
