#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""held.py TRACE SESSION_TMO_MS: checks the trace of a session that failed.

TRACE is the text of the events rdmablk_queue, rdmablk_end and rdmablk_state
of one disk. A write that was handed to the device and not completed may only be
reported as failed SESSION_TMO_MS after the session has failed; reads that were
under way fail before that. Each request that was queued completes once.
"""

import re
import sys

EVENT = re.compile(r"\s(\d+\.\d+): (rdmablk_\w+): rdmablk\d+ (.*)")


def main():
    session_tmo = int(sys.argv[2]) / 1000
    under_way = {}      # tag: operation
    recovering = None
    failed = {"read": [], "write": []}
    done = 0
    for line in open(sys.argv[1], encoding="ascii"):
        match = EVENT.search(line)
        if not match:
            continue
        time, event, rest = float(match[1]), match[2], match[3]
        if event == "rdmablk_state":
            if "live -> recovering" in rest:
                recovering = time
            continue
        if event not in ("rdmablk_queue", "rdmablk_end"):
            continue
        tag, what = re.match(r"(queue=\d+ tag=\d+) (.*)", rest).groups()
        if event == "rdmablk_queue":
            assert tag not in under_way, f"queued twice: {line}"
            under_way[tag] = re.search(r"op=(\w+)", what)[1]
            continue
        error = int(what.split("=")[1])
        operation = under_way.pop(tag, None)
        if not operation:
            continue    # queued before the trace began, or never
        if error:
            failed[operation].append(time)
        else:
            done += 1
    assert recovering, "no 'live -> recovering'"
    assert done, "nothing was completed"
    assert not under_way, f"never completed: {under_way}"
    assert failed["read"] and failed["write"], f"failed: {failed}"
    early = [t for t in failed["write"] if t < recovering + session_tmo]
    assert not early, f"writes reported as failed too early: {early}"
    late = [t for t in failed["read"] if t >= recovering + session_tmo]
    assert not late, f"reads held: {late}"
    print(f"{done} done, {len(failed['read'])} reads failed after "
          f"{failed['read'][0] - recovering:.3f} s, {len(failed['write'])} writes "
          f"after {min(failed['write']) - recovering:.3f} s")


main()
