#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is stopped (SIGSTOP) for 5 and for 60 seconds under load. Its adapter goes on
# without it, so nothing happens until a keep-alive is missed. After that, acknowledged writes
# stay, requests under way are held, and after SIGCONT no stale write lands: the whole history
# is legal.
#
# kernels: 6.1 6.12
# timeout: 900

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# stopped SECONDS
stopped() {
	local before

	before=$(attribute reconnects)
	fault_begin stop
	wait_state recovering
	pause "$1"
	fault_end stop
	expect_back $((before + 1))
	expect_well
}

# I/O that is held for a minute does not count as hung.
hung_task_after 600
load_module
leak_snapshot
serve 8M
connect_patient --keep-alive-tmo 60
history_start --max 64K --flush 100

fault_begin stop
deadline=$(deadline_in 5)
until deadline_passed "$deadline"; do
	history_progress 50
done
expect live "$(attribute state)" "the state"
fault_end stop
history_progress 100
expect 0 "$(attribute reconnects)" "the number of reconnects"

"$RDMABLK" set rdmablk0 --keep-alive-tmo 2
"$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
stopped 5
stopped 60
expect_legal
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
leak_check
