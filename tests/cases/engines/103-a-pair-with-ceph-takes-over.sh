#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/ha-ceph.rst: two machines that map an image of Ceph in turn, and a
# floating address. The OSD is killed and started again while the disk is written. The serving
# daemon is killed on each machine. The image grows. Discarded space returns to the cluster. A
# machine loses its power. At last the daemon is stopped (SIGSTOP) and its machine cut off while
# the other machine takes the lock away; then the stopped daemon goes on. No request fails, no
# acknowledged data is lost, and the stopped daemon changes no byte. The argument is how many
# times the daemon is killed on each machine; 1 by default.
#
# kernels: 6.12
# net: two
# mem: 1536
# disk: 1G
# timeout: 2400

# shellcheck source=tests/cases/engines/ceph.sh
source "$RDMABLK_TOP/tests/cases/engines/ceph.sh"
# shellcheck source=tests/cases/engines/load.sh
source "$RDMABLK_TOP/tests/cases/engines/load.sh"

# The history uses only the part that exists before the image grows.
ROUNDS=${1:-1} LOAD=(--size "$PAIR_BYTES")

# stalled: whether requests are under way, and none has ended since the last call
stalled() {
	local records

	records=$(history_records)
	((records == RECORDS && $(inflight) > 0)) && return
	RECORDS=$records
	return 1
}
RECORDS=0

osd_restarted() {
	local began

	osd_kill
	wait_until $PATIENCE stalled || fail "nothing waits for the OSD"
	began=$(now)
	osd_start
	history_progress 1
	echo "the OSD was started again: $(($(now) - began)) ms"
	history_progress 300
	expect 0 "$(status errors)" "the number of failed requests"
	still_live
}

# kept COMMAND...: the command is refused, because another client holds the lock
kept() {
	run_expect 30 'Read-only file system' timeout $CEPH_PATIENCE "$@"
}

# grown: the image grows from 32 MiB to 64 MiB while machine two hands over to machine one
grown() {
	local began

	expect 33554432 "$(blockdev --getsize64 $DEV)" "the size of the disk"
	kept rbd resize --size 64M ha/disk0
	began=$(now)
	give_up
	follow 'is refused'
	ask take_over
	gone_on "two gives up, and the image grows" "$began"
	expect 67108864 "$(blockdev --getsize64 $DEV)" "the size of the disk"
}

# discarded: a discard of the space behind the history returns its objects to the cluster
discarded() {
	local before

	before=$(objects)
	dd if=/dev/urandom of=$DEV bs=1M seek=32 count=32 oflag=direct status=none
	expect $((before + 8)) "$(objects)" "the number of objects after a write of 32 MiB"
	blkdiscard -f -o 32M -l 32M $DEV
	expect "$before" "$(objects)" "the number of objects after a discard of 32 MiB"
}

# late_write: starts a write on machine one, which is cut off. The write goes to an existing
# object. For a new object the object map would have to change, which the lock prevents even
# without the blocklist.
late_write() {
	local before

	before=$(rbd_inflight)
	head -c 64K /dev/urandom >/tmp/late
	dd if=/tmp/late of=$EXPORTED bs=64K seek=40 oflag=direct 2>/tmp/late.out &
	LATE_PID=$!
	wait_until $PATIENCE rbd_more "$before" || fail "no write is under way"
}

rbd_inflight() {
	local dev reads writes

	dev=$(readlink $EXPORTED)
	read -r reads writes <"/sys/block/${dev##*/}/inflight"
	echo $((reads + writes))
}

rbd_more() {
	(($(rbd_inflight) > $1))
}

late_is_over() {
	! kill -0 "$LATE_PID" 2>/dev/null
}

# refused: the late write of machine one fails, and so does a new write
refused() {
	wait_until $PATIENCE late_is_over || fail "the late write hangs"
	! wait "$LATE_PID" || fail "the late write was done"
	daemon_write EIO
}

# sum: prints a checksum of the export as the cluster has it
sum() {
	dd if=$EXPORTED bs=1M iflag=direct status=none | sha256sum
}

stopped() {
	local began before

	kept rbd map --exclusive ha/disk0
	began=$(now)
	ask stop_daemon
	cut_off
	ask late_write
	take_over
	gone_on "the daemon of one is stopped, and one is cut off" "$began"
	legal
	before=$(sum)
	host_do link target on
	ask refused
	ask continue_daemon
	expect "$before" "$(sum)" "what the cluster has, since the daemon of one goes on"
	history_check $DEV
	ask give_up
	load
}

two() {
	local n

	pair_up
	load 300
	osd_restarted
	for ((n = 0; n < ROUNDS; n++)); do
		killed_on_one
		osd_restarted
		killed_on_two
	done
	killed_on_one
	grown
	discarded
	powered_off
	killed_on_two
	stopped
	killed_on_two
	legal
	pair_down
}

if [[ $ROLE == initiator ]]; then
	two
else
	machine_obeys
fi
