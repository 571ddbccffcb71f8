#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""netlink_abuse.py ADDRESS ROUNDS: what the kernel must refuse, and survive.

First requests with missing, malformed, out-of-range, unknown and repeated attributes: each
must fail with the errno that belongs to it. Then ROUNDS mutations of good requests, which all
must be answered. At the end the script disconnects all disks that a mutation has connected.
"""

import os
import random
import struct
import sys

import rdmablknl as nl


def refused(host):
    """Requests whose error is known: (errno, command, attributes)."""
    target = nl.attr(nl.TARGET, nl.address(host))
    export = nl.string(nl.EXPORT, "disk0")
    good = target + export
    yield "EINVAL", nl.CONNECT, b""
    yield "EINVAL", nl.CONNECT, target
    yield "EINVAL", nl.CONNECT, export
    for payload in (b"", b"\2\0", nl.address(host)[:15], nl.address(host) + b"\0",
                    nl.address("fd99::2")[:27], b"\1\0" + b"\0" * 14,
                    b"\0" * 16, b"\xff" * 128, b"\2\0" + b"x" * 26):
        yield ("ERANGE", "EINVAL"), nl.CONNECT, nl.attr(nl.TARGET, payload) + export
        yield ("ERANGE", "EINVAL"), nl.CONNECT, good + nl.attr(nl.SOURCE, payload)
    for name in (b"", b"\0", b"disk0", b"a b\0", b"a/b\0", b"a,b\0", b"\x7f\0",
                 b"\xc3\xa4\0", b"x" * 64 + b"\0", b"x" * 3000 + b"\0"):
        yield ("ERANGE", "EINVAL"), nl.CONNECT, target + nl.attr(nl.EXPORT, name)
    for name in (b"", b"\0", b"web1", b".web\0", b"-web\0", b"we b\0", b"we/b\0", b"\xc3\xa4\0",
                 b"x" * 64 + b"\0", b"x" * 3000 + b"\0"):
        yield ("ERANGE", "EINVAL"), nl.CONNECT, good + nl.attr(nl.KEY, name)
    yield "ENOKEY", nl.CONNECT, good + nl.string(nl.KEY, "web1")
    for kind, values in ((nl.QUEUES, (0, 257, 0xffffffff)),
                         (nl.POLL_QUEUES, (129, 0xffffffff)),
                         (nl.QUEUE_DEPTH, (0, 1025, 0xffffffff)),
                         (nl.KEEP_ALIVE_TMO, (0, 601, 0xffffffff)),
                         (nl.CONNECT_TMO, (0, 601, 0xffffffff)),
                         (nl.RECONNECT_DELAY, (0, 601, 0xffffffff)),
                         (nl.FAST_IO_FAIL_TMO, (-2, 86401, 0x7fffffff)),
                         (nl.DEV_LOSS_TMO, (-2, 1000001, 0x7fffffff)),
                         (nl.IO_TMO, (-2, 86401, 0x7fffffff)),
                         (nl.REAUTH_TMO, (-2, 604801, 0x7fffffff)),
                         (nl.ON_DATA_LOSS, (2, 0xffffffff))):
        for value in values:
            yield "ERANGE", nl.CONNECT, good + nl.u32(kind, value)
            if kind not in (nl.QUEUES, nl.POLL_QUEUES, nl.QUEUE_DEPTH, nl.CONNECT_TMO):
                yield "ERANGE", nl.SET, nl.u32(nl.INDEX, 0) + nl.u32(kind, value)
        for payload in (b"", b"\1", b"\1\0", b"\1\0\0\0\0\0\0\0"):
            yield ("ERANGE", "EINVAL"), nl.CONNECT, good + nl.attr(kind, payload)
    for fast, loss in ((5, 5), (6, 5), (1, 0)):
        yield "EINVAL", nl.CONNECT, good + nl.u32(nl.FAST_IO_FAIL_TMO, fast) + \
            nl.u32(nl.DEV_LOSS_TMO, loss)
    for value in (1, 7, 23, 255):
        yield "ERANGE", nl.CONNECT, good + nl.attr(nl.ACK_TIMEOUT, bytes([value]))
    for value in (256, 0xfffffffe, 0x7fffffff):
        yield "ERANGE", nl.CONNECT, good + nl.u32(nl.TOS, value)
    for value in (2, 255):
        yield "ERANGE", nl.SET, nl.u32(nl.INDEX, 0) + nl.attr(nl.TIMED, bytes([value]))
    for payload in (b"", b"\1" * 15, b"\1" * 17):
        yield ("ERANGE", "EINVAL"), nl.CONNECT, good + nl.attr(nl.HOST_ID, payload)
    for kind in (nl.READ_ONLY, nl.STEAL):
        yield ("ERANGE", "EINVAL"), nl.CONNECT, good + nl.attr(kind, b"\1\0\0\0")
    # attributes of another command, or of no command
    for kind in (nl.INDEX, nl.NAME, nl.FORCE, nl.ACCEPT_DATA_LOSS, nl.LATENCY_DISCARD,
                 nl.LAST_ATTR + 1, 999):
        yield "EINVAL", nl.CONNECT, good + nl.u32(kind, 0)
    yield "EINVAL", nl.CONNECT, good + b"\x03\0\1\0"            # shorter than its head
    yield "EINVAL", nl.CONNECT, good + struct.pack("HH", 99, nl.QUEUES)  # beyond the end
    yield "EINVAL", nl.DISCONNECT, b""
    yield "EINVAL", nl.GET, b""
    for command in (nl.DISCONNECT, nl.GET, nl.SET, nl.RECONNECT, nl.STATS_GET):
        for index in (0, 1, 0x7fffffff, 0x80000000, 0xffffffff):
            yield "ENODEV", command, nl.u32(nl.INDEX, index)
        yield ("ERANGE", "EINVAL"), command, nl.attr(nl.INDEX, b"\0\0")
        yield "EINVAL", command, nl.u32(nl.INDEX, 0) + nl.u32(nl.QUEUES, 1)
    for command in (0, nl.EVENT, nl.STATS_GET + 1, 255):
        yield "ENOTSUP", command, good


def check_refused(sock, host):
    for count, (want, command, attrs) in enumerate(refused(host), 1):
        got = sock.error(command, attrs)
        if got != want and got not in want:
            sys.exit(f"command {command} {attrs.hex()}: {got}, not {want}")
    print(f"{count} requests refused")


def mutate(data):
    data = bytearray(data)
    for _ in range(random.randint(1, 4)):
        what = random.randrange(5)
        at = random.randrange(len(data) or 1)
        if what == 0 and data:
            data[at] ^= 1 << random.randrange(8)
        elif what == 1 and data:
            data[at] = random.choice((0, 1, 0x7f, 0x80, 0xff))
        elif what == 2:
            data[at:at] = os.urandom(random.randint(1, 40))
        elif what == 3:
            del data[at:at + random.randint(1, 8)]
        else:
            data += nl.attr(random.randrange(nl.LAST_ATTR + 6), os.urandom(random.randrange(32)))
    return bytes(data)


def fuzz(sock, host, rounds):
    short = nl.u32(nl.CONNECT_TMO, 1)
    seeds = [
        (nl.CONNECT, short + nl.attr(nl.TARGET, nl.address(host)) +
         nl.string(nl.EXPORT, "disk0") + nl.u32(nl.QUEUES, 1) +
         nl.attr(nl.HOST_ID, os.urandom(16)) + nl.attr(nl.STEAL)),
        (nl.CONNECT, short + nl.attr(nl.TARGET, nl.address("fd99::2", 1)) +
         nl.string(nl.EXPORT, "x") + nl.attr(nl.SOURCE, nl.address("fd99::1"))),
        (nl.DISCONNECT, nl.u32(nl.INDEX, 0) + nl.attr(nl.FORCE)),
        (nl.GET, nl.u32(nl.INDEX, 0)),
        (nl.STATS_GET, nl.u32(nl.INDEX, 0)),
        (nl.SET, nl.u32(nl.INDEX, 0) + nl.u32(nl.RECONNECT_DELAY, 1) +
         nl.u32(nl.FAST_IO_FAIL_TMO, 1) + nl.u32(nl.DEV_LOSS_TMO, 9) + nl.attr(nl.TIMED, b"\1")),
        (nl.RECONNECT, nl.u32(nl.INDEX, 0) + nl.attr(nl.ACCEPT_DATA_LOSS)),
    ]
    answers = {}
    for _ in range(rounds):
        command, attrs = random.choice(seeds)
        if random.random() < 0.05:
            command = random.randrange(nl.STATS_GET + 2)
        flags = nl.NLM_F_DUMP if random.random() < 0.1 else 0
        attrs = mutate(attrs)
        try:
            got = sock.error(command, attrs, flags)
        except TimeoutError:
            sys.exit(f"no answer: command {command} {attrs.hex()}")
        answers[got] = answers.get(got, 0) + 1
    print("answers:", answers)


def main():
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    random.seed(seed)
    sock = nl.Netlink()
    check_refused(sock, sys.argv[1])
    fuzz(sock, sys.argv[1], int(sys.argv[2]))
    for disk in sock.dump():
        sock.disconnect(struct.unpack("I", disk[nl.INDEX])[0], nl.attr(nl.FORCE))
    if sock.dump():
        sys.exit("disks are left")


main()
