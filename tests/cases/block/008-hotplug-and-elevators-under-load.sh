#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While fio writes and verifies, a processor goes and comes back, each I/O
# scheduler takes its turn and the number of requests changes: nothing stalls,
# fails or corrupts.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

cpu=/sys/devices/system/cpu/cpu1/online
serve 16M
load_module connect="$TARGET_ADDR/disk0"
modprobe -qa mq-deadline kyber-iosched bfq || :

# The load has no fixed duration: fio starts again until /tmp/last marks the round as the last
# one.
load() {
	trap - ERR EXIT
	until [[ -e /tmp/last ]]; do
		fio_verify 8 >/tmp/load 2>&1 ||
			return 1
		echo >>/tmp/rounds
	done
}

load_runs() {
	kill -0 $load 2>/dev/null || { cat /tmp/load; fail "fio failed"; }
}

# done_by_now: sets DONE to the number of requests that ended
done_by_now() {
	local stat

	read -ra stat </sys/block/rdmablk0/stat
	DONE=$((stat[0] + stat[4]))
}

more_than() {
	done_by_now
	((DONE > $1))
}

# progress WHAT: requests end after it
progress() {
	done_by_now
	if ! wait_until 60 more_than "$DONE"; then
		cat /sys/kernel/debug/block/rdmablk0/hctx*/{tags,dispatch,busy}
		echo w >/proc/sysrq-trigger
		fail "no request ends after: $*"
	fi
	load_runs
}

load &
load=$!
progress "start"
schedulers=$(tr -d '[]' <$QUEUE/scheduler)
[[ $schedulers == *none* && $schedulers == *mq-deadline* ]] ||
	fail "schedulers: $schedulers"
for turn in 1 2; do
	for scheduler in $schedulers; do
		echo "$scheduler" >$QUEUE/scheduler
		[[ $(<$QUEUE/scheduler) == *"[$scheduler]"* ]] ||
			fail "the scheduler is $(<$QUEUE/scheduler)"
		progress "$scheduler"
		for depth in 4 128 37; do
			echo $depth >$QUEUE/nr_requests
		done
		progress "nr_requests under $scheduler"
		echo $((turn % 2)) >$cpu
		progress "processor $((turn % 2)) under $scheduler"
	done
	echo $((1 - turn % 2)) >$cpu
	progress "processor again"
done
echo 1 >$cpu
: >/tmp/last
wait $load || { cat /tmp/load; fail "fio failed"; }
[[ -s /tmp/rounds ]] || fail "fio did not end a round"
expect 2 "$(nproc --all)" "the number of processors"
device_same_as_target
still_live
disconnect
