#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon of a cached file that is not up to date is told to end. Another host's login is
# registering memory, for longer than the daemon waits for sessions. The daemon waits for that
# login, too, because it cannot close the file before. Then the file has all written data.
#
# smp: 2

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require jq
# This daemon registers memory slowly.
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/dev/shm/file DATA=/dev/shm/data RULES=/tmp/rules

said() {
	grep -q "$1" "$TARGET_LOG"
}

# registering: whether memory is being registered for a login
registering() {
	(($("$RDMABLK" target sessions --json |
		jq '[.sessions[] | select(.state == "login" and .queues > 0)] | length') == 1))
}

program target_probe
load_module
random_file 16M $FILE
random_file 8M $DATA
: >$RULES
start_target --insecure --listen "$TARGET_ADDR" --drain-ms 200 \
	--export "disk0,file=$FILE,cache=full,fault=$RULES" --fault slow-login=15000
connect --dev-loss-tmo 0 --keep-alive-tmo 2 --connect-tmo 60
dd if=$DATA of=$DEV bs=64k oflag=direct status=none
expect true "$(status unflushed)" "unflushed"
echo 'read hang' >$RULES
kill -STOP "$TARGET_PID"
wait_state failed
kill -CONT "$TARGET_PID"
wait_until "$PATIENCE" said 'fenced: its queues and keys are gone' ||
	fail "its session does not end: $(<"$TARGET_LOG")"
"$PROGRAM" --features 1 --keep-alive 20000 --hold 600000 "$TARGET_ADDR" disk0 hold \
	>/tmp/second 2>&1 &
SECOND=$!
wait_until "$PATIENCE" registering ||
	fail "the other login does not begin: $(</tmp/second)"
kill -TERM "$TARGET_PID"
wait_until "$PATIENCE" said 'waiting for the end of sessions of 1 exports' ||
	fail "the login is not waited for: $(<"$TARGET_LOG")"
! wait "$SECOND" || fail "a login has succeeded: $(</tmp/second)"
wait_until "$PATIENCE" said 'waiting for the files of 1 exports' ||
	fail "the file is not waited for: $(<"$TARGET_LOG")"
: >$RULES
wait_until "$PATIENCE" target_is_gone || fail "the daemon does not end"
wait "$TARGET_PID" || fail "the daemon has ended with status $?: $(<"$TARGET_LOG")"
cmp -n 8388608 $DATA $FILE || fail "the file has not got what was written"
disconnect
unload_module
