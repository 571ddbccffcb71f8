#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/ha-drbd.rst: two machines, each with a copy of the export by DRBD, and a
# floating address. The serving daemon is killed again and again, and its machine loses its
# power. At last the daemon is stopped (SIGSTOP) and its machine cut off while the other machine
# takes over; then the stopped daemon goes on. No request fails, no acknowledged data is lost,
# and the stopped daemon changes no byte of the data that stays. The host has a key; each daemon
# has a UUID of its own. The argument is how many times the daemon is killed on each machine; 2
# by default.
#
# kernels: 6.12
# net: two
# disk: 96M
# timeout: 1800

# shellcheck source=tests/cases/engines/drbd.sh
source "$RDMABLK_TOP/tests/cases/engines/drbd.sh"
require drbdadm mkfs.ext4
# shellcheck source=tests/cases/engines/load.sh
source "$RDMABLK_TOP/tests/cases/engines/load.sh"

ROUNDS=${1:-2}

# sum: prints a checksum of this machine's copy of the export
sum() {
	dd if="$EXPORTED" bs=1M iflag=direct status=none | sha256sum
}

# stopped: the daemon of machine one is stopped before the takeover and goes on after it. What
# it then writes reaches its own copy alone, and that copy is discarded.
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
	ask daemon_write ok
	ask continue_daemon
	ask expect_drbd cstate StandAlone
	expect "$before" "$(sum)" "what two has, since the daemon of one goes on"
	history_check $DEV
	ask give_up
	ask follow "'On that machine'"
	follow 'on the one whose data stays'
	copied
	load
}

two() {
	local n

	pair_up
	load 300
	for ((n = 0; n < ROUNDS; n++)); do
		killed_on_one
		killed_on_two
	done
	powered_off
	ask copied
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
