#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Requests in flight on a polled queue whose polling task is stopped do not prevent a suspend:
# the task that waits for the requests polls for their completions. No request fails, and reads
# find the written data.
# kernels: 6.12
# net: two
# timeout: 400

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

# suspend LEVEL: suspends down to a level of pm_test, for a second
suspend() {
	verify_stop_in_flight
	echo "$1" >/sys/power/pm_test
	echo mem >/sys/power/state || fail "no suspend to $1: $(dmesg | tail -n 20)"
	expect 0 "$(inflight)" "the number of requests in flight"
	kill -CONT "$VERIFY"
	expect_progress
}

initiator() {
	insmod "${MODULE%/kernel/*}/stay/stay.ko"
	load_module
	peer_wait served.0 $PEER
	connect --queues 1 --poll-queues 1 --keep-alive-tmo 5
	# The I/O timeout is long, so no timer polls for the completions.
	echo 600000 >$QUEUE/io_timeout
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	start_verify --ioengine=io_uring --hipri=1
	suspend devices
	suspend core
	stop_verify
	expect 0 "$(status errors)" "the number of failed requests"
	disconnect
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target_serve 0
else
	initiator
fi
