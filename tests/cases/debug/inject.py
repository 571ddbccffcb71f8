#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""inject.py WHAT ADDRESS|MODULE [OPTION...]: connect, disconnect, recover, commands; load

Makes the first allocation of an operation fail, then the second one, and so on, until the
operation makes no more of them. Each failure must be reported with a reason, and the operation
must work again afterwards. Allocations by rdma_cm, the block layer and others that the module
calls count as the module's own.

recover and commands need a live rdmablk0 at ADDRESS; load needs no module. With --below only
allocations by one function of the module, and by the functions that it calls, fail.
"""

import argparse
import collections
import ctypes
import errno
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../control"))
# pylint: disable=wrong-import-position
import rdmablknl as nl  # noqa: E402

DEBUGFS = "/sys/kernel/debug"
FAULTS = ("failslab", "fail_page_alloc")
DISK = "/sys/block/rdmablk0/rdmablk"
DRIVER = "/sys/bus/platform/drivers/rdmablk"
FINIT_MODULE, DELETE_MODULE = 313, 176      # x86-64
LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE = 120 * int(os.environ.get("SLOWNESS", "1"))


def text_of(name):
    """The first address of a module or a function, and the address behind its end."""
    module, start, text = [], None, []
    with open("/proc/kallsyms", encoding="ascii") as f:
        for line in f:
            words = line.split()
            if words[1] not in "tT":
                continue
            address = int(words[0], 16)
            text.append(address)
            if words[3:] == [f"[{name}]"]:
                module.append(address)
            if words[2] == name:
                start = address
    if module:
        # kallsyms does not say where the last function ends, so the end of its page is taken.
        return min(module), (max(module) | 0xfff) + 1
    # kallsyms has the functions of modules in any order.
    behind = [address for address in text if start and address > start]
    if not behind:
        sys.exit(f"no {name} in /proc/kallsyms")
    return start, min(behind)


class Fault:
    """A kind of allocation that can fail."""

    def __init__(self, kind):
        self.dir = f"{DEBUGFS}/{kind}"
        self.kind = kind
        self.interval = 1
        # The number of matches since the boot, which the kernel counts but does not show
        self.kept = f"/run/inject.{kind}"
        self.count = 0
        if os.path.exists(self.kept):
            with open(self.kept, encoding="ascii") as f:
                self.count = int(f.read())

    def write(self, name, value):
        with open(f"{self.dir}/{name}", "w", encoding="ascii") as f:
            f.write(str(value))

    def filter(self, start, end):
        """Only allocations with an address from start to end on their stack fail."""
        self.write("probability", 0)
        for name, value in (("task-filter", "N"), ("stacktrace-depth", 32),
                            ("require-start", hex(start)), ("require-end", hex(end)),
                            ("ignore-gfp-wait", "N"), ("space", 0), ("verbose", 2)):
            self.write(name, value)
        if self.kind == "fail_page_alloc":
            self.write("min-order", 0)
            self.write("ignore-gfp-highmem", "N")

    def arm(self, nth):
        """The nth allocation from now on fails, and no other."""
        # An allocation fails when the kernel's count is a multiple of the interval. With an
        # interval of 1 the kernel does not count.
        self.interval = self.count + nth
        self.write("interval", self.interval)
        self.write("times", 1)
        self.go_on()

    def go_on(self):
        self.write("probability", 100)

    def disarm(self):
        """Returns whether an allocation has failed."""
        self.write("probability", 0)
        with open(f"{self.dir}/times", encoding="ascii") as f:
            failed = f.read().strip() == "0"
        if failed and self.interval > 1:
            self.count = self.interval
            with open(self.kept, "w", encoding="ascii") as f:
                f.write(str(self.count))
        return failed


def nothing():
    """Does nothing: most operations need no preparation and no cleanup."""


def outcome(function, *args):
    """'ok', or the error of the function; an error without a reason ends the test."""
    try:
        function(*args)
    except OSError as e:
        if not e.strerror:
            sys.exit(f"{e.errno} without a reason")
        return f"{errno.errorcode.get(e.errno, e.errno)} ({e.strerror})"
    return "ok"


class Sweep:
    """One operation, and the outcomes of its runs."""

    def __init__(self, name, operate, before=nothing, after=nothing):
        self.name = name
        self.operate, self.before, self.after = operate, before, after
        self.results = collections.Counter()

    def once(self, begin, end):
        """Returns whether an allocation has failed. If none has, the operation must succeed."""
        self.before()
        begin()
        result = outcome(self.operate)
        failed = end()
        self.after()
        if failed:
            self.results[result] += 1
        elif result != "ok":
            sys.exit(f"{self.name}: {result}, but no allocation has failed")
        return failed

    def run(self, fault):
        """Fails the first allocation, the second, ... to the last. Pooled memory is not allocated
        each time, so the end counts only when two runs in a row reach it. Returns the number of
        allocations that have failed."""
        start = time.monotonic()
        self.results.clear()
        nth = missed = 0
        while missed < 2:
            if self.once(lambda n=nth + 1: fault.arm(n), fault.disarm):
                nth, missed = nth + 1, 0
                continue
            missed += 1
            while nth and not self.once(fault.go_on, fault.disarm):
                pass    # until the kernel's count is known again
        print(f"{self.name}: {nth} of {fault.kind} in "
              f"{time.monotonic() - start:.0f} s: {dict(self.results)}", flush=True)
        return nth


def fail_nth(nth):
    """The nth allocation of this thread from now on fails. Returns whether the allocation that
    the last call asked for has failed."""
    fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR | os.O_CLOEXEC)
    try:
        failed = int(os.read(fd, 32)) == 0
        os.pwrite(fd, str(nth).encode(), 0)
    finally:
        os.close(fd)
    return failed


def sweep_thread(name, operate, after=nothing):
    """Like Sweep.run(), for allocations of this thread, of both kinds at once."""
    one, nth = Sweep(name, operate, nothing, after), 0
    while one.once(lambda n=nth + 1: fail_nth(n), lambda: fail_nth(0)):
        nth += 1
    print(f"{name}: {nth}: {dict(one.results)}", flush=True)
    return nth


def wait_until(what, condition):
    """Ends the test if the condition does not become true in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not in {PATIENCE} s")
        time.sleep(0.02)


