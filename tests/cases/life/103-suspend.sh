#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A machine that is suspended under load goes on afterwards, at each depth of suspend and
# although its network sleeps, too, for less and for more time than the target keeps a silent
# session. No request fails, and the history of the disk is legal. A suspend with requests held
# in an outage is refused, whether or not the waiting program can be frozen, and the disk comes
# back as usual. An idle disk in an outage does not prevent a suspend.
#
# The kernel's pm_test executes all but the last step of a suspend, and resumes after some
# seconds.
#
# kernels: 6.12
# net: two
# timeout: 500

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

# suspend LEVEL SECONDS: suspends down to a level of pm_test, and stays there for SECONDS
suspend() {
	echo "$1" >/sys/power/pm_test
	echo "$2" >/sys/module/suspend/parameters/pm_test_delay
	echo mem >/sys/power/state
}

survives() {
	suspend "$@" || fail "no suspend to $1: $(dmesg | tail -n 20)"
	wait_state live
	history_progress
}

refuses() {
	run_expect 1 'resource busy' suspend "$@"
}

held_outage() {
	remote_stop
	requests_wait
}

initiator() {
	local level

	insmod "${MODULE%/kernel/*}/stay/stay.ko"
	load_module
	peer_wait served.0 $PEER
	connect --keep-alive-tmo 2 --dev-loss-tmo off --reconnect-delay 1
	echo 3000 >/sys/power/pm_freeze_timeout
	history_start
	for level in freezer devices platform processors core; do
		survives $level 1
	done
	survives core 8
	history_stop
	expect 0 "$(status errors)" "the number of failed requests"
	history_check $DEV

	# A program waits in D state.
	start_verify --ioengine=psync
	held_outage
	refuses processors 1
	# The freezer logs the stack of the task that it cannot freeze. That is expected, so the
	# log is cleared. Warnings stay in the log of the console.
	dmesg_has 'refusing to freeze' || fail "it could be frozen"
	dmesg --clear
	remote_again
	wait_state live
	expect_progress
	stop_verify

	# A program waits interruptibly, so it can be frozen. Its held requests belong to the
	# processor that a suspend takes offline.
	start_verify --cpus_allowed=1
	held_outage
	refuses processors 1
	verify_is_over && fail "the load has ended: $(</tmp/verify)"
	"$RDMABLK" set rdmablk0 --fast-io-fail-tmo 0
	wait_until "$PATIENCE" verify_is_over || fail "the load hangs"
	expect recovering "$(attribute state)" "the state"
	suspend processors 1 || fail "no suspend of an idle disk"
	remote_again
	wait_state live
	disconnect
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target_serve 2
else
	# shellcheck source=tests/lib/history.sh
	source "$RDMABLK_TOP/tests/lib/history.sh"
	initiator
fi
