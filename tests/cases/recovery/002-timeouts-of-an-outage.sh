#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fast_io_fail_tmo and dev_loss_tmo, given at the connect and changed during an outage. I/O is
# held, then fails while the disk goes on reconnecting, and flows again when a login succeeds.
# Or reconnecting ends, and the disk stays in the state failed until the administrator
# reconnects or disconnects it. The trace proves that neither timeout acts too early, also when
# another target answers. How much later it acts depends on the host.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

set_options() {
	"$RDMABLK" set rdmablk0 "$@"
}

failing() {
	[[ $(attribute io_failing) == 1 ]]
}

# refused: whether the other target has refused a login, and the disk has refused its next GRANT
refused() {
	grep -q '^other: closed with 75$' /tmp/bad_target &&
		[[ $(attribute last_error) == 'export is not the one it was' ]]
}

# lose_at_mark: puts a mark into the trace, and kills the daemon
lose_at_mark() {
	echo killed >$TRACING/trace_marker
	stop_target KILL
}

# Requests that fail before the driver posts them are counted and traced like others.
expect_refused_counted() {
	local before

	before=$(status errors)
	trace_start
	expect_no_io
	trace_stop
	expect $((before + 2)) "$(status errors)" "failed requests"
	expect 2 "$(grep -c 'rdmablk_end: .* error=-67$' /tmp/trace)" "their ends in the trace"
	run_expect 1 '' grep 'rdmablk_queue:' /tmp/trace
}

# fast_make: makes FAST, a multipath device whose only path is the disk. Its requests are
# FAILFAST
fast_make() {
	local major minor

	modprobe -a dm-multipath dm-round-robin
	dmsetup create fast --table "0 $(blockdev --getsz "$DEV") multipath 0 0 1 1 \
		round-robin 0 1 1 $DEV 1"
	IFS=: read -r major minor < <(dmsetup info -c --noheadings -o major,minor fast)
	rm -f $FAST
	mknod $FAST b "$major" "$minor"
}
FAST=/dev/fast FAST_LOAD=''

# fast_again: makes multipath use its path again
fast_again() {
	dmsetup message fast 0 "reinstate_path $(cat /sys/block/rdmablk0/dev)"
}

fast_start() {
	fio --name=fast --filename=$FAST --direct=1 --thread --ioengine=libaio \
		--iodepth=8 --nice=10 --rw=randrw --bs=4k --time_based \
		--runtime=600 >/tmp/fast 2>&1 &
	FAST_LOAD=$!
	cleanup_add fast_kill
}

fast_is_over() {
	! kill -0 "$FAST_LOAD" 2>/dev/null
}

fast_kill() {
	fast_is_over || kill -KILL "$FAST_LOAD"
}

# fast_expect_failed: requests under way through multipath fail while all others wait, and new
# requests through multipath fail, too
fast_expect_failed() {
	local direction

	wait_until "$PATIENCE" fast_is_over ||
		fail "requests that are to fail fast wait: $(</tmp/fast)"
	for direction in "if=$FAST iflag=direct of=/dev/null" \
		"if=/dev/zero of=$FAST oflag=direct"; do
		fast_again
		# shellcheck disable=SC2086
		run_expect 1 'Link has been severed' timeout "$PATIENCE" \
			dd $direction bs=4k count=1
	done
	expect 0 "$(attribute io_failing)" "io_failing"
	expect recovering "$(attribute state)" "the state"
	! load_is_over 0 || fail "the load has noticed: $(</tmp/load.0)"
}

# fast_end: on a live disk the requests succeed; removes multipath
fast_end() {
	fast_again
	dd if=$FAST of=/dev/null iflag=direct bs=4k count=1 status=none
	dmsetup remove fast
}

load_module
serve 16M
run_expect 2 'fast-io-fail-tmo' "$RDMABLK" connect --fast-io-fail-tmo 5 \
	--dev-loss-tmo 5 "$TARGET_ADDR/disk0"
