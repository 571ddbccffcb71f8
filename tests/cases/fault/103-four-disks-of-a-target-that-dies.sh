#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target has four disks, all under load. It is killed, shut down, stopped, and killed again
# before the disks are back. The administrator asks for new connections of all disks at once
# while they are connecting. All disks come back each time, and no request fails.
#
# kernels: 6.1 6.12 newest
# timeout: 1500

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

all_live() {
	local n

	for n in 0 1 2 3; do
		state_is live "$n" || return 1
	done
}

# The faults call fault_serve to start the daemon again.
fault_serve() {
	local n exports=()

	for n in 1 2 3; do
		exports+=(--export "disk$n,memory,arena=/dev/shm/disk$n,size=8M")
	done
	again 8M "${exports[@]}"
}

# back: all disks are live, and each one completes I/O
back() {
	local n

	wait_until "$PATIENCE" all_live || fail "$("$RDMABLK" list)"
	expect_well
	for n in 1 2 3; do
		wait_until "$PATIENCE" completed_more $n $(($(completed $n) + 50)) ||
			fail "no I/O on rdmablk$n"
		! load_is_over $n || fail "the load on rdmablk$n: $(</tmp/load.$n)"
	done
}

load_module
leak_snapshot
fault_serve
connect_patient
for n in 1 2 3; do
	expect "/dev/rdmablk$n" "$("$RDMABLK" connect --dev-loss-tmo off \
		--keep-alive-tmo 2 --reconnect-delay 1 "$TARGET_ADDR/disk$n")" "the disk"
	start_load $n --rate_iops=30 --iodepth=4
done
history_start --max 64K --flush 100
for fault in kill term stop kill; do
	echo "$fault"
	fault_begin $fault
	for n in 0 1 2 3; do
		wait_state recovering $n
	done
	fault_end $fault
	back
done

echo "kill, and kill"
for _ in 1 2 3; do
	stop_target KILL
	fault_serve
done
back

echo "reconnect, and reconnect"
for _ in 1 2 3 4 5; do
	for n in 0 1 2 3; do
		"$RDMABLK" reconnect rdmablk$n &
		asked[n]=$!
	done
	for n in 0 1 2 3; do
		wait "${asked[n]}" || fail "reconnect of rdmablk$n"
	done
done
back
for n in 1 2 3; do
	stop_load $n
done
expect_legal
"$RDMABLK" disconnect --all
unload_module
stop_target
leak_check
