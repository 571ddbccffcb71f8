#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is told to end while a disk with unflushed writes has lost its connection and has
# not come back yet. The disk is admitted and flushes. The flush waits until the whole file has
# been compared, for longer than the minute that idle sessions get at the end. Then the disk
# logs out, and goes on with the next daemon, whose memory is new. If the daemon gets a second
# signal meanwhile, data is lost; the log says so, and the disk fails with that reason.
#
# smp: 2
# timeout: 900

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/dev/shm/file DATA=/dev/shm/data RULES=/tmp/rules

serve() {
	start_target --insecure --listen "$TARGET_ADDR" --drain-ms 200 \
		--export "disk0,file=$FILE,cache=full,fault=$RULES"
}

# said N REGEX: whether the daemon's log has N such lines
said() {
	(($(grep -c "$2" "$TARGET_LOG") >= $1))
}

# unflushed_and_away: the disk writes; the daemon is stopped (SIGSTOP), and the connection is
# lost
unflushed_and_away() {
	dd if=$DATA of=$DEV bs=64k oflag=direct status=none
	expect true "$(status unflushed)" "unflushed"
	kill -STOP "$TARGET_PID"
	wait_state recovering
}

load_module
random_file 16M $FILE
random_file 8M $DATA
: >$RULES
serve
connect --dev-loss-tmo off --keep-alive-tmo 2 --connect-tmo 60

echo 'read hang' >$RULES
unflushed_and_away
kill -TERM "$TARGET_PID"
kill -CONT "$TARGET_PID"
wait_until "$PATIENCE" said 2 ': live: ' ||
	fail "the disk is not let in: $(<"$TARGET_LOG")"
# The daemon logs this line every 5 s, so it has waited for more than a minute.
wait_until "$PATIENCE" said 14 'waiting for 1 sessions to flush' ||
	fail "nobody is waited for: $(<"$TARGET_LOG")"
kill -0 "$TARGET_PID" || fail "the daemon has ended: $(<"$TARGET_LOG")"
: >$RULES
wait_until "$PATIENCE" target_is_gone || fail "the daemon does not end"
wait "$TARGET_PID" || fail "the daemon has ended with status $?: $(<"$TARGET_LOG")"
! said 1 'have not flushed' || fail "the disk has not flushed: $(<"$TARGET_LOG")"
cmp -n 8388608 $DATA $FILE || fail "the file has not got what was written"

serve
wait_until "$PATIENCE" state_is live || fail "$(attribute state): $(attribute reason)"
cmp -n 8388608 $DATA $DEV || fail "the disk differs from what was written"
expect 0 "$(status errors)" "the number of failed requests"

echo 'read hang' >$RULES
random_file 8M $DATA
unflushed_and_away
kill -TERM "$TARGET_PID"
kill -CONT "$TARGET_PID"
wait_until "$PATIENCE" said 2 ': live: ' || fail "the disk is not let in"
stop_target TERM
expect 1 "$TARGET_STATUS" "the exit status after the second signal"
said 1 "disk0: $FILE may lack the last writes" ||
	fail "nobody says what is lost: $(<"$TARGET_LOG")"
: >$RULES
serve
expect_failed 'store has lost its contents'
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
