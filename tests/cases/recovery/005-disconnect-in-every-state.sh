#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disconnect of a disk that is connecting, that is recovering with I/O held, that is mounted
# meanwhile, and that has failed; two disconnects at once; a disconnect of all disks at once.
# rmmod in an outage. The connect of a client that exits is given up. A connect to an address
# that does not answer does not block other families of generic netlink.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require mkfs.ext4

connecting() {
	[[ $("$RDMABLK" list --json | jq -r '.devices[0].state') == connecting ]]
}

no_devices() {
	[[ $("$RDMABLK" list --json | jq '.devices | length') == 0 ]]
}

# connect_to_nobody: starts a connect to an address that does not answer
connect_to_nobody() {
	"$RDMABLK" connect --connect-tmo 60 10.99.0.77/disk0 >/tmp/connect 2>&1 &
	NOBODY=$!
	wait_until "$PATIENCE" connecting || fail "it does not connect: $(</tmp/connect)"
}

load_module
leak_snapshot
connect_to_nobody
timeout "$PATIENCE" modprobe l2tp_netlink || fail "a connect holds everybody up"
"$RDMABLK" disconnect rdmablk0
status=0
wait "$NOBODY" || status=$?
expect 1 "$status" "the status of the connect"
grep -q 'given up' /tmp/connect || fail "the connect says: $(</tmp/connect)"
connect_to_nobody
kill -KILL "$NOBODY"
wait_until "$PATIENCE" no_devices || fail "it still connects"
leak_check

# I/O is held, and the disk is open.
serve 16M
connect --keep-alive-tmo 1
start_load
stop_target KILL
wait_state recovering
run_expect 4 'in use' "$RDMABLK" disconnect rdmablk0
run_expect 1 'in use' rmmod rdmablk
"$RDMABLK" disconnect --force rdmablk0 &
first=$!
deleting() {
	! state_is recovering 2>/dev/null
}
wait_until "$PATIENCE" deleting || fail "the disconnect does not begin"
# The status of a disconnect under way has its duration.
if "$RDMABLK" status -v rdmablk0 >/tmp/status; then
	grep -qE '^  disconnect_ms +[0-9]+ ms$' /tmp/status ||
		fail "a disconnect without an age: $(cat /tmp/status)"
fi
run_expect failed 'disconnected already|no such device' \
	"$RDMABLK" disconnect --force rdmablk0
first_is_over() {
	! kill -0 "$first" 2>/dev/null
}
wait_until "$PATIENCE" first_is_over || fail "the disconnect hangs"
wait "$first"
expect_load_failed
[[ ! -e $DEV ]] || fail "the disk outlives the disconnect"
leak_check

# The disk is mounted, and has dirty data.
ARENA=/dev/shm/large again 64M
connect --keep-alive-tmo 1
mkfs.ext4 -q $DEV
mount $DEV /mnt
cp -r /etc/systemd /mnt
stop_target KILL
wait_state recovering
sync /mnt &
syncer=$!
timeout "$PATIENCE" "$RDMABLK" disconnect --force rdmablk0 ||
	fail "the disconnect of a mounted disk hangs"
wait "$syncer" && fail "sync has succeeded without a disk"
umount /mnt
leak_check

# No process has the disk open: rmmod in the middle of an outage.
again 16M
connect --keep-alive-tmo 1
stop_target KILL
wait_state recovering
timeout "$PATIENCE" rmmod rdmablk || fail "rmmod hangs"
leak_check
