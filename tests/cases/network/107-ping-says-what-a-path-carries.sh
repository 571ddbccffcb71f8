#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A network carries smaller packets than its ends believe, so large packets are lost. "rdmablk
# ping" prints how large a packet may be, whichever direction loses the large ones, and ends
# with the status of an unreachable target. When the network carries all packets, it prints the
# MTU.
#
# net: veth

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require jq nft

ping_target() {
	"$RDMABLK" ping --timeout 3 "$@" "$TARGET_ADDR"
}

# carries BYTES DEV: drops RoCE packets longer than BYTES that arrive at DEV
carries() {
	nft -f - <<-END
	table ip narrow {
		chain input {
			type filter hook input priority 0;
			iifname $2 udp dport 4791 meta length > $1 counter drop
		}
	}
	END
}

dropped() {
	nft -j list table ip narrow | jq '[.. | .counter? // empty | .packets] | add'
}

# says BYTES DEV PASSES
says() {
	carries "$1" "$2"
	run_expect 5 "^rdmablk: ping $TARGET_ADDR: packets of $3 bytes arrive, larger ones do not, although the MTU is 4096" \
		ping_target
	(($(dropped) > 0)) || fail "no packet was dropped at $2"
	run_expect 5 "packets of $3 bytes arrive, larger ones do not" ping_target --json
	nft delete table ip narrow
}

start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=4M
run_expect 0 'MTU 4096, packets of 4096 bytes pass' ping_target -c 1
says 1500 v1 1024	# WRITEs
says 2200 v0 2048	# what READs fetch
carries 9000 v1
run_expect 0 'MTU 4096, packets of 4096 bytes pass' ping_target -c 1
expect 0 "$(dropped)" "the packets that were dropped"
nft delete table ip narrow
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
