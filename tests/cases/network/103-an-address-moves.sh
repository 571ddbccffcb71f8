#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, the initiator's address moves to another of its devices, the target's address to
# another of the target's, and both move back. The disk comes back by the devices that have the
# addresses.
#
# kernels: 6.12
# net: veth
# timeout: 600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# moves ADDR FROM TO INITIATOR TARGET: removes the address from one device and, when the loss is
# noticed, adds it to another one. The disk comes back by the devices INITIATOR and TARGET
moves() {
	local before

	before=$(attribute reconnects)
	ip address del "$1/32" dev "$2"
	wait_state recovering
	wait_until "$PATIENCE" tried 3 || fail "only $(attribute attempts) tries"
	ip address add "$1/32" dev "$3"
	net_veth_routes "$4" "$5"
	fault_mend "$4" "$INITIATOR_ADDR"
	fault_mend "$5" "$TARGET_ADDR"
	expect_back $((before + 1))
	expect "r$4" "$(attribute ibdev)" "the device"
	expect_log "device r$5: in use"
	expect_well
}

net_switch || fail "no switch"
load_module
# A daemon that listens on one address stays with that address's first device, so listen on all.
LISTEN=0.0.0.0 serve 8M
connect_patient
expect rv0 "$(attribute ibdev)" "the device"
history_start --max 64K --flush 100

moves "$INITIATOR_ADDR" v0 v2 v2 v1
moves "$TARGET_ADDR" v1 v3 v2 v3
moves "$INITIATOR_ADDR" v2 v0 v0 v3
moves "$TARGET_ADDR" v3 v1 v0 v1
expect_legal
disconnect
unload_module
stop_target
