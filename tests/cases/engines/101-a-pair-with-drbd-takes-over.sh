#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/ha-drbd.rst: two machines with one copy each of what is exported, by
# DRBD, and a floating address. The daemon that serves is killed again and again, its machine
# loses its power, and at last it is stopped and cut off while the other machine takes over, and
# goes on afterwards. No request fails, nothing that was acknowledged is lost, and the daemon
# that goes on changes no byte. The host has a key; each daemon has a UUID of its own. The
# argument is how many times the daemon is killed on each machine; 2 by default.
#
# kernels: 6.12
# net: two
# disk: 96M
# timeout: 1800

# shellcheck source=tests/cases/engines/drbd.sh
source "$RDMABLK_TOP/tests/cases/engines/drbd.sh"
require drbdadm mkfs.ext4

ROUNDS=${1:-2}

# gone_on HOW BEGAN: after a takeover the load goes on
gone_on() {
	back
	history_progress 1
	pair_over "$1" "$2"
	history_progress
}

powered_off() {
	local began

	began=$(now)
	cut_off
	host_do kill target
	take_over
	gone_on "one has lost its power" "$began"
	host_do start target
	ask copied
}

# legal: the disk has what its history allows
legal() {
	history_stop
	expect 0 "$(status errors)" "the number of failed requests"
	history_check $DEV
}

# sum: of what this machine has of the export
sum() {
	dd if="$EXPORTED" bs=1M iflag=direct status=none | sha256sum
}

stopped() {
	local began before

	began=$(now)
	ask stop_daemon
	cut_off
	take_over
	gone_on "the daemon of one is stopped, and one is cut off" "$began"
	legal
	before=$(sum)
	host_do link target on
	expect_drbd cstate StandAlone
	ask continue_daemon
	ask expect_drbd cstate StandAlone
	expect "$before" "$(sum)" "what two has, since the daemon of one goes on"
	history_check $DEV
	ask give_up
	ask follow "'On that machine'"
	follow 'on the one whose data stays'
	copied
	history_start --flush 100 --fua 10
	history_progress
}

two() {
	local n

	# shellcheck source=tests/lib/history.sh
	source "$RDMABLK_TOP/tests/lib/history.sh"
	pair_up
	history_start --flush 100 --fua 10
	history_progress 300
	for ((n = 0; n < ROUNDS; n++)); do
		killed_on_one
		killed_on_two
	done
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
