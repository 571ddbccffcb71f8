#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon of a file is stopped (SIGSTOP) before a flush of the disk, or in the middle of it.
# Its adapter goes on without it, so reads and writes of a cached file go on, too. The flush
# waits, also when the connection is given up meanwhile, and the medium has none of the new
# data. When the daemon goes on, the flush succeeds, and the medium has all of it. The same
# holds when the daemon is killed and the written data outlives it. When that data is lost with
# the daemon, the flush fails, and the disk says why. A daemon that answers a flush too early is
# found out.
#
# timeout: 600
# in-turn: yes

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
DATA=/dev/shm/data BEFORE=/dev/shm/before RULES=/tmp/rules
KEPT=1		# an arena outlives the daemon
BYTES=1048576	# written and flushed; the disk has twice as many

# begin STORE [OPTION...]: connects a disk with a new store, which has only zeroes
begin() {
	echo "$*"
	rm -f $RULES
	store_make "$1" $((2 * BYTES))
	[[ $KEPT ]] || STORE_EXPORT=${STORE_EXPORT%,arena=*}
	STORE_EXPORT+=,fault=$RULES
	head -c $BYTES /dev/zero >$DATA
	store_serve "${@:2}"
	connect --dev-loss-tmo off --keep-alive-tmo 60 --reconnect-delay 1
}

end() {
	disconnect
	stop_target
	store_remove
}

# write_some: writes data that the medium does not have yet
write_some() {
	mv $DATA $BEFORE
	random_file $BYTES $DATA
	dd if=$DATA of=$DEV bs=64k oflag=direct status=none
	expect true "$(status unflushed)" "unflushed"
}

medium_has() {
	store_medium /dev/shm/medium
	cmp -s -n $BYTES /dev/shm/medium "$1"
}

flush_is_over() {
	! kill -0 "$FLUSH" 2>/dev/null
}

flush_sleeps() {
	flush_is_over || grep -qs "^State:.*disk sleep" "/proc/$FLUSH/status"
}

flush_start() {
	sync $DEV &
	FLUSH=$!
	wait_until "$PATIENCE" flush_sleeps || fail "no flush has begun"
}

# A thread of the daemon sleeps while a rule holds its fdatasync.
sync_hangs() {
	grep -qs nanosleep "/proc/$TARGET_PID/task/"*/wchan
}

# one_sided: reads and writes that need no daemon
one_sided() {
	timeout "$PATIENCE" dd if=$DATA of=$DEV bs=64k count=4 seek=$((BYTES / 65536)) oflag=direct \
		status=none
	timeout "$PATIENCE" dd if=$DEV bs=64k count=4 skip=$((BYTES / 65536)) iflag=direct status=none |
		cmp -n 262144 - $DATA || fail "a write was lost"
}

# flush_waits SECONDS: the flush does not end in that time, and the medium does not change
flush_waits() {
	local deadline

	deadline=$(deadline_in "$1")
	[[ $STORE != full ]] || ! state_is live || one_sided
	until deadline_passed "$deadline"; do
		! flush_is_over || fail "the flush has ended"
		pause 0.2
	done
	medium_has $BEFORE || fail "the medium has what nobody has flushed"
}

flush_succeeds() {
	local status=0

	wait_until "$PATIENCE" flush_is_over || fail "the flush hangs"
	wait "$FLUSH" || status=$?
	((status == 0)) || fail "the flush has failed"
	medium_has $DATA || fail "the medium lacks what was flushed"
}

# flush_goes_on: the stopped daemon continues, and the flush succeeds over the same connection
flush_goes_on() {
	kill -CONT "$TARGET_PID"
	flush_succeeds
	expect 0 "$(attribute reconnects)" "the number of reconnects"
}

# The daemon is stopped, so the flush only reaches its adapter.
stopped_before() {
	write_some
	kill -STOP "$TARGET_PID"
	flush_start
	flush_waits 3
	flush_goes_on
}

# The daemon is stopped while its fdatasync is under way.
stopped_within() {
	write_some
	echo 'sync hang' >$RULES
	flush_start
	wait_until "$PATIENCE" sync_hangs || fail "no fdatasync is under way"
	kill -STOP "$TARGET_PID"
	flush_waits 1
	rm $RULES
	flush_waits 2
	flush_goes_on
}

stopped_and_killed() {
	write_some
	kill -STOP "$TARGET_PID"
	flush_start
	flush_waits 1
	stop_target KILL
	store_serve
	flush_succeeds
	expect_back 1
}

stopped_and_given_up() {
	"$RDMABLK" set rdmablk0 --keep-alive-tmo 2
	"$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
	backs=$(attribute reconnects)
	write_some
	kill -STOP "$TARGET_PID"
	flush_start
	wait_state recovering
	flush_waits 2
	kill -CONT "$TARGET_PID"
	expect_back $((backs + 1))
	flush_succeeds
	expect 0 "$(status errors)" "the number of failed requests"
}

# The written data is only in the daemon's memory, and is lost with the daemon.
stopped_and_lost() {
	local status=0

	write_some
	kill -STOP "$TARGET_PID"
	flush_start
	flush_waits 1
	stop_target KILL
	store_serve
	expect_failed 'store has lost its contents'
	wait_until "$PATIENCE" flush_is_over || fail "the flush hangs"
	wait "$FLUSH" || status=$?
	((status != 0)) || fail "a flush of what is lost has succeeded"
	medium_has $BEFORE || fail "the medium has something else"
}

# found_out STORE FAULT: the flush of a faulty daemon ends at once, and the medium lacks the
# data
found_out() {
	begin "$1" --fault "$2"
	write_some
	echo 'sync hang' >$RULES
	flush_start
	wait_until "$PATIENCE" flush_is_over || fail "$2 changes nothing"
	medium_has $BEFORE || fail "the medium has something else"
	rm $RULES
	end
}

load_module
begin none
stopped_before
stopped_within
stopped_and_killed
stopped_and_given_up
end
begin full
[[ ! $LONG ]] || stopped_before
stopped_within
stopped_and_killed
[[ ! $LONG ]] || stopped_and_given_up
end

KEPT=''
begin full
stopped_and_lost
"$RDMABLK" disconnect --force rdmablk0
stop_target
store_remove

found_out full early-flush
found_out none lost-flush
unload_module
