# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases that write a disk with tests/history/writer, and let tests/history/check decide
# whether a disk may behave as it has. Source it after fault/lib.sh.
#
#	history_start [OPTION...]	a round on $DEV in the background
#	...				whatever should not harm
#	history_stop			the end of the round
#	history_check $ARENA $DEV	the contents of each must be legal
#
# A log goes on from round to round: $HISTORY_LOG, of the disk $DEV. It is kept with
# the logs of a failed test.

HISTORY=$RDMABLK_TOP/build/history
HISTORY_LOG=${HISTORY_LOG:-/tmp/history}
HISTORY_PID=''

[[ -x $HISTORY/writer && -x $HISTORY/check ]] ||
	fail "no $HISTORY/writer, run make -C tests/history"
cleanup_add cp "$HISTORY_LOG" "/run/vm/history.$ROLE"

history_lives() {
	[[ -n $HISTORY_PID ]] && kill -0 "$HISTORY_PID" 2>/dev/null
}

history_over() {
	! history_lives
}

# history_records: prints the number of records in the log so far
history_records() {
	echo $(($(stat -c %s "$HISTORY_LOG" 2>/dev/null || echo 0) / 32))
}

history_more() {
	history_over || (($(history_records) >= $1))
}

# history_progress [N]: waits until N more records are in the log
history_progress() {
	wait_until "$PATIENCE" history_more $(($(history_records) + ${1:-100})) ||
		fail "no progress: $(cat /tmp/history.out)"
	history_lives || fail "the writer has ended: $(cat /tmp/history.out)"
}

history_failed() {
	history_over || grep -q '^request .* has failed' /tmp/history.out
}

# history_fails: waits for the first error of the round
history_fails() {
	wait_until "$PATIENCE" history_failed || fail "nothing fails"
	history_lives || fail "the writer has ended: $(cat /tmp/history.out)"
}

# history_start [OPTION...]: starts a round; returns when the writer writes
history_start() {
	"$HISTORY/writer" "$@" "$HISTORY_LOG" "$DEV" >/tmp/history.out 2>&1 &
	HISTORY_PID=$!
	cleanup_add history_kill
	history_progress
}

history_kill() {
	! history_lives || kill -KILL "$HISTORY_PID"
}

# history_wait STATUS: the writer ends by itself
history_wait() {
	local status=0

	wait_until "$PATIENCE" history_over || fail "the writer hangs"
	wait "$HISTORY_PID" || status=$?
	((status == $1)) || fail "the writer's status is $status: $(cat /tmp/history.out)"
	HISTORY_PID=''
}

# history_stop [STATUS]: ends the writer, which first waits for its I/O
history_stop() {
	kill -TERM "$HISTORY_PID" || fail "the writer is gone: $(cat /tmp/history.out)"
	history_wait "${1:-0}"
}

# history_run [STATUS] OPTION...: runs a round that ends by itself
history_run() {
	local status=0

	if [[ $1 =~ ^[0-9]+$ ]]; then
		status=$1
		shift
	fi
	run_expect "$status" '^round ' "$HISTORY/writer" "$@" "$HISTORY_LOG" "$DEV"
}

# history_check [OPTION...] DATA...: expects that the contents of each are legal
history_check() {
	local options=()

	while [[ $1 == --* ]]; do
		options+=("$1")
		shift
	done
	for data in "$@"; do
		run_expect 0 '^0 of [0-9]+ sectors are bad' "$HISTORY/check" \
			"${options[@]}" "$HISTORY_LOG" "$data"
	done
}

# history_finds REGEX DATA...: expects that they are not legal, for a reason that matches
history_finds() {
	local regex=$1 data

	shift
	for data in "$@"; do
		run_expect 1 "$regex" "$HISTORY/check" "$HISTORY_LOG" "$data"
	done
}
