#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk is read-only if the target says so or if the initiator asked for it. Writes, discards
# and writable mounts are refused, nothing makes the disk writable, a read-only mount works, and
# the target's memory does not change. A connect that asks for write access to a read-only
# export is refused.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require mkfs.ext4

serve 16M
load_module connect="$TARGET_ADDR/disk0"
expect 0 "$(blockdev --getro $DEV)" "blockdev --getro"
mkfs.ext4 -q $DEV
mount $DEV /mnt
cp "$RDMABLK_TOP"/kernel/*.c /mnt
umount /mnt
disconnect
sum=$(head -c 16M $ARENA | sha256sum)

unchanged() {
	expect "$sum" "$(head -c 16M $ARENA | sha256sum)" \
		"the checksum of the target's memory"
}

check_read_only() {
	expect 1 "$(blockdev --getro $DEV)" "blockdev --getro"
	expect 1 "$(<"/sys/block/rdmablk0/ro")" "the attribute ro"
	expect true "$(status read_only)" "status' read_only"
	run_expect 1 'Operation not permitted' \
		dd if=/dev/zero of=$DEV bs=4096 count=1 oflag=direct
	run_expect 1 'Operation not permitted' \
		dd if=/dev/zero of=$DEV bs=4096 count=1 conv=fsync
	run_expect 1 'not permitted|not supported|Permission denied' \
		blkdiscard -f -z $DEV

	# BLKROSET does not change what the target has not granted.
	blockdev --setrw $DEV || :
	expect 1 "$(blockdev --getro $DEV)" "blockdev --getro after --setrw"
	run_expect 1 'Operation not permitted' \
		dd if=/dev/zero of=$DEV bs=4096 count=1 oflag=direct

	run_expect 0 'write-protected, mounted read-only' mount $DEV /mnt
	run_expect 1 'Read-only file system' touch /mnt/new
	umount /mnt
	mount -o ro $DEV /mnt
	for file in "$RDMABLK_TOP"/kernel/*.c; do
		cmp "$file" "/mnt/${file##*/}"
	done
	run_expect 1 'Read-only file system' touch /mnt/new
	run_expect 32 'write-protected' mount -o remount,rw /mnt
	umount /mnt
	expect 0 "$(status writes)" "the number of writes"
	device_same_as_target
	unchanged
}

connect --read-only
check_read_only
disconnect
unload_module
stop_target

serve 16M,ro
unchanged
run_expect 1 'Read-only file system' load_module connect="$TARGET_ADDR/disk0"
dmesg_has 'disk0.*read-only' || fail "the kernel log does not say why"
load_module
run_expect 6 'read-only.*--read-only' "$RDMABLK" connect "$TARGET_ADDR/disk0"
[[ ! -e $DEV ]] || fail "a refused connect left a disk"
connect --read-only
check_read_only
disconnect
unchanged
