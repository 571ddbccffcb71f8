#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Another host takes over the export of a disk, or writes it while the disk is away. The disk
# does not come back, because the cached data of its host is stale. It says so: at once when the
# target tells it, else at its next login, also after a restart of the daemon. It does not steal
# the export back. A new connect works.
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

stolen='export was taken over by another host'
other_host=0f0e0d0c-0b0a-4909-8807-060504030201
# The second host uses another address of the daemon: a host may connect to an export by an
# address once.
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
# No host has the export now, but another host was the last writer.
run_expect 1 "$stolen" "$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
disconnect

# The target cannot tell the disk, which is away while the other host comes and goes.
connect
write_block 0 /tmp/first
stop_target KILL
wait_state recovering
wait_until "$PATIENCE" tried 5 || fail "only $(attribute attempts) tries"
# After one more try the disk waits for long.
before=$(attribute attempts)
"$RDMABLK" set rdmablk0 --reconnect-delay 600
wait_until "$PATIENCE" tried $((before + 1)) || fail "only $(attribute attempts) tries"
both
other
write_block 1 /tmp/second
"$RDMABLK" disconnect rdmablk1
# A new daemon reads the last writer from the arena.
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
