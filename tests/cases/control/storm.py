#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""storm.py ADDRESS SECONDS EXPORT...: many threads connect, reconnect, disconnect, list and
query disks at once. Every request must be answered, with success or an error that fits it.
Afterwards each of these commands works, and at the end all disks are gone.
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
    """Yields requests of a kind, endlessly."""
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
            if kind == nl.DISCONNECT:
                # Without a pause between disconnects there would hardly be a disk.
                time.sleep(random.random() / 10)
    except OSError as e:
        wrong.append(f"command {kind}: {e}")


def expect(sock, command, attrs):
    got = sock.error(command, attrs, 0)
    if got != "0":
        sys.exit(f"after the storm, command {command}: {got}")


def disks(sock):
    return [struct.unpack("I", disk[nl.INDEX])[0] for disk in sock.dump()]


def quiet(host, exports):
    """After the storm each command works on each disk."""
    sock = nl.Netlink()
    for index in disks(sock):
        expect(sock, nl.DISCONNECT, nl.u32(nl.INDEX, index) + nl.attr(nl.FORCE))
    for export in exports:
        expect(sock, nl.CONNECT, nl.attr(nl.TARGET, nl.address(host)) +
               nl.string(nl.EXPORT, export))
    if len(disks(sock)) != len(exports):
        sys.exit("disks are missing")
    for index in disks(sock):
        expect(sock, nl.GET, nl.u32(nl.INDEX, index))
        expect(sock, nl.RECONNECT, nl.u32(nl.INDEX, index))
        expect(sock, nl.DISCONNECT, nl.u32(nl.INDEX, index) + nl.attr(nl.FORCE))
    if disks(sock):
        sys.exit("disks are left")


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
    quiet(host, exports)


main()
