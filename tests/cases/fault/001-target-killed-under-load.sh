#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# kill -9 of the daemon under load, with two disks: all requests end with an error, nothing
# hangs, both disks fail and refuse later requests. Then one disk is disconnected, and the other
# by force in whatever state it is. When the daemon runs again the disks are connected again and
# work, and nothing is left of the old ones.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

serve_two() {
	serve 16M --export disk1,memory,size=16M
}

connect_two() {
	connect "$@"
	expect /dev/rdmablk1 "$("$RDMABLK" connect "$@" "$TARGET_ADDR/disk1")" \
		"the second disk"
}

load_module
leak_snapshot
serve_two
connect_two --dev-loss-tmo 0 --keep-alive-tmo 3
start_load 0
start_load 1
stop_target KILL
"$RDMABLK" disconnect --force rdmablk1
[[ ! -e /dev/rdmablk1 ]] || fail "disk1 outlives the disconnect"
wait_until "$PATIENCE" load_is_over 1 || fail "the load on rdmablk1 hangs"
expect_load_failed 0
expect_failed "$LOST"
expect_no_io
dmesg_has "rdmablk0 $TARGET_ADDR:20420/disk0: connection lost: ($LOST)" ||
	fail "the kernel log does not say what failed"
disconnect
leak_check

serve_two
connect_two
start_load 1
expect_works
stop_load 1
"$RDMABLK" disconnect --all
unload_module
stop_target
leak_check
