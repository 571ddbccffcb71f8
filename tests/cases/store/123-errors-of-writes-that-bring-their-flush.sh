#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# disk: 64M
# timeout: 900
#
# When a program writes and flushes repeatedly, its flush is sent together with the write. Then
# a sector fails, or the space is used up. Only that write gets an error; with a cached file,
# the fsync behind it does. Other programs go on, also on the same disk, flushed data is there,
# and after the repair the program with the error goes on, too. A device with FUA gets the write
# as FUA; on other devices the cache is flushed behind the write.

# shellcheck source=tests/cases/store/mapped.sh
source "$RDMABLK_TOP/tests/cases/store/mapped.sh"
require dmsetup jq mkfs.ext4 sfdisk

NULLB=/sys/kernel/config/nullb/fua
FILE=$DISK/disk0
BAD=$((8 * MIB)) HELD=$((16 * MIB))

# Eight sectors from $BAD on fail
sector_fails() {
	table <<-END
		0 $((BAD / 512)) linear /dev/vda 0
		$((BAD / 512)) 8 error
		$((BAD / 512 + 8)) $((SECTORS - BAD / 512 - 8)) linear /dev/vda $((BAD / 512 + 8))
	END
}

begin() {
	serve_file "$@"
	connect
	open_disk
	: >"$TARGET_LOG"
}

# pairs COUNT SEED: COUNT times a write and a flush, before $BAD
pairs() {
	local i

	for ((i = 0; i < $1; i++)); do
		io ok write a $((i * 4096)) 4096 "$2"
		io ok fsync a
	done
}

# answered OPERATION COUNT: prints a counter of the session's commands at the target
answered() {
	"$RDMABLK" target sessions disk0 --json | jq ".sessions[0].commands.$1.$2"
}

# expecting SEED: after pairs of writes and flushes the module sends the next write with its
# flush
expecting() {
	local before

	pairs 5 "$1"
	before=$(answered flush 'done')
	[[ $CACHE == none ]] || return 0
	pairs 1 "$1"
	expect "$before" "$(answered flush 'done')" "the number of FLUSHes after one more write"
}

# has_not_failed: the daemon does not believe that the store has lost data
has_not_failed() {
	undisturbed
	run_expect 1 '' grep -E 'cannot be made durable|may be lost' "$TARGET_LOG"
}

# write_fails ERROR: with an uncached file a write to $BAD, and no other write, gets this error
write_fails() {
	local before

	before=$(status errors)
	io "$1" write a $BAD 4096 3
	failed_since "$before" 1
	io ok fsync a
	io ok fsync b
	io ok write d $HELD 4096 3
	failed_since "$before" 1
	has_not_failed
	# Once more: a write that is sent with its flush, and a write with FUA
	expecting 4
	io "$1" write a $BAD 4096 5
	io "$1" write d $BAD 4096 5
	io ok fsync a
	failed_since "$before" 3
	has_not_failed
}

# flush_fails ERROR: with a cached file the fsync behind a write to $BAD gets this error
flush_fails() {
	local before failed

	expecting 2
	before=$(status errors) failed=$(answered flush errors)
	io ok write a $BAD 4096 3
	failed_since "$before" 0
	# The flush that was sent with the write has failed already.
	expect $((failed + 1)) "$(answered flush errors)" "failed FLUSHes after the write"
	io "$1" fsync a
	failed_since "$before" 1
	io ok write a $HELD 4096 3
	io ok check a $BAD 4096 3
	io ok check a $HELD 4096 3
	undisturbed
}

# The bad sector is below a device-mapper device.
a_bad_sector_below() {
	CACHE=none
	begin $STORE,cache=none
	io ok write a $BAD 4096 1
	expecting 1
	sector_fails
	write_fails EIO
	io ok write a $((HELD + MIB)) 65536 6
	io ok fsync a
	stop_target KILL
	mended
	file_has /dev/vda $BAD 4096 1
	file_has /dev/vda 0 20480 4
	file_has /dev/vda $HELD 4096 3
	file_has /dev/vda $((HELD + MIB)) 65536 6
	serve_file $STORE,cache=none
	wait_state live
	pairs 5 7
	io ok write a $BAD 4096 7
	io ok fsync a
	file_has /dev/vda $BAD 4096 7
	end
}

