#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A file that has become larger makes its export larger on SIGHUP, and live sessions are
# told; a new session has all of it. One that is as it was is nothing to tell of. A file
# that has become shorter leaves its export as it is.

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe
FILE=/run/disk FIXED=/run/fixed

# waiting: a session that says which event comes
waiting() {
	: >/tmp/probe
	"$PROGRAM" --features 1 --keep-alive 20000 "$TARGET_ADDR" disk drain \
		>/tmp/probe 2>&1 &
	PROBE=$!
	wait_until "$PATIENCE" grep -q '^waiting' /tmp/probe ||
		fail "no session: $(cat /tmp/probe)"
}

told() {
	wait_until "$PATIENCE" grep -q "^event $1\$" /tmp/probe ||
		fail "no event $1: $(cat /tmp/probe)"
	wait "$PROBE"
}

truncate -s 32M "$FILE"
truncate -s 32M "$FIXED"
start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
	--export "disk,file=$FILE,cache=full" \
	--export "fixed,file=$FIXED,cache=full,size=16M"
waiting
kill -HUP "$TARGET_PID"
expect_logs 1 'SIGHUP: looking'
truncate -s 96M "$FILE"
truncate -s 96M "$FIXED"
kill -HUP "$TARGET_PID"
told "2 $((96 << 20))"
expect_logs 1 "export disk: has grown from $((32 << 20)) to $((96 << 20)) bytes"
! grep 'export fixed: has grown' "$TARGET_LOG" || fail "its size was given"
run_expect 0 " size $((96 << 20)) " timeout 60 "$PROGRAM" --features 1 "$TARGET_ADDR" disk io

waiting
truncate -s 16M "$FILE"
kill -HUP "$TARGET_PID"
expect_logs 1 'has become shorter; it cannot be while it is exported'
truncate -s 97M "$FILE"
kill -HUP "$TARGET_PID"
told "2 $((97 << 20))"
stop_target TERM
expect 0 "$TARGET_STATUS" "how the daemon ends"
