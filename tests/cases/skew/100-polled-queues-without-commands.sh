#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Requests that have been sent to a target which grants no polled queue, so that nobody polls
# for them any more, are sent again on a polled queue of a target that has no commands. The
# work that looks for their completions there finds no tags, and the requests end.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/skew/lib.sh
source "$RDMABLK_TOP/tests/cases/skew/lib.sh"

need_peers first
FIRST=$PEERS
NOW=$RDMABLKD

# lose_requests: whether any was under way when the daemon died
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
# No timer looks for them.
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
