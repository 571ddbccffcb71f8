#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A write whose packets are held back in the network until the initiator has
# reconnected, written the block anew and got that acknowledged, does not land
# any more. The disconnect messages of the old connection are held back as well, so
# the target learns of its end by the new login alone. With a daemon that grants
# without a fence the old write does land, and this test sees it.
#
# The packets wait at the receiver: one that waits at the sender keeps its queue
# pair from being destroyed.
#
# net: veth

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/hold.sh
source "$RDMABLK_TOP/tests/lib/hold.sh"
require tc

write_one() {
	timeout "$PATIENCE" dd if="$1" of=$DEV bs=4k count=1 oflag=direct status=none
}

# block_is FILE: as the target has it, and as a READ brings it
block_is() {
	cmp -s -n 4096 "$1" $ARENA || return
	dd if=$DEV bs=4k count=1 iflag=direct status=none | cmp -s - "$1"
}

# overtake SECONDS: an old write's packets wait while a newer write is acknowledged;
# false when they did not wait long enough for that
overtake() {
	local writer before held

	before=$(attribute reconnects)
	write_one /tmp/zero
	hold_packets "$1"
	write_one /tmp/old &
	writer=$!
	wait_until "$PATIENCE" packets_wait || fail "nothing is held back"
	cmp -s -n 4096 /tmp/zero $ARENA || fail "the write has not been held back"
	"$RDMABLK" reconnect rdmablk0
	wait_until "$PATIENCE" tried 1 || fail "it does not reconnect"
	# What the old connection had to say is on its way.
	held=$(packets_held)
	hold_packets 0
	expect_back $((before + 1))
	wait "$writer" || fail "the held write has failed"
	write_one /tmp/new
	# The first to come is the first to go on.
	packets_wait "$held"
}

# provoke: until the packets are released after the newer write
provoke() {
	local seconds

	for seconds in 10 20 40; do
		if overtake $seconds; then
			wait_until "$PATIENCE" no_packets_wait ||
				fail "packets are held for ever"
			return
		fi
	done
	fail "the packets were not held for long enough"
}

head -c 4096 /dev/zero >/tmp/zero
random_file 4096 /tmp/old
random_file 4096 /tmp/new
hold_setup
load_module

serve 16M
connect --keep-alive-tmo 60 --reconnect-delay 1
provoke
block_is /tmp/new || fail "an old write has landed after a newer one"
expect_log 'closing: session was replaced by a newer login'
disconnect
stop_target

program faults/rdmablkd
RDMABLKD=$PROGRAM
serve 16M --fault no-fence
connect --keep-alive-tmo 60 --reconnect-delay 1
provoke
old_has_landed() {
	block_is /tmp/old
}
wait_until "$PATIENCE" old_has_landed ||
	fail "without a fence nothing has gone wrong: this test proves nothing"
stop_target KILL
disconnect
unload_module
