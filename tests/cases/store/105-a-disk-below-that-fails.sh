#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
# smp: 2
# disk: 64M
# timeout: 900
#
# The disk below a store fails in part or as a whole while it is in use, and is mended. Each
# request that hits the failure gets EIO, and no other request does; the session goes on. With
# an uncached file all flushes fail after a failed fdatasync, until the daemon opens the store
# again. With a cached file the next flush writes the data that the last one could not write.
# This holds also when the page cache below has dropped the data, and when the file system was
# lost, repaired and served again.

# shellcheck source=tests/cases/store/mapped.sh
source "$RDMABLK_TOP/tests/cases/store/mapped.sh"
require dmsetup fio mkfs.ext4

BAD=$((8 * MIB))		# from here to 16 MiB, where part of it fails

part_fails() {
	table <<-END
		0 16384 linear /dev/vda 0
		16384 16384 error
		32768 $((SECTORS - 32768)) linear /dev/vda 32768
	END
}

writes_fail() {
	echo "0 $SECTORS flakey /dev/vda 0 0 100000 1 error_writes" | table
}

begin() {
	serve_file "$@"
	connect
	expect true "$(status write_cache)" "write_cache"
	open_disk
}

# restart SIGNAL FILE...: ends the daemon and starts another one for the same store; the disk
# goes on
restart() {
	stop_target "$1"
	serve_file "${@:2}"
	wait_state live
}

modprobe -a dm_mod dm_flakey
load_module
echo "0 $SECTORS linear /dev/vda 0" | dmsetup create store

# Uncached: each request fails or succeeds by itself.
begin $STORE,cache=none
io "$((16 * MIB)) ok" fill a 0 $((16 * MIB)) 1 $MIB
start_load 0 --size=8M
before=$(status errors)
part_fails
io EIO write a $BAD 4096 2
io EIO read a $((12 * MIB)) 65536
io EIO write a $((BAD - 65536)) 131072 2
failed_since "$before" 3
run_expect 1 'Input/output error' blkdiscard -f -z -o $BAD -l 4096 $DEV
io ok write a $((16 * MIB)) 65536 2
io ok write d $((17 * MIB)) 4096 2
io ok fsync a
dmesg_has "I/O error, dev rdmablk0, sector $((BAD / 512)) op 0x1:\(WRITE\)" ||
	fail "the kernel log does not say which request failed"
expect_log "write of 4096 bytes at $BAD: Input/output error"
expect_log "read of 65536 bytes at $((12 * MIB)): Input/output error"
undisturbed
# A failed writeback of the initiator's kernel is reported to a direct request anywhere on the
# disk, so the load ends here.
stop_load 0
io ok write b $((10 * MIB)) 65536 2
told_once EIO
undisturbed
mended
io ok check a $BAD 4096 1
io ok check a $((12 * MIB)) 65536 1
io ok write a $BAD 65536 3
io ok fsync a
file_has /dev/vda $BAD 65536 3
file_has /dev/vda $((16 * MIB)) 65536 2

# An fdatasync fails. Requests that need none succeed.
io ok write a 0 65536 4
writes_fail
io EIO fsync a
expect_log "$STORE cannot be made durable: Input/output error; no FLUSH will succeed"
io EIO fsync b
mended
io EIO fsync a
io EIO write d 65536 4096 4
io ok write a 0 65536 5
io ok check a 0 65536 5
expect true "$(status unflushed)" "unflushed"
undisturbed
# Unflushed data may be lost, and the next daemon knows that.
stop_target TERM
serve_file $STORE,cache=none
wait_state failed
"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
io ok write a 0 65536 5
io ok fsync a
io ok write d 65536 4096 6
expect false "$(status unflushed)" "unflushed"
file_has /dev/vda 0 65536 5
file_has /dev/vda 65536 4096 6

