# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of a bench, as Documentation/benchmarks.rst has them.

Rows, tables and cells without a measurement are left out, or say so. An empty cell in the first
column repeats the cell above.
"""

import re
import statistics

import results

ORDER = (results.SMALL + results.BATCHES
         + ("read-64k-qd1", "read-64k-qd16", "read-64k-qd32", "write-64k-qd1",
            "write-64k-qd16", "write-64k-qd32", "read-1m-qd16", "write-1m-qd16",
            results.FSYNC, "randread-4k-qd1-poll", "randread-4k-qd32-poll",
            "randwrite-4k-qd1-poll", "randwrite-4k-qd32-poll"))
DEVICES = ("rdmablk", "rdmablk-full", "rdmablk-none", "rdmablk-none-cached", "nvme-rdma",
           "nvme-rdma-cached", "nbd", "null_blk", "verbs", "verbs-scattered",
           *(f"{d}-x{n}" for d in ("rdmablk", "null_blk", "verbs")
             for n in (1, 2, 4, 8, 16, 64)),
           *(f"{d}-c{n}" for n in (2, 4) for d in ("rdmablk", "nvme-rdma")),
           *(f"rdmablk-{n}g{h}" for n in (1, 2, 4, 8) for h in ("", "-huge")))
NOTHING = "–"


class Table:
    """A title, a line of names, and rows of text whose first columns are words."""

    def __init__(self, title, header, rows, words=2):
        self.title, self.header, self.rows, self.words = title, header, list(rows), words

    def lines(self, rst):
        """The table for a terminal, or as a simple table of reStructuredText."""
        rows = [self.header] + self.rows
        if rst:
            rows = [[line[0] or "\\", *line[1:]] for line in rows]
        widths = [max(len(line[i]) for line in rows) for i in range(len(self.header))]
        out = [(" " if rst else "  ").join(
            cell.ljust(width) if i < self.words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in rows]
        if rst:
            rule = " ".join("=" * width for width in widths)
            out = [rule, out[0], rule, *out[1:], rule]
        return out


def workloads(doc):
    """All devices, known ones first and in order."""
    names = {w: None for r in doc["results"].values() for w in r}
    known = [w for w in ORDER if w in names]
    return known + [w for w in names if w not in ORDER]


def devices(doc):
    """All workloads, known ones first and in order."""
    return ([d for d in DEVICES if d in doc["results"]]
            + [d for d in doc["results"] if d not in DEVICES])


def matching(doc, regex):
    """(number, device) of all devices whose names match, in order."""
    return sorted((int(m[1]), d) for d in doc["results"] if (m := re.fullmatch(regex, d)))


def of(doc, device):
    """Workloads of a device, in order, except fsync, which has a table of its own."""
    return [w for w in workloads(doc)
            if results.result(doc, device, w) and w != results.FSYNC]


def parse(workload):
    """(direction, size, depth, how), or None; how is "", "b16" or "poll"."""
    m = re.fullmatch(r"([a-z]+)-(\d+)([km])-qd(\d+)(?:-(b\d+|poll))?", workload)
    if not m:
        return None
    rw, size, unit, depth, how = m.groups()
    return rw, f"{size} {'KiB' if unit == 'k' else 'MiB'}", int(depth), how or ""


def label(workload):
    """4 KiB randread, 32"""
    parsed = parse(workload)
    if not parsed:
        return workload
    rw, size, depth, how = parsed
    return f"{size} {rw}, {depth}" + (f" {how}" if how.startswith("b") else "")


def measured(doc, names, wanted, title=str):
    """(title, workload, device, result) of all results; a title only in its first row."""
    for workload in names:
        text = title(workload)
        for device in wanted:
            r = results.result(doc, device, workload)
            if r:
                yield text, workload, device, r
                text = ""


# --- cells ---------------------------------------------------------------------------

def cell(r, get, form):
    """A value of a result that may lack it."""
    try:
        return form.format(get(r)) if r else NOTHING
    except KeyError:
        return NOTHING


def iops(r):
    """I/Os per second."""
    return cell(r, lambda r: r["iops"], "{:.0f}")


def mib_s(r):
    """A number with no more digits than mean something."""
    return cell(r, lambda r: r["mib_s"], "{:.0f}" if r.get("mib_s", 0) >= 1000 else "{:.1f}")


def micros(r):
    """Time of an I/O."""
    return cell(r, lambda r: r["ns_per_io"] / 1000, "{:.1f}")


def per_io(r, name):
    """A count per I/O, like packets."""
    return cell(r, lambda r: r[f"{name}_per_io"], "{:.2f}")


def latency(r, which, name="lat_us"):
    """A percentile or the mean of the latencies."""
    return cell(r, lambda r: r[name][which], "{:.1f}" if which == "mean" else "{:.0f}")


def by(doc, workload, device, peer):
    """IOPS of a device divided by those of another."""
    value = results.ratio(doc, workload, device, peer)
    return NOTHING if value is None else f"{value:.2f}"


def digits(value, goal, least=2):
    """A number, with as many digits as show whether its goal is missed."""
    for n in range(least, 5):
        text = f"{value:.{n}f}"
        if (float(text) >= goal) == (value >= goal):
            break
    return text


# --- counted -------------------------------------------------------------------------

def driver_rows(doc, names):
    """rdmablk, its peers and null_blk, by workload."""
    for title, workload, device, r in measured(
            doc, names, ("rdmablk", "nvme-rdma", "nbd", "null_blk"), label):
        ratio = by(doc, workload, device, "nvme-rdma") if device == "rdmablk" else ""
        yield [title, device, iops(r), mib_s(r), latency(r, "p50"), latency(r, "p99"),
               latency(r, "p999"), per_io(r, "packets"), per_io(r, "posts"),
               per_io(r, "context_switches"), per_io(r, "softirqs"), ratio]


DRIVERS = ["Workload", "Driver", "IOPS", "MiB/s", "p50", "p99", "p99.9", "packets", "posts",
           "switches", "softirqs", "ratio"]


def driver_tables(doc):
    """Results of the sets that have few workloads."""
    polled = [w for w in of(doc, "rdmablk") if w.endswith("-poll")]
    rest = [w for w in of(doc, "rdmablk") if w not in polled]
    yield Table("Workloads", DRIVERS, driver_rows(doc, rest))
    yield Table("Polled queues", DRIVERS, driver_rows(doc, polled))


def full_rows(doc):
    """A cached file beside memory."""
    for w in of(doc, "rdmablk-full"):
        yield [label(w), iops(results.result(doc, "rdmablk", w)),
               iops(results.result(doc, "rdmablk-full", w)),
               by(doc, w, "rdmablk-full", "rdmablk")]


def none_rows(doc):
    """An uncached file beside nvme-rdma."""
    for w in of(doc, "rdmablk-none"):
        ours, peer = (results.result(doc, d, w) for d in ("rdmablk-none", "nvme-rdma"))
        daemon = cell(ours, lambda r: r["daemon"]["ns"] / r["ios"] / 1000, "{:.1f}")
        yield [label(w), iops(ours), per_io(ours, "packets"),
               per_io(ours, "context_switches"), daemon, iops(peer),
               per_io(peer, "packets"), per_io(peer, "context_switches"),
               by(doc, w, "rdmablk-none", "nvme-rdma")]


def fsync_rows(doc):
    """fsync, by the disk behind; both stores are compared with nvme-rdma on the like."""
    for behind, peer, ours in (
            ("null_blk with a cache", "nvme-rdma-cached",
             {"rdmablk-full": "full", "rdmablk-none-cached": "none"}),
            ("RAM disk", "nvme-rdma", {"rdmablk-none": "none"})):
        for title, _, device, r in measured(doc, [results.FSYNC], (*ours, peer),
                                            lambda _, behind=behind: behind):
            name = f"rdmablk, cache={ours[device]}" if device in ours else "nvme-rdma"
            yield [title, name, iops(r), micros(r), latency(r, "mean", "write_lat_us"),
                   cell(r, lambda r: r["fsync_us"], "{:.1f}"),
                   *(latency(r, p, "write_lat_us") for p in ("p50", "p99", "p999")),
                   per_io(r, "packets"), per_io(r, "context_switches"),
                   by(doc, results.FSYNC, device, peer) if device in ours else ""]


FSYNCS = ["What is behind", "Driver", "IOPS", "µs", "write", "fsync", "p50", "p99", "p99.9",
          "packets", "switches", "ratio"]


def store_tables(doc):
    """Stores that are files."""
    yield Table("cache=full", ["Workload", "memory", "full", "ratio"], full_rows(doc), 1)
    yield Table("cache=none", ["Workload", "none", "packets", "switches", "daemon",
                               "nvme-rdma", "packets", "switches", "ratio"],
                none_rows(doc), 1)
    yield Table("fsync", FSYNCS, fsync_rows(doc))


def limit_rows(doc):
    """The cost of an I/O beside its least possible cost."""
    for w in of(doc, "rdmablk"):
        value = results.efficiency(doc, w)
        if value is None:
            continue
        yield [label(w), *(micros(results.result(doc, d, w)) for d in
                           ("null_blk", "verbs", "rdmablk", "nvme-rdma")),
               digits(value, results.EFFICIENCY_GOAL[0] if w in results.EFFICIENCY else 0, 3)]


LIMITS = ["Workload", "null_blk", "verbs", "rdmablk", "nvme-rdma", "efficiency"]


def disk_rows(doc):
    """By the number of I/Os in flight in all, and the number of disks."""
    numbers = [n for n, _ in matching(doc, r"rdmablk-x(\d+)")]
    depths = sorted({parse(w)[2] for n in numbers for w in doc["results"][f"rdmablk-x{n}"]
                     if parse(w)})
    for depth in depths:
        title, write = str(depth), f"randwrite-4k-qd{depth}"
        for n in numbers:
            ours, null, verbs = (results.result(doc, f"{d}-x{n}", write)
                                 for d in ("rdmablk", "null_blk", "verbs"))
            read = results.result(doc, f"rdmablk-x{n}", f"randread-4k-qd{depth}")
            value = results.efficiency(doc, write, f"-x{n}")
            yield [title, str(n), iops(read), iops(ours), micros(null), micros(verbs),
                   micros(ours), NOTHING if value is None else f"{value:.2f}"]
            title = ""


DISKS = ["in flight", "disks", "randread", "randwrite", "null_blk", "verbs", "rdmablk",
         "efficiency"]


def connect_rows(doc):
    """The memory that connecting the disks took, in all and for each."""
    for disks, r in doc.get("scaling", {}).items():
        yield [disks, str(r["memory_kib"]), f"{r['memory_kib'] / int(disks):.0f}"]


def ways(doc):
    """(depth, how) of a matrix: its columns."""
    found = {p[2:] for w in doc["results"].get("rdmablk", {}) if (p := parse(w))}
    return sorted(found, key=lambda way: (way[1] == "poll", way[1] != "", way))


def size_order(text):
    """The results of one size, like 4 KiB."""
    number, unit = text.split()
    return int(number) * (1024 if unit == "MiB" else 1)


def matrix_table(doc):
    """IOPS of rdmablk divided by those of nvme-rdma."""
    columns = ways(doc)
    sizes = {p[1] for w in doc["results"].get("rdmablk", {}) if (p := parse(w))}
    rows = []
    for size in sorted(sizes, key=size_order):
        for rw, name in (("randread", "read"), ("randwrite", "write"), ("randrw", "70/30")):
            unit = size.replace(" ", "")[:-2].lower()
            names = [f"{rw}-{unit}-qd{depth}" + (f"-{how}" if how else "")
                     for depth, how in columns]
            line = [by(doc, w, "rdmablk", "nvme-rdma") for w in names]
            if any(c != NOTHING for c in line):
                rows.append([f"{size} {name}", *line])
    return Table("Ratios", ["I/O", *(f"{depth} {how}".strip().replace("poll", "polled")
                                     for depth, how in columns)], rows, 1)


def export_table(doc):
    """IOPS by the size of an export and its pages."""
    sizes = sorted({n for n, _ in matching(doc, r"rdmablk-(\d+)g(?:-huge)?")})
    rows = []
    for pages, suffix in (("base", ""), ("2 MiB", "-huge")):
        for w in workloads(doc):
            line = [iops(results.result(doc, f"rdmablk-{n}g{suffix}", w)) for n in sizes]
            if any(c != NOTHING for c in line):
                rows.append([pages, label(w), *line])
                pages = ""
    return Table("Size of the export", ["Pages", "Workload", *(f"{n} GiB" for n in sizes)],
                 rows)


def instruction_rows(doc):
    """Instructions by workload and disk: all, outside rxe, driver."""
    for workload, disks in doc.get("instructions", {}).items():
        title = workload
        for disk, r in disks.items():
            yield [title, disk, f"{r['total']:.0f}", f"{r['total'] - r.get('rxe', 0):.0f}",
                   f"{r.get('driver', 0):.0f}"]
            title = ""


INSTRUCTIONS = ["Instructions", "per I/O", "all", "outside rxe", "driver"]


def all_rows(doc):
    """All measurements of an I/O."""
    for title, _, device, r in measured(doc, workloads(doc), devices(doc)):
        yield [title, device, iops(r), cell(r, lambda r: r["ns_per_io"], "{:.0f}"),
               *(latency(r, p) for p in ("mean", "p50", "p99", "p999")),
               *(per_io(r, n) for n in ("packets", "posts", "completions",
                                        "context_switches", "softirqs"))]


ALL = ["Workload", "Device", "IOPS", "ns", "mean", "p50", "p99", "p99.9", "packets", "posts",
       "completions", "switches", "softirqs"]


# --- by the clock --------------------------------------------------------------------

def wall_rows(doc):
    """Results by the clock, by workload and device."""
    for title, workload, device, r in measured(doc, workloads(doc), devices(doc)):
        median, times = statistics.median(r["iops_rounds"]), sorted(r["iops_rounds"])
        peer = device.replace("rdmablk", "nvme-rdma")
        last = ["", ""]
        if peer != device and results.result(doc, peer, workload):
            pairs = results.paired(doc, workload, device, peer)
            last = [by(doc, workload, device, peer),
                    f"{min(pairs):.2f}-{max(pairs):.2f}"]
        yield [title, device, f"{median:.0f}", f"{(times[-1] - times[0]) / median:.0%}",
               cell(r, lambda r: r["mib_s"], "{:.0f}"), latency(r, "p50"),
               latency(r, "p99"), latency(r, "p999"), *last]


WALL = ["Workload", "Device", "IOPS", "range", "MiB/s", "p50", "p99", "p99.9", "ratio",
        "rounds"]


def footprints(doc):
    """(driver, export, disks, queues, ms, KiB of the initiator, of the target), of one disk."""
    for r in doc.get("footprint", []):
        n = r["disks"]
        size = f"{r['mib'] // 1024} GiB" if r["mib"] >= 1024 else f"{r['mib']} MiB"
        yield (r["driver"], size + (", huge pages" if r["pages"] == "2M" else ""), n,
               r["queues"], sorted(ms / n for ms in r["connect_ms"]),
               r["initiator_kib"] / n, r["target_kib"] / n)


def footprint_rows(doc):
    """Memory and time of connecting, by what was connected."""
    for driver, export, n, queues, ms, initiator, target in footprints(doc):
        yield [driver, export, f"{n} disk{'s' if n > 1 else ''}", str(queues),
               f"{statistics.median(ms):.0f}", f"{ms[0]:.0f}-{ms[-1]:.0f}",
               f"{initiator:.0f}", f"{target:.0f}"]


FOOTPRINT = ["Driver", "Export", "What", "queues", "ms", "range", "initiator", "target"]


# --- all of them ---------------------------------------------------------------------

def made(doc):
    """The tables of a set; some may be empty."""
    which = doc["set"]
    if which == "memory":
        yield Table("Memory, and connecting", FOOTPRINT, footprint_rows(doc), 3)
        return
    if which == "wall":
        yield Table("By the clock", WALL, wall_rows(doc))
        return
    if which == "matrix":
        yield matrix_table(doc)
    elif which == "scaling":
        yield Table("Disks", DISKS, disk_rows(doc), 0)
        yield Table("Memory of the disks", ["disks", "KiB", "each"], connect_rows(doc), 0)
    elif which == "size":
        yield export_table(doc)
    else:
        yield from driver_tables(doc)
        yield from store_tables(doc)
        yield Table("Limits", LIMITS, limit_rows(doc), 1)
    yield Table("Instructions", INSTRUCTIONS, instruction_rows(doc))
    yield Table("All figures", ALL, all_rows(doc))


def tables(doc):
    """The tables that have rows, in the order in which they are printed."""
    return [t for t in made(doc) if t.rows]
