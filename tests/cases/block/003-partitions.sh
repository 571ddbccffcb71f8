#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Partition tables: written by sfdisk and by parted, read when the disk comes,
# read again on demand but not while a partition is mounted; each partition's
# data is where the table says; the disk cannot be disconnected while one is
# in use.
#
# in-turn: yes
# quick: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require sfdisk parted mkfs.ext4

serve 48M
load_module connect="$TARGET_ADDR/disk0"

sfdisk --quiet $DEV <<'TABLE'
label: gpt
start=2048, size=32768, type=linux, name=first
start=34816, size=49152, type=swap, name=second
TABLE
wait_until "$PATIENCE" test -b ${DEV}p1 -a -b ${DEV}p2 || fail "no partitions"
expect 32768 "$(blockdev --getsz ${DEV}p1)" "the size of the first"
expect 49152 "$(blockdev --getsz ${DEV}p2)" "the size of the second"
expect 259 $((0x$(stat -c %t ${DEV}p1))) "the major number of the first"

mkfs.ext4 -q -L first ${DEV}p1
mount ${DEV}p1 /mnt
cp "$RDMABLK_TOP"/kernel/*.c /mnt
random_file 24M /tmp/pattern
dd if=/tmp/pattern of=${DEV}p2 bs=1M oflag=direct status=none
cmp -n $((24 << 20)) -i 0:$((34816 * 512)) /tmp/pattern $ARENA ||
	fail "the second partition is not where the table says"

# In use: no new table, no disconnect.
run_expect 1 'Device or resource busy' blockdev --rereadpt $DEV
run_expect 4 'in use: mounted at /mnt ' "$RDMABLK" disconnect rdmablk0
[[ -b ${DEV}p2 ]] || fail "the refused disconnect removed a partition"
umount /mnt
blockdev --rereadpt $DEV
e2fsck -fn ${DEV}p1 >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }

# The table is found when the disk comes.
disconnect
[[ ! -e ${DEV}p1 ]] || fail "a partition outlives its disk"
connect
wait_until "$PATIENCE" test -b ${DEV}p2 || fail "no partitions after the reconnect"
mount -o ro ${DEV}p1 /mnt
for file in "$RDMABLK_TOP"/kernel/*.c; do
	cmp "$file" "/mnt/${file##*/}"
done
umount /mnt
dd if=${DEV}p2 bs=1M iflag=direct status=none | cmp - /tmp/pattern

# A new table takes the old one's place.
parted -s $DEV mklabel msdos mkpart primary 1MiB 9MiB mkpart extended 9MiB 100% \
	mkpart logical 10MiB 20MiB
wait_until "$PATIENCE" test -b ${DEV}p5 || fail "no logical partition"
[[ ! -e ${DEV}p3 ]] || fail "too many partitions"
expect 16384 "$(blockdev --getsz ${DEV}p1)" "the size of the primary"
expect 20480 "$(blockdev --getsz ${DEV}p5)" "the size of the logical"
wipefs -qa $DEV
blockdev --rereadpt $DEV
[[ ! -e ${DEV}p1 ]] || fail "a partition outlives its table"
still_live
disconnect
