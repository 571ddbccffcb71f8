#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk whose file another host has written while the disk was away does not come back,
# though neither the daemon nor the export that was told so is there any more: not after
# the daemon was killed, not after the export was removed and added again, nor after the
# file was another export in between, of either store; the owner's disk does. A host is
# refused if the daemon cannot note it as the writer; if the daemon can note nothing, no
# disk goes on. A daemon that forgets is noticed.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

stolen='export was taken over by another host'
other_host=0f0e0d0c-0b0a-4909-8807-060504030201
# The same daemon by another address: a host connects to an export once.
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

# goes_away: the first host's disk loses the daemon, and does not come back by itself
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

# comes_back: the first host tries again now
comes_back() {
	"$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
}

# refused: it is not let write over what the second host wrote, nor show what was before
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
	# The daemon is killed twice: the one that was told is not there any more. The second
	# host has its disk still, and goes on.
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

	# Nobody else has had it: it does come back, over a restart and a new export.
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

	# The same daemon, another export of this name.
	goes_away
	daemon $cache
	other_writes
	target remove disk0
	target add "disk0,file=$FILE,cache=$cache,uuid=$uuid"
	refused

	# The same file, by another name and identity.
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

# What would become of it: the second host's write is gone.
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

# No note of the first host can be replaced: the second one is not let in, and the first one
# may go on, with the disk it had.
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

# Nothing can be noted anywhere, as where the daemon runs by hand: a disk works, and does not
# go on with the next daemon.
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
