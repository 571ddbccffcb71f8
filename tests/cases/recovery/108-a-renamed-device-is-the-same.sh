#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An RDMA device of the target is renamed in use, as udev does to give it a lasting name. When
# another device is removed, the daemon still finds the renamed one: no session ends. When the
# renamed device itself is removed, the command returns, and when it is back the disk comes back
# by itself.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# When the second answer arrives, the daemon has handled all events that came before the first.
daemon_has_looked() {
	"$RDMABLK" target list >/dev/null
	"$RDMABLK" target list >/dev/null
}

ip link add other type dummy
ip link set other up
rdma link add rother type rxe netdev other
load_module
serve 16M
connect --keep-alive-tmo 4 --reconnect-delay 1
start_verify
rdma dev set rv1 name renamed
link_delete rother
daemon_has_looked
! log_has 'is being removed' || fail "the device that was renamed is taken for removed"
expect_progress
expect live "$(attribute state)" "the state"
expect 0 "$(attribute reconnects)" "how often it has come back"

link_delete renamed
wait_state recovering
expect_closed_and_back rv1 1
end_verified
