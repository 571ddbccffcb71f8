#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Why epochs are compared: the disk goes on with a daemon that has new memory but claims the old
# epoch, and reads zeroes in place of data, without an error. With a correct daemon the disk
# fails.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

uuid=7d2c0a34-61a5-4f0e-9f3b-0c1d2e3f4a5b
good=$RDMABLKD

# memory [OPTION...]: starts a daemon whose contents are lost when it ends
memory() {
	start_target --insecure --listen "$TARGET_ADDR" \
		--export "disk0,memory,size=16M,uuid=$uuid" "$@"
}

# has FILE: whether the disk begins with the first MiB of FILE
has() {
	dd if=$DEV bs=1M count=1 iflag=direct status=none | cmp -n $((1 << 20)) - "$1"
}

load_module
random_file 1M /tmp/pattern
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
memory --fault same-epoch
connect --reconnect-delay 1
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
has /tmp/pattern || fail "what was written is not there"
epoch=$(attribute epoch)
stop_target KILL
memory --fault same-epoch
expect_back 1
expect "$epoch" "$(attribute epoch)" "the epoch"
has /dev/zero || fail "what is there now are not zeroes"
expect 0 "$(status errors)" "the number of failed requests"

dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
stop_target KILL
RDMABLKD=$good
memory
expect_failed 'store has lost its contents'
expect_no_io
disconnect
unload_module
stop_target
