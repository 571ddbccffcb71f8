#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Polled requests that were sent to a target without a polled queue, so that their task does not
# poll for them any more, are sent again on a polled queue of a target that has no commands. The
# work item that polls for their completions finds no tags of commands there, and the requests
# complete.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/skew/lib.sh
source "$RDMABLK_TOP/tests/cases/skew/lib.sh"

need_peers first
FIRST=$PEERS
NOW=$RDMABLKD

# lose_requests: kills the daemon; true if requests were under way
lose_requests() {
	local before

	before=$(attribute held)
	stop_target KILL
	wait_state recovering
	(($(attribute held) > before))
}

# polled WANT
polled() {
	wait_state live
	expect "$1" "$(attribute poll_queues)" "the number of polled queues"
	expect_progress
}

load_module
RDMABLKD=$FIRST/target/rdmablkd
serve 8M
connect --queues 1 --poll-queues 1 --dev-loss-tmo off --reconnect-delay 1
# The I/O timeout is long, so no timer polls for the completions.
echo 600000 >$QUEUE/io_timeout
start_verify --ioengine=io_uring --hipri=1
polled 1
stop_target KILL
for ((try = 0; try < 10; try++)); do
	RDMABLKD=$NOW
	serve 8M --max-queues-per-host 1
	polled 0
	! lose_requests || break
done
((try < 10)) || fail "no request was under way"
RDMABLKD=$FIRST/target/rdmablkd
serve 8M
polled 1
stop_verify
disconnect
stop_target
unload_module