connect --dev-loss-tmo off --reconnect-delay 1 --keep-alive-tmo 4
expect -1 "$(attribute fast_io_fail_tmo)" "fast_io_fail_tmo"
expect -1 "$(attribute dev_loss_tmo)" "dev_loss_tmo"
# The debug kernel has no multipath.
if [[ $(uname -r) != *-debug ]]; then
	fast_make
	fast_start
fi
start_load
stop_target KILL
wait_state recovering

# FAILFAST requests do not wait, except writes that were posted, because these may still land.
[[ ! $FAST_LOAD ]] || fast_expect_failed

# With both timeouts off I/O is held without limit.
wait_until "$PATIENCE" tried 5 || fail "only $(attribute attempts) tries"
expect 0 "$(attribute io_failing)" "io_failing"
! load_is_over 0 || fail "the load has noticed: $(</tmp/load.0)"

# The administrator sets fast_io_fail_tmo: I/O fails, and the disk goes on reconnecting.
set_options --fast-io-fail-tmo 0
expect_load_failed
wait_until "$PATIENCE" failing || fail "I/O does not fail"
expect recovering "$(attribute state)" "the state"
expect_refused_counted
again 16M
expect_back 1
[[ ! $FAST_LOAD ]] || fast_end
expect 0 "$(attribute io_failing)" "io_failing"
fio_verify 8 --numjobs=1 --size=8M --io_size=8M
device_same_as_target

# dev_loss_tmo ends reconnecting; the disk stays.
set_options --fast-io-fail-tmo off --dev-loss-tmo 600
start_load
stop_target KILL
wait_state recovering
set_options --dev-loss-tmo 1
expect_load_failed
expect_failed "$LOST"
expect_no_io
[[ -b $DEV ]] || fail "the disk has gone"
again 16M
expect failed "$(attribute state)" "the state"
"$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
expect live "$(attribute state)" "the state"
fio_verify 8 --numjobs=1 --size=8M --io_size=8M

# A reconnect fails, and the disk fails again.
stop_target KILL
expect_failed "$LOST"
run_expect 1 'nobody listens|failed' "$RDMABLK" reconnect --wait "$PATIENCE" rdmablk0
expect_failed "$LOST"
disconnect

# First fast_io_fail_tmo passes, then dev_loss_tmo. The target, if it ran, would end the session
# after 12 s; until then no posted write fails. Meanwhile another target answers at the address:
# it refuses one login, and grants the next. That does not shorten the wait of the writes.
again 16M
connect --fast-io-fail-tmo 6 --dev-loss-tmo 600 --keep-alive-tmo 6 --reconnect-delay 1
echo 1 >$TRACING/events/block/block_rq_error/enable
trace_start
# Soft-RoCE acknowledges a small WRITE at once, so hardly any small WRITE is in flight at the
# kill. With WRITEs of a mebibyte there always is one.
start_load 0 --name=writes --filename="$DEV" --direct=1 --thread --ioengine=libaio \
	--iodepth=4 --nice=10 --rw=randwrite --bs=1m --norandommap --time_based --runtime=600
lose_at_mark
BAD_PORT=20420 start_bad_target other
wait_until "$PATIENCE" refused || fail "the last error is '$(attribute last_error)'"
wait_until "$PATIENCE" failing || fail "I/O does not fail"
expect recovering "$(attribute state)" "the state"
# A change of a timeout makes the module check its held requests again.
set_options --dev-loss-tmo 15
expect_load_failed
expect_failed "$LOST"
echo 0 >$TRACING/events/block/block_rq_error/enable
trace_stop
python3 "$CASES/recovery/patience.py" /tmp/trace 6 15 "$(attribute session_tmo_ms)" ||
	fail "the trace"
disconnect
stop_bad_target

# In an outage that ends before fast_io_fail_tmo no request fails.
again 16M
connect --fast-io-fail-tmo 100 --dev-loss-tmo 600 --reconnect-delay 1
start_load
stop_target KILL
wait_state recovering
wait_until "$PATIENCE" deadline_passed "$(deadline_in 3)" || fail "the clock stands"
expect 0 "$(attribute io_failing)" "io_failing"
again 16M
expect_back 1
stop_load
still_live
disconnect
unload_module