def attribute(name):
    """An attribute of rdmablk0."""
    with open(f"{DISK}/{name}", encoding="ascii") as f:
        return f.read().strip()


def prepare(symbol):
    """Both kinds of faults, for allocations below a function or in a module."""
    start, end = text_of(symbol)
    faults = [Fault(kind) for kind in FAULTS]
    for fault in faults:
        fault.filter(start, end)
    return faults


class Disk:
    """An export, and operations on it."""

    def __init__(self, host, queues, poll, depth, key):
        self.sock = nl.Netlink(timeout=PATIENCE)
        self.host = host
        self.options = nl.u32(nl.QUEUES, queues)
        if poll:
            self.options += nl.u32(nl.POLL_QUEUES, 1)
        if depth:
            self.options += nl.u32(nl.QUEUE_DEPTH, depth)
        if key:
            self.options += nl.string(nl.KEY, key)
        self.made = None

    def connect(self):
        self.made = self.sock.connect(self.host, "disk0", self.options)

    def disconnect(self):
        if self.made is not None:
            self.sock.disconnect(self.made)
            self.made = None

    def gone(self):
        """Whether the disconnect failed or not, the next one removes the disk."""
        self.disconnect()
        left = glob.glob("/dev/rdmablk*")
        if left:
            sys.exit(f"{left} is left behind")

    def recover(self):
        """Asks for a new connection, and waits for it; the disk must come back."""
        before = int(attribute("reconnects"))
        self.sock.request(nl.RECONNECT, nl.u32(nl.INDEX, 0))
        wait_until("recovery", lambda: int(attribute("reconnects")) > before and
                   attribute("state") == "live")

    def get(self):
        return self.sock.request(nl.GET, nl.u32(nl.INDEX, 0))

    def set(self):
        self.sock.request(nl.SET, nl.u32(nl.INDEX, 0) + nl.u32(nl.RECONNECT_DELAY, 2))


def load(module):
    """finit_module(); raises OSError."""
    fd = os.open(module, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if LIBC.syscall(FINIT_MODULE, fd, b"", 0):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(fd)


def unload():
    """Unloads the module if it is loaded."""
    if os.path.exists("/sys/module/rdmablk") and \
            LIBC.syscall(DELETE_MODULE, b"rdmablk", os.O_NONBLOCK):
        sys.exit("rmmod: " + os.strerror(ctypes.get_errno()))
    # the kernel 'debug' releases objects late, and until then the driver's name is taken
    wait_until("the driver has gone", lambda: not os.path.exists(DRIVER))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("connect", "disconnect", "recover", "commands", "load"))
    parser.add_argument("where")
    parser.add_argument("--below", metavar="FUNCTION", default="rdmablk")
    parser.add_argument("--queues", type=int, default=1, help="connect: that are not polled")
    parser.add_argument("--poll", action="store_true", help="connect: with a polled queue")
    parser.add_argument("--depth", type=int, help="connect: of the queues")
    parser.add_argument("--key", metavar="NAME", help="connect: of a key")
    args = parser.parse_args()
    what, where = args.what, args.where
    faults = prepare("do_one_initcall" if what == "load" else args.below)
    if what == "load":
        if not sweep_thread("load", lambda: load(where), unload):
            sys.exit("nothing has failed")
        return
    disk = Disk(where, args.queues, args.poll, args.depth, args.key)
    if what == "commands":
        # set and dump need not allocate memory.
        sweep_thread("set", disk.set)
        sweep_thread("dump", disk.sock.dump)
        if not sweep_thread("get", disk.get):
            sys.exit("nothing has failed")
        return
    name = f"{what} below {args.below}"
    sweep = {
        "connect": Sweep(name, disk.connect, after=disk.gone),
        "disconnect": Sweep(name, disk.disconnect, disk.connect, disk.gone),
        "recover": Sweep(name, disk.recover),
    }[what]
    counts = [sweep.run(fault) for fault in faults]
    # A single function need not make allocations of both kinds.
    if not (all(counts) if args.below == "rdmablk" else any(counts)):
        sys.exit(f"{name}: nothing has failed")


main()
