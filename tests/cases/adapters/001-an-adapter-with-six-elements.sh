#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An adapter with six scatter/gather elements, 16 READs at a time, no inline data, one
# completion vector and regions of 8 MiB carries every byte: requests of 512 bytes to
# 256 KiB at any sector, from buffers at any address that the queue allows, over four
# regions. A flush succeeds, and the disk comes back after the daemon has restarted.
#
# rdmablk-ordering finds no stale READ on this adapter, in loopback and between two processes,
# and does find stale READs when its READs do not wait for the WRITE. It ends and gives the
# reason when it is interrupted, when the other side dies, and when a stranger connects to it.
#
# kernels: 6.12
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/adapters/lib.sh
source "$RDMABLK_TOP/tests/cases/adapters/lib.sh"
require fio

ORDERING=$RDMABLK_TOP/tools/rdmablk-ordering
SCHEMA=$RDMABLK_TOP/Documentation/json/rdmablk-ordering.schema.json
LISTENER='' LISTENING=/tmp/listening

# ordering STATUS REGEX [OPTION...]
ordering() {
	run_expect "$1" "$2" timeout 120 "$ORDERING" "${@:3}" rxe0
}

# VALID checks that the object has exactly the keys of the schema, with values of the right
# types. Python's module for schemas takes 10 s to load in an emulated guest.
# shellcheck disable=SC2016 # jq is to expand them
VALID='
	def fits($schema): keys == ($schema.properties | keys) and
		(to_entries | all((.value | type) as $is | $schema.properties[.key].type |
			. == null or ([.] | flatten | map(sub("integer"; "number")) |
				index($is) != null)));
	$schemas[0] as $schema | fits($schema.oneOf[0]) and
		(.examples | all(fits($schema["$defs"].example)))'

# ordering_json STATUS FILTER [OPTION...]: the printed object is valid, and FILTER is true of it
ordering_json() {
	ordering "$1" '' --json "${@:3}"
	jq -e "$2" >/dev/null <<<"$OUTPUT" || fail "not '$2': $OUTPUT"
	jq -e --slurpfile schemas "$SCHEMA" "$VALID" >/dev/null <<<"$OUTPUT" ||
		fail "not as in $SCHEMA: $OUTPUT"
}

is_listening() {
	grep -q 'listening on' $LISTENING
}

listen() {
	: >$LISTENING
	"$ORDERING" --listen 127.0.0.1 rxe0 >$LISTENING 2>&1 &
	LISTENER=$!
	wait_until 60 is_listening || fail "it does not listen: $(<$LISTENING)"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# Both ends have queue pairs that are ready to send: four pairs each.
has_connected() {
	(($(rdma resource show qp | grep -c 'type RC state RTS') == 16))
}

# listened STATUS REGEX: waits for the listening side to end; expects its status and its output
listened() {
	local status=0

	wait_until 60 is_gone "$LISTENER" || fail "the listener does not end: $(<$LISTENING)"
	wait "$LISTENER" || status=$?
	expect "$1" $status "the listener's status, which said '$(<$LISTENING)',"
	run_expect 0 '' grep -E "$2" $LISTENING
}

# says WORDS: sends WORDS to the listener in place of a valid message
says() {
	printf '%s' "$1" >/dev/tcp/127.0.0.1/20421
}

ordering_in_loopback() {
	local none='.stale == 0 and .damaged == 0 and .examples == []'

	ordering 0 '^rxe0 port 1, loopback: 2000 WRITEs .* no READ was stale$' --count 2000
	ordering_json 0 "$none and .rounds == 1000 and .relaxed and .target == null" \
		--count 1000 --relaxed --pairs 16 --size 4096
	ordering_json 0 "$none and .rounds > 0" --seconds 1 --pairs 1
	ordering 1 '[1-9][0-9]* READs stale, 0 damaged$' --count 500 --no-wait
	ordering_json 1 '.stale > 100 and .damaged == 0 and
		(.examples | length == 8 and all(.found < .counter))' --count 500 --no-wait
}

# handles_term PID: whether the process has a handler for SIGTERM
handles_term() {
	((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") & 1 << 14))
}

ordering_that_is_interrupted() {
	local status=0 pid

	"$ORDERING" --seconds 600 rxe0 >/tmp/rounds 2>&1 &
	pid=$!
	wait_until 60 handles_term $pid || fail "no rounds: $(</tmp/rounds)"
	kill -TERM $pid
	wait_until 60 is_gone $pid || fail "the rounds go on after a SIGTERM"
	wait $pid || status=$?
	expect 2 $status "the status after a SIGTERM: $(</tmp/rounds)"
	run_expect 0 '' grep 'rxe0 port 1: interrupted, so nothing is proved' /tmp/rounds
}

ordering_of_a_target() {
	listen
	ordering 0 ', memory of 127.0.0.1: 1000 WRITEs .* no READ was stale$' \
		--target 127.0.0.1 --count 1000
	listened 0 '127.0.0.1 has written and read here'
	listen
	ordering_json 1 '.stale > 100 and .target == "127.0.0.1:20421"' \
		--target 127.0.0.1:20421 --count 500 --no-wait
	listened 0 'has written and read here'
	ordering 2 'cannot connect: Connection refused' --target 127.0.0.1
	listen
	says "$(head -c 4096 /dev/zero | tr '\0' x)"
	listened 2 'it is not rdmablk-ordering that has called'
	listen
	says GET
	listened 2 'the message is too short'
}

# A target that dies in the middle of the rounds
ordering_of_a_dying_target() {
	local status=0 pid

	listen
	"$ORDERING" --target 127.0.0.1 --seconds 600 rxe0 >/tmp/rounds 2>&1 &
	pid=$!
	wait_until 60 has_connected || fail "no rounds: $(</tmp/rounds)"
	kill -KILL "$LISTENER"
	wait "$LISTENER" || :
	wait_until 60 is_gone $pid || fail "the rounds go on without a target"
	wait $pid || status=$?
	expect 2 $status "the status without a target: $(</tmp/rounds)"
	run_expect 0 '' grep -E 'a (READ|WRITE) of pair [0-3] has failed' /tmp/rounds
}

adapter sge=6 reads=16 inline_data=0 vectors=1 mr_size=$((8 << 20))
serve 32M
load_module
connect
chains_fit 6
expect 4 "$(status regions)" "the number of regions"
fio_verify 8 --iomem_align=512
sync "$DEV"
restart_target 32M
device_same_as_target
fio_verify 8 --iomem_align=1536
device_same_as_target
still_live
disconnect
stop_target
ordering_in_loopback
ordering_that_is_interrupted
ordering_of_a_target
ordering_of_a_dying_target
leak_check
