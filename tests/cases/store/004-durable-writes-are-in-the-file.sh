#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A FUA write is in the file when it completes, without a FLUSH of the block layer behind it:
# one write at a time, and more writes at once than the queue has tags for commands. The daemon
# is killed, so nothing else can bring the file up to date. An error of the file's fdatasync
# fails exactly the write that asked for it. Data of polled writes is in the file after a flush.
#
# A write to a block device with O_DSYNC is followed by a FLUSH, which would hide a missing FUA.
# An overwrite of a file on ext4 is not followed by a FLUSH.
#
#
# in-turn: yes

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"
require dmsetup filefrag fio mkfs.ext4

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1
STORE=/dev/mapper/store MOUNT=/mnt/disk SECTORS=65536
BYTES=$((2 * MIB))

# flushes: prints how many FLUSH requests the block layer has completed on the disk
flushes() {
	awk '{ print $16 }' /sys/block/rdmablk0/stat
}

# table: replaces the store's device-mapper table by stdin, with I/O under way
table() {
	dmsetup load store
	dmsetup suspend --noflush --nolockfs store
	dmsetup resume --noflush --nolockfs store
}

# make_file: makes $MOUNT/data in one extent; sets START, its offset on the disk
make_file() {
	# Without lazy initialization, whose kernel thread would flush meanwhile.
	mkfs.ext4 -q -b 4096 -O ^has_journal -E lazy_itable_init=0 $DEV
	mkdir -p $MOUNT
	mount -o noatime $DEV $MOUNT
	dd if=/dev/zero of=$MOUNT/data bs=1M count=$((BYTES / MIB)) conv=fsync status=none
	sync -f $MOUNT
	[[ $(filefrag -v -b4096 $MOUNT/data) =~ 0:\ +0\.\.\ +[0-9]+:\ +([0-9]+)\.\. ]] ||
		fail "no extent: $(filefrag -v -b4096 $MOUNT/data)"
	START=$((BASH_REMATCH[1] * 4096))
	filefrag $MOUNT/data | grep -q ' 1 extent' || fail "the file is in several extents"
}

# durable_fio DEPTH: writes each block of the file once with FUA, which sends no FLUSH
durable_fio() {
	local before

	before=$(flushes)
	run_fio --name=durable --filename=$MOUNT/data --direct=1 --sync=dsync \
		--ioengine=libaio --iodepth="$1" --rw=randwrite --bs=4k --size=$BYTES \
		--overwrite=1 --fallocate=none --refill_buffers=1 --randseed="$RANDOM"
	expect "$before" "$(flushes)" "the number of FLUSH requests"
}

# data_of FILE: prints the data of $MOUNT/data in a disk or its store, past the page cache
data_of() {
	dd if="$1" iflag=direct,skip_bytes,count_bytes skip="$START" count=$BYTES bs=1M \
		status=none
}

# durable DEPTH [OPTION...]: the daemon is killed after FUA writes; the store has their data
durable() {
	serve_file "$STORE,cache=full"
	connect --queues 1 "${@:2}"
	expect 1 "$(<$QUEUE/fua)" "queue/fua"
	make_file
	durable_fio "$1"
	data_of $DEV >/dev/shm/written
	! cmp -s -n $BYTES /dev/shm/written /dev/zero || fail "nothing was written"
	stop_target KILL
	data_of $STORE | cmp - /dev/shm/written ||
		fail "$1 at once: the store lacks durable writes"
	# The disk is removed under the file system, which has no dirty data.
	"$RDMABLK" disconnect --force rdmablk0
	umount $MOUNT
}

# The file's second block cannot be written.
sync_fails() {
	local bad before

	serve_file "$STORE,cache=full"
	connect --queues 1
	make_file
	io ok open f $MOUNT/data direct dsync
	io ok write f 0 4096 1
	bad=$((START / 512 + 8))
	table <<-END
		0 $bad linear $RAM 0
		$bad 8 error
		$((bad + 8)) $((SECTORS - bad - 8)) linear $RAM $((bad + 8))
	END
	before=$(status errors)
	io EIO write f 4096 4096 2
	failed_since "$before" 1
	undisturbed
	echo "0 $SECTORS linear $RAM 0" | table
	io ok write f 4096 4096 3
	failed_since "$before" 1
	io ok check f 4096 4096 3
	io ok close f
	data_of $DEV >/dev/shm/written
	stop_target KILL
	data_of $STORE | cmp - /dev/shm/written || fail "the store lacks what succeeded"
	"$RDMABLK" disconnect --force rdmablk0
	umount $MOUNT
}

# polled [OPTION...]
polled() {
	serve_file "$STORE,cache=full"
	connect --queues 1 --poll-queues 1 "$@"
	expect 1 "$(attribute poll_queues)" "the number of polled queues"
	run_fio --name=polled --filename=$DEV --direct=1 --ioengine=io_uring --hipri=1 \
		--size=$BYTES --bs=4k --rw=randwrite --iodepth=8 --verify=crc32c \
		--verify_fatal=1
	expect 0 "$(status errors)" "the number of failed requests"
	sync $DEV
	START=0
	data_of $DEV >/dev/shm/written
	stop_target KILL
	data_of $STORE | cmp - /dev/shm/written || fail "the store is not what was flushed"
	"$RDMABLK" disconnect --force rdmablk0
}

modprobe dm_mod
load_module
ram_disk 32
echo "0 $SECTORS linear $RAM 0" | dmsetup create store
durable 1
if [[ $LONG ]]; then
	durable 64
	polled
fi
# With --ordered a READ follows each WRITE that is polled or has a FLUSH behind it.
durable 64 --ordered
sync_fails
polled --ordered
dmsetup remove store
unload_module
