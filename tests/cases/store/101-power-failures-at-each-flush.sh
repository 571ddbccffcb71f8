#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mem: 1536
# timeout: 1800
#
# At whatever flush of its disk the target loses power, that has a file system that comes
# up clean, with each file whole whose fsync had returned at the initiator. The disk logs
# its writes and flushes in the order in which they are durable (dm-log-writes), writers
# put marks between them when fsync has returned; then a disk of that moment is made of
# the log, mounted and checked. A daemon whose flush is none is noticed.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4 mkfs.xfs e2fsck xfs_repair dmsetup

IMAGE=/dev/shm/image TRY=/dev/shm/try MARKS=/tmp/marks
FAULTY=$RDMABLK_TOP/build/peers/faults/rdmablkd

# make_image TYPE: the disk before all of it
make_image() {
	rm -f $IMAGE
	case $1 in
	ext4)
		truncate -s 64M $IMAGE
		mkfs.ext4 -q -F $IMAGE
		;;
	xfs)
		# There is no smaller one.
		truncate -s 304M $IMAGE
		mkfs.xfs -q $IMAGE
		;;
	esac
}

# log_writes TYPE STEPS CACHE [OPTION...]: leaves the log in /dev/ram1
log_writes() {
	local bytes

	make_image "$1"
	bytes=$(stat -c %s $IMAGE)
	modprobe brd rd_nr=2 rd_size=$((bytes / 1024))
	wait_until 10 test -b /dev/ram1 || fail "no /dev/ram1"
	dd if=$IMAGE of=$RAM bs=64k conv=sparse oflag=direct status=none
	cmp $IMAGE $RAM || fail "the disk is not the image"
	dmsetup create logged --table "0 $((bytes / 512)) log-writes $RAM /dev/ram1"
	serve_file "/dev/$(dmsetup info -c --noheadings -o blkdevname logged),cache=$3" "${@:4}"
	connect
	mount $DEV /mnt
	dmsetup message logged 0 mark begin
	python3 "$CASES/store/synced.py" write /mnt logged 3 "$2"
	dmsetup message logged 0 mark end
	umount /mnt
	expect 0 "$(status errors)" "the number of failed requests"
	disconnect
	stop_target
	run_expect 0 '^[^a-z]*log-writes [0-9 ]*$' dmsetup status logged
	dmsetup remove logged
}

# is_clean TYPE: a file system that has been unmounted
is_clean() {
	case $1 in
	ext4) e2fsck -fn $TRY ;;
	xfs) xfs_repair -f -n $TRY ;;
	esac >/tmp/fsck 2>&1
}

# survives TYPE: the disk at $IMAGE after the power failure, with what is promised
survives() {
	cp --sparse=always $IMAGE $TRY
	mount -o loop $TRY /mnt || {
		echo "not mounted" >/tmp/verdict
		return 1
	}
	python3 "$CASES/store/synced.py" check /mnt $MARKS >/tmp/verdict || {
		umount /mnt
		return 1
	}
	umount /mnt
	is_clean "$1" || {
		cp /tmp/fsck /tmp/verdict
		return 1
	}
}

# all_survive TYPE COUNT: says at how many moments; false at the first that does not
all_survive() {
	local points point next=0

	: >$MARKS
	points=$(python3 "$CASES/store/replay.py" points /dev/ram1 "$2") || fail "no log"
	for point in $points; do
		python3 "$CASES/store/replay.py" apply /dev/ram1 $IMAGE $next "$point" $MARKS ||
			fail "no replay"
		next=$((point + 1))
		survives "$1" || {
			echo "at entry $point of $points:"
			tail -n 5 /tmp/verdict
			return 1
		}
	done
	cat /tmp/verdict
	# So the log is all that the disk was written.
	python3 "$CASES/store/replay.py" apply /dev/ram1 $IMAGE $next 1000000 $MARKS ||
		fail "no replay"
	cmp $IMAGE $RAM || fail "the disk is not what the log makes of it"
}

# free_memory: of what a run leaves
free_memory() {
	modprobe -r brd
	rm -f $IMAGE $TRY
}

load_module
modprobe -a loop dm_log_writes
for cache in full none; do
	echo "== a flush that is none, cache=$cache"
	RDMABLKD=$FAULTY log_writes ext4 5 $cache --fault lost-flush
	if all_survive ext4 4; then
		fail "cache=$cache: nobody has noticed lost-flush"
	fi
	grep -q ' [1-9][0-9]* bad' /tmp/verdict || fail "cache=$cache: $(</tmp/verdict)"
	free_memory
done
for type in ext4 xfs; do
	for cache in full none; do
		echo "== $type, cache=$cache"
		log_writes $type 30 $cache
		all_survive $type 8 || fail "$type, cache=$cache: lost at a power failure"
		free_memory
	done
done
unload_module
