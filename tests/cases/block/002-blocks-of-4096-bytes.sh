#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An export with logical blocks of 4096 bytes takes no smaller access: direct
# I/O of 512 bytes is refused, buffered I/O becomes whole blocks and keeps what
# is around it, and a file system, whose sectors are now larger, works.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require mkfs.ext4 sfdisk

serve 32M,block=4096
load_module connect="$TARGET_ADDR/disk0"
expect 4096 "$(blockdev --getss $DEV)" "blockdev --getss"
expect 4096 "$(blockdev --getpbsz $DEV)" "blockdev --getpbsz"
expect 4096 "$(<$QUEUE/logical_block_size)" "queue/logical_block_size"
expect 4096 "$(<$QUEUE/minimum_io_size)" "queue/minimum_io_size"
expect 4096 "$(status logical_block)" "status' logical_block"

random_file 32M /tmp/pattern
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
same_as_target /tmp/pattern

run_expect 1 'Invalid argument' \
	dd if=/dev/zero of=$DEV bs=512 count=1 oflag=direct
run_expect 1 'Invalid argument' \
	dd if=/dev/zero of=$DEV bs=4096 count=1 seek=512 oflag=direct,seek_bytes
run_expect 1 'Invalid argument' \
	dd if=$DEV of=/dev/null bs=512 count=1 iflag=direct
run_expect 1 'Invalid argument' \
	dd if=$DEV of=/dev/null bs=6144 count=1 iflag=direct
same_as_target /tmp/pattern

# Buffered, in the middle of a block.
echo 'in the middle' >/tmp/words
for file in $DEV /tmp/pattern; do
	dd if=/tmp/words of="$file" bs=14 count=1 seek=12345 oflag=seek_bytes \
		conv=notrunc,fsync status=none
done
same_as_target /tmp/pattern
dd if=$DEV bs=4096 count=8192 iflag=direct status=none |
	cmp - /tmp/pattern || fail "direct reads differ"

# The last block.
random_file 4096 /tmp/block
for file in $DEV /tmp/pattern; do
	dd if=/tmp/block of="$file" bs=4096 seek=8191 conv=notrunc,fsync \
		status=none
done
same_as_target /tmp/pattern

# Partitions count in blocks of this size.
sfdisk --quiet --no-reread $DEV <<<'label: gpt
start=256, size=7424, type=linux'
blockdev --rereadpt $DEV
expect $((2048)) "$(<"/sys/block/rdmablk0/rdmablk0p1/start")" "the start"
expect $((7424 * 8)) "$(blockdev --getsz ${DEV}p1)" "the size"

run_expect 1 'too small for device' mkfs.ext4 -F -q -b 1024 ${DEV}p1
mkfs.ext4 -F -q ${DEV}p1
mount ${DEV}p1 /mnt
cp /tmp/words /mnt
umount /mnt
e2fsck -fn ${DEV}p1 >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
disconnect
connect
mount ${DEV}p1 /mnt
cmp /mnt/words /tmp/words
umount /mnt
still_live
disconnect
