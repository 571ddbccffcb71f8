#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rmmod is refused while a disk is open, mounted, or below another block device. Otherwise it
# logs the disks out in any state: idle, failed, failing, still connecting. Nothing is left, and
# insmod works again.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require mkfs.ext4 dmsetup
modprobe dm-mod

refused() {
	run_expect 1 'Module rdmablk is in use' rmmod rdmablk
	expect live "$(attribute state)" "the state"
}

serve 16M --export disk1,memory,size=16M
modprobe -a rdma_cm ib_core
leak_snapshot
load_module connect="$TARGET_ADDR/disk0,$TARGET_ADDR/disk1"
expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
exec {fd}<$DEV
refused
exec {fd}>&-
mkfs.ext4 -q $DEV
mount $DEV /mnt
refused
echo data >/mnt/file
umount /mnt
dmsetup create over --table "0 2048 linear $DEV 0"
refused
dmsetup remove over
module_is_free() {
	(($(</sys/module/rdmablk/refcnt) == 0))
}
wait_until "$PATIENCE" module_is_free || fail "the module's use count is not 0"
unload_module
for n in 0 1; do
	expect_log "export disk$n: closing: logged out"
done
leak_check

# The disks fail while the module is being unloaded, or have failed before.
load_module connect="$TARGET_ADDR/disk0,$TARGET_ADDR/disk1"
stop_target KILL &
timeout "$PATIENCE" rmmod rdmablk || fail "rmmod"
wait "$!" || :
TARGET_PID=''
serve 16M
load_module
connect_brittle --keep-alive-tmo 1
stop_target KILL
expect_failed "$LOST"
unload_module

# A connect to a target that does not answer is under way.
start_bad_target silent
load_module
"$RDMABLK" connect --connect-tmo 20 "$TARGET_ADDR:$BAD_PORT/disk0" >/tmp/out 2>&1 &
connecting() {
	[[ $("$RDMABLK" list --json | jq -r '.devices[0].state') == connecting ]]
}
wait_until "$PATIENCE" connecting || fail "it does not connect"
until rmmod rdmablk 2>/tmp/rmmod; do
	grep -q 'in use' /tmp/rmmod || fail "rmmod: $(</tmp/rmmod)"
	pause 0.1
done
wait "$!" && fail "a connect to nobody has succeeded"
stop_bad_target
[[ ! -d /sys/module/rdmablk ]] || fail "the module is still there"
serve 16M
load_module
connect
expect_works
disconnect
unload_module
stop_target
