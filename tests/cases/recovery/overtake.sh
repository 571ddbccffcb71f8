# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases in which packets of an old write wait while a newer write overtakes them, net: veth.
# The packets wait at the receiver. A packet that waits at the sender would keep its queue pair
# from being destroyed.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/hold.sh
source "$RDMABLK_TOP/tests/lib/hold.sh"
require tc

# The second host has a host id, an address and a target port of its own, because a machine may
# connect to an export by an address once. Packets from its address are never held.
THIEF=10.2.0.3 PORT=20421

# No keep-alive times out before the write is overtaken, and after an unanswered login try there
# is time for another one.
TIMEOUTS=(--keep-alive-tmo 10 --connect-tmo 5)

second_host() {
	ip -batch - <<-EOF
	addr add $THIEF/32 dev v0
	rule add pref 9 oif v1 to $THIEF lookup 101
	rule add pref 10 iif lo from $THIEF to $TARGET_ADDR lookup 102
	rule add pref 11 iif lo from $TARGET_ADDR to $THIEF lookup 101
	route add $THIEF/32 dev v1 src $TARGET_ADDR table 101
	neigh add $THIEF lladdr $(</sys/class/net/v0/address) dev v1 nud permanent
	EOF
}

# write_one FILE [N]: writes it as the first block of rdmablkN
write_one() {
	timeout "$PATIENCE" dd if="$1" of="/dev/rdmablk${2:-0}" bs=4k count=1 \
		oflag=direct status=none
}

# block_is FILE [N]: whether the target and a READ of rdmablkN have this first block
block_is() {
	cmp -s -n 4096 "$1" $ARENA || return
	dd if="/dev/rdmablk${2:-0}" bs=4k count=1 iflag=direct status=none | cmp -s - "$1"
}

# hold_old SECONDS: starts the old write; its packets wait for SECONDS
hold_old() {
	write_one /tmp/zero
	hold_packets "$1"
	passed=$(packets_passed)
	write_one /tmp/old &
	writer=$!
	wait_until "$PATIENCE" packets_wait || fail "nothing is held back"
	cmp -s -n 4096 /tmp/zero $ARENA || fail "the write has not been held back"
}

# let_pass: packets from now on overtake the waiting ones
let_pass() {
	wait_until "$PATIENCE" tried 1 || fail "it does not reconnect"
	# Packets of the old connection's end, if any, are among the waiting ones.
	held=$(packets_held)
	hold_packets 0
}

# write_newer: waits until the disk is back and the held write has been sent again; then writes
write_newer() {
	expect_back 1
	wait "$writer" || fail "the held write has failed"
	write_one /tmp/new || fail "the newer write has failed"
	# Packets leave in order of arrival: while $held wait, the old write's are among them.
	packets_wait "$held"
}

# --- ways to overtake; false when the old packets did not wait long enough -----------

by_reconnect() {
	"$RDMABLK" reconnect rdmablk0 || fail "it is not reconnected"
	let_pass
	write_newer
}

by_restart() {
	stop_target KILL
	let_pass
	again 16M
	write_newer
}

steals() {
	"$RDMABLK" connect --steal "${TIMEOUTS[@]}" --source $THIEF \
		--host-id 0f0e0d0c-0b0a-4909-8807-060504030201 \
		"$TARGET_ADDR:$PORT/disk0" >/tmp/theft 2>&1
}

# No packet of the first host reaches the target. A daemon without a fence does not tell the
# thief to come again either, so a theft may take two tries.
by_theft() {
	wait_until "$PATIENCE" steals || fail "the theft fails: $(</tmp/theft)"
	expect /dev/rdmablk1 "$(</tmp/theft)" "the second host's disk"
	write_one /tmp/new 1 || fail "the newer write has failed"
	(($(packets_passed) == passed)) || return
	# Otherwise the first host's tries to come back would be held, too, again and again.
	hold_packets 0
}

survivors_end() {
	kill "$survivors" 2>/dev/null || :
}

# The daemon's process is gone, but its queue pairs and registrations are not.
by_restart_with_survivors() {
	python3 "$CASES/recovery/survivors.py" "$TARGET_PID" >/tmp/survivors &
	survivors=$!
	cleanup_add survivors_end
	wait_until "$PATIENCE" grep -q '^kept' /tmp/survivors || fail "nothing survives"
	by_restart
}

# --- the check --------------------------------------------------------------------------

# overtake WAY [OPTION...]: repeats WAY, with longer holds, until the old packets are released
# after the newer write
overtake() {
	local seconds

	for seconds in 10 20 40; do
		hold_packets 0
		again 16M --listen "$TARGET_ADDR:$PORT" "${@:2}"
		connect "${TIMEOUTS[@]}" --reconnect-delay 1
		hold_old $seconds
		if "$1"; then
			wait_until "$PATIENCE" no_packets_wait ||
				fail "packets are held for ever"
			return
		fi
		over
	done
	fail "the packets were not held for long enough"
}

# over: ends an attempt whose packets may still be held
over() {
	stop_target KILL
	"$RDMABLK" disconnect --force --all
	wait "$writer" || :
	wait_until "$PATIENCE" no_packets_wait || fail "packets are held for ever"
}

# new_stays N: the newer write is still there, on rdmablkN
new_stays() {
	block_is /tmp/new "$1" || fail "an old write has landed after a newer one"
	"$RDMABLK" disconnect --all
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
}

# old_lands N: the old write lands, because the daemon lacks a protection
old_lands() {
	wait_until "$PATIENCE" block_is /tmp/old "$1" ||
		fail "nothing has gone wrong: this test proves nothing"
	over
}

# overtake_setup: makes the blocks to write, the second host, and the queue for held packets
overtake_setup() {
	head -c 4096 /dev/zero >/tmp/zero
	random_file 4096 /tmp/old
	random_file 4096 /tmp/new
	second_host
	hold_setup "$INITIATOR_ADDR"
}
