#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A store comes back without its contents: the disk fails, says why, and serves nothing until
# the administrator accepts the loss or disconnects. With --on-data-loss continue it goes on.
# The disk waits if it meets an export with another UUID, a smaller one, or one with another
# block size, and goes on with the right one later. Each of these changes is an event of
# 'rdmablk monitor', with its reason.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

lost='store has lost its contents'
uuid=7d2c0a34-61a5-4f0e-9f3b-0c1d2e3f4a5b

# refuses WHY: the disk does not go on with the present target, for this reason
refuses() {
	last_error_is() {
		[[ $(attribute last_error) == "$1" ]]
	}
	wait_until "$PATIENCE" last_error_is "$1" ||
		fail "the last error is '$(attribute last_error)', not '$1'"
	expect recovering "$(attribute state)" "the state"
	expect 0 "$(attribute io_failing)" "io_failing"
}

load_module
monitor_start
serve 16M,uuid=$uuid
connect --reconnect-delay 1
expect_events 'rdmablk0 connecting' 'rdmablk0 live'
events_forget
random_file 1M /tmp/pattern
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none

# The first three exports are not the disk's; the last one is.
stop_target KILL
mv $ARENA /dev/shm/kept
again 8M,uuid=$uuid
refuses 'export has become smaller or takes less'
expect_log 'the initiator closes: export has become smaller'
stop_target
rm $ARENA
again 16M,uuid=$uuid,block=4096
refuses 'export is not the one it was'
stop_target
rm $ARENA
again 16M,uuid=00000000-61a5-4f0e-9f3b-0c1d2e3f4a5b
refuses 'export is not the one it was'
stop_target
mv /dev/shm/kept $ARENA
again 16M,uuid=$uuid
expect_back 1
dd if=$DEV bs=1M count=1 iflag=direct status=none | cmp - /tmp/pattern ||
	fail "the contents are not those"
expect_events "rdmablk0 recovering: ($LOST)" 'rdmablk0 live'
events_forget

# The daemon starts without the arena.
start_load
stop_target KILL
rm $ARENA
again 16M,uuid=$uuid
expect_load_failed
expect_failed "$lost"
expect_no_io
dmesg_has "the store has lost its contents \(epoch" || fail "the log does not say so"
expect_log "the initiator closes: $lost"
run_expect 1 'the loss is not accepted' "$RDMABLK" reconnect rdmablk0
expect_no_io
expect_events "rdmablk0 recovering: ($LOST)" "rdmablk0 failed: $lost \(I/O fails\)"
! events_went '.* live.*' || fail "with lost contents it was live: $(events)"
events_forget
"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
dd if=$DEV bs=1M count=1 iflag=direct status=none | cmp -n $((1 << 20)) - /dev/zero ||
	fail "what is there now are not zeroes"
expect_events 'rdmablk0 recovering.*' 'rdmablk0 live'
fio_verify 8 --numjobs=1 --size=8M --io_size=8M

# Accepted once, and not for ever.
stop_target KILL
rm $ARENA
again 16M,uuid=$uuid
expect_failed "$lost"
disconnect

# With --on-data-loss continue the disk goes on.
connect --on-data-loss continue --reconnect-delay 1
events_forget
epoch=$(attribute epoch)
start_verify --do_verify=0 --verify=0
stop_target KILL
rm $ARENA
again 32M,uuid=$uuid
expect_back 1
expect_events "rdmablk0 recovering: ($LOST)" 'rdmablk0 live'
[[ $(attribute epoch) != "$epoch" ]] || fail "the epoch is the old one"
stop_verify

# A larger store is a larger disk.
has_grown() {
	[[ $(<$QUEUE/../size) == $((32 << 11)) ]]
}
wait_until "$PATIENCE" has_grown || fail "the size is still $(<$QUEUE/../size)"
dmesg_has "now $((32 << 20)) bytes" || fail "the log does not say so"
disconnect
unload_module
stop_target
