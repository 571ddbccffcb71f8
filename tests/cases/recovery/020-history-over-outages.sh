#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The history of a disk whose daemon is killed, stopped and shut down, and whose connection the
# administrator renews, under load from several writers: the contents of the disk and of the
# target's memory are legal. First each outage is waited out, and no request fails. Then
# fast_io_fail_tmo makes writes under way fail; those that have not landed by then never land.
#
# timeout: 300
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/history.sh
source "$RDMABLK_TOP/tests/lib/history.sh"

# outage BEGIN END: a round with an outage in which requests fail
outage() {
	local back

	back=$(attribute reconnects)
	history_start --errors 0 --max 256K
	"$1"
	history_fails
	"$2"
	expect_back $((back + 1))
	history_progress
	history_stop
	history_check --settle "$ARENA"
	history_check $DEV
}

kill_daemon() {
	stop_target KILL
}

start_daemon() {
	again 8M
}

stop_daemon() {
	kill -STOP "$TARGET_PID"
}

continue_daemon() {
	kill -CONT "$TARGET_PID"
}

load_module
serve 8M
connect --keep-alive-tmo 2
history_start --max 256K --flush 100
stop_target KILL
again 8M
expect_back 1
history_progress
kill -STOP "$TARGET_PID"
wait_state recovering
kill -CONT "$TARGET_PID"
expect_back 2
history_progress
"$RDMABLK" reconnect rdmablk0
expect_back 3
history_progress
stop_target TERM
again 8M
expect_back 4
history_progress
history_stop
grep -q ' writes, 0 failed; .* reads, 0 failed; .* flushes, 0 failed' /tmp/history.out ||
	fail "requests have failed: $(</tmp/history.out)"
(($(attribute held) > 0)) || fail "no request was ever in flight when it mattered"
history_check "$ARENA" $DEV
disconnect

# The contents that a round's check found bind the next round.
connect --keep-alive-tmo 2 --fast-io-fail-tmo 1 --reconnect-delay 1
outage kill_daemon start_daemon
outage stop_daemon continue_daemon
history_run --ops 100 --sweep
history_check "$ARENA" $DEV
disconnect
unload_module
stop_target
