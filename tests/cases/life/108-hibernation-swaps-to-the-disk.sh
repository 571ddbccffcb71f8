#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A hibernation makes room for its image and moves memory to the disk, which must still work then.
# Linux 7.3 has prepared the devices before that. The memory is what it was, and no request fails.
# The kernel's pm_test executes the first steps of a hibernation, and resumes.
#
# kernels: 6.12 newest
# net: two
# timeout: 600

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require mkswap swapon
[[ -e /sys/power/image_size ]] || skip 'this kernel has no hibernation'

target() {
	serve 400M
	peer_set served.0
	peer_wait over "$PEER"
	stop_target
}

said() {
	grep -qx "$1" /tmp/said || ! kill -0 "$program" 2>/dev/null
}

initiator() {
	local before level

	insmod "${MODULE%/kernel/*}/stay/stay.ko"
	load_module
	peer_wait served.0 "$PEER"
	connect --keep-alive-tmo 5
	mkswap -q $DEV
	swapon $DEV
	mkfifo /tmp/go
	/usr/bin/python3 "$CASES/block/swapped.py" /sys/fs/cgroup 100 </tmp/go >/tmp/said &
	program=$!
	exec {go}>/tmp/go
	wait_until "$PATIENCE" said swapped || fail "the program is slow"
	# The smallest possible image
	echo 0 >/sys/power/image_size
	# Older kernels have no such parameter.
	! [[ -w /sys/module/hibernate/parameters/pm_test_delay ]] ||
		echo 1 >/sys/module/hibernate/parameters/pm_test_delay
	for level in freezer devices; do
		# Brings all memory back.
		swapoff $DEV
		swapon $DEV
		before=$(status write_bytes)
		echo $level >/sys/power/pm_test
		echo disk >/sys/power/state || fail "no hibernation to $level: $(dmesg | tail -n 20)"
		(($(status write_bytes) > before)) || fail "a hibernation to $level moves no memory"
		wait_state live
	done
	echo >&$go
	wait_until "$PATIENCE" said 'the same' || fail "the program is slow"
	wait $program || fail "the memory has changed"
	exec {go}>&-
	swapoff $DEV
	expect 0 "$(status errors)" "the number of failed requests"
	disconnect
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target
else
	initiator
fi
