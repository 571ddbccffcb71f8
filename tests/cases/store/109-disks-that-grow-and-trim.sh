#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# mem: 1536
# timeout: 900
#
# A mounted disk grows with its file, loop device or logical volume, with cache=none and
# cache=full: programs of the initiator are told, and the file system can use the new space. It
# does not shrink. Space that a file system trims returns to the target. A GiB is zeroed without
# its data crossing the network. A disk is made read-only and writable again.

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"
require dmsetup fstrim losetup lvm mkfs.ext4 mkfs.xfs resize2fs udevadm

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1 LVM_SUPPRESS_FD_WARNINGS=1
FILE=$DISK/disk0 MOUNT=/mnt/disk

size_is() {
	(($(blockdev --getsize64 $DEV) == $1))
}

# told_of SIZE: SIGHUP makes the daemon look at the file; the disk gets this size
told_of() {
	kill -HUP "$TARGET_PID"
	wait_until "$PATIENCE" size_is "$1" ||
		fail "$(blockdev --getsize64 $DEV) bytes: $(tail -n 3 "$TARGET_LOG")"
}

uevents() {
	(($(grep -c '^RESIZE=1' /tmp/uevents) >= $1))
}

# grows STORE CACHE COMMAND...: COMMAND makes the store grow from 32 MiB to 96 MiB while the
# disk is mounted
grows() {
	local store=$1 seen

	serve_file "$store,cache=$2"
	connect
	mkfs.ext4 -q -F $DEV
	mount $DEV $MOUNT
	cp /tmp/pattern $MOUNT/first
	seen=$(grep -c '^RESIZE=1' /tmp/uevents || :)
	"${@:3}"
	told_of $((96 * MIB))
	expect_log "has grown from $((32 * MIB)) to $((96 * MIB)) bytes"
	wait_until "$PATIENCE" uevents $((seen + 1)) || fail "no uevent: $(cat /tmp/uevents)"
	dmesg_has "rdmablk0 .*: size is now $((96 * MIB)) bytes" || fail "the kernel log does not say it"
	run_expect 0 'on-line resizing' resize2fs $DEV
	for name in second third fourth; do
		cp /tmp/pattern "$MOUNT/$name"
	done
	sync -f $MOUNT
	cmp /tmp/pattern $MOUNT/first
	still_live
	umount $MOUNT
	"$RDMABLK" disconnect rdmablk0
	connect
	expect $((96 * MIB)) "$(blockdev --getsize64 $DEV)" "the size for a new session"
	disconnect
	stop_target
	e2fsck -fn "$store" >/tmp/fsck 2>&1 || fail "e2fsck: $(cat /tmp/fsck)"
	mount -o ro "$store" $MOUNT
	for name in first second third fourth; do
		cmp /tmp/pattern "$MOUNT/$name"
	done
	umount $MOUNT
}

grow_loop() {
	truncate -s 96M $FILE
	losetup -c "$LOOP"
}

# shrinks_not STORE CACHE COMMAND...: COMMAND shrinks the store; the mounted disk keeps its size
shrinks_not() {
	serve_file "$1,cache=$2"
	connect
	mount -o ro $DEV $MOUNT
	"${@:3}"
	kill -HUP "$TARGET_PID"
	expect_log 'has become shorter; it cannot be while it is exported'
	expect $((96 * MIB)) "$(blockdev --getsize64 $DEV)" "the size"
	cmp /tmp/pattern $MOUNT/first
	undisturbed
	umount $MOUNT
	disconnect
	stop_target
}

space() {
	sync -f $DISK
	echo $(($(stat -c %b $FILE) * 512))
}

# trims TYPE SIZE CACHE: the file gives back the space that the file system trims
trims() {
	local full

	rm $FILE
	truncate -s "$2" $FILE
	serve_file "$FILE,cache=$3"
	connect
	"mkfs.$1" -q $DEV
	mount $DEV $MOUNT
	mkdir $MOUNT/data
	for name in 0 1 2; do
		cp /tmp/pattern "$MOUNT/data/$name"
	done
	cp /tmp/pattern $MOUNT/kept
	sync -f $MOUNT
	full=$(space)
	((full >= 32 * MIB)) || fail "$full bytes in the file for 32 MiB"
	rm -r $MOUNT/data
	sync -f $MOUNT
	fstrim $MOUNT
	sync -f $MOUNT
	(($(space) <= full - 23 * MIB)) || fail "fstrim has left $(space) of $full bytes"
	undisturbed
	umount $MOUNT
	stop_target
	serve_file "$FILE,cache=$3"
	wait_state live
	mount $DEV $MOUNT
	cmp /tmp/pattern $MOUNT/kept
	umount $MOUNT
	still_live
	disconnect
	stop_target
}

