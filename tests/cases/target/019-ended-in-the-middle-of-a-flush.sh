#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon is ended at once while an fdatasync of an uncached file is under way. Its result is
# lost with the daemon. So the next daemon has another epoch, and the disk fails and says why,
# although an fdatasync of the next daemon succeeds. If no fdatasync is under way, the disk goes
# on.
#
# in-turn: yes

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require jq

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
RULES=/tmp/rules

serve() {
	serve_file "$DISK/disk0,fault=$RULES" --state-dir /run/state
}

epoch() {
	"$RDMABLK" target list --json | jq -r '.exports[0].epoch'
}

write_some() {
	dd if=/dev/urandom of=$DEV bs=4k count=4 oflag=direct status=none
	expect true "$(status unflushed)" "unflushed"
}

# A thread of the daemon sleeps while a rule holds its fdatasync.
sync_hangs() {
	grep -qs nanosleep "/proc/$TARGET_PID/task/"*/wchan
}

load_module
ram_disk 64
file_system
truncate -s 8M $DISK/disk0
serve
connect
first=$(epoch)
write_some
echo 'sync hang' >$RULES
sync $DEV &
flush=$!
wait_until "$PATIENCE" sync_hangs || fail "no fdatasync is under way"
kill -TERM "$TARGET_PID"
expect_log 'SIGTERM: shutting down'
kill -TERM "$TARGET_PID"
wait_until "$PATIENCE" target_is_gone || fail "two signals do not end the daemon"
TARGET_STATUS=0
wait "$TARGET_PID" || TARGET_STATUS=$?
expect 1 "$TARGET_STATUS" "the exit status"
expect_log 'export disk0: .* data that was not flushed counts as lost'
rm $RULES
serve
second=$(epoch)
[[ $second != "$first" ]] || fail "the next daemon does not know of the fdatasync"
expect_failed 'store has lost its contents'
status=0
wait $flush || status=$?
((status != 0)) || fail "a FLUSH that nobody has finished was answered"

"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
write_some
stop_target KILL
serve
wait_state live
expect "$second" "$(epoch)" "the epoch after an end with no fdatasync under way"
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
