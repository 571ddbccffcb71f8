#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mem: 1536
# timeout: 1800
#
# The target could lose power at any flush of its disk. At each of these moments the disk has a
# file system that mounts clean, and each file is whole whose fsync had returned at the
# initiator. dm-log-writes logs the writes and flushes of the disk in the order in which they
# become durable. The writers put marks between them when an fsync has returned. Then the disk
# is rebuilt from the log. At each FLUSH and FUA write between the first and the last step of
# the writers, a copy of it is mounted and checked. Such a copy has all data from before the
# flush and none from after it. Disks with a part of the later data are not tried.
#
# A daemon whose flush does nothing is noticed, and so is a disk whose data comes too late.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4 mkfs.xfs e2fsck xfs_repair dmsetup

IMAGE=/dev/shm/image EARLY=/dev/shm/early
# Each step makes about three flushes. Checking those of xfs takes longer.
declare -A STEPS=([ext4]=8 [xfs]=5)
FAULTY=$RDMABLK_TOP/build/peers/faults/rdmablkd

# make_image TYPE: makes the initial contents of the disk
make_image() {
	rm -f $IMAGE
	case $1 in
	ext4)
		truncate -s 64M $IMAGE
		mkfs.ext4 -q -F $IMAGE
		;;
	xfs)
		# xfs cannot be smaller.
		truncate -s 304M $IMAGE
		mkfs.xfs -q -d agcount=2 $IMAGE
		;;
	esac
}

# log_writes TYPE STEPS CACHE [OPTION...]: runs the writers; leaves the log in /dev/ram1
log_writes() {
	local bytes

	make_image "$1"
	bytes=$(stat -c %s $IMAGE)
	modprobe brd rd_nr=2 rd_size=$((bytes / 1024))
	wait_until "$PATIENCE" test -b /dev/ram1 || fail "no /dev/ram1"
	dd if=$IMAGE of=$RAM bs=64k conv=sparse oflag=direct status=none
	cmp $IMAGE $RAM || fail "the disk is not the image"
	dmsetup create logged --table "0 $((bytes / 512)) log-writes $RAM /dev/ram1"
	serve_file "/dev/$(dmsetup info -c --noheadings -o blkdevname logged),cache=$3" "${@:4}"
	connect
	mount $DEV /mnt
	dmsetup message logged 0 mark begin
	python3 "$CASES/store/synced.py" /mnt logged 3 "$2"
	dmsetup message logged 0 mark end
	umount /mnt
	expect 0 "$(status errors)" "the number of failed requests"
	disconnect
	stop_target
	run_expect 0 '^[^a-z]*log-writes [0-9 ]*$' dmsetup status logged
	dmsetup remove logged
}

# moments COMMAND IMAGE TYPE: false at the first moment with a bad copy; $VERDICT has the output
moments() {
	VERDICT=$(python3 "$CASES/store/moments.py" "$1" /dev/ram1 "$2" "$3" 2>&1)
}

# lacks_something WHAT: the verdict is that a promised file, or block of one, is missing
lacks_something() {
	grep -Eq '^(file|table) ' <<<"$VERDICT" || fail "$1: another failure: $VERDICT"
	head -n 2 <<<"$VERDICT"
}

# free_memory: frees the memory of a run
free_memory() {
	modprobe -r brd
	rm -f $IMAGE $EARLY /dev/shm/try
}

load_module
modprobe -a loop dm_log_writes
for cache in full none; do
	echo "== a flush that does nothing, cache=$cache"
	RDMABLKD=$FAULTY log_writes ext4 3 $cache --fault lost-flush
	! moments check $IMAGE ext4 || fail "cache=$cache: nobody has noticed lost-flush: $VERDICT"
	lacks_something "lost-flush"
	free_memory
done
for type in ext4 xfs; do
	for cache in full none; do
		echo "== $type, cache=$cache"
		log_writes $type "${STEPS[$type]}" $cache
		cp --sparse=always $IMAGE $EARLY
		! moments late $EARLY $type || fail "nobody has noticed what is late: $VERDICT"
		lacks_something "late"
		moments check $IMAGE $type ||
			fail "$type, cache=$cache: lost at a power failure: $VERDICT"
		echo "$VERDICT"
		# The complete log makes the same disk, so the log lacks nothing.
		python3 "$CASES/store/moments.py" finish /dev/ram1 $IMAGE
		cmp $IMAGE $RAM || fail "the disk is not what the log makes of it"
		free_memory
	done
done
unload_module
