#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk whose export another host has taken over, or has written while the disk
# was away, does not come back: what its host has cached is stale. It says so, at
# once when it is told, at its next login when it is not, and also after the daemon
# has been restarted; and it does not steal the export back. A new connect works.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

stolen='export was taken over by another host'
other_host=0f0e0d0c-0b0a-4909-8807-060504030201
# The same daemon by another address: a host connects to an export once.
second=10.99.0.1
LISTEN=$TARGET_ADDR

both() {
	again 16M --listen "$second"
}

# other [OPTION...]: the second host, as rdmablk1
other() {
	expect /dev/rdmablk1 "$("$RDMABLK" connect --host-id $other_host "$@" \
		"$second/disk0")" "the second host's disk"
}

write_block() {
	dd if="$2" of="/dev/rdmablk$1" bs=4k count=1 oflag=direct status=none
}

load_module
random_file 4096 /tmp/first
random_file 4096 /tmp/second
both
connect --steal
write_block 0 /tmp/first
run_expect 4 'in use by another host' \
	"$RDMABLK" connect --host-id $other_host "$second/disk0"
other --steal
expect_failed "$stolen"
expect_no_io
write_block 1 /tmp/second
run_expect 1 "$stolen" "$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
expect_failed "$stolen"
expect live "$(attribute state 1)" "the second host's state"
"$RDMABLK" disconnect rdmablk1
# Nobody has it now, but somebody had.
run_expect 1 "$stolen" "$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
disconnect

# Nobody tells it: it is away when the other host comes and goes.
connect
write_block 0 /tmp/first
stop_target KILL
wait_state recovering
wait_until "$PATIENCE" tried 5 || fail "only $(attribute attempts) tries"
# One more try, and then it is busy waiting.
before=$(attribute attempts)
"$RDMABLK" set rdmablk0 --reconnect-delay 600
wait_until "$PATIENCE" tried $((before + 1)) || fail "only $(attribute attempts) tries"
both
other
write_block 1 /tmp/second
"$RDMABLK" disconnect rdmablk1
# The daemon that finds the arena knows who wrote it last.
stop_target KILL
both
"$RDMABLK" reconnect rdmablk0
expect_failed "$stolen"
disconnect
connect
dd if=$DEV bs=4k count=1 iflag=direct status=none | cmp - /tmp/second ||
	fail "what the other host wrote is not there"
disconnect
unload_module
stop_target
