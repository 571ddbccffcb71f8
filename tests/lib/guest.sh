# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the case scripts, which run in a guest:
#
#	source "$RDMABLK_TOP/tests/lib/guest.sh"
#
# A command that fails ends the test, as does fail(). From the environment:
# ROLE (initiator or target), NET, KERNEL_SERIES, SLOWNESS (of the kernel), QUICK
# (empty but for tests/run -q), LONG (empty but for tests/run -L), MODULE, INITIATOR_ADDR, TARGET_ADDR,
# INITIATOR_ADDR6 and TARGET_ADDR6 (empty without IPv6).
# /run/vm is shared with the host and the other guest; what is written to it is
# kept with the logs.

set -eEuo pipefail
trap 'echo "$0:$LINENO: status $?: $BASH_COMMAND" >&2' ERR

# shellcheck source=tests/lib/net.sh
source "$RDMABLK_TOP/tests/lib/net.sh"

RDMABLKD=${RDMABLKD:-$RDMABLK_TOP/target/rdmablkd}
RDMABLK=${RDMABLK:-$RDMABLK_TOP/tools/rdmablk}
TARGET_PID='' TARGET_LOG=/run/rdmablkd.log
exec {guest_never}<> <(:)

# --- ending a test ------------------------------------------------------------

fail() {
	local i

	trap - ERR
	echo "FAIL: $*" >&2
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		echo "  at ${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}" >&2
	done
	exit 1
}

skip() {
	echo "skip: $*"
	exit 77
}

# require CMD...: skips the test on a machine without them
require() {
	local command

	for command in "$@"; do
		command -v "$command" >/dev/null || skip "no $command"
	done
}

guest_cleanups=()

# cleanup_add CMD [ARGS]: runs at the end of the test in any case, the last added first
cleanup_add() {
	guest_cleanups+=("$(printf '%q ' "$@")")
}

