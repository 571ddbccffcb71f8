#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# IPv6 addresses in brackets, with and without a port, connect by insmod and by
# the tool, and data goes both ways.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

[[ $TARGET_ADDR6 == *:* ]] || fail "the guest has no IPv6 address"
start_target --insecure --listen "[$TARGET_ADDR6]" \
	--listen "[$TARGET_ADDR6]:20421" \
	--export "disk0,memory,arena=$ARENA,size=16M"

check_data() {
	expect "[$TARGET_ADDR6]:$1" "$(status target)" "the target"
	expect "[$TARGET_ADDR6]:$1" "$(<$SESSION/target)" "sysfs' target"
	random_file 4M /tmp/pattern
	dd if=/tmp/pattern of="$DEV" bs=1M seek=2 oflag=direct status=none
	dd if="$DEV" bs=64k skip=32 count=64 iflag=direct status=none |
		cmp - /tmp/pattern || fail "read data differ from written"
	device_same_as_target
	still_live
}

load_module connect="[$TARGET_ADDR6]/disk0"
check_data 20420
disconnect
unload_module

load_module connect="[$TARGET_ADDR6]:20421/disk0"
check_data 20421
disconnect

expect "$DEV" "$("$RDMABLK" connect "[$TARGET_ADDR6]/disk0")" "the tool's output"
check_data 20420
fio_verify 8
still_live
disconnect

expect "$DEV" "$("$RDMABLK" connect "[$TARGET_ADDR6]:20421/disk0")" \
	"the tool's output"
check_data 20421
disconnect

# Without brackets the port could not be told from the address.
run_expect 2 'bracket' "$RDMABLK" connect "$TARGET_ADDR6/disk0"
