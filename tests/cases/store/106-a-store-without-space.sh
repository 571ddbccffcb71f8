#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# timeout: 900
#
# A sparse file on a full file system, with direct I/O (ext4) and through the page cache
# (tmpfs). The writer gets ENOSPC: with an uncached file from the write, with a cached file from
# the flush. Blocks with space can still be written, written data stays, and the session goes
# on. When there is space again, because the disk has discarded data or because another file was
# removed, the same flush succeeds, and the data survives a killed daemon. A used-up quota
# counts as no space, too; a file that cannot be written any more is EREMOTEIO.

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"
require mkfs.ext4

FILE=$DISK/disk0 SIZE=$((48 * MIB)) LAST=$((47 * MIB)) RULES=/run/rules

# killed CACHE: after a kill of the daemon the disk comes back with the contents of the file
killed() {
	stop_target KILL
	cp --sparse=always $FILE /dev/shm/kept
	serve_file "$FILE,cache=$1"
	wait_state live
	dd if=$DEV bs=1M iflag=direct status=none | cmp - /dev/shm/kept ||
		fail "the disk is not what the file was"
	rm /dev/shm/kept
}

# without_cache: the file system has 24 MiB at most
without_cache() {
	local before fits

	begin_blank none
	before=$(status errors)
	io '[0-9]+ ENOSPC' fill a 0 $SIZE 1 65536
	fits=${ANSWER% *}
	((fits > 12 * MIB)) || fail "no more than $fits bytes fit"
	failed_since "$before" 1
	io ENOSPC write a $LAST 65536 2
	io ENOSPC write d $LAST 65536 2
	failed_since "$before" 3
	dmesg_has "critical space allocation error, dev rdmablk0, sector $((LAST / 512)) op 0x1" ||
		fail "the kernel log does not say what failed"
	expect_log "write of 65536 bytes at $LAST: No space left on device"
	# An error of the initiator's writeback may be reported as EIO.
	io ok write b $LAST 65536 2
	told_once 'EIO|ENOSPC'
	run_expect 1 'No space left' blkdiscard -f -z -o $((40 * MIB)) -l 4M $DEV
	# No flush fails, and blocks that have space are written.
	io ok write d $MIB 65536 3
	io ok write a $((2 * MIB)) 65536 3
	io ok fsync a
	undisturbed
	io ok check a 0 $MIB 1
	io ok check a $((fits - 65536)) 65536 1
	# The disk discards data.
	blkdiscard -f -o 4M -l 8M $DEV
	io ok check a $((4 * MIB)) $((8 * MIB)) zero
	io ok write a $LAST $MIB 4
	io ok fsync a
	killed none
	file_has $FILE $LAST $MIB 4
	file_has $FILE $MIB 65536 3
	file_has $FILE 0 $MIB 1
	end_well
}

in_memory() {
	local before

	begin_blank full
	before=$(status errors)
	io "$((32 * MIB)) ok" fill a 0 $((32 * MIB)) 5 $MIB
	io ENOSPC fsync a
	io ENOSPC fsync b
	io ENOSPC write d $LAST 65536 5
	failed_since "$before" 3
	expect true "$(status unflushed)" "unflushed"
	expect_log "$FILE: No space left on device"
	undisturbed
	io ok check a 0 $((32 * MIB)) 5
	# The disk discards data.
	blkdiscard -f -o 4M -l 20M $DEV
	io ok fsync b
	expect false "$(status unflushed)" "unflushed"
	file_has $FILE 0 $((4 * MIB)) 5
	file_has $FILE $((24 * MIB)) $((8 * MIB)) 5
	file_has $FILE $LAST 65536 5
	# Another file takes the space, and is removed.
	dd if=/dev/zero of=$DISK/ballast bs=64k status=none 2>/dev/null || :
	io ok write a $((4 * MIB)) $((4 * MIB)) 6
	io ENOSPC fsync a
	rm $DISK/ballast
	io ok fsync a
	undisturbed
	killed full
	file_has $FILE $((4 * MIB)) $((4 * MIB)) 6
	file_has $FILE $LAST 65536 5
	end_well
}

# fails RULE ANSWER COMMAND NAME [WORD...]: as io, with one error of the file
fails() {
	echo "$1 count 1" >$RULES.new
	mv $RULES.new $RULES
	io "${@:2}"
}

# by_name CACHE: which error of the disk each error of the file becomes
by_name() {
	: >$RULES
	begin_blank "$1,fault=$RULES"
	if [[ $1 == none ]]; then
		fails 'write error EDQUOT' ENOSPC write a 0 4096 7
		fails 'write error EROFS' EREMOTEIO write a 0 4096 7
		fails 'write error EIO' EIO write a 0 4096 7
		fails 'read error EIO' EIO read a 0 4096
	fi
	io ok write a 0 4096 7
	if [[ $1 == full ]]; then
		fails 'write error EDQUOT' ENOSPC fsync a
		fails 'write error EROFS' EREMOTEIO fsync a
		fails 'sync error EROFS' EREMOTEIO fsync a
		# The daemon compares the file now, and a sync of its own might meet the next error.
		io ok fsync a
		io ok write a 0 4096 7
		fails 'sync error EIO' EIO fsync a
	fi
	io ok fsync a
	undisturbed
	end_well
}

load_module
ram_disk 28
file_system ext4
without_cache
in_memory
umount $DISK
mount -t tmpfs -o size=24M none $DISK
without_cache
in_memory
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
by_name none
by_name full
umount $DISK
unload_module