guest_clean_up() {
	local status=$? i

	trap - ERR EXIT
	set +e
	for ((i = ${#guest_cleanups[@]} - 1; i >= 0; i--)); do
		eval "${guest_cleanups[i]}"
	done
	exit "$status"
}
trap guest_clean_up EXIT
trap 'exit 143' TERM INT

# answer_keep SCHEMA FILE: keeps a JSON answer. The host compares it with its schema after the
# test, because Python takes seconds to start in an emulated guest
answer_keep() {
	mkdir -p /run/vm/answers
	cp "$2" "$(mktemp "/run/vm/answers/$1.XXXXXX")"
}

# --- waiting --------------------------------------------------------------------

# The longest wait for anything that must happen, in seconds: far more than it takes, also on a
# slow emulated processor.
PATIENCE=120

# pause SECONDS: waits between two checks of a condition, never instead of a check
pause() {
	read -r -t "$1" -u "$guest_never" || :
}

# deadline_in SECONDS; deadline_passed DEADLINE: deadlines on the guest's own clock
deadline_in() {
	local now

	read -r now _ </proc/uptime
	echo $((${now/./}0 + $1 * 1000))
}

deadline_passed() {
	local now

	read -r now _ </proc/uptime
	((${now/./}0 >= $1))
}

# wait_until SECONDS CMD [ARGS]: waits until the command succeeds; false if it does not in
# time. The time is longer on a slower kernel. Most commands start programs. A start takes an
# emulated processor some 30 ms, so the pause grows after 20 tries.
wait_until() {
	local deadline tries=0

	deadline=$(deadline_in $(($1 * SLOWNESS)))
	shift
	until "$@"; do
		if deadline_passed "$deadline"; then
			# A guest on a busy host may have stood still since the last look.
			"$@"
			return
		fi
		if ((++tries <= 20)); then
			pause 0.1
		else
			pause 0.3
		fi
	done
}

# timeout SECONDS CMD [ARGS]: timeout of coreutils, with more time on a slower kernel
timeout() {
	command timeout $(($1 * SLOWNESS)) "${@:2}"
}

# --- checking -------------------------------------------------------------------

# lines_have REGEX TEXT: grep for short texts, without a program
lines_have() {
	local line

	while IFS= read -r line; do
		[[ ! $line =~ $1 ]] || return 0
	done <<<"$2"
	return 1
}

# run_expect STATUS REGEX CMD [ARGS]: runs the command, and expects its status and output,
# which stays in $OUTPUT. "failed" stands for each status that the tool has for a failure.
run_expect() {
	local want=$1 regex=$2 status=0

	shift 2
	OUTPUT=$("$@" 2>&1) || status=$?
	if [[ $want == failed && ($status == [1345678] || $status == 10) ]]; then
		want=$status
	fi
	if [[ $status != "$want" ]]; then
		echo "$OUTPUT" >&2
		fail "status $status, not $want: $*"
	fi
	if ! lines_have "$regex" "$OUTPUT"; then
		echo "$OUTPUT" >&2
		fail "the output does not match '$regex': $*"
	fi
}

dmesg_has() {
	# grep -q would break dmesg's pipe, and pipefail would report that as an error.
	dmesg | grep -E -- "$1" >/dev/null
}

# Counts of objects that a test must leave as it found them.
leak_counts() {
	rdma resource show |
		grep -oE '(^[0-9]+: [^:]+)|((pd|cq|qp|cm_id|mr) [0-9]+)'
}

leak_snapshot() {
	guest_leak_before=$(leak_counts)
}

leak_same() {
	[[ $(leak_counts) == "$guest_leak_before" ]]
}

# leak_check [SECONDS]: waits until the counts are as before, because teardown may take a while
leak_check() {
	wait_until "${1:-$PATIENCE}" leak_same && return
	diff <(echo "$guest_leak_before") <(leak_counts) >&2 || :
	rdma resource show qp >&2 || :
	rdma resource show cm_id >&2 || :
	fail "RDMA objects have leaked"
}

# --- the daemon and the module ----------------------------------------------------

target_lives() {
	[[ -n $TARGET_PID ]] && kill -0 "$TARGET_PID" 2>/dev/null
}

# Looks in the log of this start only, because the log is emptied first.
target_said_ready() {
	local log=''

	IFS= read -r -d '' log <"$TARGET_LOG" || :
	[[ $'\n'$log == *$'\nrdmablkd: ready'* ]]
}

target_is_ready() {
	target_said_ready || ! target_lives
}

# start_target [ARGS]: returns when the daemon serves
start_target() {
	: >"$TARGET_LOG"
	"$RDMABLKD" "$@" >>"$TARGET_LOG" 2>&1 &
	TARGET_PID=$!
	wait_until "${TARGET_READY_TIMEOUT:-60}" target_is_ready || :
	if ! target_lives || ! target_said_ready; then
		cat "$TARGET_LOG" >&2
		fail "the daemon did not get ready: $RDMABLKD $*"
	fi
}

# threads_show PID: prints the kernel stack of each thread of a process
threads_show() {
	grep -H '' "/proc/$1/task/"*/{comm,wchan,stack} || :
	grep -H '^State' "/proc/$1/task/"*/status || :
}

target_is_gone() {
	! target_lives
}

# stop_target [SIGNAL]: ends the daemon, by TERM by default; returns when it is gone. Sets
# TARGET_STATUS. Only for signals that end a process; STOP and CONT are sent by kill
stop_target() {
	TARGET_STATUS=0
	target_lives || fail "the daemon does not run"
	kill -"${1:-TERM}" "$TARGET_PID"
	# The shell's wait has no deadline of its own.
	if ! wait_until 60 target_is_gone; then
		cat "$TARGET_LOG" >&2
		threads_show "$TARGET_PID" >&2
		fail "the daemon did not end on SIG${1:-TERM}"
	fi
	# shellcheck disable=SC2034 # for the caller
	wait "$TARGET_PID" || TARGET_STATUS=$?
	TARGET_PID=''
}

# load_module [PARAMETERS]
load_module() {
	[[ -f $MODULE ]] || fail "no $MODULE, run tests/vm/build $KERNEL_SERIES"
	modprobe -a rdma_cm ib_core
	insmod "$MODULE" "$@"
}

unload_module() {
	rmmod rdmablk
}

# Device nodes and links as on a real machine: the guest's own /dev has plain
# nodes only.
start_udevd() {
	/lib/systemd/systemd-udevd --daemon
	cleanup_add udevadm control --exit
	udevadm trigger --subsystem-match=block --action=add
	udevadm settle --timeout=30
}

# --- the other guest, the host ------------------------------------------------------

# peer_set FLAG [TEXT]; peer_wait FLAG SECONDS: prints the text
peer_set() {
	echo "${2:-}" >"/run/vm/.$1.new"
	mv "/run/vm/.$1.new" "/run/vm/$1"
}

peer_wait() {
	wait_until "$2" test -e "/run/vm/$1" || fail "no '$1' from the peer"
	cat "/run/vm/$1"
}

# host_do VERB ROLE [ARG]: asks the host to do something to a machine
#	kill ROLE	power off, at once
#	start ROLE	power on again, with the same script, disk and /run/vm
#	release ROLE	let it end by itself from now on
#	restart ROLE	let it end by itself, and start it again when it has
#	gone ROLE	has it ended?
#	link ROLE on|off	its network cable (net: two)
#	stop ROLE, cont ROLE	all of its processors
#	find ROLE FILE	the words of /run/vm/FILE, "NAME HEX", that are somewhere in its memory:
#		to /run/vm/FILE.found
host_do() {
	host_ask "$@" || fail "the host could not: $*"
}

# host_ask VERB ROLE [ARG]: the same; returns the status
host_ask() {
	local name

	name=/run/vm/host/$ROLE.$BASHPID.$((++guest_requests))
	echo "$*" >"$name.new"
	mv "$name.new" "$name.request"
	wait_until 120 test -e "$name.done" || fail "no answer to: $*"
	[[ $(<"$name.done") == ok ]]
}
guest_requests=0
