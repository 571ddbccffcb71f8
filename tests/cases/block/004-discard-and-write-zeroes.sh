#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
# in-turn: yes
#
# DISCARD and WRITE ZEROES are commands: no data crosses the network, and the range reads as
# zeroes in the target's memory afterwards. Data beside the range stays as it is, also while
# other tasks write there. What the disk cannot do is refused with the right error.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require blkdiscard fstrim fallocate mkfs.ext4

serve 16M
load_module connect="$TARGET_ADDR/disk0"
random_file 16M /tmp/pattern
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
written=$(status write_bytes)

# zero_both FIRST COUNT: the target's memory has zeroes in these sectors, from now on
zero_both() {
	dd if=/dev/zero of=/tmp/pattern bs=512 seek="$1" count="$2" \
		conv=notrunc status=none
	same_as_target /tmp/pattern
}

blkdiscard -f -o 1M -l 3M $DEV
zero_both 2048 6144
blkdiscard -f -o 8389120 -l 66048 $DEV
zero_both 16385 129
blkdiscard -f -z -o 5M -l 2M $DEV
zero_both 10240 4096
fallocate --zero-range -o 9M -l 1M $DEV
zero_both 18432 2048
fallocate --punch-hole -o 11M -l 512 $DEV
zero_both 22528 1
expect "$written" "$(status write_bytes)" "the number of bytes written"
((discards=$(status discards), discards >= 5)) || fail "$discards discards"
expect 6358016 "$(status discard_bytes)" "the number of bytes discarded"

run_expect 1 'Operation not supported' blkdiscard -f --secure $DEV
run_expect 1 'unable to determine zone size' blkzone report $DEV
same_as_target /tmp/pattern

# Each of four writers has its own part of the disk, and knows the contents of each block there.
python3 "$RDMABLK_TOP/tests/cases/block/discards.py" $DEV 4 400

# A flush has nothing to wait for: the store is memory.
dd if=/tmp/pattern of=$DEV bs=64k count=16 conv=fsync status=none
dd if=/tmp/pattern of=$DEV bs=64k count=16 oflag=direct,dsync status=none
sync $DEV
expect 0 "$(status flushes)" "the number of flushes"

blkdiscard -f $DEV
mkfs.ext4 -q -F -E discard $DEV
mount -o discard $DEV /mnt
cp -r "$RDMABLK_TOP/kernel" /mnt
rm -r /mnt/kernel
sync -f /mnt
fstrim -v /mnt | grep -q trimmed
umount /mnt
e2fsck -fn $DEV >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
expect 0 "$(status errors)" "the number of failed requests"
still_live
disconnect
