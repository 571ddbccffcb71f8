#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Another host writes the file of a disk while the disk is away. The disk does not come back,
# although the daemon and the export that knew of this are gone: not after the daemon was
# killed, not after the export was removed and added again, and not after the file was another
# export in between, of either store. The disk of the last writer does come back. A host is
# refused if the daemon cannot note it as the writer. If the daemon can note nothing, no disk
# goes on with its successor. A daemon that forgets the writer is noticed.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

stolen='export was taken over by another host'
other_host=0f0e0d0c-0b0a-4909-8807-060504030201
# The second host uses another address of the daemon: a host may connect to an export by an
# address once.
second=10.99.0.1
FILE=/tmp/disk0 STATE=/run/state
uuid=7d2c0a34-61a5-4f0e-9f3b-0c1d2e3f4a5b

# daemon CACHE [OPTION...]
daemon() {
	start_target --insecure --listen "$TARGET_ADDR" --listen "$second" \
		--state-dir "$STATE" --export "disk0,file=$FILE,cache=$1,uuid=$uuid" "${@:2}"
}

target() {
	"$RDMABLK" target "$@"
}

write_block() {
	dd if="$2" of="/dev/rdmablk$1" bs=4k count=1 oflag=direct conv=fsync status=none
}

# goes_away: the daemon is killed; the first host's disk waits before it tries to log in again
goes_away() {
	"$RDMABLK" set rdmablk0 --reconnect-delay 600
	stop_target KILL
	wait_state recovering
}

# other [EXPORT]: the second host's disk, as rdmablk1
other() {
	expect /dev/rdmablk1 "$("$RDMABLK" connect --host-id $other_host \
		"$second/${1:-disk0}")" "the second host's disk"
}

# other_writes [EXPORT]: the second host comes, writes and goes
other_writes() {
	other "$@"
	write_block 1 /tmp/second
	"$RDMABLK" disconnect rdmablk1
}

# comes_back: makes the first host's disk try to log in now
comes_back() {
	"$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
}

# refused: the first host's disk fails, so it neither overwrites the second host's data nor
# shows old data
refused() {
	run_expect 1 "$stolen" comes_back
	expect_failed "$stolen"
	disconnect
	cmp -n 4096 "$FILE" /tmp/second || fail "what the second host wrote is gone"
}

load_module
random_file 4096 /tmp/first
random_file 4096 /tmp/second
truncate -s 8M "$FILE"

for cache in none full; do
	# The daemon is killed twice, so the one that admitted the second host is gone. The
	# second host still has its disk, and goes on.
	daemon $cache
	connect
	write_block 0 /tmp/first
	goes_away
	daemon $cache
	other
	write_block 1 /tmp/second
	stop_target KILL
	daemon $cache
	wait_state live 1
	refused
	"$RDMABLK" disconnect rdmablk1

	# No other host has written: the disk comes back, over a restart and with a new export.
	connect
	write_block 0 /tmp/first
	goes_away
	daemon $cache
	comes_back
	wait_state live
	target remove --force disk0
	wait_state recovering
	target add "disk0,file=$FILE,cache=$cache,uuid=$uuid"
	comes_back
	wait_state live

	# The same daemon has another export with this name.
	goes_away
	daemon $cache
	other_writes
	target remove disk0
	target add "disk0,file=$FILE,cache=$cache,uuid=$uuid"
	refused

	# The same file is exported under another name and UUID.
	connect
	write_block 0 /tmp/first
	goes_away
	daemon $cache
	target remove disk0
	target add "elsewhere,file=$FILE,cache=$cache"
	other_writes elsewhere
	stop_target
	daemon $cache
	refused
	stop_target
done

# With a daemon that forgets the writer, the first host overwrites the second host's data.
good=$RDMABLKD
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
daemon none --fault forget-writer
connect
write_block 0 /tmp/first
goes_away
daemon none --fault forget-writer
other_writes
stop_target KILL
daemon none --fault forget-writer
comes_back
wait_state live
write_block 0 /tmp/first
cmp -n 4096 $FILE /tmp/first || fail "what the second host wrote is still there"
disconnect
stop_target
RDMABLKD=$good

# The daemon cannot replace its note of the first host. The second host is refused, and the
# first host's disk may go on.
mkdir -p $STATE
mount --bind $STATE $STATE
daemon none
connect
write_block 0 /tmp/second
goes_away
mount -o remount,bind,ro $STATE
daemon none
run_expect 1 'internal error of the target' \
	"$RDMABLK" connect --host-id $other_host "$second/disk0"
expect_log "cannot remove $STATE/writers/export-$uuid: Read-only file system; nobody is let write"
stop_target KILL
daemon none
comes_back
wait_state live
disconnect
stop_target
umount $STATE

# The daemon can note nothing anywhere, as when a user runs it by hand. A disk works, but does
# not go on with the next daemon.
touch /tmp/nothing
STATE=/tmp/nothing/state
daemon none
connect
expect_log 'nobody will go on with a disk of it when the daemon has been restarted'
write_block 0 /tmp/second
comes_back
wait_state live
goes_away
daemon none
refused
expect_log 'who wrote it last is not known'
unload_module
stop_target
