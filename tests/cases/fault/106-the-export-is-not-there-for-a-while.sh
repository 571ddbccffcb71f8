#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A restarted daemon has a configuration in which the export in use is missing, or is read-only.
# I/O is held, the initiator says what is wrong, and with the old configuration the disk comes
# back. No request fails.
#
# kernels: 6.1 6.12
# timeout: 600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

uuid=7d2c0a34-61a5-4f0e-9f3b-0c1d2e3f4a5b
config=/tmp/rdmablkd.conf

# configure [EXPORT-LINE...]: writes the daemon's file, with these lines for disk0 or without
# disk0
configure() {
	{
		printf '[target]\nlisten = %s\ninsecure = yes\n' "$TARGET_ADDR"
		printf '[export other]\ntype = memory\nsize = 1M\n'
		(($# == 0)) || printf '[export disk0]\ntype = memory\nuuid = %s\n' $uuid
		(($# == 0)) || printf '%s\n' "$@"
	} >$config
}

# restart [SIGNAL]: ends the daemon and starts it again with the present file
restart() {
	stop_target "${1:-KILL}"
	start_target --config $config
}

# refused REASON
refused() {
	wait_until "$PATIENCE" last_error_is "$1" ||
		fail "the last error is '$(attribute last_error)', not '$1'"
	expect recovering "$(attribute state)" "the state"
	expect 0 "$(attribute io_failing)" "io_failing"
}

last_error_is() {
	[[ $(attribute last_error) == "$1" ]]
}

good=("arena = $ARENA" 'size = 8M')
load_module
leak_snapshot
configure "${good[@]}"
start_target --config $config
connect_patient
history_start --max 64K --flush 100 --size 8M
back=0

for signal in KILL TERM; do
	configure
	restart $signal
	refused 'no such export'
	configure "${good[@]}"
	restart
	expect_back $((++back))
	expect_well

	configure "${good[@]}" 'ro = yes'
	restart $signal
	refused 'export is read-only'
	configure "${good[@]}"
	restart $signal
	expect_back $((++back))
	expect_well
done
expect_legal
disconnect
unload_module
stop_target
leak_check