# A bad sector in a write with FUA does not count as a lost cache.
io ok write a $((16 * MIB)) 65536 6
: >"$TARGET_LOG"
part_fails
io EIO write d $BAD 4096 6
io EIO write d $BAD 4096 6
expect_log "write of 4096 bytes at $BAD: Input/output error"
io ok fsync a
io ok write d $((17 * MIB)) 4096 6
expect false "$(status unflushed)" "unflushed"
expect live "$(attribute state)" "the state"
target_lives || fail "the daemon is gone"
run_expect 1 '' grep 'cannot be made durable' "$TARGET_LOG"
mended
io ok write d $BAD 4096 6
io ok fsync a
file_has /dev/vda $BAD 4096 6
file_has /dev/vda $((16 * MIB)) 65536 6
file_has /dev/vda $((17 * MIB)) 4096 6
end

# Cached.
begin $STORE,cache=full
start_load 0 --size=8M --rw=randread
part_fails
before=$(status errors)
io ok write a $BAD $MIB 7
io EIO fsync a
io EIO fsync a
io EIO fsync c
io EIO write d $((BAD + MIB)) 4096 7
failed_since "$before" 4
io ok check a $BAD $MIB 7
io ok check a $((BAD + MIB)) 4096 7
expect true "$(status unflushed)" "unflushed"
expect_log "$STORE: Input/output error"
undisturbed
mended
stop_load 0
io ok fsync b
expect false "$(status unflushed)" "unflushed"
restart KILL $STORE,cache=full
file_has /dev/vda $BAD $MIB 7
file_has /dev/vda $((BAD + MIB)) 4096 7
io ok check a $BAD $MIB 7
end

# Cached, through the page cache, which accepts all writes and drops the data that it could not
# write back.
echo 1 >"/sys/dev/block/$(dmsetup info -c --noheadings -o major,minor store)/queue/stable_writes"
begin $STORE,cache=full
io ok write a $BAD $MIB 8
io ok fsync a
writes_fail
io ok write a $BAD $MIB 9
io EIO fsync a
mended
file_has /dev/vda $BAD $MIB 8
io ok fsync a
stop_target KILL
file_has /dev/vda $BAD $MIB 9
close_disk
"$RDMABLK" disconnect --force rdmablk0

# At its end the daemon cannot write the last data. The data is lost, and the daemon says so.
begin $STORE,cache=full
io ok write a $BAD $MIB 10
writes_fail
io EIO fsync a
close_disk
"$RDMABLK" disconnect --force rdmablk0
stop_target
expect 1 "$TARGET_STATUS" "the status of a daemon whose data is lost"
expect_log "try 3 of 3 to bring $STORE up to date at the end"
expect_log "$STORE lacks the last writes: Input/output error"
mended

# The file system of a file breaks. The kept arena still has the data.
FILE=$DISK/disk0 ARENA=/dev/shm/arena
mkfs.ext4 -q -F $STORE
mkdir -p $DISK
mount $STORE $DISK
truncate -s 16M $FILE
begin "$FILE,cache=full,arena=$ARENA"
io ok write a 0 $MIB 10
io ok fsync a
writes_fail
io ok write a $MIB $((4 * MIB)) 11
io 'EIO|EREMOTEIO' fsync a
touch $DISK/new
sync -f $DISK || :
io 'EIO|EREMOTEIO' fsync b
mended
io 'EIO|EREMOTEIO' fsync b
io ok check a $MIB $((4 * MIB)) 11
undisturbed
stop_target
expect 0 "$TARGET_STATUS" "the status of a daemon whose data an arena keeps"
expect_log "$FILE lacks the last writes: .*; its arena has it"
dmesg_has 'rdmablk0 .*: not all that was written could be flushed' ||
	fail "the kernel log does not say that it was not flushed"
umount $DISK
e2fsck -fy $STORE >/tmp/fsck 2>&1 || (($? < 4)) || fail "e2fsck: $(cat /tmp/fsck)"
mount $STORE $DISK
serve_file "$FILE,cache=full,arena=$ARENA"
wait_state live
expect_log 'was not written back'
io ok fsync b
restart KILL "$FILE,cache=full,arena=$ARENA"
file_has $FILE 0 $MIB 10
file_has $FILE $MIB $((4 * MIB)) 11
end
umount $DISK
dmsetup remove store
unload_module
