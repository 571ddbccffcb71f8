#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
#
# A disk that does not answer keeps the sessions that use it from ending, and nobody
# else: others log in, do their I/O and log out, and so does who asks nothing of that
# disk. A successor of the writer is not admitted before the last write has ended. The
# daemon ends in time nevertheless, and not before a file in memory has got what a
# session has left unflushed.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
program target_probe
DEAD=/run/dead-rules SLOW=/run/slow-rules FULL=/dev/shm/full READERS=6 JOBS=()

# reader N: a disk of the dead export
reader() {
	"$RDMABLK" connect --read-only --dev-loss-tmo off --queues 1 "$TARGET_ADDR/dead"
}

hangs() {
	[[ $(tr -s ' ' <"/sys/block/rdmablk$1/inflight" | xargs) != '0 0' ]]
}

# log_has N REGEX
log_has() {
	(($(grep -cE -- "$2" "$TARGET_LOG" || :) >= $1))
}

expect_log_of() {
	wait_until "$PATIENCE" log_has "$@" || {
		cat "$TARGET_LOG" >&2
		fail "the daemon's log has no $1 lines '$2'"
	}
}

load_module
truncate -s 16M /dev/shm/{dead,good,full}
: >$DEAD
: >$SLOW
start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
	--export "dead,file=/dev/shm/dead,fault=$DEAD" \
	--export "good,file=/dev/shm/good" \
	--export "full,file=$FULL,cache=full,fault=$SLOW"

# More sessions than the daemon has workers, each with a READ that does not end.
for ((i = 0; i < READERS; i++)); do
	expect "/dev/rdmablk$i" "$(reader)" "the disk"
done
printf '%s\n' 'read hang' 'write hang' >$DEAD
for ((i = 0; i < READERS; i++)); do
	dd if=/dev/rdmablk$i of=/dev/null bs=4k count=1 iflag=direct status=none \
		2>/dev/null &
	JOBS+=($!)
	wait_until "$PATIENCE" hangs $i || fail "rdmablk$i does not hang"
done
for ((i = 0; i < READERS; i++)); do
	"$RDMABLK" disconnect --force rdmablk$i &
	JOBS+=($!)
done
expect_log_of $READERS 'export dead: closing'
expect_log_of $READERS 'what its store has begun has not ended after 5 s'
log_has 1 'fenced' && fail "a session with a READ under way has ended"

# Others are as well as ever.
for i in 1 2 3; do
	disk=$("$RDMABLK" connect "$TARGET_ADDR/good")
	random_file 1M /tmp/pattern
	dd if=/tmp/pattern of="$disk" bs=64k oflag=direct conv=fsync status=none
	"$RDMABLK" disconnect "${disk#/dev/}"
	cmp -n 1048576 /tmp/pattern /dev/shm/good || fail "the file lacks what was written"
done
disk=$(reader)
"$RDMABLK" disconnect "${disk#/dev/}"
expect_log_of 3 'export good: ended: .* [1-9][0-9]* commands, [1-9][0-9]* flushes$'

# A write that hangs, and who wants to write after it.
disk=$("$RDMABLK" connect --queues 1 "$TARGET_ADDR/dead")
dd if=/tmp/pattern of="$disk" bs=4k count=1 oflag=direct status=none 2>/dev/null &
JOBS+=($!)
wait_until "$PATIENCE" hangs "${disk#/dev/rdmablk}" || fail "$disk does not hang"
"$RDMABLK" disconnect --force "${disk#/dev/}" &
JOBS+=($!)
expect_log_of $((READERS + 2)) 'export dead: closing'
run_expect 1 'fenced' "$RDMABLK" connect "$TARGET_ADDR/dead"
: >$DEAD
expect_log_of $((READERS + 5)) 'fenced: its queues and keys are gone'
cmp -n 4096 /tmp/pattern /dev/shm/dead || fail "the write that had begun is lost"
disk=$("$RDMABLK" connect "$TARGET_ADDR/dead")
dd if=/dev/zero of="$disk" bs=4k count=1 oflag=direct status=none
cmp -n 4096 /dev/zero /dev/shm/dead || fail "a write of before has landed"
"$RDMABLK" disconnect "${disk#/dev/}"
wait "${JOBS[@]}" || :

# The end: one session hangs, another has left something that the file gets late.
expect /dev/rdmablk0 "$(reader)" "the disk"
echo 'read hang' >$DEAD
dd if=/dev/rdmablk0 of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null &
wait_until "$PATIENCE" hangs 0 || fail "rdmablk0 does not hang"
"$PROGRAM" --features 1 --keep-alive 20000 --hold 600000 "$TARGET_ADDR" full \
	flush >/tmp/probe 2>&1 &
PROBE=$!
wait_until "$PATIENCE" grep -q '^flushed' /tmp/probe ||
	fail "not flushed: $(cat /tmp/probe)"
echo 'write hang' >$SLOW
expect 00 "$(od -An -tx1 -N1 -j28672 $FULL | tr -d ' ')" "what was not flushed"
kill -KILL "$PROBE"
expect_log_of 1 "$FULL is compared"
{
	expect_log_of 1 'waiting for the files of 1 exports'
	: >$SLOW
} &
JOBS=($!)
stop_target
wait "${JOBS[@]}"
expect 1 "$TARGET_STATUS" "how the daemon ends"
expect 44 "$(od -An -tx1 -N1 -j28672 $FULL | tr -d ' ')" "what was not flushed"
"$RDMABLK" disconnect --force rdmablk0
wait
unload_module
