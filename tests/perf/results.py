# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a bench: the contents of the file, and the figures derived from them.

Everything that reads a results.json goes through this; Documentation/json/
rdmablk-bench.schema.json says what is in one.
"""

import json
import os
import statistics
import subprocess
import time

VERSION = 3
SMALL = ("randread-4k-qd1", "randread-4k-qd32", "randwrite-4k-qd1", "randwrite-4k-qd32")
LARGE = ("read-64k-qd16", "write-64k-qd16", "read-1m-qd16", "write-1m-qd16")
POLLED = ("randread-4k-qd1-poll", "randwrite-4k-qd1-poll")
BATCHES = ("randread-4k-qd32-b16", "randwrite-4k-qd32-b16")
ONE_SIDED = SMALL + LARGE[:2]
STAGED = SMALL + ("read-64k-qd1", "read-64k-qd32", "write-64k-qd1", "write-64k-qd32")
FSYNC = "fsync-4k-qd1"
# What a disk at its limit would cost: fio on null_blk and the same work requests.
EFFICIENCY = ("randread-4k-qd32", "randwrite-4k-qd32")
PACKETS, PACKETS_TOLERANCE = 2.0, 0.02
POSTS = 1 / 8
# The daemon's limits while a memory store is measured: nanoseconds per I/O, and I/Os per wake.
# Its threads wake every few seconds without any I/O, so there are also wakes and nanoseconds
# per second.
DAEMON_NS = 10
DAEMON_WAKES = 1000
DAEMON_IDLE_WAKES = 1
DAEMON_IDLE_NS = 20000
# Instructions of the driver, divided by those of nvme-rdma's driver.
DRIVER = 0.4
COUNTED_INSTRUCTIONS = ("randread-4k-qd32", "randwrite-4k-qd32")
# Layers of waiting tasks. Their instructions depend on where the scheduler preempts a task.
WAITING = ("polling", "scheduler", "interrupt")
# Sets whose time counts instructions. Other sets have no goals, and fail no gate.
COUNTED = ("default", "gate", "matrix", "scaling", "size")


def read(name):
    """Reads a results.json; exits if the file is not one."""
    try:
        with open(name, encoding="ascii") as f:
            doc = json.load(f)
    except (OSError, ValueError) as e:
        raise SystemExit(f"{name}: {e}") from e
    if not isinstance(doc, dict) or doc.get("version") != VERSION or "results" not in doc:
        raise SystemExit(f"{name} is no result of tests/perf/run of version {VERSION}")
    return doc


def write(name, doc):
    """Writes any object as JSON that people can read, too."""
    with open(name, "w", encoding="ascii") as f:
        json.dump(doc, f, indent=2)
        f.write("\n")


def first_line(command):
    """The first line of a command's output, or None."""
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return out.stdout.splitlines()[0].strip() if out.stdout else None


