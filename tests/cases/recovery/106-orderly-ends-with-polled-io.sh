#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A session with polled queues and a cached file ends in order, by a logout, although requests
# of a stopped polling task are under way. The task that waits for them polls for their
# completions, and their data is flushed before the logout.
#
# kernels: 6.1 6.12

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

logged_out() {
	(($(grep -c 'export disk0: closing: logged out' "$TARGET_LOG") >= $1))
}

# renew N: renews the connection for the Nth time; the old session logs out
renew() {
	verify_stop_in_flight
	"$RDMABLK" reconnect rdmablk0
	expect_back "$1"
	kill -CONT "$VERIFY"
	wait_until "$PATIENCE" logged_out "$1" || fail "not logged out: $(<"$TARGET_LOG")"
	expect_progress
}

FILE=/dev/shm/disk0
load_module
truncate -s 16M $FILE
start_target --insecure --listen "$TARGET_ADDR" --export "disk0,file=$FILE,cache=full"
connect --queues 1 --poll-queues 1 --keep-alive-tmo 60
# The I/O timeout is long, so no timer polls for the completions.
echo 600000 >$QUEUE/io_timeout
start_verify --ioengine=io_uring --hipri=1
renew 1
renew 2
stop_verify
sync $DEV
# All data was flushed before each logout, so the daemon never compared file and arena.
run_expect 1 '' grep 'is compared with its arena' "$TARGET_LOG"
cmp $FILE <(dd if=$DEV bs=1M iflag=direct status=none) || fail "the file differs"
disconnect
stop_target
unload_module
