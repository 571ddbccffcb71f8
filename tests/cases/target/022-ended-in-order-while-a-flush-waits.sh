#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon with all of a file in memory is told to end while a FLUSH of the disk waits for
# the medium, which takes longer than requests are given to end. The initiator stays until
# that FLUSH is over, and its session ends in order: the file has all that was written, and
# with the next daemon, whose memory is another one, the disk goes on and has lost nothing.
# So it does when a WRITE ZEROES is what takes as long: it is answered while the flush is
# under way that the end has begun with, and there is another flush for it.
#
# in-turn: yes

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
RULES=/tmp/rules DATA=/dev/shm/data BYTES=4194304

serve() {
	serve_file "$DISK/disk0,cache=full,fault=$RULES"
}

# A thread of the daemon waits as a rule says.
store_hangs() {
	grep -qs nanosleep "/proc/$TARGET_PID/task/"*/wchan
}

# The store goes on, and the daemon ends when nothing is left to flush.
ended_in_order() {
	rm $RULES
	wait_until "$PATIENCE" target_is_gone || fail "the daemon does not end"
	TARGET_STATUS=0
	wait "$TARGET_PID" || TARGET_STATUS=$?
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	expect 1 "$(grep -c ': live' "$TARGET_LOG")" "logins until the end"
}

flush_has_begun() {
	[[ $(status unflushed) == false ]]
}

load_module
ram_disk 64
file_system
truncate -s 8M $DISK/disk0
serve
connect --dev-loss-tmo off --keep-alive-tmo 60
random_file $BYTES $DATA
dd if=$DATA of=$DEV bs=64k oflag=direct status=none
expect true "$(status unflushed)" "unflushed"
echo 'sync hang' >$RULES
sync $DEV &
flush=$!
wait_until "$PATIENCE" store_hangs || fail "no fdatasync is under way"
expect false "$(status unflushed)" "unflushed, while the FLUSH is under way"

kill -TERM "$TARGET_PID"
# One of these in 5 s: by then whoever does not wait for the FLUSH has given up.
wait_until "$PATIENCE" log_count 2 'waiting for 1 sessions to flush' ||
	fail "the daemon does not wait for the FLUSH: $(tail -n 5 "$TARGET_LOG")"
kill -0 $flush || fail "the FLUSH has ended before the medium has anything"
ended_in_order
wait $flush || fail "the FLUSH has failed"
cmp -n $BYTES $DISK/disk0 $DATA || fail "the file lacks what was flushed"

serve
wait_state live
dd if=$DEV bs=64k iflag=direct count=$((BYTES / 65536)) status=none | cmp - $DATA || fail "something was lost"

random_file $BYTES $DATA
dd if=$DATA of=$DEV bs=64k oflag=direct status=none
expect true "$(status unflushed)" "unflushed"
echo 'zero hang' >$RULES
blkdiscard -f -z -o $BYTES -l 65536 $DEV &
zeroes=$!
wait_until "$PATIENCE" store_hangs || fail "no WRITE ZEROES is under way"
kill -TERM "$TARGET_PID"
wait_until "$PATIENCE" flush_has_begun || fail "the disk does not flush"
kill -0 $zeroes || fail "the WRITE ZEROES has ended before the medium has anything"
ended_in_order
wait $zeroes || fail "the WRITE ZEROES has failed"
cmp -n $BYTES $DISK/disk0 $DATA || fail "the file lacks what was written"

serve
wait_state live
dd if=$DEV bs=64k iflag=direct count=$((BYTES / 65536)) status=none | cmp - $DATA || fail "something was lost"
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the next daemon's exit status"
