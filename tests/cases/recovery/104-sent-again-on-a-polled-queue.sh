#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Polled requests are sent to a target that grants no polled queue, so their task does not poll
# for them any more. The connection is lost, and the next one has a polled queue. The requests
# complete there, although no interrupt reports them and no timer polls for them.
#
# kernels: 6.1 6.12

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

FILE=/dev/shm/disk0

# file [OPTION...]: starts the daemon with an uncached file
file() {
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--export "disk0,file=$FILE" "$@"
}

are_in_flight() {
	(($(inflight) >= 8))
}

# lose_requests POLLED [OPTION...]: the connection is lost with unanswered requests under way;
# the next one has POLLED polled queues
lose_requests() {
	local polled=$1 held

	shift
	held=$(attribute held)
	kill -STOP "$TARGET_PID"
	wait_until "$PATIENCE" are_in_flight || fail "no requests under way"
	stop_target KILL
	wait_state recovering
	file "$@"
	expect_back $((++backs))
	expect "$polled" "$(attribute poll_queues)" "the number of polled queues"
	(($(attribute held) > held)) || fail "no request was held"
	expect_progress
}
backs=0

load_module
truncate -s 16M $FILE
file --max-queues-per-host 1
connect --queues 1 --poll-queues 1 --keep-alive-tmo 60 --dev-loss-tmo off --reconnect-delay 1
expect 0 "$(attribute poll_queues)" "the number of polled queues"
echo 600000 >$QUEUE/io_timeout
start_verify --ioengine=io_uring --hipri=1
lose_requests 1
lose_requests 1
lose_requests 0 --max-queues-per-host 1
stop_verify
sync $DEV
cmp $FILE <(dd if=$DEV bs=1M iflag=direct status=none) || fail "the file differs"
disconnect
stop_target
unload_module