packets() {
	local dir=/sys/class/infiniband/rxe0/ports/1/hw_counters

	echo $(($(<$dir/sent_pkts) + $(<$dir/rcvd_pkts)))
}

# zeroes CACHE BYTES: zeroes this range; its data does not cross the network
zeroes() {
	local before=0 bytes=$2

	rm $FILE
	truncate -s $((bytes + 2 * MIB)) $FILE
	serve_file "$FILE,cache=$1"
	connect
	open_disk
	io ok write a 0 $((2 * MIB)) 1
	io ok write a "$bytes" $((2 * MIB)) 1
	io ok fsync a
	before=$(packets)
	blkdiscard -f -z -o $MIB -l "$bytes" $DEV
	((before + 300 > $(packets))) || fail "$(($(packets) - before)) packets"
	# Written zeroes do cross the network, and are seen.
	before=$(packets)
	dd if=/dev/zero of=$DEV bs=1M count=4 seek=1 oflag=direct status=none
	((before + 300 < $(packets))) || fail "$(($(packets) - before)) packets"
	io ok fsync a
	file_has $FILE 0 $MIB 1
	file_has $FILE $MIB $MIB zero
	file_has $FILE $((bytes / 2)) $MIB zero
	file_has $FILE "$bytes" $MIB zero
	file_has $FILE $((bytes + MIB)) $MIB 1
	(($(space) >= bytes)) || fail "the space was given back"
	before=$(packets)
	fallocate --punch-hole -o $MIB -l "$bytes" $DEV
	((before + 300 > $(packets))) || fail "$(($(packets) - before)) packets"
	io ok check a $((bytes / 2)) $MIB zero
	(($(space) <= 4 * MIB)) || fail "the space was kept"

	# The initiator's administrator makes the disk read-only.
	io ok close b
	blockdev --setro $DEV
	expect 1 "$(blockdev --getro $DEV)" "blockdev --getro"
	run_expect 1 'Operation not permitted' dd if=/dev/zero of=$DEV bs=4k count=1 oflag=direct
	run_expect 1 '' blkdiscard -f -o 0 -l $MIB $DEV
	io ok check c 0 $MIB 1
	blockdev --setrw $DEV
	io ok write a 0 4096 2
	io ok open b $DEV
	still_live
	close_disk
	disconnect
	stop_target
}

load_module
modprobe -a loop dm_mod
ram_disk 1400
file_system xfs
mkdir $MOUNT
random_file 8M /tmp/pattern
stdbuf -oL udevadm monitor --kernel --property --subsystem-match=block >/tmp/uevents 2>&1 &
cleanup_add kill $! 2>/dev/null
wait_until "$PATIENCE" grep -q '^KERNEL' /tmp/uevents || fail "udevadm does not listen"

for cache in none full; do
	rm -f $FILE
	truncate -s 32M $FILE
	grows $FILE $cache truncate -s 96M $FILE
	shrinks_not $FILE $cache truncate -s 95M $FILE
done
truncate -s 32M $FILE
LOOP=$(losetup -f --show $FILE)
grows "$LOOP" none grow_loop
losetup -d "$LOOP"
truncate -s 120M $FILE
LOOP=$(losetup -f --show $FILE)
lvm pvcreate -q -ff -y "$LOOP"
lvm vgcreate -q vg0 "$LOOP"
lvm lvcreate -q -y -Wn -Zn -n lv0 -L 32M vg0
grows /dev/vg0/lv0 full lvm lvextend -q -L 96M vg0/lv0
shrinks_not /dev/vg0/lv0 none lvm lvreduce -q -f -y -L 92M vg0/lv0
lvm vgremove -q -y -f vg0
lvm pvremove -q "$LOOP"
losetup -d "$LOOP"

for cache in none full; do
	trims ext4 64M $cache
	trims xfs 320M $cache
done
zeroes none $((1024 * MIB))
zeroes full $((64 * MIB))
umount $DISK

unload_module
