#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
#
# After a reconnect the target grants fewer queues, or takes fewer commands at once, than the
# disk has hardware queues and requests. The hardware queues share what there is, no request
# fails, and the disk uses more again when the target grants more. Limits that the disk does not
# need may change freely.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

FILE=/dev/shm/disk0

# again_with WORDS [OPTION...]: starts a daemon for the same file, with WORDS in its export
again_with() {
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--export "disk0,file=$FILE$1" "${@:2}"
}

# instead WORDS [OPTION...]: kills the daemon and starts that one; the disk comes back
instead() {
	stop_target KILL
	again_with "$@"
	expect_back $((++backs))
	expect_progress
}
backs=0

# granted QUEUES DEPTH [GRANTED]: the disk has so many queues of this depth; the target granted
# a depth of GRANTED
granted() {
	expect "$1" "$(<$SESSION/queues)" "the number of queues"
	expect "$2" "$(<$SESSION/queue_depth)" "the depth"
	wait_until "$PATIENCE" \
		grep -q "live: $1 queues of depth ${3:-$2}," "$TARGET_LOG" ||
		fail "the daemon's log has no depth of ${3:-$2}: $(<"$TARGET_LOG")"
	expect "${3:-$2}" "$("$RDMABLK" target sessions --json |
		jq '.sessions[0].queue_depth')" "the depth that the daemon shows"
}

load_module
truncate -s 16M $FILE
again_with ''
connect --dev-loss-tmo off --reconnect-delay 1 --queue-depth 64
granted 2 64
start_verify --iodepth=32 --numjobs=2 --offset_increment=8M

instead '' --max-queues-per-host 1
granted 1 32 64
# 37 slots of 128 KiB for each queue, besides the three for other commands
instead ,slot-memory=10M
granted 2 37
# The memory does not have 32 slots for each of two queues, but 7 for one queue.
instead ,slot-memory=1280K
granted 1 3 7
instead ,slot-memory=640K --max-queues-per-host 1
granted 1 1 2
# Larger slots than the disk was made with, which it does not need
instead ,slot-bytes=1M
instead ''
granted 2 64
stop_verify
fio_verify 16
still_live
sync $DEV
cmp $FILE <(dd if=$DEV bs=1M iflag=direct status=none) || fail "the file differs"
disconnect
stop_target
unload_module
