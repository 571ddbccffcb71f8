# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of recovery: connections that are lost and come back.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

# start_verify [OPTION...]: writes and reads blocks that carry their checksum and
# position, in the background, until stop_verify; no request may fail
start_verify() {
	local before

	before=$(completed 0)
	fio --name=verify --filename=$DEV --direct=1 --thread --ioengine=libaio \
		--iodepth=16 --nice=10 --rw=randwrite --bs=4k --size=8M \
		--io_size=64G --verify=crc32c --verify_backlog=256 \
		--verify_fatal=1 --serialize_overlap=1 "$@" >/tmp/verify 2>&1 &
	VERIFY=$!
	cleanup_add verify_kill
	wait_until "$PATIENCE" completed_more 0 $((before + 200)) ||
		fail "no load: $(</tmp/verify)"
}
VERIFY=''

verify_is_over() {
	! kill -0 "$VERIFY" 2>/dev/null
}

verify_kill() {
	verify_is_over || kill -KILL "$VERIFY"
}

# inflight: how many requests have not ended
inflight() {
	local reads writes

	read -r reads writes </sys/block/rdmablk0/inflight
	echo $((reads + writes))
}

verify_try_stop() {
	kill -STOP "$VERIFY"
	(($(inflight) > 0)) && return
	kill -CONT "$VERIFY"
	return 1
}

# verify_stop_in_flight: stops the polling load, until SIGCONT, with requests under way
verify_stop_in_flight() {
	wait_until "$PATIENCE" verify_try_stop || fail "no request is under way"
}

# expect_progress: the load still runs, and completes requests
expect_progress() {
	local before

	before=$(completed 0)
	wait_until "$PATIENCE" completed_more 0 $((before + 100)) ||
		fail "no I/O after the outage: $(</tmp/verify)"
	! verify_is_over || fail "the load has ended: $(</tmp/verify)"
}

stop_verify() {
	! verify_is_over || fail "the load has ended: $(</tmp/verify)"
	kill -INT "$VERIFY"
	wait_until "$PATIENCE" verify_is_over || fail "the load hangs"
	wait "$VERIFY" || :
	run_expect 1 '' grep -iE 'severed|error=|verify: bad|verify failed' /tmp/verify
	expect 0 "$(status errors)" "the number of failed requests"
}

# end_verified: the load has found no mistake, target and disk have the same data, and both end
# in order
end_verified() {
	stop_verify
	device_same_as_target
	disconnect
	unload_module
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
}

# reconnected N: the disk has come back N times
reconnected() {
	(($(attribute reconnects) >= $1))
}

# expect_back N: waits until the disk is back for the Nth time
expect_back() {
	wait_until "$PATIENCE" reconnected "$1" ||
		fail "not back: $(attribute state), $(attribute last_error)"
	wait_state live
}

tried() {
	(($(attribute attempts) >= $1))
}

# expect_closed_and_back DEVICE N: the daemon releases the device. When it is there again, as
# rv1, the disk comes back by itself, for the Nth time
expect_closed_and_back() {
	expect_log "device $1: closed"
	link_add rv1 v1 "$TARGET_ADDR"
	expect_log "listening on $TARGET_ADDR:20420, device rv1"
	expect_back "$2"
	expect_progress
}

# monitor_start: records the events of all disks from now on
monitor_start() {
	: >/tmp/events
	"$RDMABLK" monitor >>/tmp/events 2>/tmp/events.err &
	MONITOR=$!
	cleanup_add monitor_end
	wait_until "$PATIENCE" monitor_listens ||
		fail "the monitor does not listen: $(</tmp/events.err)"
}

# The monitor may have ended already, with the module.
monitor_end() {
	kill "$MONITOR" 2>/dev/null || :
}

# Generic netlink is family 16; the column is a mask of groups.
monitor_listens() {
	awk '$2 == 16 && $4 != "00000000" { found = 1 } END { exit !found }' /proc/net/netlink
}

# events: prints the events since events_forget or the beginning, without their times
events() {
	cut -d ' ' -f 2- /tmp/events
}

events_forget() {
	: >/tmp/events
}

events_went() {
	local line

	while (($#)) && read -r line; do
		if [[ $line =~ ^$1$ ]]; then
			shift
		fi
	done < <(events)
	(($# == 0))
}

# expect_events REGEX...: these events come in this order, with or without others between them
expect_events() {
	wait_until "$PATIENCE" events_went "$@" ||
		fail "the events are: $(events), not: $*"
}

# again SIZE[,WORD...] [OPTION...]: empties the log and starts the daemon
again() {
	: >"$TARGET_LOG"
	serve "$@"
}

# read_one: reads one block
read_one() {
	timeout "$PATIENCE" dd if=$DEV of=/dev/null bs=4k count=1 iflag=direct status=none
}

# slow_joins OPTION...: netem with these options for requests of data queues that reach the
# target; see recovery/011
slow_joins() {
	local kind

	modprobe ifb numifbs=1
	ip link set ifb0 up
	tc qdisc add dev ifb0 root netem limit 1000 "$@"
	tc qdisc add dev v1 ingress
	# Offsets of u32 include the IP header of 20 bytes.
	for kind in 1 2; do
		tc filter add dev v1 parent ffff: protocol ip u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff \
			match u32 1 0x00ffffff at 32 match u16 16 0xffff at 64 \
			match u8 $kind 0xff at 256 \
			action mirred egress redirect dev ifb0
	done
}
