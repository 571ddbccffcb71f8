#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A cached file, and an initiator in userspace. When FLUSH is answered, the file has the dirty
# ranges, and the range of the FLUSH if it has one. Ranges that were not called dirty may still
# be missing. When a session dies the daemon brings the file up to date. A daemon that shuts
# down waits for a session that flushes, longer than for others. The installed daemon does all
# of this; one that does not tell the store that a session has left unflushed data (--fault
# lost-end) is noticed.
#
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe
FILE=/var/tmp/disk

# start [OPTION...]
start() {
	rm -f "$FILE"
	truncate -s 32M "$FILE"
	start_target --insecure --listen "$TARGET_ADDR" --drain-ms 200 \
		--export "disk,file=$FILE,cache=full" "$@"
}

# block N: prints the first byte of a block of the file
block() {
	od -An -tx1 -N1 -j"$(($1 * 4096))" "$FILE" | tr -d ' '
}

block_is() {
	[[ $(block "$1") == "$2" ]]
}

# begin TEXT [OPTION...] SCENARIO: starts an initiator; returns when it has printed TEXT
begin() {
	: >/tmp/probe
	"$PROGRAM" --features 1 --keep-alive 20000 "${@:2:$#-2}" "$TARGET_ADDR" disk \
		"${*: -1}" >/tmp/probe 2>&1 &
	PROBE=$!
	wait_until "$PATIENCE" said "$1" || fail "no '$1': $(cat /tmp/probe)"
}

said() {
	grep -q "^$1" /tmp/probe
}

finished() {
	! kill -0 "$PROBE" 2>/dev/null
}

start
run_expect 0 '' timeout "$PATIENCE" "$PROGRAM" --expect 5 "$TARGET_ADDR" disk io
begin flushed --hold 600000 flush
expect 33 "$(block 2)" "what was flushed"
expect 00 "$(block 7)" "what was not said to be dirty"
kill -KILL "$PROBE"
wait_until "$PATIENCE" block_is 7 44 || fail "the file is not brought up to date"
stop_target TERM

start
begin 'flushed more' --hold 600000 --arg 1 flush
expect 33 "$(block 2)" "what was flushed"
expect 44 "$(block 7)" "what was flushed by its range"
kill -KILL "$PROBE"
stop_target TERM
expect 0 "$TARGET_STATUS" "how the daemon ends"

start
begin waiting --hold 3000 drain
stop_target TERM
expect 0 "$TARGET_STATUS" "how the daemon ends"
wait_until "$PATIENCE" finished || fail "the initiator hangs"
left=$(sed -n 's/^event 1 //p' /tmp/probe)	# milliseconds that are left when it is sent
((left > 200 && left <= 60000)) || fail "no time to flush: $(cat /tmp/probe)"
said 'logged out' || fail "not waited for: $(cat /tmp/probe)"
expect 33 "$(block 2)" "what was flushed at the end"
expect 44 "$(block 7)" "what was not"

# The session has left block 7 unflushed, and the daemon is killed after the session's end.
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
start --fault lost-end
begin flushed --hold 600000 flush
kill -KILL "$PROBE"
expect_log 'export disk: fenced'
stop_target KILL
expect 33 "$(block 2)" "what was flushed"
expect 00 "$(block 7)" "what the fault leaves out"
