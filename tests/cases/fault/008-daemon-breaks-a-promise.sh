#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that breaks one of its promises costs the initiator one connection or login, with a
# reason and in bounded time, and leaves nothing behind. It does not answer keep-alives, posts
# no more receives, sends a GRANT that was altered, speaks an unknown version, or is slow. A
# disk that reconnects goes on when a correct daemon runs again. recovery/006 shows what happens
# to writes without a fence.
#
# timeout: 240
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

# The same daemon, built with faults that options switch on.
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd

# broken FAULT [OPTION...]
broken() {
	serve 16M --fault "$@"
}

mended() {
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
}

# login_fails TEXT [OPTION...]
login_fails() {
	run_expect failed "^rdmablk: connect $TARGET_ADDR/disk0: $1" \
		"$RDMABLK" connect "${@:2}" "$TARGET_ADDR/disk0"
	[[ ! -e $DEV ]] || fail "a disk is left behind"
}

load_module
leak_snapshot

# Only the initiator can notice, because this daemon waits for longer than the test.
broken no-keepalive-answer --session-timeout-factor 100
connect_brittle --keep-alive-tmo 1
expect_failed 'session was silent for too long'
expect_no_io
disconnect
mended


broken corrupt-grant
login_fails 'the target sent a bad GRANT'
expect_log 'the initiator closes: authentication failed'
mended

broken bad-version
login_fails 'no common protocol version'
mended

# The daemon goes on registering memory for the initiator that gave up. The next login has to
# wait for that.
broken slow-login=3000
login_fails 'the target does not answer the login' --connect-tmo 1
connect --connect-tmo "$PATIENCE"
expect_works 1
disconnect
mended

# After each new connection the disk works until no receive is left.
broken no-recv
connect --keep-alive-tmo 1 --reconnect-delay 1
lost_twice() {
	(($(dmesg | grep -cE "rdmablk0 .*: connection lost: ($LOST)") >= lost + 2))
}
lost=$(dmesg | grep -cE "rdmablk0 .*: connection lost: ($LOST)")
wait_until "$PATIENCE" lost_twice || fail "the state is $(attribute state)"
mended
serve 16M
wait_state live
expect_works
disconnect
unload_module
mended
leak_check