a_bad_sector_in_memory() {
	CACHE=full
	begin $STORE,cache=full
	sector_fails
	flush_fails EIO
	io EIO fsync a
	mended
	io ok fsync a
	expect false "$(status unflushed)" "unflushed"
	stop_target KILL
	file_has /dev/vda $BAD 4096 3
	file_has /dev/vda $HELD 4096 3
	serve_file $STORE,cache=full
	wait_state live
	end
}

# flushed: prints how often the device's cache was flushed
flushed() {
	awk '{ print $16 }' /sys/block/fua/stat
}

# A device has FUA, a cache and a bad sector. Another export on the same device has unflushed
# data.
a_bad_sector_and_a_neighbour() {
	local before

	modprobe null_blk nr_devices=0
	mkdir $NULLB
	echo 64 >$NULLB/size
	echo 1 >$NULLB/memory_backed
	echo 4 >$NULLB/cache_size
	echo 512 >$NULLB/blocksize
	echo 1 >$NULLB/power
	printf '2048,%d\n,\n' $SECTORS | sfdisk -q --no-reread --no-tell-kernel /dev/fua
	blockdev --rereadpt /dev/fua
	wait_until "$PATIENCE" test -b /dev/fua2 || fail "no /dev/fua2"
	expect 1 "$(</sys/block/fua/queue/fua)" "queue/fua"
	CACHE=none
	begin /dev/fua1,cache=none --export disk1,file=/dev/fua2,cache=none
	"$RDMABLK" connect "$TARGET_ADDR/disk1"
	io ok open near /dev/rdmablk1 direct
	io ok write near 0 65536 8
	expecting 1
	before=$(flushed)
	io ok write a $BAD 4096 1
	io ok fsync a
	expect "$before" "$(flushed)" "the number of flushes of the device"
	echo "+$((2048 + BAD / 512))-$((2048 + BAD / 512 + 7))" >$NULLB/badblocks
	write_fails EIO
	io ok fsync near
	io ok check near 0 65536 8
	expect false "$(disk_values status 1 unflushed)" \
		"unflushed of the neighbour"
	echo "-$((2048 + BAD / 512))-$((2048 + BAD / 512 + 7))" >$NULLB/badblocks
	file_has /dev/fua1 $BAD 4096 1
	file_has /dev/fua1 0 20480 4
	file_has /dev/fua2 0 65536 8
	io ok write a $BAD 4096 7
	io ok fsync a
	io ok close near
	"$RDMABLK" disconnect rdmablk1
	end
	rmdir $NULLB
	modprobe -r null_blk
}

# no_space CACHE TEST: the same with a sparse file on a full file system
no_space() {
	CACHE=$1
	truncate -s 0 $FILE
	truncate -s 48M $FILE
	begin "$FILE,cache=$1"
	io ok write a $HELD 4096 1
	expecting 1
	dd if=/dev/zero of=$DISK/ballast bs=4k status=none 2>/dev/null || :
	"$2" ENOSPC
	rm $DISK/ballast
	io ok write a $BAD 4096 9
	io ok fsync a
	undisturbed
	stop_target KILL
	file_has $FILE $BAD 4096 9
	file_has $FILE $HELD 4096 3
	serve_file "$FILE,cache=$1"
	wait_state live
	end
}

modprobe dm_mod
load_module
a_bad_sector_and_a_neighbour
echo "0 $SECTORS linear /dev/vda 0" | dmsetup create store
a_bad_sector_below
a_bad_sector_in_memory
dmsetup remove store
ram_disk 28
file_system ext4
no_space none write_fails
no_space full flush_fails
umount $DISK
unload_module
