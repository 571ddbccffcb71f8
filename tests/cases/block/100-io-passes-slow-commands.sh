#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 1
#
# Slow DISCARDs, more of them than the target takes at once, hold up no READ and no WRITE of
# their hardware queue. A FUA write waits for at most the one DISCARD that the store is
# executing. A DISCARD that fails leaves its range to the next flush. The completion of its
# answer does not mark the range dirty, because the range may be most of the disk.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

require addpart blkdiscard fio
# A discarding task holds a lock of its block device, so other I/O uses another partition.
SLOW=${DEV}p1 REST=${DEV}p2
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
RULES=/run/rules TRACING=/sys/kernel/tracing COUNT=64

# rules [LINE]: replaces the faults of the file
rules() {
	echo "${1:-}" >$RULES.new
	mv $RULES.new $RULES
}

# How many requests that change the disk are under way.
in_flight() {
	local writes

	read -r _ writes </sys/block/rdmablk0/inflight
	echo "$writes"
}

in_flight_are() {
	(($(in_flight) >= $1))
}

# discard_begin: $COUNT requests of 64 KiB each, all at once
discard_begin() {
	blkdiscard -f -o 0 -l $((COUNT * 65536)) "$SLOW" &
	DISCARD=$!
	wait_until "$PATIENCE" in_flight_are 5 || fail "no discards under way"
}

discard_end() {
	rules
	wait "$DISCARD" || fail "blkdiscard has failed"
}

over() {
	! kill -0 "$1" 2>/dev/null
}

# soon CMD [ARGS]: CMD ends in time while slow commands are under way. If it does not, the
# faults are removed, because nothing else would let CMD end.
soon() {
	local pid

	"$@" status=none &
	pid=$!
	if ! wait_until 40 over "$pid"; then
		rules
		fail "behind slow commands: $*"
	fi
	wait "$pid"
}

random_file 64k /tmp/pattern
truncate -s 256M /dev/shm/disk0
rules
load_module
serve_file /dev/shm/disk0,cache=full,fault=$RULES
connect
addpart $DEV 1 0 $((128 << 11))
addpart $DEV 2 $((128 << 11)) $((128 << 11))
echo 65536 >$QUEUE/discard_max_bytes
# The block layer's throttling of writeback lets a quarter of the discards in.
echo 0 >$QUEUE/wbt_lat_usec

rules 'discard hang'
discard_begin
soon dd if=/tmp/pattern of="$REST" bs=4k count=16 seek=4096 oflag=direct
soon dd if="$REST" of=/tmp/back bs=4k count=16 skip=4096 iflag=direct
cmp /tmp/pattern /tmp/back
kill -0 "$DISCARD" || fail "the discards have not hung"
discard_end

# A second for two of them: a minute later all would be done.
rules 'discard delay 500'
discard_begin
soon dd if=/tmp/pattern of="$REST" bs=4k count=1 seek=8192 oflag=direct,dsync
(($(in_flight) > COUNT / 2)) || fail "it waited for all but $(in_flight) discards"
discard_end

# Many FUA writes beside them. Most of these find no tag.
rules 'discard delay 100'
discard_begin
run_fio --name=fua --filename="$REST" --direct=1 --sync=dsync --ioengine=libaio --iodepth=32 \
	--rw=randwrite --bs=4k --size=4M --verify=crc32c --do_verify=1
discard_end
cmp -n 4194304 -i 0:134217728 "$REST" /dev/shm/disk0 ||
	fail "the file lacks what FUA writes have promised"

sync "$REST"
expect false "$(status unflushed)" "unflushed"
echo $((128 << 20)) >$QUEUE/discard_max_bytes
echo rdmablk_dirty_set >$TRACING/set_ftrace_filter
echo function >$TRACING/current_tracer
rules 'discard error EIO count 1'
run_expect 1 'Input/output error' blkdiscard -f -o 0 -l 128M "$SLOW"
cat $TRACING/trace >/tmp/trace
echo nop >$TRACING/current_tracer
grep -q 'rdmablk_dirty_set <-' /tmp/trace || fail "nothing was marked: $(</tmp/trace)"
! grep -E '\] ..[shH]' /tmp/trace || fail "marked in a softirq"
expect true "$(status unflushed)" "unflushed after a failed discard"
sync "$SLOW"
expect false "$(status unflushed)" "unflushed after a flush"
delpart $DEV 1
delpart $DEV 2
cmp -n $((256 << 20)) $DEV /dev/shm/disk0 || fail "the file is not what the disk is"
expect 1 "$(status errors)" "the number of failed requests"
disconnect
stop_target
unload_module
