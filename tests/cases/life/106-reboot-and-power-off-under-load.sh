#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A machine reboots, and powers off, in the middle of I/O, with a disk mounted and its target
# alive. It goes down in time. The daemon logs the end of the session. When the machine is back
# it connects and finds the synced data. Before that, rmmod is refused under the same load.
#
# kernels: 6.12
# net: two
# timeout: 400

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require mkfs.ext4

CLOSED='export disk0: closing: (session was replaced by a newer login|session was silent for too long|connection lost)'

target() {
	local n

	serve 64M
	peer_set served.0
	for n in 1 2; do
		peer_wait "down.$n" $PEER
		expect_log "$CLOSED"
		expect_log 'export disk0: fenced'
		: >"$TARGET_LOG"
		peer_set "ended.$n"
	done
	peer_wait over $PEER
}

# goes_down N CMD...: runs CMD with I/O in flight, after a sync
goes_down() {
	local n=$1 before

	shift
	connect --keep-alive-tmo 2
	if ((n == 1)); then
		mkfs.ext4 -q -E lazy_itable_init=0 $DEV
	fi
	mount $DEV /mnt
	echo "$n" >"/mnt/synced.$n"
	sync
	before=$(completed 0)
	job load fio --name=load --directory=/mnt --size=16M --rw=randwrite --bs=16k \
		--direct=1 --ioengine=libaio --iodepth=16 --time_based --runtime=600
	wait_until "$PATIENCE" completed_more 0 $((before + 200)) ||
		fail "no load: $(</tmp/job.load)"
	run_expect 1 'in use' rmmod rdmablk
	peer_set "down.$n"
	host_do restart initiator
	"$@"
	pause 600
}

# is_back N: after the boot the data that was synced before is there
is_back() {
	local n

	peer_wait "ended.$1" $PEER
	connect --keep-alive-tmo 2
	mount $DEV /mnt
	for ((n = 1; n <= $1; n++)); do
		expect $n "$(<"/mnt/synced.$n")" "what was synced"
	done
	umount /mnt
	disconnect
}

if [[ $ROLE == target ]]; then
	target
	exit 0
fi
load_module
if [[ -e /run/vm/down.2 ]]; then
	is_back 2
	unload_module
	peer_set over
elif [[ -e /run/vm/down.1 ]]; then
	is_back 1
	goes_down 2 busybox poweroff -n -f
else
	peer_wait served.0 $PEER
	goes_down 1 busybox reboot -n -f
fi