def host_cpu():
    """The host's processor, which does the emulation."""
    with open("/proc/cpuinfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return None


def instructions(name):
    """The counts of tests/perf/profile, by workload, disk and layer, or nothing."""
    if not name:
        return {}
    with open(name, encoding="ascii") as f:
        doc = json.load(f)
    found = {}
    for workload, disks in doc.items():
        rw, depth, *polled = workload.split("-")
        found[f"{rw}-4k-qd{depth}" + ("-poll" if polled else "")] = {
            disk: {"total": round(r["total"], 1)}
            | {layer: round(n, 1) for layer, n in r["layers"].items()}
            for disk, r in disks.items()}
    return {"instructions": found}


def collect(directory, which, rounds, machine, profile=None):
    """The guest's files in a directory, and a profile, with their environment."""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {
        "machine": machine,
        "qemu": first_line(["qemu-system-x86_64", "--version"]),
        "compiler": first_line(["gcc", "--version"]),
        "host_cpu": host_cpu(),
    }
    for name in ("kernel", "fio"):
        with open(os.path.join(directory, name), encoding="ascii") as f:
            environment[name] = f.read().strip()
    found = {}
    for name in sorted(os.listdir(directory)):
        if name.endswith(".json"):
            with open(os.path.join(directory, name), encoding="ascii") as f:
                found[name[:-len(".json")]] = json.load(f)
    apart = {n: found.pop(n) for n in ("ib_read_lat", "scaling", "footprint")
             if n in found}
    return {
        "version": VERSION,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": first_line(["git", "-C", here, "describe", "--always", "--dirty"]),
        "set": which,
        "rounds": rounds,
        "environment": environment,
        "results": found,
    } | apart | instructions(profile)


def result(doc, device, workload):
    """The result of one workload on one device, or None."""
    return doc["results"].get(device, {}).get(workload)


def ratio(doc, workload, device, peer):
    """IOPS of a device divided by those of another, or None."""
    ours, theirs = result(doc, device, workload), result(doc, peer, workload)
    return ours["iops"] / theirs["iops"] if ours and theirs else None


def efficiency(doc, workload, suffix=""):
    """(cost of fio on null_blk + cost of the same work requests) / cost of ours, or None"""
    parts = [result(doc, d + suffix, workload) for d in ("null_blk", "verbs", "rdmablk")]
    if None in parts:
        return None
    null, verbs, ours = (p["ns_per_io"] for p in parts)
    return (null + verbs) / ours


def steady(doc, workload, device, peer):
    """The ratio of the median rounds of both devices, or None: for comparing two runs."""
    ours, theirs = result(doc, device, workload), result(doc, peer, workload)
    if not ours or not theirs:
        return None
    return statistics.median(ours["iops_rounds"]) / statistics.median(theirs["iops_rounds"])


def paired(doc, workload, device, peer):
    """For each round: IOPS of a device divided by those of the peer's round beside it."""
    rounds = [result(doc, d, workload)["iops_rounds"] for d in (device, peer)]
    return [a / b for a, b in zip(*rounds)]


class Ratio:
    """A figure that is better the larger it is, and its goal.

    `goal` is what is wanted. `floor` is the least that the gate accepts. It is lower than the
    goal if the goal is not reached, or not in each run. `steady` is the value that is compared
    with other runs.
    """

    def __init__(self, name, value, goal=None, floor=None, steady_value=None):
        self.name, self.value, self.goal = name, value, goal
        self.floor = goal if floor is None else floor
        self.steady = value if steady_value is None else steady_value

    @property
    def reached(self):
        """Whether the goal is reached, or there is none."""
        return self.goal is None or self.value >= self.goal


# (device, peer, workload): (goal, floor)
GOALS = {
    ("rdmablk", "nvme-rdma", "randread-4k-qd1"): (2.0, 2.0),
    ("rdmablk", "nvme-rdma", "randread-4k-qd32"): (2.0, 2.0),
    ("rdmablk", "nvme-rdma", "randwrite-4k-qd1"): (1.85, 1.75),
    ("rdmablk", "nvme-rdma", "randwrite-4k-qd32"): (1.6, 1.6),
    ("rdmablk", "nvme-rdma", "randread-4k-qd1-poll"): (2.0, 2.0),
    ("rdmablk", "nvme-rdma", "randwrite-4k-qd1-poll"): (2.0, 1.75),
    **{("rdmablk", "nvme-rdma", w): (1.25, 1.25) for w in LARGE[:2]},
    **{("rdmablk", "nvme-rdma", w): (1.25, 1.17) for w in LARGE[2:]},
    **{("rdmablk-full", "rdmablk", w): (0.95, 0.95) for w in ONE_SIDED},
    **{("rdmablk-none", "nvme-rdma", w): (1.2, 0.9) for w in STAGED},
    ("rdmablk-none", "nvme-rdma", FSYNC): (1.0, 1.0),
    **{("rdmablk-x64", "rdmablk-x1", w): (0.95, 0.78) for w in (SMALL[1], SMALL[3])},
    ("rdmablk-full", "nvme-rdma-cached", FSYNC): (1.0, 1.0),
    ("rdmablk-none-cached", "nvme-rdma-cached", FSYNC): (1.0, 1.0),
}
EFFICIENCY_GOAL = (0.97, 0.97)
# For polled I/Os one at a time, where polling is slower than interrupts: (goal, floor)
INSTRUCTIONS_GOALS = {POLLED[0]: (2.0, 2.0), POLLED[1]: (2.0, 1.85)}


def working(doc, disk, workload):
    """Instructions of an I/O without the layers WAITING, or None."""
    counted = doc.get("instructions", {}).get(workload, {}).get(disk)
    return counted and counted["total"] - sum(counted.get(w, 0) for w in WAITING)


def ratios(doc):
    """Yields a Ratio for each goal that the results can be compared with."""
    if doc["set"] not in COUNTED:
        return
    for (device, peer, workload), goal in GOALS.items():
        value = ratio(doc, workload, device, peer)
        if value is not None:
            yield Ratio(f"{device} / {peer}, {workload}", value, *goal,
                        steady(doc, workload, device, peer))
    for workload in EFFICIENCY:
        value = efficiency(doc, workload)
        if value is not None:
            yield Ratio(f"(null_blk + verbs) / rdmablk, {workload}", value,
                        *EFFICIENCY_GOAL)
    for workload, goal in INSTRUCTIONS_GOALS.items():
        ours, theirs = (working(doc, d, workload) for d in ("rdmablk", "nvme-rdma"))
        if ours and theirs:
            yield Ratio("nvme-rdma / rdmablk, instructions without polling, scheduler and"
                        f" interrupts, {workload}", theirs / ours, *goal)


# Ratios without a goal that should not get worse: (device, peer, workload). The set of the gate
# has those to verbs.
RECORDED = (*(("rdmablk", "verbs", w) for w in SMALL + LARGE + BATCHES),
            *(("rdmablk", "nvme-rdma", w) for w in BATCHES))


def gate_ratios(doc):
    """The ratios with goals, and those without."""
    yield from ratios(doc)
    if doc["set"] not in COUNTED:
        return
    for device, peer, workload in RECORDED:
        value = ratio(doc, workload, device, peer)
        if value is not None:
            yield Ratio(f"{device} / {peer}, {workload}", value, None, None,
                        steady(doc, workload, device, peer))
    for workload in BATCHES:
        value = efficiency(doc, workload)
        if value is not None:
            yield Ratio(f"(null_blk + verbs) / rdmablk, {workload}", value)


def gate_names(doc):
    """Yields the names of the ratios that the gate's set must have."""
    if doc["set"] != "gate":
        return
    for device, peer, workload in GOALS:
        if (device != "rdmablk-x64"
                and (device != "rdmablk-none" or workload == FSYNC)):
            yield f"{device} / {peer}, {workload}"
    for workload in EFFICIENCY:
        yield f"(null_blk + verbs) / rdmablk, {workload}"
    for device, peer, workload in RECORDED:
        if peer == "verbs":
            yield f"{device} / {peer}, {workload}"


def facts(doc):
    """Yields (good, text) of facts that are not ratios and have no tolerance.

    In the gate's set a missing measurement is not good.
    """
    if doc["set"] not in COUNTED:
        return
    for yes, text in (*packet_facts(doc), *post_facts(doc), *daemon_facts(doc),
                      *driver_facts(doc)):
        if yes is not None or doc["set"] == "gate":
            yield bool(yes), text


def packet_facts(doc):
    """Facts about I/Os of 4 KiB; None for missing measurements."""
    ours = doc["results"].get("rdmablk", {})
    for workload in (*SMALL, *(w for w in ours if "-4k-" in w and w not in SMALL + (FSYNC,))):
        n = ours.get(workload, {}).get("packets_per_io")
        if n is None:
            yield None, f"rdmablk, {workload}: packets were not measured"
        else:
            yield (abs(n - PACKETS) <= PACKETS_TOLERANCE,
                   f"rdmablk, {workload}: {n:.2f} packets per I/O, to be {PACKETS:.2f}")


def post_facts(doc):
    """Facts about batches."""
    for workload in BATCHES:
        r = result(doc, "rdmablk", workload) or {}
        n = r.get("posts_per_io")
        if n is None:
            yield None, f"rdmablk, {workload}: calls of post_send were not measured"
        else:
            yield n <= POSTS, (f"rdmablk, {workload}: {n:.4f} calls of post_send per I/O,"
                               f" {POSTS:.4f} at most")


def daemon_sums(results, what):
    """Sums over all results: a counter of the daemon, the seconds of its count, and the I/Os.

    A result without seconds counts as 0 s, which makes the limits strictest.
    """
    return (sum(n) for n in zip(*((r["daemon"][what], r["daemon"].get("seconds", 0), r["ios"])
                                  for r in results)))


def daemon_facts(doc):
    """The daemon's wakes and time in all I/Os to memory.

    On a busy host the guest waits for files of the host while its clock runs on. Every few
    seconds the daemon's threads report that they are not stuck, so the limits grow with the
    seconds. The guest may also wait for a page of the daemon's program. That counts as time of
    the daemon: milliseconds in one workload. So the workload with most time of the daemon is
    left out. A daemon that took part in I/Os would take time in several workloads, and wake up
    for its I/Os; wakes are counted in all workloads.
    """
    timed = [r for r in doc["results"].get("rdmablk", {}).values() if "daemon" in r]
    if not timed:
        yield None, "rdmablk: the time of rdmablkd was not measured"
        return
    wakes, seconds, ios = daemon_sums(timed, "switches")
    yield (wakes - DAEMON_IDLE_WAKES * seconds) * DAEMON_WAKES <= ios, (
        f"rdmablk: rdmablkd ran {wakes} times in {ios} I/Os and {seconds:.0f} s, once in"
        f" {DAEMON_WAKES} and {DAEMON_IDLE_WAKES} each second at most")
    usual = sorted(timed, key=lambda r: r["daemon"]["ns"])[:-1] or timed
    ns, seconds, ios = daemon_sums(usual, "ns")
    yield ns - DAEMON_IDLE_NS * seconds <= DAEMON_NS * ios, (
        f"rdmablk: {ns} ns of rdmablkd in {ios} I/Os and {seconds:.0f} s, {DAEMON_NS} for each"
        f" and {DAEMON_IDLE_NS} each second at most")


def driver_instructions(doc):
    """The driver's instructions per I/O, by name, where they were counted; less is better."""
    counted = {w: doc.get("instructions", {}).get(w, {}).get("rdmablk", {}).get("driver")
               for w in COUNTED_INSTRUCTIONS}
    return {f"rdmablk, {w}": n for w, n in counted.items() if n is not None}


def driver_facts(doc):
    """Facts about instructions."""
    for workload in COUNTED_INSTRUCTIONS:
        disks = doc.get("instructions", {}).get(workload, {})
        both = [disks.get(d, {}).get("driver") for d in ("rdmablk", "nvme-rdma")]
        if None in both:
            yield None, f"rdmablk, {workload}: instructions were not counted"
        else:
            yield both[0] <= DRIVER * both[1], (
                f"rdmablk, {workload}: {both[0]:.0f} instructions of the driver,"
                f" {both[0] / both[1]:.3f} of nvme-rdma's, {DRIVER:.3f} at most")
