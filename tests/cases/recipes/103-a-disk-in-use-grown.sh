#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/grow.rst: disks in use grow with their files and logical volumes, and so
# do ext4, xfs, LVM with ext4, and an md mirror on them. A daemon that is killed before it is
# told of the larger file finds it by itself.
#
# kernels: 6.12
# mem: 1536
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require lvm mdadm mkfs.ext4 mkfs.xfs resize2fs xfs_growfs

# mounted DIR: prints the size of the file system in MiB
mounted() {
	df --output=size -BM "$1" | tail -n 1 | tr -d ' M'
}

size_is() {
	(($(blockdev --getsize64 "/dev/rdmablk$1") == $2 << 20))
}

# size_gets N MIB
size_gets() {
	wait_until "$PATIENCE" size_is "$1" "$2" ||
		fail "rdmablk$1 has $(blockdev --getsize64 "/dev/rdmablk$1") bytes"
}

# disk N EXPORT: made and connected as /dev/rdmablkN
disk() {
	expect "/dev/rdmablk$1" "$(rdmablk connect "10.99.0.$AT/$2")" "the disk"
}

needs_module raid1 xfs dm-mod
machines 2
modprobe brd rd_nr=2 rd_size=$((448 * 1024))
wait_until "$PATIENCE" test -b /dev/ram1 || fail "no /dev/ram1"
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 /srv
vgcreate -q vg0 /dev/ram1
lvcreate -q -y -L 304M -n disk1 vg0
target_start 1
target_start 2
load_module
on 1
for n in 0 2 3; do
	truncate -s 32M /srv/1/disk$n
	rdmablk target add disk$n,file=/srv/1/disk$n
done
rdmablk target add disk1,file=/dev/vg0/disk1
rdmablk target save
for n in 0 1 2 3; do
	disk $n disk$n
done
on 2
truncate -s 32M /srv/2/disk4
rdmablk target add disk4,file=/srv/2/disk4
disk 4 disk4

mkdir -p /data /ext4 /lvm
mkfs.ext4 -q /dev/rdmablk0
mount /dev/rdmablk0 /ext4
mkfs.xfs -q /dev/rdmablk1
mount /dev/rdmablk1 /data
vgcreate -q vg1 /dev/rdmablk2
lvcreate -q -y -l 100%FREE -n lv0 vg1
mkfs.ext4 -q /dev/vg1/lv0
mount /dev/vg1/lv0 /lvm
mdadm --create /dev/md0 --metadata 1.2 --level 1 --raid-devices 2 --bitmap internal \
	--assume-clean /dev/rdmablk3 /dev/rdmablk4
random_file 4M /tmp/pattern
for dir in /ext4 /data /lvm; do
	cp /tmp/pattern $dir
done
dd if=/tmp/pattern of=/dev/md0 bs=1M oflag=direct status=none

recipe grow 's/truncate -s 200G/truncate -s 64M/' 's/--size 200G/--size 400M/'
on 1
follow 'for a file'
size_gets 0 64
follow 'for a logical volume'
size_gets 1 400
before=$(mounted /ext4)
follow 'On the host, ext4'
(($(mounted /ext4) > before + 20)) || fail "ext4 has $(mounted /ext4) MiB, had $before"
before=$(mounted /data)
follow 'On the host, xfs'
(($(mounted /data) > before + 80)) || fail "xfs has $(mounted /data) MiB, had $before"

# The daemon is killed before it is told.
for n in 2 3; do
	truncate -s 64M /srv/1/disk$n
done
stop_target KILL
target_start 1
size_gets 2 64
size_gets 3 64
wait_live 0 1 2 3
before=$(mounted /lvm)
follow 'On the host, LVM'
(($(mounted /lvm) > before + 20)) || fail "LVM has $(mounted /lvm) MiB, had $before"
on 2
truncate -s 64M /srv/2/disk4
rdmablk target resize disk4
size_gets 4 64
before=$(blockdev --getsize64 /dev/md0)
follow 'On the host, an md mirror'
(($(blockdev --getsize64 /dev/md0) > before + (20 << 20))) || fail "md does not grow"
mdadm --wait /dev/md0 || :

for dir in /ext4 /data /lvm; do
	cp /tmp/pattern $dir/second
	sync -f $dir
	cmp /tmp/pattern $dir/pattern
	cmp /tmp/pattern $dir/second
	umount $dir
done
cmp -n $((4 << 20)) /tmp/pattern /dev/md0
run_expect 0 '' e2fsck -fn /dev/rdmablk0
run_expect 0 '' e2fsck -fn /dev/vg1/lv0
run_expect 0 '' xfs_repair -n /dev/rdmablk1
for n in 0 1 2 3 4; do
	expect 0 "$(disk_values status $n errors)" "the number of failed requests of disk $n"
done
vgchange -q -an vg1
mdadm --stop /dev/md0
rdmablk disconnect --all
for n in 1 2; do
	on $n
	stop_target
done
vgchange -q -an vg0
unload_module
recipe_end
