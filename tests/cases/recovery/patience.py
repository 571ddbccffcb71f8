#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""patience.py TRACE FAST LOSS SESSION_TMO_MS: checks the trace of an outage.

TRACE is the text of the events of one disk, and of requests that fail. A mark "killed" was
written just before its daemon was killed, so the connection was lost after it. Counted from
the mark, no request may fail within FAST seconds, no posted write may fail within
SESSION_TMO_MS, and reconnecting may not end within LOSS seconds.
"""

import re
import sys

EVENT = re.compile(r"\s(\d+\.\d+): (\w+): (.*)")
TICK = 0.02     # seconds of two jiffies at most: the module counts in jiffies


def main():
    fast, loss = float(sys.argv[2]), float(sys.argv[3])
    session_tmo = int(sys.argv[4]) / 1000
    killed = ended = None
    under_way = {}      # tag: operation
    failed = []         # operation or None, seconds
    for line in open(sys.argv[1], encoding="ascii"):
        match = EVENT.search(line)
        if not match:
            continue
        time, event, rest = float(match[1]), match[2], match[3]
        if event == "tracing_mark_write" and rest == "killed":
            killed = time
        elif event == "rdmablk_state" and "recovering -> failed" in rest:
            ended = time
        elif event == "rdmablk_queue":
            tag = re.search(r"queue=\d+ tag=\d+", rest)[0]
            under_way[tag] = re.search(r"op=(\w+)", rest)[1]
        elif event == "rdmablk_end":
            tag = re.search(r"queue=\d+ tag=\d+", rest)[0]
            operation = under_way.pop(tag, None)
            if "error=0" not in rest:
                assert killed, f"failed in good times: {line}"
                failed.append((operation, time - killed))
        elif event == "block_rq_error":
            # This includes requests that the driver never got.
            assert killed, f"failed in good times: {line}"
            failed.append((None, time - killed))
    assert killed and ended and failed, f"killed {killed}, {failed}, ended {ended}"
    first = min(t for _, t in failed)
    assert first > fast - TICK, f"a request failed after {first} s"
    writes = [t for operation, t in failed if operation == "write"]
    assert writes, "no write was under way"
    early = [t for t in writes if t < session_tmo]
    assert not early, f"writes failed after {early} s"
    assert ended - killed > loss - TICK, f"it ended after {ended - killed} s"
    print(f"the first request failed after {first:.3f} s, the first write that was under "
          f"way after {min(writes):.3f} s, reconnecting ended after "
          f"{ended - killed:.3f} s")


main()
