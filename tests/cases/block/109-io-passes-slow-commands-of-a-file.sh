#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 1
#
# A disk of an uncached file has come back to a target that takes fewer commands at once than
# the disk has requests. DISCARDs that hang leave half of the tags to READs and WRITEs. A FLUSH
# needs none of these tags. With a single tag DISCARDs and other I/O take turns.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

require addpart blkdiscard fio
# A discarding task holds a lock of its block device, so other I/O uses another partition.
SLOW=${DEV}p1 REST=${DEV}p2
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/dev/shm/disk0 RULES=/run/rules COUNT=16

# rules [LINE...]: replaces the faults of the file
rules() {
	printf '%s\n' "$@" >$RULES.new
	mv $RULES.new $RULES
}

# instead MEMORY: kills the daemon and starts one for the same file with MEMORY for slots
instead() {
	[[ -z $TARGET_PID ]] || stop_target KILL
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--export "disk0,file=$FILE,fault=$RULES,slot-memory=$1"
}

# in_flight_are N: whether at least N requests that change the disk are under way
in_flight_are() {
	local writes

	read -r _ writes </sys/block/rdmablk0/inflight
	((writes >= $1))
}

over() {
	! kill -0 "$1" 2>/dev/null
}

# discard_begin: $COUNT requests of 64 KiB each, all at once
discard_begin() {
	blkdiscard -f -o 0 -l $((COUNT * 65536)) "$SLOW" &
	DISCARD=$!
	wait_until "$PATIENCE" in_flight_are 2 || fail "no discards under way"
}

discard_end() {
	wait_until "$PATIENCE" over "$DISCARD" || fail "the discards hang"
	wait "$DISCARD" || fail "blkdiscard has failed"
}

# soon CMD [ARGS]: CMD ends in time while other commands hang. If it does not, the faults are
# removed, because nothing else would let CMD end.
soon() {
	local pid

	"$@" &
	pid=$!
	if ! wait_until 40 over "$pid"; then
		rules
		fail "behind slow commands: $*"
	fi
	wait "$pid"
}

# write_at MIB: starts the write of a block that hangs
write_at() {
	dd if=/tmp/pattern of="$REST" bs=4k count=1 seek=$(($1 * 256)) oflag=direct status=none &
	WRITERS+=($!)
}
WRITERS=()

random_file 64k /tmp/pattern
truncate -s 64M $FILE
rules
load_module
instead 16M
connect --dev-loss-tmo off --reconnect-delay 1 --queue-depth 32
addpart $DEV 1 0 $((32 << 11))
addpart $DEV 2 $((32 << 11)) $((32 << 11))
echo 65536 >$QUEUE/discard_max_bytes

# Four slots of 128 KiB, besides the three of other commands
instead 896K
expect_back 1
expect 4 "$(<$SESSION/queue_depth)" "the depth"
rules 'discard hang'
discard_begin
soon dd if=/tmp/pattern of="$REST" bs=4k count=16 oflag=direct status=none
soon dd if="$REST" of=/tmp/back bs=4k count=16 iflag=direct status=none
cmp /tmp/pattern /tmp/back
# The other two tags are taken as well.
rules 'discard hang' 'write hang at 40M+8M'
write_at 8
write_at 9
wait_until "$PATIENCE" in_flight_are 4 || fail "no writes under way"
expect true "$(status unflushed)" "unflushed"
soon sync "$REST"
expect false "$(status unflushed)" "unflushed after a flush"
kill -0 "$DISCARD" "${WRITERS[@]}" || fail "nothing has hung"
rules
discard_end
wait "${WRITERS[@]}"

instead 512K
expect_back 2
expect 1 "$(<$SESSION/queue_depth)" "the depth"
start_load 0 --filename="$REST" --rw=randrw --iodepth=8
rules 'discard delay 50'
discard_begin
before=$(completed 0)
discard_end
(($(completed 0) > before)) || fail "the discards let nobody pass"
soon sync "$SLOW"
stop_load
rules
run_fio --name=verify --filename="$REST" --direct=1 --ioengine=libaio --iodepth=8 \
	--rw=randwrite --bs=4k --size=1M --verify=crc32c --do_verify=1
delpart $DEV 1
delpart $DEV 2
sync $DEV
cmp $FILE <(dd if=$DEV bs=1M iflag=direct status=none) || fail "the file differs"
still_live
disconnect
stop_target
unload_module
