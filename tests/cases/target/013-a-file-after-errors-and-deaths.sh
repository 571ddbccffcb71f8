#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Errors of a cached file. A killed daemon leaves written but unflushed data in its kept arena,
# and its successor brings the file up to date; after an orderly end there is nothing to
# compare. A FLUSH fails, with the reason, when the file's fdatasync fails, when its file system
# is full, and when the file has become shorter. Data that it could not write is written later,
# when that is possible. The second of two daemons on one file or block device is refused.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe
FILE=/run/small/disk RULES=/run/rules BALLAST=/run/small/ballast

# start EXPORT: starts the daemon with a cached file
start() {
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--export "disk,cache=full,$1"
}

# block N [FILE]: prints the first byte of a block
block() {
	od -An -tx1 -N1 -j"$(($1 * 4096))" "${2:-$FILE}" | tr -d ' '
}

block_is() {
	[[ $(block "$1") == "$2" ]]
}

# new_file: makes a sparse file of zeroes
new_file() {
	rm -f "$FILE"
	truncate -s 32M "$FILE"
}

# write_and_flush: an initiator writes blocks 2 and 7 and flushes block 2; its session stays
write_and_flush() {
	: >/tmp/probe
	"$PROGRAM" --features 1 --keep-alive 20000 --hold 600000 "$TARGET_ADDR" disk \
		flush >/tmp/probe 2>&1 &
	PROBE=$!
	wait_until "$PATIENCE" grep -q '^flushed' /tmp/probe ||
		fail "not flushed: $(cat /tmp/probe)"
}

# flush_fails REASON: the FLUSH of a session fails with this reason
flush_fails() {
	run_expect 1 "FLUSH: $1 instead of 0" timeout "$PATIENCE" "$PROGRAM" --features 1 \
		"$TARGET_ADDR" disk flush
}

up_to_date() {
	wait_until "$PATIENCE" block_is 7 44 || fail "the file is not brought up to date"
	expect 33 "$(block 2)" "block 2"
}

# second TEXT OPTION...: another daemon for the same file does not start
second() {
	run_expect 1 "$1" timeout "$PATIENCE" "$RDMABLKD" --insecure \
		--listen "$TARGET_ADDR:4420" --state-dir /run/state --export "disk,$2"
}

mkdir /run/small
mount -t tmpfs -o size=1M none /run/small

# A daemon is killed, and others follow.
new_file
start "file=$FILE,arena=/dev/shm/arena"
write_and_flush
expect 33 "$(block 2)" "what was flushed"
expect 00 "$(block 7)" "what was not"
second "$FILE is in use" "file=$FILE,cache=full"
second "$FILE is in use" "file=$FILE,ro"
stop_target KILL
wait "$PROBE" || :
expect 00 "$(block 7)" "what was not flushed when the daemon died"
start "file=$FILE,arena=/dev/shm/arena"
expect_log 'arena /dev/shm/arena was not written back'
up_to_date
stop_target
expect 0 "$TARGET_STATUS" "how the daemon ends"
start "file=$FILE,arena=/dev/shm/arena"
expect_log "arena /dev/shm/arena keeps the contents of $FILE"
! grep 'is compared' "$TARGET_LOG" || fail "there was nothing to compare"
stop_target

# An fdatasync fails.
new_file
echo 'sync error EIO' >$RULES
honest=$RDMABLKD
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
start "file=$FILE,fault=$RULES"
RDMABLKD=$honest
flush_fails 82
expect_logs 1 "$FILE: Input/output error"
rm $RULES
write_and_flush
expect_logs 1 'writing again to .* what was not synced'
expect 33 "$(block 2)" "what was flushed"
kill -KILL "$PROBE"
up_to_date
stop_target

# The file system has no space.
new_file
start "file=$FILE"
dd if=/dev/zero of=$BALLAST bs=64k status=none 2>/dev/null || :
flush_fails 83
rm $BALLAST
stop_target
expect 0 "$TARGET_STATUS" "how the daemon ends"
up_to_date

# The file becomes shorter.
new_file
start "file=$FILE"
truncate -s 4096 "$FILE"
flush_fails 82
expect_logs 1 'has become shorter'
target_lives || fail "the daemon is gone"
expect 4096 "$(stat -c %s "$FILE")" "the size of the file"
truncate -s 32M "$FILE"
write_and_flush
kill -KILL "$PROBE"
up_to_date
stop_target

# A block device.
modprobe loop
new_file
LOOP=$(losetup -f --show "$FILE")
start "file=$LOOP"
second "$LOOP is in use: mounted" "file=$LOOP,cache=full"
write_and_flush
expect 33 "$(block 2 "$LOOP")" "what was flushed"
kill -KILL "$PROBE"
stop_target
expect 0 "$TARGET_STATUS" "how the daemon ends"
expect 44 "$(block 7 "$LOOP")" "what was not"
losetup -d "$LOOP"
