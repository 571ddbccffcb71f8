#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the disk cannot do is refused with the right error and changes nothing:
# discard, secure erase, punching holes, trimming a file system. What has a
# substitute gets it: zeroes are written where they cannot be asked for. A flush
# succeeds, because a completed write has nothing left to wait for.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require blkdiscard fstrim fallocate mkfs.ext4

serve 16M
load_module connect="$TARGET_ADDR/disk0"
random_file 16M /tmp/pattern
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none

run_expect 1 'Operation not supported' blkdiscard -f $DEV
run_expect 1 'Operation not supported' blkdiscard -f -o 1M -l 1M $DEV
run_expect 1 'Operation not supported' blkdiscard -f --secure $DEV
run_expect 1 'unable to determine zone size' blkzone report $DEV
run_expect 1 'mode is unsupported' fallocate --punch-hole -o 1M -l 1M $DEV
same_as_target /tmp/pattern

# zero_both FIRST COUNT: zeroes from here on are expected in these sectors
zero_both() {
	dd if=/dev/zero of=/tmp/pattern bs=512 seek="$1" count="$2" \
		conv=notrunc status=none
	same_as_target /tmp/pattern
}

errors=$(status errors)
blkdiscard -f -z -o 1M -l 3M $DEV
zero_both 2048 6144
blkdiscard -f -z -o 8389120 -l 66048 $DEV
zero_both 16385 129
fallocate --zero-range -o 6M -l 1M $DEV
zero_both 12288 2048

# Flushes, and writes that wait for the medium.
dd if=/tmp/pattern of=$DEV bs=64k count=16 conv=fsync status=none
dd if=/tmp/pattern of=$DEV bs=64k count=16 oflag=direct,dsync status=none
dd if=/tmp/pattern of=$DEV bs=64k count=16 oflag=sync status=none
sync $DEV
blockdev --flushbufs $DEV
same_as_target /tmp/pattern
expect "$errors" "$(status errors)" "the number of failed requests"

# A file system lives without discard and says so when asked for it.
mkfs.ext4 -q -F -E discard $DEV
mount -o discard $DEV /mnt
cp -r "$RDMABLK_TOP/kernel" /mnt
rm -r /mnt/kernel
sync -f /mnt
run_expect 1 'not supported' fstrim -v /mnt
umount /mnt
e2fsck -fn $DEV >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
still_live
disconnect
