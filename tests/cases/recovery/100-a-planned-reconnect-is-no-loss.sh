#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk connects again when its export has grown, or when the administrator asks for it. That
# does not count as a loss: with dev_loss_tmo=0, which fails a disk as soon as its connection is
# lost, no request fails, and the disk is live again. A new size that the target announces
# during a login is not forgotten. A really lost connection fails the disk.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# size_is BYTES [N]: whether the disk has this size
size_is() {
	[[ $(blockdev --getsize64 "/dev/rdmablk${2:-0}") == "$1" ]]
}

# grown BYTES [N]: waits until the disk has this size and is live
grown() {
	wait_until "$PATIENCE" size_is "$1" "${2:-0}" ||
		fail "the disk is $(attribute state "${2:-0}"), has $(blockdev --getsize64 \
			"/dev/rdmablk${2:-0}") bytes"
	wait_state live "${2:-0}"
}

FILE=/dev/shm/disk0
load_module
truncate -s 16M $FILE
start_target --insecure --listen "$TARGET_ADDR" --export "disk0,file=$FILE,cache=full"
connect --dev-loss-tmo 0 --reconnect-delay 1
start_verify

truncate -s 32M $FILE
kill -HUP "$TARGET_PID"
grown $((32 << 20))
expect_back 1
expect_progress
"$RDMABLK" reconnect rdmablk0
expect_back 2
expect_progress
stop_verify
dd if=/dev/urandom of=$DEV bs=1M seek=16 count=16 oflag=direct,sync status=none
cmp -n $((32 << 20)) $DEV $FILE || fail "the file is not what the disk is"

# The login is granted half of it, and told before it is over.
start_bad_target live-grown
"$RDMABLK" connect --dev-loss-tmo 0 "$TARGET_ADDR:$BAD_PORT/x"
grown 1048576 1
"$RDMABLK" disconnect rdmablk1
stop_bad_target

stop_target KILL
expect_failed "$LOST"
"$RDMABLK" disconnect rdmablk0
unload_module
