#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An initiator or target that sends a message for each command and each answer works with a peer
# that needs fewer messages, also when one target replaces the other while the disk is in use.
# Written data is in the file. The numbers of packets show which features were agreed on: with
# both features a write of 4 KiB takes four packets, and fewer when there are many at once.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/skew/lib.sh
source "$RDMABLK_TOP/tests/cases/skew/lib.sh"
require fio

need_peers plain
PLAIN=$PEERS WRITES=500

# packets COMMAND...: prints how many packets rxe sends while the command runs, both ways
packets() {
	local counter=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts before

	before=$(<$counter)
	"$@" >&2
	echo $(($(<$counter) - before))
}

write_singly() {
	dd if=/tmp/pattern of=$DEV bs=4k count=$WRITES oflag=direct status=none
}

write_many() {
	run_fio --name=many --filename=$DEV --direct=1 --ioengine=libaio --iodepth=32 \
		--rw=randwrite --bs=4k --number_ios=$WRITES --size=8M
}

works() {
	random_file 8M /tmp/pattern
	dd if=/tmp/pattern of=$DEV bs=1M oflag=direct conv=fsync status=none
	cmp -n 8388608 /tmp/pattern $DISK/disk0 || fail "the file lacks what was written"
	dd if=$DEV bs=64k iflag=direct status=none | cmp - /tmp/pattern ||
		fail "reads differ from what was written"
	fio_verify 8
	expect 0 "$(status errors)" "the number of failed requests"
}

# all_messages: without the features a write takes at least five packets: command, data and their
# acknowledgment, the answer and its acknowledgment
all_messages() {
	works
	(($(packets write_singly) >= 5 * WRITES)) || fail "there are too few packets"
	(($(packets write_many) >= 5 * WRITES)) || fail "there are too few packets at once"
}

# fewer_messages: at least nine of ten writes are their data alone, at least one of two answers
# is in a list, and there are few keep-alives and repeated messages
fewer_messages() {
	local singly many

	works
	singly=$(packets write_singly)
	many=$(packets write_many)
	((singly >= 4 * WRITES && singly < 4 * WRITES + WRITES / 10)) ||
		fail "$WRITES writes, one at a time, have taken $singly packets"
	((many < 3 * WRITES)) || fail "$WRITES writes at once have taken $many packets"
}

# follows DAEMON: replaces the running daemon, which is killed under load
follows() {
	start_verify
	stop_target KILL
	RDMABLKD=$1
	serve_file $DISK/disk0
	wait_state live
	expect_progress
	stop_verify
}

ram_disk 64
file_system
truncate -s 8M $DISK/disk0
new=$RDMABLKD
load_module
# The present daemon comes first. It notes the writer, and a disk goes on only with such a note.
serve_file $DISK/disk0
connect --queues 1 --dev-loss-tmo off
fewer_messages
follows "$PLAIN/target/rdmablkd"
all_messages
follows "$new"
fewer_messages
disconnect
stop_target
unload_module
RDMABLKD=$new
serve_file $DISK/disk0
MODULE=$PLAIN/$KERNEL_SERIES/rdmablk.ko load_module
connect --queues 1
all_messages
disconnect
unload_module
stop_target
