#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# timeout: 900
#
# Another program makes the file of an export shorter, and longer again, also while the disk is
# in use. Requests behind the end of the file fail, others do not, and the daemon never makes
# the file longer itself. The daemon and the session survive, and when the file has its old
# length the disk works. With a cached file flushes fail meanwhile, and later the missing end is
# in the file again. A file or device can be only one export of one daemon, whatever its path.

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"
require fio mkfs.ext4 mkfs.xfs losetup

FILE=$DISK/disk0 SIZE=$((32 * MIB)) CUT=$((8 * MIB + 1000))

begin() {
	begin_blank "$1"
	io "$SIZE ok" fill a 0 $SIZE 1 $MIB
	io ok fsync a
}

cut() {
	truncate -s $CUT $FILE
}

uncut() {
	expect $CUT "$(stat -c %s $FILE)" "the size of the file"
	truncate -s $SIZE $FILE
}

cut_and_uncut() {
	while [[ ! -e /tmp/uncut ]]; do
		truncate -s $CUT $FILE
		truncate -s $SIZE $FILE
	done
}

# while_cut: while the file gets shorter and longer all the time, requests may fail, but do not
# hang
while_cut() {
	local cutter

	rm -f /tmp/uncut
	cut_and_uncut &
	cutter=$!
	cleanup_add touch /tmp/uncut
	timeout "$PATIENCE" fio --name=any --filename=$DEV --direct=1 --thread \
		--ioengine=libaio --iodepth=8 --rw=randrw --bs=64k --norandommap \
		--size=32M --io_size=16M --continue_on_error=all >/tmp/any 2>&1 ||
		(($? != 124)) || fail "$DEV hangs"
	io 'ok|EIO' fsync a
	touch /tmp/uncut
	wait $cutter
	undisturbed
	io "$SIZE ok" fill a 0 $SIZE 4 $MIB
	io ok fsync a
	stop_target KILL
	file_has $FILE 0 $SIZE 4
}

without_cache() {
	local before

	begin none
	start_load 0 --size=7M
	before=$(status errors)
	cut
	io ok read a $((7 * MIB)) 65536
	io EIO read a $((8 * MIB)) 65536
	io EIO read a $((16 * MIB)) 4096
	io EIO write a $((8 * MIB)) 65536 2
	io EIO write a $((SIZE - 512)) 512 2
	io EIO write d $((16 * MIB)) 4096 2
	failed_since "$before" 5
	run_expect 1 'Input/output error' blkdiscard -f -o 16M -l 1M $DEV
	run_expect 1 'Input/output error' blkdiscard -f -z -o 16M -l 1M $DEV
	io ok write a $((7 * MIB)) 65536 2
	io ok fsync a
	expect_log "$FILE has become shorter than its export of $SIZE bytes"
	undisturbed
	uncut
	stop_load 0
	io ok check a $((7 * MIB)) 65536 2
	io ok check a $((16 * MIB)) 65536 zero
	io ok write a $((16 * MIB)) $MIB 3
	io ok fsync a
	while_cut
	serve_file $FILE,cache=none
	wait_state live
	end_well
}

in_memory() {
	local before

	begin full
	start_load 0 --size=7M
	before=$(status errors)
	cut
	io ok check a $((16 * MIB)) $MIB 1
	io ok write a $((20 * MIB)) $MIB 2
	io EIO fsync a
	io EIO fsync b
	io EIO write d $((21 * MIB)) 4096 2
	failed_since "$before" 3
	run_expect 1 'Input/output error' blkdiscard -f -o 22M -l 1M $DEV
	expect_log "$FILE has become shorter than its export of $SIZE bytes"
	expect true "$(status unflushed)" "unflushed"
	undisturbed
	uncut
	stop_load 0
	io ok fsync a
	file_has $FILE $((20 * MIB)) $MIB 2
	file_has $FILE $((21 * MIB)) 4096 2
	# This data was flushed before the file was cut.
	file_has $FILE $((16 * MIB)) $((4 * MIB)) 1
	file_has $FILE $((22 * MIB)) $((10 * MIB)) 1
	while_cut
	serve_file $FILE,cache=full
	wait_state live
	end_well
}

# also TEXT EXPORT...: a second daemon with these exports does not start
also() {
	local options=() words

	for words in "${@:2}"; do
		options+=(--export "x${#options[@]},$words")
	done
	run_expect 1 "$1" timeout "$PATIENCE" "$RDMABLKD" --insecure \
		--listen "$TARGET_ADDR:4420" "${options[@]}"
}

# one_each: a file with several names, and a device with two nodes
one_each() {
	local name loop node=/tmp/node

	begin none
	ln $FILE $DISK/hard
	ln -s disk0 $DISK/symbolic
	mkdir -p /mnt/bound
	mount --bind $DISK /mnt/bound
	for name in $FILE $DISK/hard $DISK/symbolic /mnt/bound/disk0; do
		also "export x0: $name is in use: another daemon" "file=$name"
		also "export x0: $name is in use: another daemon" "file=$name,cache=full"
		also "export x0: $name is in use: another daemon" "file=$name,ro"
	done
	io ok write a 0 65536 8
	undisturbed
	end_well
	file_has $FILE 0 65536 8
	for name in $FILE $DISK/hard $DISK/symbolic /mnt/bound/disk0; do
		also "export x2: $name is what export x0 is made of already" \
			"file=$FILE" "file=$name,cache=full"
	done
	umount /mnt/bound

	loop=$(losetup -f --show $FILE)
	mknod $node b $((0x$(stat -c %t "$loop"))) $((0x$(stat -c %T "$loop")))
	also "export x2: $node is what export x0 is made of already" \
		"file=$loop" "file=$node"
	serve_file "$loop"
	for name in "$loop" $node; do
		also "export x0: $name is in use: mounted, part of" "file=$name,cache=full"
		also "export x0: $name is in use: mounted, part of" "file=$name,ro"
	done
	stop_target
	mkfs.ext4 -q "$loop"
	mkdir -p /mnt/other
	mount "$loop" /mnt/other
	also "export x0: $node is in use: mounted, part of" "file=$node"
	umount /mnt/other
	losetup -d "$loop"
	rm $node
}

load_module
modprobe loop
ram_disk 64
file_system ext4
without_cache
in_memory
one_each
umount $DISK
mount -t tmpfs -o size=64M none $DISK
without_cache
umount $DISK
unload_module
