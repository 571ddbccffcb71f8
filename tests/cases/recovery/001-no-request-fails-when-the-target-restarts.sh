#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon with a kept arena is killed, stopped for longer than the keep-alive timeout, and shut
# down, under load that verifies what it reads. No request fails, no data is lost, and the disk
# comes back by itself each time. The same holds when the administrator asks for a new
# connection, and when two disks are lost at once. Held requests count as posted again, and
# their latency includes the outage.
#
# net: veth

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# Answers are delayed, so that each outage finds requests in flight.
net_shaped
net_shape v1 delay 10ms
load_module
leak_snapshot
serve 16M --export disk1,memory,arena=/dev/shm/disk1,size=16M
connect --keep-alive-tmo 2
expect /dev/rdmablk1 "$("$RDMABLK" connect "$TARGET_ADDR/disk1")" "the second disk"
"$RDMABLK" set rdmablk0 --timed on
start_verify
start_load 1 --rate_iops=50

stop_target KILL
wait_state recovering
again 16M --export disk1,memory,arena=/dev/shm/disk1,size=16M
expect_back 1
wait_state live 1
expect_progress

stop_target TERM
wait_state recovering
expect 'target is shutting down' "$(attribute reason)" "the reason"
again 16M --export disk1,memory,arena=/dev/shm/disk1,size=16M
expect_back 2
expect 'no error' "$(attribute reason)" "the reason"
expect_progress

# A stopped daemon's adapter still serves READs and WRITEs; only the keep-alive notices.
kill -STOP "$TARGET_PID"
wait_state recovering
wait_until "$PATIENCE" tried 2 || fail "only $(attribute attempts) tries"
kill -CONT "$TARGET_PID"
expect_back 3
expect_progress

"$RDMABLK" reconnect rdmablk0
expect_back 4
expect_progress
"$RDMABLK" stats rdmablk0 --json >/tmp/stats
jq -e '.devices[0] | .reconnects >= 4 and .requeues > 0 and .requeues <= .held and
	([.latency[].max_ns | values] | max) > 1000000000' /tmp/stats ||
	fail "the statistics are: $(</tmp/stats)"
stop_verify
stop_load 1
run_expect 0 '' "$RDMABLK" status rdmablk1
device_same_as_target
"$RDMABLK" disconnect --all
stop_target
leak_check
unload_module
