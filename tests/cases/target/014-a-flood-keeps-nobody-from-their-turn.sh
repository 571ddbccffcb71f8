#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Some initiators send commands without pause, as many at once as they may. Meanwhile another
# initiator logs in, reads, writes and flushes, and the daemon answers the administrator, ends
# silent sessions in time, and ends when it is told to. An initiator that repeats a request
# without pause during a login is refused.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe

# flooded I N: whether flood I got N answers to its FENCEs
flooded() {
	local n

	n=$(sed -n '$s/ FENCEs$//p' "/tmp/flood.$1")
	[[ -n $n ]] && ((n >= $2))
}

# flood I: starts flood I; it gets answers in spite of the other floods
flood() {
	"$PROGRAM" --host "$((10 + $1))" --queues 4 --keep-alive 20000 --hold 600000 \
		"$TARGET_ADDR" "flooded$1" fences >"/tmp/flood.$1" &
	FLOOD[$1]=$!
	cleanup_add kill -KILL "${FLOOD[$1]}"
	wait_until "$PATIENCE" grep -q FENCEs "/tmp/flood.$1" ||
		fail "no flood $1: $(cat "/tmp/flood.$1")"
}
FLOOD=()
floods=(0 1)

start_target --insecure --listen "$TARGET_ADDR" --login-timeout $((3000 * SLOWNESS)) \
	--export flooded0,memory,size=1M --export flooded1,memory,size=1M \
	--export disk0,memory,size=16M
load_module
# On a slow machine the flood of a login may be too slow for its limit; then the login times
# out.
OUTPUT=$(timeout "$PATIENCE" "$PROGRAM" "$TARGET_ADDR" flooded0 limits-flood 2>&1) || :
[[ $OUTPUT =~ closed\ (4|71)\  ]] || fail "the flood of a login is not ended: $OUTPUT"
for i in "${floods[@]}"; do
	flood "$i"
done

probe 0 --host 2 --features 1 disk0 commands
probe 71 --host 3 disk0 silent
connect
fio_verify 4 --numjobs=1 --size=4M --io_size=4M --end_fsync=1
expect live "$(attribute state)" "the state of the disk"
expect 0 "$(status errors)" "its failed requests"
run_expect 0 flooded "$RDMABLK" target list
for i in "${floods[@]}"; do
	kill -0 "${FLOOD[$i]}" || fail "flood $i has ended: $(cat "/tmp/flood.$i")"
	wait_until "$PATIENCE" flooded "$i" 1000 || fail "flood $i: $(cat "/tmp/flood.$i")"
done
disconnect
stop_target TERM
expect 0 "$TARGET_STATUS" "how the daemon ends"
