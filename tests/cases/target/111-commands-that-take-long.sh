#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Commands take longer than a session may be silent, because the file holds them. Meanwhile
# keep-alives and other commands are answered, no timer expires on either side, and the commands
# succeed. A tag that is used again before its answer ends the session. Commands under way at
# the end of a session are over before the next session can write. With a daemon that does not
# wait for them they land on newer data, and the test notices that. Zeroes that a killed daemon
# had begun are completed by its successor.
#
# timeout: 400

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe
INITIATOR=$PROGRAM
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/run/disk RULES=/run/rules OLD=/run/old

# rules TEXT: replaces the rules of the file; held requests go on
rules() {
	echo "$1" >$RULES.new
	mv $RULES.new $RULES
}

# start CACHE [OPTION...]: starts a daemon that holds the next WRITE ZEROES
start() {
	rules 'zero hang count 1'
	start_target --insecure --listen "$TARGET_ADDR" --session-timeout-factor 2 \
		--export "disk0,file=$FILE,cache=$1,fault=$RULES" "${@:2}"
}

stop() {
	stop_target
	expect 0 "$TARGET_STATUS" "how the daemon ends"
}

# start_probe SCENARIO [OPTION...]: starts an initiator in the background
start_probe() {
	"$INITIATOR" --features 1 --keep-alive 20000 "${@:2}" "$TARGET_ADDR" disk0 "$1" \
		>/tmp/probe 2>&1 &
	PROBE=$!
	cleanup_add probe_kill
}

probe_is_over() {
	! kill -0 "$PROBE" 2>/dev/null
}

probe_kill() {
	probe_is_over || kill -KILL "$PROBE"
}

probe_says() {
	wait_until "$PATIENCE" grep -q "^$1" /tmp/probe ||
		fail "no '$1': $(cat /tmp/probe)"
}

probe_ends() {
	wait_until "$PATIENCE" probe_is_over || fail "the probe hangs: $(cat /tmp/probe)"
	wait "$PROBE" || fail "the probe: $(cat /tmp/probe)"
}

# probe_crash: an initiator dies while its WRITE ZEROES is held
probe_crash() {
	start_probe zeroes-crash
	probe_ends
}

# written: whether a session could write; a session that had to come again is started again
written() {
	grep -q '^written' /tmp/probe && return
	if probe_is_over; then
		grep -q '^closed 20' /tmp/probe || fail "no session: $(cat /tmp/probe)"
		start_probe put --boot 2
	fi
	return 1
}

next_session() {
	start_probe put --boot 2
	wait_until "$PATIENCE" written || fail "no session: $(cat /tmp/probe)"
}

# in_kernel CACHE: the same with the module as the initiator
in_kernel() {
	start "$1"
	connect --keep-alive-tmo 1
	echo 1000 >$QUEUE/io_timeout
	timeout "$PATIENCE" blkdiscard -z -o 4M -l 8M $DEV &
	ZEROES=$!
	answered=$(status keepalives)
	wait_until "$PATIENCE" keepalives_more $((answered + 12)) || fail "no keep-alives"
	kill -0 $ZEROES || fail "nothing has held the zeroes"
	expect live "$(attribute state)" "the state"
	expect 0 "$(attribute reconnects)" "the number of reconnects"
}

keepalives_more() {
	(($(status keepalives) >= $1))
}

# zeroed: the range is zeroed, and nothing else has changed
zeroed() {
	wait $ZEROES || fail "the zeroes have failed"
	cp $OLD /run/want
	head -c 8M /dev/zero | dd of=/run/want bs=4M seek=1 conv=notrunc status=none
	dd if=$DEV iflag=direct bs=1M status=none | cmp - /run/want
	still_live
	disconnect
	stop
	cmp $FILE /run/want
}

head -c 16M /dev/urandom >$OLD
cp $OLD $FILE
start full
start_probe slow --keep-alive 1000
probe_says silent
rules ''
probe_ends
grep -q '^done' /tmp/probe || fail "no answer: $(cat /tmp/probe)"
rules 'zero hang count 1'
start_probe tag-twice --expect 4
expect_log 'closing: message not allowed in this state'
rules ''
probe_ends

rules 'zero hang count 1'
probe_crash
start_probe put --boot 2 --expect 20
probe_ends
rules ''
next_session
probe_ends
stop

start full --fault no-store-wait
probe_crash
next_session
rules ''
probe_says 'written before: byte 0 is 00'
stop_target KILL

load_module
for cache in full none; do
	cp $OLD $FILE
	in_kernel $cache
	rules ''
	expect 0 "$(attribute reconnects)" "the number of reconnects"
	zeroed
done
cp $OLD $FILE
in_kernel none
stop_target KILL
start none
rules ''
wait_state live
zeroed
unload_module
