# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of target: several disks at once, and initiators in userspace.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

# disk N WHERE [OPTION...]: connects ADDRESS/EXPORT as /dev/rdmablkN, which fails as soon as its
# connection is lost
disk() {
	expect "/dev/rdmablk$1" "$("$RDMABLK" connect --dev-loss-tmo 0 "${@:3}" "$2")" \
		"the disk"
}

# refused TEXT WHERE [OPTION...]
refused() {
	run_expect failed "^rdmablk: connect .*: $1" "$RDMABLK" connect "${@:3}" "$2"
}

disconnect_all() {
	"$RDMABLK" disconnect --all
}

# memory KEY: prints a value of the daemon's memory in KiB
memory() {
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$TARGET_PID/status"
}

# sessions: prints how many sessions the daemon has
sessions() {
	"$RDMABLK" target sessions --json | jq '.sessions | length'
}

no_sessions() {
	(($(sessions) == 0))
}

# probe WANTED [OPTION...] EXPORT SCENARIO: runs target_probe, also with PROBE_OPTIONS; the
# daemon must give the reason WANTED, 0 for success
probe() {
	local want=$1 args=("${PROBE_OPTIONS[@]}" "${@:2}")

	((want == 0)) || args=(--expect "$want" "${args[@]}")
	program target_probe
	run_expect 0 '' timeout "$PATIENCE" "$PROGRAM" "${args[@]:0:${#args[@]}-2}" "$TARGET_ADDR" \
		"${args[@]: -2}"
}
PROBE_OPTIONS=()

# hold NAME OPTION... ADDRESS EXPORT: starts a session that lasts until holder_kill NAME, or
# until the daemon ends it; returns when it is live
hold() {
	program target_probe
	"$PROGRAM" --hold 600000 --keep-alive 20000 "${@:2}" hold >"/tmp/hold.$1" &
	HOLDER[$1]=$!
	cleanup_add holder_kill "$1"
	wait_until "$PATIENCE" grep -q '^live' "/tmp/hold.$1" ||
		fail "no session $1: $(cat "/tmp/hold.$1")"
}
declare -A HOLDER=()

holder_is_gone() {
	! kill -0 "${HOLDER[$1]}" 2>/dev/null
}

holder_kill() {
	holder_is_gone "$1" || kill -KILL "${HOLDER[$1]}"
}

# log_count N REGEX: whether the daemon's log has at least N such lines
log_count() {
	(($(grep -cE -- "$2" "$TARGET_LOG") >= $1))
}

# expect_logs N REGEX
expect_logs() {
	wait_until "$PATIENCE" log_count "$1" "$2" || {
		cat "$TARGET_LOG" >&2
		fail "the daemon's log has no $1 lines '$2'"
	}
}
