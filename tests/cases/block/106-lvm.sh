#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# LVM takes the disk without being told of it: a physical volume, a group and a
# logical volume with ext4 on it work, keep the disk from being disconnected,
# are found again after a reconnect, and go without a trace.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require lvm mkfs.ext4

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1
export LVM_SUPPRESS_FD_WARNINGS=1

modprobe dm_mod
serve 64M
load_module connect="$TARGET_ADDR/disk0"

lvm pvcreate -q $DEV
lvm vgcreate -q vg0 $DEV
lvm lvcreate -q -y -n lv0 -L 48M vg0
expect $DEV "$(lvm pvs --noheadings -o pv_name | tr -d ' ')" \
	"the only physical volume"
mkfs.ext4 -q /dev/vg0/lv0
mount /dev/vg0/lv0 /mnt
cp -r /usr/include/linux /mnt
sum=$(cd /mnt/linux && find . -type f -print0 | sort -z |
	xargs -0 cat | sha256sum)

run_expect 4 'in use: held by dm-[0-9]+ .vg0-lv0. ' "$RDMABLK" disconnect rdmablk0
umount /mnt
run_expect 4 'in use: held by dm-[0-9]+ .vg0-lv0. ' "$RDMABLK" disconnect rdmablk0
lvm vgchange -q -an vg0
disconnect
expect '' "$(lvm pvs --noheadings 2>&1)" "pvs without the disk"

connect
lvm vgchange -q -ay vg0
e2fsck -fn /dev/vg0/lv0 >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
mount -o ro /dev/vg0/lv0 /mnt
expect "$sum" "$(cd /mnt/linux && find . -type f -print0 | sort -z |
	xargs -0 cat | sha256sum)" "the checksum of the files"
umount /mnt
lvm lvremove -q -y vg0/lv0
lvm vgremove -q vg0
lvm pvremove -q $DEV
still_live
disconnect
