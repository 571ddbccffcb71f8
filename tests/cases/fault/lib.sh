# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of control, fault and target: load in the background, and the checks of a failed
# connection.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

# The daemon's log is kept with the logs of a failed test.
touch "$TARGET_LOG"
cleanup_add cp "$TARGET_LOG" "/run/vm/rdmablkd.$ROLE"

# The initiator notices a vanished target by the transport, or, when the transport is slow, by a
# missing answer to a keep-alive.
LOST='connection lost|session was silent for too long'

# connect_brittle [OPTION...]: connects a disk that fails as soon as its connection is lost
connect_brittle() {
	connect --dev-loss-tmo 0 "$@"
}

# attribute NAME [N]: prints an attribute of /dev/rdmablkN
attribute() {
	local text=''

	IFS= read -r -d '' text <"/sys/block/rdmablk${2:-0}/rdmablk/$1" || [[ $text ]] || return
	printf %s "$text"
}

state_is() {
	[[ $(attribute state "${2:-0}") == "$1" ]]
}

# wait_state STATE [N]
wait_state() {
	wait_until "$PATIENCE" state_is "$1" "${2:-0}" ||
		fail "the state is $(attribute state "${2:-0}"), not $1"
}

# expect_failed REASON [N]: waits until the disk has failed, for this reason
expect_failed() {
	local reason

	wait_state failed "${2:-0}"
	reason=$(attribute reason "${2:-0}")
	[[ $reason =~ ^($1)$ ]] || fail "the reason is '$reason', not '$1'"
}

# transport_errors [N]: prints how many queue pairs of the disk have ended with each kind of
# error: retry, rnr, remote, other
transport_errors() {
	disk_values stats "${1:-0}" {retry,rnr,remote,other}_errors | paste -sd ' '
}

# expect_ended KIND [N [BEFORE]]: queue pairs have ended with errors of this kind and of no
# other, since transport_errors printed BEFORE
expect_ended() {
	local kinds=(retry rnr remote other) had have i

	read -ra had <<<"${3:-0 0 0 0}"
	read -ra have <<<"$(transport_errors "${2:-0}")"
	for ((i = 0; i < 4; i++)); do
		if [[ ${kinds[i]} == "$1" ]]; then
			((have[i] > had[i])) ||
				fail "no $1 error: ${have[*]}, before ${had[*]}"
		else
			((have[i] == had[i])) ||
				fail "errors other than $1: ${have[*]}, before ${had[*]}"
		fi
	done
}

# expect_no_io [N]: each request ends at once with ENOLINK
expect_no_io() {
	local dev=/dev/rdmablk${1:-0}

	run_expect 1 'Link has been severed' \
		timeout "$PATIENCE" dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct
	run_expect 1 'Link has been severed' \
		timeout "$PATIENCE" dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct
}

# completed N: prints how many reads and writes the disk has completed
completed() {
	local reads writes

	{ read -r reads && read -r writes; } < <(disk_values status "$1" reads writes)
	echo $((reads + writes))
}

completed_more() {
	(($(completed "$1") >= $2))
}

# start_load [N [OPTION...]]: random reads and writes until something fails;
# returns when the disk is busy with them
start_load() {
	local n=${1:-0} before

	before=$(completed "$n")
	fio --name=load --filename="/dev/rdmablk$n" --direct=1 --thread \
		--ioengine=libaio --iodepth=16 --nice=10 --rw=randrw \
		--bs=4k --norandommap --time_based --runtime=600 \
		"${@:2}" >"/tmp/load.$n" 2>&1 &
	LOAD[n]=$!
	cleanup_add load_kill "$n"
	wait_until "$PATIENCE" completed_more "$n" $((before + 200)) ||
		fail "no load on rdmablk$n: $(cat "/tmp/load.$n")"
}
LOAD=()

load_is_over() {
	! kill -0 "${LOAD[$1]}" 2>/dev/null
}

load_kill() {
	load_is_over "$1" || kill -KILL "${LOAD[$1]}"
}

# expect_load_failed [N]: the load ends, and has failed with 'Link has been severed'
expect_load_failed() {
	local n=${1:-0} status=0

	wait_until "$PATIENCE" load_is_over "$n" ||
		fail "the load on rdmablk$n hangs"
	wait "${LOAD[$n]}" || status=$?
	((status != 0)) || fail "the load on rdmablk$n has not noticed anything"
	grep -q 'Link has been severed' "/tmp/load.$n" ||
		fail "the load failed otherwise: $(cat "/tmp/load.$n")"
}

# stop_load [N]: ends a load, which must not have had an error
stop_load() {
	local n=${1:-0}

	kill -INT "${LOAD[$n]}" || fail "the load on rdmablk$n is over"
	wait_until "$PATIENCE" load_is_over "$n" ||
		fail "the load on rdmablk$n hangs"
	wait "${LOAD[$n]}" || :
	run_expect 1 '' grep -i 'severed\|error=' "/tmp/load.$n"
}

# expect_works [SIZE]: a disk that was connected again works like the first one
expect_works() {
	expect live "$(attribute state)" "the state"
	fio_verify "${1:-8}" --numjobs=1 --size="${1:-8}M" --io_size="${1:-8}M"
	device_same_as_target
	still_live
}

# log_has REGEX: whether the daemon's log has such a line
log_has() {
	grep -qE -- "$1" "$TARGET_LOG"
}

# expect_log REGEX
expect_log() {
	wait_until "$PATIENCE" log_has "$1" || {
		cat "$TARGET_LOG" >&2
		fail "the daemon's log has no '$1'"
	}
}

# program NAME: sets PROGRAM to a test program that the host has built
program() {
	PROGRAM=$RDMABLK_TOP/build/peers/$1
	[[ -x $PROGRAM ]] || fail "no $PROGRAM, run make -C tests/cases/control"
}

# link_delete RXE; link_add RXE NETDEV ADDR
link_delete() {
	timeout "$PATIENCE" rdma link delete "$1" ||
		fail "'rdma link delete $1' does not return"
}

link_add() {
	net_add_rxe "$@" || fail "no RDMA device on $2"
}

TRACING=/sys/kernel/tracing

# trace_start; trace_stop: traces the module's events into /tmp/trace
trace_start() {
	echo 16384 >$TRACING/buffer_size_kb
	echo mono >$TRACING/trace_clock
	echo >$TRACING/trace
	echo 1 >$TRACING/events/rdmablk/enable
}

trace_stop() {
	echo 0 >$TRACING/events/rdmablk/enable
	cat $TRACING/trace >/tmp/trace
	grep -q 'entries-in-buffer' /tmp/trace || fail "no trace"
}

# put N TEXT; get N TEXT: writes the first sector of a disk; expects TEXT there
put() {
	printf '%-512s' "$2" | dd of="/dev/rdmablk$1" oflag=direct status=none
}

get() {
	local text

	text=$(dd if="/dev/rdmablk$1" bs=512 count=1 iflag=direct status=none)
	expect "$2" "${text%%  *}" "what rdmablk$1 reads"
}
