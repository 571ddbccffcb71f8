#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
# in-turn: yes
#
# The daemon is killed under writers that call fsync. With a cached file, the file has at least
# the data of each fsync that has returned. The initiator knows that it acknowledged more data,
# and fails the disk instead of going on with less. When everything was flushed the disk goes
# on. With an uncached file every acknowledged write is there.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4

BYTES=16777216

# crash CACHE RULE: kills the daemon under load; the file must have what RULE promises
crash() {
	truncate -s 0 $DISK/disk0
	truncate -s $BYTES $DISK/disk0
	serve_file "$DISK/disk0,cache=$1"
	durable_write $BYTES 40
	stop_target KILL
	cp $DISK/disk0 /dev/shm/after
	cp /dev/shm/log /dev/shm/promise
	python3 "$DURABLE" check /dev/shm/after $BYTES /dev/shm/promise "$2" ||
		fail "cache=$1: the file lacks what was promised"
}

load_module
ram_disk 64
file_system

# Cached: the disk fails, and says why, until the loss is accepted.
crash full fsynced
expect true "$(status unflushed)" "unflushed"
serve_file "$DISK/disk0,cache=full"
wait_state failed
expect 'store has lost its contents' "$(<$SESSION/reason)" "the reason"
wait "$WRITER"
run_expect 1 'the loss is not accepted' "$RDMABLK" reconnect rdmablk0
"$RDMABLK" reconnect --accept-data-loss --wait "$PATIENCE" rdmablk0
dd if=$DEV iflag=direct bs=1M status=none | cmp - $DISK/disk0 ||
	fail "the disk is not what the file is"

# Everything was flushed: nothing can be missing, and I/O goes on in spite of the new epoch.
dd if=/dev/urandom of=$DEV bs=64k count=64 oflag=direct conv=fsync status=none
expect false "$(status unflushed)" "unflushed after an fsync"
stop_target KILL
serve_file "$DISK/disk0,cache=full"
wait_state live
dd if=$DEV iflag=direct bs=1M status=none | cmp - $DISK/disk0 ||
	fail "the disk is not what the file is"
disconnect
stop_target

# Uncached: acknowledged data was in the file, and I/O goes on.
crash none acknowledged
serve_file "$DISK/disk0,cache=none"
wait_state live
wait_until "$PATIENCE" durable_fsyncs 80 || fail "no more fsyncs: $(tail -n 3 /dev/shm/log)"
kill "$WRITER"
wait "$WRITER" || true
expect 0 "$(status errors)" "the number of failed requests"
disconnect
stop_target
unload_module
