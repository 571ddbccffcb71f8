#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon has begun a write to an uncached file, and the session ends. The write is over
# before another session can write, because the new login is told to come again until then. With
# a daemon that ends a session while its I/O goes on, the old write lands after a newer one, and
# this test notices it.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=$DISK/disk0 RULES=/run/rules

write_one() {
	timeout "$PATIENCE" dd if="$1" of=$DEV bs=4k count=1 oflag=direct status=none
}

# file_is FILE: whether the first block of the store is that of FILE, past the page cache
file_is() {
	dd if=$FILE bs=4k count=1 iflag=direct status=none | cmp -s - "$1"
}

rules() {
	echo "$1" >$RULES.new
	mv $RULES.new $RULES
}

threads() {
	local all=(/proc/"$TARGET_PID"/task/*)

	echo ${#all[@]}
}

# A request that a rule holds has a thread of its own.
one_waits() {
	(($(threads) > idle))
}

# hold_old: an old write hangs at the file; then the disk reconnects
hold_old() {
	write_one /tmp/zero
	idle=$(threads)
	rules 'write hang count 1'
	write_one /tmp/old &
	writer=$!
	wait_until "$PATIENCE" one_waits || fail "no write is at the file"
	"$RDMABLK" reconnect rdmablk0
}

head -c 4096 /dev/zero >/tmp/zero
random_file 4096 /tmp/old
random_file 4096 /tmp/new
load_module
ram_disk 32
file_system
truncate -s 16M $FILE
rules ''

serve_file "$FILE,fault=$RULES"
connect --reconnect-delay 1
hold_old
expect_log 'previous session is being fenced'
[[ $(attribute state) != live ]] || fail "a new session while an old write is under way"
file_is /tmp/zero || fail "the write has not been held"
rules ''
wait_state live
wait "$writer" || fail "the held write has failed"
write_one /tmp/new
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
file_is /tmp/new || fail "an old write has landed after a newer one"

serve_file "$FILE,fault=$RULES" --fault no-store-wait
connect --reconnect-delay 1
hold_old
wait "$writer" || fail "the held write has failed"
write_one /tmp/new
file_is /tmp/new || fail "the newer write is not there"
rules ''
old_has_landed() {
	file_is /tmp/old
}
wait_until "$PATIENCE" old_has_landed ||
	fail "without waiting nothing has gone wrong: this test proves nothing"
stop_target KILL
disconnect
unload_module
