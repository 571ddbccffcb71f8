#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two hosts and one target: each works on its own export; the second writer of an
# export is refused and may read; a shared export has both as writers; who steals
# an export gets it, and the other host's disk fails, says why and can be removed.
# The second host is the target's own machine, whose SMBIOS UUID is another.
#
# net: two
# timeout: 180

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

# connect_to EXPORT [OPTION...]: sets DISK
connect_to() {
	DISK=$("$RDMABLK" connect "${@:2}" "$TARGET_ADDR/$1")
	[[ -b $DISK ]] || fail "connect printed '$DISK'"
}

# pattern FILE DISK: random data, on the disk and in FILE
pattern() {
	random_file 1M "$1"
	dd if="$1" of="$2" bs=64k oflag=direct status=none
}

# holds DISK FILE
holds() {
	dd if="$1" bs=64k count=16 iflag=direct status=none | cmp - "$2" ||
		fail "$1 does not hold $2"
}

initiator() {
	local first shared

	peer_wait listening 60
	load_module
	connect_to first
	first=$DISK
	pattern /run/vm/first "$first"
	connect_to shared
	shared=$DISK
	pattern /run/vm/shared.1 "$shared"
	peer_set connected
	peer_wait second-has-tried 60

	holds "$first" /run/vm/first
	holds "$shared" /run/vm/shared.2
	peer_set seen
	peer_wait stolen 60

	wait_until 30 grep -q failed "/sys/block/${first##*/}/rdmablk/state" ||
		fail "the stolen disk is $(<"/sys/block/${first##*/}/rdmablk/state")"
	expect 'export was taken over by another host' \
		"$(<"/sys/block/${first##*/}/rdmablk/reason")" "the reason"
	run_expect 1 'Link has been severed' \
		dd if=/dev/zero of="$first" bs=4k count=1 oflag=direct
	expect live "$(<"/sys/block/${shared##*/}/rdmablk/state")" "the other disk's state"
	"$RDMABLK" disconnect "$first"
	run_expect 1 'in use by another host' "$RDMABLK" connect "$TARGET_ADDR/first"
	"$RDMABLK" disconnect "$shared"
	unload_module
}

target() {
	start_target --insecure --listen "$TARGET_ADDR" \
		--export first,memory,size=4M --export second,memory,size=4M \
		--export shared,memory,size=4M,shared
	peer_set listening
	peer_wait connected 60
	load_module

	run_expect 1 'in use by another host' "$RDMABLK" connect "$TARGET_ADDR/first"
	connect_to first --read-only
	holds "$DISK" /run/vm/first
	run_expect 1 'read-only|not permitted' \
		dd if=/dev/zero of="$DISK" bs=4k count=1 oflag=direct
	"$RDMABLK" disconnect "$DISK"

	connect_to second
	pattern /tmp/second "$DISK"
	holds "$DISK" /tmp/second
	"$RDMABLK" disconnect "$DISK"

	connect_to shared
	holds "$DISK" /run/vm/shared.1
	pattern /run/vm/shared.2 "$DISK"
	"$RDMABLK" disconnect "$DISK"
	peer_set second-has-tried
	peer_wait seen 60

	connect_to first --steal
	holds "$DISK" /run/vm/first
	peer_set stolen
	wait_until 60 test -e /run/vm/never || :
}

"$ROLE"
