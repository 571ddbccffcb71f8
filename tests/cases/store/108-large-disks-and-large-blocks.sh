#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# timeout: 900
#
# A sparse file of 10 TiB: every part of it can be written, read, discarded and zeroed, to the
# last sector, also where sector numbers need more than 32 bits. A file system of the whole disk
# works, and is trimmed. Blocks of 4096 bytes, for files and for devices with such sectors: only
# direct I/O, with cache=none and cache=full. Blocks of 512 bytes on sectors of 4096 bytes:
# refused for a device; correct for a file, partly through the page cache.

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"
require fio mkfs.ext4 mkfs.xfs losetup fincore

TIB=$((MIB * MIB)) LARGE=$((10 * MIB * MIB))
FILE=$DISK/disk0

allocated() {
	sync -f $DISK
	echo $(($(stat -c %b $FILE) * 512))
}

# direct_only FILE: the daemon has the file open for direct I/O, and the page cache has none of
# it
direct_only() {
	local fd flags direct=''

	for fd in "/proc/$TARGET_PID/fd"/*; do
		[[ $(readlink "$fd") == "$1" ]] || continue
		flags=$(awk '/^flags/ { print $2 }' "/proc/$TARGET_PID/fdinfo/${fd##*/}")
		(((8#$flags & 8#40000) == 0)) || direct=1
	done
	[[ $direct ]] || fail "$1 is not open for direct I/O"
	[[ -b $1 ]] || expect 0 "$(fincore -bnro pages "$1")" "the cached pages of $1"
}

large() {
	local place places=(0 $((2 * TIB - 65536)) $((2 * TIB)) $((5 * TIB - 512))
		$((8 * TIB + 4096)) $((LARGE - 65536))) before

	truncate -s $LARGE $FILE
	serve_file $FILE
	connect
	open_disk
	expect $LARGE "$(blockdev --getsize64 $DEV)" "the size"
	expect $((LARGE / 512)) "$(<"/sys/block/rdmablk0/size")" "the number of sectors"
	expect $LARGE "$(status size)" "status' size"
	io ok write a $((2 * TIB - 65536)) 131072 1
	for place in "${places[@]}"; do
		io ok write a "$place" 65536 1
		io ok check a "$place" 65536 1
	done
	io ok write d $((LARGE - 512)) 512 2
	io ok write b $((LARGE - 4096)) 512 3
	io ok fsync b
	io ENOSPC write a $LARGE 4096 4
	io ok fsync a
	for place in "${places[@]::5}"; do
		file_has $FILE "$place" 65536 1
	done
	file_has $FILE $((LARGE - 512)) 512 2
	file_has $FILE $((LARGE - 4096)) 512 3
	file_has $FILE $((LARGE - 65536)) 61440 1
	(($(allocated) <= MIB)) || fail "$(allocated) bytes allocated"
	run_fio --name=far --filename=$DEV --direct=1 --ioengine=libaio --iodepth=16 \
		--rw=randwrite --bs=4k --offset=$((7 * TIB - 2 * MIB)) --size=4M \
		--verify=crc32c --verify_fatal=1 --do_verify=1

	# Discards and zeroes across the boundary of 2^32 sectors and up to the end.
	blkdiscard -f -o $((2 * TIB - 4096)) -l 8192 $DEV
	io ok check a $((2 * TIB - 65536)) 61440 1
	io ok check a $((2 * TIB - 4096)) 8192 zero
	io ok check a $((2 * TIB + 4096)) 61440 1
	blkdiscard -f -z -o $((LARGE - 1024)) -l 1024 $DEV
	file_has $FILE $((LARGE - 1024)) 1024 zero
	file_has $FILE $((LARGE - 4096)) 512 3
	before=$(status discard_bytes)
	blkdiscard -f -o $((2 * TIB - 8 * MIB)) $DEV
	expect $((8 * TIB + 8 * MIB)) $(($(status discard_bytes) - before)) \
		"the number of bytes discarded"
	io ok check a $((7 * TIB)) $MIB zero
	io ok check a $((LARGE - MIB)) $MIB zero
	io ok check a 0 65536 1
	(($(allocated) <= 131072)) || fail "$(allocated) bytes allocated"
	close_disk

	mkfs.xfs -q -f -K -l size=64m $DEV
	mkdir -p /mnt/xfs
	mount $DEV /mnt/xfs
	random_file 20M /tmp/pattern
	# Each directory is in an allocation group of its own, a TiB behind the previous one.
	for ((i = 0; i < 10; i++)); do
		mkdir "/mnt/xfs/$i"
		head -c 2M /tmp/pattern >"/mnt/xfs/$i/data"
	done
	sync -f /mnt/xfs
	rm -r /mnt/xfs/[2468]
	sync -f /mnt/xfs
	before=$(allocated)
	fstrim /mnt/xfs
	(($(allocated) <= before - 7 * MIB)) ||
		fail "fstrim has left $(allocated) of $before bytes"
	umount /mnt/xfs
	xfs_repair -n $DEV >/tmp/repair 2>&1 || fail "$(cat /tmp/repair)"
	mount $DEV /mnt/xfs
	for i in 0 1 3 5 7 9; do
		head -c 2M /tmp/pattern | cmp - "/mnt/xfs/$i/data"
	done
	umount /mnt/xfs
	still_live
	expect 0 "$(attribute reconnects)" "the number of reconnects"
	disconnect
	stop_target
	rm $FILE
}

# blocks STORE CACHE: I/O on a disk with blocks of 4096 bytes
blocks() {
	echo 3 >/proc/sys/vm/drop_caches
	serve_file "$1,cache=$2"
	connect
	open_disk
	expect 4096 "$(blockdev --getss $DEV)" "blockdev --getss"
	expect 4096 "$(<$QUEUE/logical_block_size)" "queue/logical_block_size"
	(($(<$QUEUE/physical_block_size) >= 4096)) || fail "smaller physical blocks"
	io EINVAL write a 0 512 1
	io EINVAL write a 512 4096 1
	io EINVAL read a 4096 6144
	fio_verify 8 --bssplit=4k/40:8k/20:36k/20:256k/20 --blockalign=4k
	io "$MIB ok" fill a 0 $MIB 1 4096
	io ok write d 8192 4096 2
	io ok write b $((3 * 4096 + 512)) 512 3
	io ok fsync b
	direct_only "${1%%,*}"
	if (($(<$QUEUE/discard_max_bytes))); then
		blkdiscard -f -o $((16 * 4096)) -l 4096 $DEV
	fi
	blkdiscard -f -z -o $((18 * 4096)) -l 4096 $DEV
	run_expect 1 'not aligned|Invalid argument' blkdiscard -f -z -o 512 -l 4096 $DEV
	io ok fsync a
	still_live
	end_well
	file_has "${1%%,*}" 0 8192 1
	file_has "${1%%,*}" 8192 4096 2
	file_has "${1%%,*}" $((4 * 4096)) $((12 * 4096)) 1
	file_has "${1%%,*}" $((18 * 4096)) 4096 zero
	file_has "${1%%,*}" $((19 * 4096)) 65536 1
}

modprobe loop
load_module
ram_disk 512
file_system 'xfs'
large
truncate -s 32M $FILE
for cache in none full; do
	blocks $FILE,block=4096 $cache
done
umount $DISK

# A device with sectors of 4096 bytes.
LOOP=$(losetup -f --show --sector-size 4096 $RAM)
for cache in none full; do
	blocks "$LOOP,size=32M" $cache
done
run_expect 1 'has blocks of 4096 bytes, an export cannot have smaller ones' \
	timeout "$PATIENCE" "$RDMABLKD" --insecure --listen "$TARGET_ADDR" \
	--export "disk0,file=$LOOP,block=512"
mkfs.ext4 -q -F "$LOOP" 64M
mount "$LOOP" $DISK
truncate -s 16M $FILE
for cache in none full; do
	serve_file $FILE,cache=$cache
	expect_log "$FILE wants blocks of 4096 bytes; the export uses the page cache, too"
	connect
	open_disk
	expect 512 "$(blockdev --getss $DEV)" "blockdev --getss"
	expect 4096 "$(blockdev --getpbsz $DEV)" "blockdev --getpbsz"
	fio_verify 16
	io ok write a 0 8192 4
	io ok write a 512 512 5
	io ok write a 4096 3584 6
	io ok write d 7680 512 7
	io ok fsync a
	dd if=$DEV bs=1M iflag=direct status=none >/tmp/after
	still_live
	stop_target KILL
	file_has $FILE 0 512 4
	file_has $FILE 512 512 5
	file_has $FILE 1024 3072 4
	file_has $FILE 4096 3584 6
	file_has $FILE 7680 512 7
	same_as_file $FILE /tmp/after
	serve_file $FILE,cache=$cache
	wait_state live
	end_well
done
blocks $FILE,block=4096 none
umount $DISK
losetup -d "$LOOP"
unload_module
