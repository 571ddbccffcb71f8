#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While fio writes and verifies, a processor goes and comes back, each I/O
# scheduler takes its turn and the number of requests changes: nothing stalls,
# fails or corrupts.
#
# timeout: 180

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

cpu=/sys/devices/system/cpu/cpu1/online
serve 16M
load_module connect="$TARGET_ADDR/disk0"
modprobe -qa mq-deadline kyber-iosched bfq || :

# The load runs for as long as it takes: it starts again until it is told that
# this round is the last.
load() {
	trap - ERR EXIT
	until [[ -e /tmp/last ]]; do
		fio_verify 16 --rw=randrw --rwmixread=30 >/tmp/load 2>&1 ||
			return 1
		echo >>/tmp/rounds
	done
}

load_runs() {
	kill -0 $load 2>/dev/null || { cat /tmp/load; fail "fio failed"; }
}

progress() {
	local reached

	reached=$(status work_requests)
	wait_until 30 more_than "$reached" || fail "no I/O is done after: $*"
	load_runs
}

more_than() {
	(($(status work_requests) > $1))
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
