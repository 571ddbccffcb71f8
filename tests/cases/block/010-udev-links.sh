#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With the udev rules that come with the tools, the links by-id and by-uuid lead to the disk,
# its partitions and their file systems. The links are there once udev has settled, and
# disappear with the disk.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require udevadm mkfs.ext4 sfdisk

UUID=11112222-3333-4444-8555-666677778888
FS=99999999-8888-4777-a666-555544443333
FS2=99999999-8888-4777-a666-555544443334
by_id=/dev/disk/by-id/rdmablk-$UUID

# link_is LINK NODE: it leads there, once udev is done
link_is() {
	udevadm settle --timeout=30
	expect "$2" "$(readlink -f "$1")" "what $1 leads to"
}

no_link() {
	udevadm settle --timeout=30
	[[ ! -L $1 ]] || fail "$1 is still there"
}

mkdir -p /run/udev/rules.d
cp "$RDMABLK_TOP/tools/udev/61-rdmablk.rules" /run/udev/rules.d
start_udevd
serve 48M,uuid=$UUID
load_module connect="$TARGET_ADDR/disk0"
link_is $by_id $DEV
no_link /dev/disk/by-uuid/$FS

# A new file system is noticed when its writer closes the disk.
mkfs.ext4 -q -U $FS -L whole $DEV
link_is /dev/disk/by-uuid/$FS $DEV
link_is /dev/disk/by-label/whole $DEV
properties=$(udevadm info --query=property $DEV)
for line in ID_BUS=rdma ID_MODEL=rdmablk ID_SERIAL=$UUID ID_FS_TYPE=ext4 \
	ID_WWN=uuid.$UUID; do
	grep -qx "$line" <<<"$properties" || fail "udev does not know $line"
done
expect "rdmablk $UUID uuid.$UUID" "$(lsblk -no MODEL,SERIAL,WWN $DEV | xargs)" \
	"lsblk's MODEL, SERIAL and WWN"
expect ext4 "$(lsblk -no FSTYPE $DEV)" "lsblk's FSTYPE"
mount UUID=$FS /mnt
umount /mnt

"$RDMABLK" disconnect rdmablk0
no_link $by_id
no_link /dev/disk/by-uuid/$FS
connect
link_is $by_id $DEV
link_is /dev/disk/by-uuid/$FS $DEV

wipefs -qa $DEV
sfdisk --quiet $DEV <<<'label: gpt
start=2048, size=32768, type=linux, name=alpha'
udevadm settle --timeout=30
no_link /dev/disk/by-uuid/$FS
link_is $by_id-part1 ${DEV}p1
link_is /dev/disk/by-partlabel/alpha ${DEV}p1
mkfs.ext4 -q -U $FS2 ${DEV}p1
link_is /dev/disk/by-uuid/$FS2 ${DEV}p1
"$RDMABLK" disconnect rdmablk0
no_link $by_id
no_link $by_id-part1
no_link /dev/disk/by-uuid/$FS2
no_link /dev/disk/by-partlabel/alpha
