#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon of a cached file is told to end while a FLUSH of the disk waits for the medium,
# longer than requests are given at the end. The initiator stays until that FLUSH is over, and
# its session ends in order: the file has all written data, and the disk goes on with the next
# daemon, whose memory is new, without a loss. The same holds when a WRITE ZEROES takes as long.
# It completes while the first flush of the shutdown is under way, and another flush follows for
# it. A READ that comes while the disk flushes waits for the next daemon, or fails when the
# administrator gives held I/O no more time.
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

# A thread of the daemon sleeps while a rule holds the store.
store_hangs() {
	grep -qs nanosleep "/proc/$TARGET_PID/task/"*/wchan
}

# ended_in_order: the store goes on; the daemon ends when nothing is left to flush
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

# read_begins: a READ that the disk holds, as process $read. No dd: BLKZEROOUT blocks lseek().
read_begins() {
	local before

	before=$(status in_flight)
	fio --name=read --filename=$DEV --rw=read --bs=4k --size=4k --direct=1 --ioengine=psync \
		--invalidate=0 --output=/tmp/fio &
	read=$!
	wait_until "$PATIENCE" more_in_flight "$before" || fail "the READ does not wait"
}

more_in_flight() {
	(($(status in_flight) > $1))
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
# The daemon logs this line every 5 s. A daemon that does not wait would have ended by the
# second.
wait_until "$PATIENCE" log_count 2 'waiting for 1 sessions to flush' ||
	fail "the daemon does not wait for the FLUSH: $(tail -n 5 "$TARGET_LOG")"
kill -0 $flush || fail "the FLUSH has ended before the medium has anything"
read_begins
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo 0
! wait "$read" || fail "the READ has not failed"
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo off
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
read_begins
ended_in_order
wait $zeroes || fail "the WRITE ZEROES has failed"
cmp -n $BYTES $DISK/disk0 $DATA || fail "the file lacks what was written"

serve
wait_state live
wait "$read" || fail "the READ has failed: $(</tmp/fio)"
dd if=$DEV bs=64k iflag=direct count=$((BYTES / 65536)) status=none | cmp - $DATA || fail "something was lost"
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the next daemon's exit status"
