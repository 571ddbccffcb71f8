#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
#
# A disk that does not answer keeps the sessions that use it from ending, and nobody
# else: others log in, do their I/O and log out. A successor of a writer is not admitted
# before the last write has ended. The daemon ends in time nevertheless, and not before a
# file in memory has got what a session has left unflushed.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
program target_probe
DEAD=/run/dead-rules LATE=/run/late-rules SLOW=/run/slow-rules FULL=/dev/shm/full
NR=6 JOBS=()

# export_of NAME RULES[,WORD]: an option of the daemon
export_of() {
	truncate -s 16M "/dev/shm/$1"
	: >"${2%%,*}"
	EXPORTS+=(--export "$1,file=/dev/shm/$1,fault=$2")
}
EXPORTS=()

# disk EXPORT: connects it
disk() {
	"$RDMABLK" connect --dev-loss-tmo off --queues 1 "$TARGET_ADDR/$1"
}

# hang DEV OPERAND...: a dd that does not end by itself
hang() {
	dd bs=4k count=1 status=none "${@:2}" 2>/dev/null &
	JOBS+=($!)
	wait_until "$PATIENCE" hangs "$1" || fail "$1 does not hang"
}

hangs() {
	[[ $(xargs <"/sys/block/${1#/dev/}/inflight") != '0 0' ]]
}

# force DEV: disconnected with I/O under way
force() {
	"$RDMABLK" disconnect --force "${1#/dev/}" &
	JOBS+=($!)
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
for ((i = 0; i < NR; i++)); do
	export_of dead$i $DEAD
done
export_of late $LATE
export_of good /run/no-rules
export_of full $SLOW,cache=full
start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state "${EXPORTS[@]}"

# More sessions than the daemon has workers, each with a READ that does not end.
for ((i = 0; i < NR; i++)); do
	expect "/dev/rdmablk$i" "$(disk dead$i)" "the disk"
done
late=$(disk late)
echo 'read hang' >$DEAD
for ((i = 0; i < NR; i++)); do
	hang /dev/rdmablk$i if=/dev/rdmablk$i of=/dev/null iflag=direct
	force /dev/rdmablk$i
done
expect_log_of $NR 'export dead.: closing'
expect_log_of $NR 'what its store has begun has not ended after 5 s'
run_expect 1 '' grep 'fenced' "$TARGET_LOG"

# Others are as well as ever.
for i in 1 2 3; do
	good=$(disk good)
	random_file 1M /tmp/pattern
	dd if=/tmp/pattern of="$good" bs=64k oflag=direct conv=fsync status=none
	"$RDMABLK" disconnect "${good#/dev/}"
	cmp -n 1048576 /tmp/pattern /dev/shm/good || fail "the file lacks what was written"
done
expect_log_of 3 'export good: ended: .* [1-9][0-9]* commands, [1-9][0-9]* flushes$'

# A write that hangs, and who wants to write after it.
echo 'write hang' >$LATE
hang "$late" if=/tmp/pattern of="$late" oflag=direct
force "$late"
expect_log_of 1 'export late: closing'
run_expect 1 'fenced' "$RDMABLK" connect "$TARGET_ADDR/late"
: >$LATE
expect_log_of 1 'export late: fenced'
cmp -n 4096 /tmp/pattern /dev/shm/late || fail "the write that had begun is lost"
late=$(disk late)
dd if=/dev/zero of="$late" bs=4k count=1 oflag=direct status=none
cmp -n 4096 /dev/zero /dev/shm/late || fail "a write of before has landed"
"$RDMABLK" disconnect "${late#/dev/}"
: >$DEAD
expect_log_of $NR 'export dead.: fenced'
wait "${JOBS[@]}" || :

# The end: one session hangs, another has left something that the file gets late.
dead=$(disk dead0)
echo 'read hang' >$DEAD
hang "$dead" if="$dead" of=/dev/null iflag=direct
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
"$RDMABLK" disconnect --force "${dead#/dev/}"
unload_module
