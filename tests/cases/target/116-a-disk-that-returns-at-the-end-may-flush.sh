#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk with unflushed writes has lost its connection, and is logging in again when the daemon
# is told to end. The daemon admits it and waits for it: the disk flushes and logs out, and goes
# on with the next daemon, whose memory is new. A first login that is under way fails, and a
# later login is refused.
#
# smp: 2

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require jq
# This daemon registers memory slowly.
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/dev/shm/file OTHER=/dev/shm/other DATA=/dev/shm/data

serve() {
	start_target --insecure --listen "$TARGET_ADDR" --drain-ms 200 \
		--export "disk0,file=$FILE,cache=full" \
		--export "other,file=$OTHER,cache=full" --fault slow-login=20000
}

# sessions FILTER: prints how many sessions jq's filter selects
sessions() {
	"$RDMABLK" target sessions --json | jq "[.sessions[] | select($1)] | length"
}

# registering EXPORT: whether memory is being registered for a login
registering() {
	(($(sessions ".export == \"$1\" and .state == \"login\" and .queues > 0") == 1))
}

said() {
	grep -q "$1" "$TARGET_LOG"
}

load_module
truncate -s 16M $FILE
truncate -s 16M $OTHER
random_file 8M $DATA
serve
connect --dev-loss-tmo off --keep-alive-tmo 2 --connect-tmo 60
dd if=$DATA of=$DEV bs=64k oflag=direct status=none
expect true "$(status unflushed)" "unflushed"

kill -STOP "$TARGET_PID"
wait_state recovering
kill -CONT "$TARGET_PID"
"$RDMABLK" connect --connect-tmo 60 "$TARGET_ADDR/other" >/tmp/first 2>&1 &
FIRST=$!
wait_until "$PATIENCE" registering disk0 || fail "the disk does not come back"
wait_until "$PATIENCE" registering other || fail "the first login does not begin"
registering disk0 || fail "the disk is back too early to say anything"
kill -TERM "$TARGET_PID"
wait_until "$PATIENCE" said 'waiting for 1 sessions to flush' ||
	fail "nobody is waited for: $(<"$TARGET_LOG")"
run_expect 5 'target is shutting down' "$RDMABLK" connect --connect-tmo 60 \
	"$TARGET_ADDR/third"
! wait "$FIRST" || fail "a first login has succeeded"
wait_until "$PATIENCE" target_is_gone || fail "the daemon does not end"
wait "$TARGET_PID" || fail "the daemon has ended with status $?"
! said 'have not flushed' || fail "the disk has not flushed: $(<"$TARGET_LOG")"
cmp -n 8388608 $DATA $FILE || fail "the file has not got what was written"
expect false "$(status unflushed)" "unflushed"

serve
wait_until "$PATIENCE" state_is live || fail "$(attribute state): $(attribute reason)"
cmp -n 8388608 $DATA $DEV || fail "the disk differs from what was written"
expect 0 "$(status errors)" "the number of failed requests"
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
