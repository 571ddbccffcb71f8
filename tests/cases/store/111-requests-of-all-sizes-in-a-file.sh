#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An uncached file, on a file system with direct I/O and on one without, and a block device;
# with blocks of 512 and 4096 bytes, one and several I/O threads, slots for all requests at once
# and for few. Written data is in the file, reads return the contents of the file, and the
# daemon leaves nothing behind when its sessions end under load.
#
# smp: 2
# timeout: 300

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require fio

# in_and_out FILE [OPTION...]: I/O on the disk of FILE, which is connected with the OPTIONs
in_and_out() {
	local file=$1

	connect "${@:2}"
	random_file 16M /tmp/pattern
	dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
	sync $DEV
	cmp -n 16777216 /tmp/pattern "$file" || fail "$file lacks what was written"
	dd if=$DEV bs=1M iflag=direct count=16 status=none | cmp - /tmp/pattern ||
		fail "large reads differ"
	dd if=$DEV bs=4k iflag=direct count=256 skip=999 status=none |
		cmp - <(dd if=/tmp/pattern bs=4k count=256 skip=999 status=none) ||
		fail "small reads differ"
	run_fio --name=verify --filename=$DEV --direct=1 --thread --ioengine=libaio \
		--iodepth=32 --rw=randrw --bsrange=4k-256k --size=16M --verify=crc32c \
		--verify_fatal=1
	dd if=/tmp/pattern of=$DEV bs=4k count=16 oflag=direct,dsync status=none
	still_live
	disconnect
}

# end_under_load: a disconnect by force ends the session with requests under way
end_under_load() {
	connect
	start_load
	"$RDMABLK" disconnect --force rdmablk0
	wait_until "$PATIENCE" load_is_over 0 || fail "the load hangs"
}

load_module
ram_disk 64
leak_snapshot
file_system
truncate -s 16M $DISK/disk0
serve_file $DISK/disk0 --io-threads 1
in_and_out $DISK/disk0 --queue-depth 128
end_under_load
in_and_out $DISK/disk0 --queue-depth 1
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

serve_file $DISK/disk0,block=4096,slot-bytes=16K,slot-memory=256K --io-threads 3
in_and_out $DISK/disk0
stop_target
umount $DISK

truncate -s 16M /dev/shm/disk0
serve_file /dev/shm/disk0
in_and_out /dev/shm/disk0
end_under_load
stop_target

serve_file $RAM,size=16M
in_and_out $RAM
stop_target
leak_check
unload_module
