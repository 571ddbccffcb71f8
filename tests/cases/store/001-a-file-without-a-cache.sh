#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
# in-turn: yes
#
# An uncached file, and an uncached block device: data written to the disk is in the file, for
# any size, alignment and I/O engine, and reads return the data of the file. FLUSH and FUA reach
# the target, and the daemon ends in order with all data in the file. The module allocates no
# memory for any kind of request, nor does it with cache=full.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/lib/allocations.sh
source "$RDMABLK_TOP/tests/lib/allocations.sh"
require fio mkfs.ext4

# round_trip FILE: I/O on the disk of FILE, from the connect to the daemon's end
round_trip() {
	local file=$1

	connect --queue-depth 32
	expect true "$(status staged)" "staged"
	expect true "$(status write_cache)" "write_cache"
	expect 'write back' "$(<$QUEUE/write_cache)" "the cache that the kernel sees"
	random_file 16M /tmp/pattern
	dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
	cmp -n 16777216 /tmp/pattern "$file" || fail "the file lacks what was written"
	dd if=$DEV bs=64k iflag=direct count=256 status=none | cmp - /tmp/pattern ||
		fail "reads differ from what was written"
	dd if=$DEV bs=512 iflag=direct count=64 skip=13 status=none |
		cmp - <(dd if=/tmp/pattern bs=512 count=64 skip=13 status=none) ||
		fail "small reads differ from what was written"
	fio_verify 8
	flushes=$(status flushes)
	dd if=/tmp/pattern of=$DEV bs=64k count=16 conv=fsync status=none
	(($(status flushes) > flushes)) || fail "no flush was sent"
	dd if=/tmp/pattern of=$DEV bs=4k count=16 oflag=direct,dsync status=none
	expect 0 "$(status errors)" "the number of failed requests"
	sync $DEV
	expect false "$(status unflushed)" "unflushed"
	dd if=$DEV bs=1M iflag=direct status=none >/tmp/after
	disconnect
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	same_as_file "$file" /tmp/after
}

load_module
ram_disk 64
file_system
truncate -s 16M $DISK/disk0
serve_file $DISK/disk0
round_trip $DISK/disk0
umount $DISK

# With its data in the journal a file of ext4 can be opened for direct I/O, but does none.
mount -o data=journal $RAM $DISK
serve_file $DISK/disk0
grep -q 'takes no direct I/O; the page cache is used' "$TARGET_LOG" ||
	fail "no word of the page cache in $(cat "$TARGET_LOG")"
stop_target
umount $DISK

# tmpfs takes no direct I/O here, so the page cache is used, and the daemon says so.
truncate -s 16M /dev/shm/disk0
serve_file /dev/shm/disk0
grep -q 'page cache' "$TARGET_LOG" || fail "no word of the page cache in $(cat "$TARGET_LOG")"
round_trip /dev/shm/disk0
rm /dev/shm/disk0

head -c 64M /dev/zero >$RAM
serve_file $RAM,size=16M
connect
dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
fio_verify 8
needs_no_memory other_kinds
disconnect
stop_target

truncate -s 16M /dev/shm/disk0
serve_file /dev/shm/disk0,cache=full
connect
needs_no_memory other_kinds
disconnect
stop_target
unload_module
