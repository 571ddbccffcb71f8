#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/move-export.rst: LVM moves a mounted file system from one target to
# another. The second target hangs meanwhile: everything waits, and goes on with it. Afterwards
# the first target is not needed any more, and files and all that fsync has promised are there.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require lvm dmsetup mkfs.ext4

SIZE=$((4 << 20))

moving() {
	dmsetup info vg1-pvmove0 >/dev/null 2>&1
}

move_over() {
	! kill -0 $MOVE 2>/dev/null
}

needs_module dm-mod dm-mirror
machines 2 128
target_start 1
truncate -s 48M /srv/1/disk0
rdmablk target add disk0,file=/srv/1/disk0
target_start 2
load_module
recipe move-export s/500G/48M/
follow 'with a new disk'
mkdir -p /data
mount /dev/vg1/data /data
mkdir /data/kept
cp -r /usr/include/linux/netfilter* "$RDMABLK_TOP/tests/lib" /data/kept
truncate -s $SIZE /data/durable
kept=$(sum_of /data/kept)
durable_start /data/durable $SIZE

follow 'On the other target'
(
	trap - ERR EXIT
	follow 'is in use::'
) >/tmp/move 2>&1 &
MOVE=$!
FOLLOWED+=('is in use::')
wait_until "$PATIENCE" moving || fail "nothing moves: $(</tmp/move)"
kill -STOP "$TARGET_PID"
wait_state recovering 1
! move_over || fail "the move has ended: $(</tmp/move)"
kill -CONT "$TARGET_PID"
wait_until "$PATIENCE" move_over || fail "the move hangs: $(</tmp/move)"
wait $MOVE || fail "the move: $(</tmp/move)"
[[ ! -e $DEV ]] || fail "the old disk is there still"
on 1
follow 'On the old target'
[[ ! -e /srv/1/disk0 ]] || fail "the old file is there still"
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
durable_progress
durable_stop
expect "$kept" "$(sum_of /data/kept)" "the sum of the files"
expect /dev/rdmablk1 "$(lvs --noheadings -o devices vg1/data | tr -d ' ' | cut -d '(' -f 1)" \
	"the disk of the volume"
umount /data
run_expect 0 '' e2fsck -fn /dev/vg1/data
mount -o ro /dev/vg1/data /data
durable_in /data/durable
umount /data
expect 0 "$(disk_values status 1 errors)" "the number of failed requests"
vgchange -q -an vg1
rdmablk disconnect rdmablk1
on 2
stop_target
unload_module
recipe_end
