#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each change of a disk's state is an event of 'rdmablk monitor', as text and as
# JSON, and of the trace. Each request is queued and completed once in the trace,
# with its direction, sector and size.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

states() {
	awk '{ $1 = ""; print substr($0, 2) }' /tmp/text
}

# monitor_has LINE...: exactly these, without their times
monitor_has() {
	[[ $(states) == "$(printf '%s\n' "$@")" ]]
}

expect_events() {
	wait_until "$PATIENCE" monitor_has "$@" ||
		fail "the events are: $(</tmp/text)"
}

subscribed() {
	# Each monitor is in two groups; the column is a mask.
	(($(awk '$2 == 16 && $4 != "00000000"' /proc/net/netlink | wc -l) >= 2))
}

serve 16M
load_module
"$RDMABLK" monitor >/tmp/text 2>/tmp/monitor.err &
text=$!
"$RDMABLK" monitor --json >/tmp/json 2>&1 &
json=$!
cleanup_add kill "$text" "$json" 2>/dev/null
wait_until "$PATIENCE" subscribed || fail "the monitors do not listen"
trace_start

connect --queues 1 --keep-alive-tmo 1
dd if=/dev/urandom of=$DEV bs=4k seek=2 count=8 oflag=direct status=none
dd if=$DEV of=/dev/null bs=64k count=3 skip=1 iflag=direct status=none
dd if=/dev/zero of=$DEV bs=512 seek=7 count=1 oflag=direct status=none
disconnect
trace_stop
expect_events 'rdmablk0 connecting' 'rdmablk0 live' 'rdmablk0 deleting'

# has COUNT REGEX: lines of the trace
has() {
	expect "$1" "$(grep -cE "$2" /tmp/trace)" "the number of '$2' in the trace"
}

for ((i = 2; i < 10; i++)); do
	has 1 "rdmablk_queue: rdmablk0 .*op=write sector=$((i * 8)) bytes=4096 wrs=1"
done
for ((i = 1; i < 4; i++)); do
	has 1 "rdmablk_queue: rdmablk0 .*op=read sector=$((i * 128)) bytes=65536 wrs=[1-9]"
done
has 1 'rdmablk_queue: rdmablk0 .*op=write sector=7 bytes=512 wrs=1'
has 9 'rdmablk_queue: .*op=write'
has "$(grep -c rdmablk_queue: /tmp/trace)" 'rdmablk_end: rdmablk0 .*error=0'
has 0 'error=-'
has 1 'rdmablk_state: rdmablk0 new -> connecting reason=0'
has 1 'rdmablk_state: rdmablk0 connecting -> live reason=0'
has 1 'rdmablk_state: rdmablk0 live -> deleting reason=0'
has 3 'rdmablk_state:'

# A failure.
: >/tmp/text
connect_brittle --keep-alive-tmo 1
kill -STOP "$TARGET_PID"
expect_failed 'session was silent for too long'
kill -CONT "$TARGET_PID"
disconnect
silent='session was silent for too long'
expect_events 'rdmablk0 connecting' 'rdmablk0 live' "rdmablk0 recovering: $silent" \
	"rdmablk0 recovering: $silent (I/O fails)" \
	"rdmablk0 failed: $silent (I/O fails)" "rdmablk0 deleting: $silent (I/O fails)"
# One that never lives.
: >/tmp/text
run_expect 1 'no such export' "$RDMABLK" connect "$TARGET_ADDR/none"
expect_events 'rdmablk0 connecting' 'rdmablk0 deleting: no such export'

expect 'connecting live deleting connecting live recovering recovering failed deleting connecting deleting' \
	"$(jq -rs '[.[] | select(.version == 1 and .event == "state" and
		.name == "rdmablk0" and .index == 0) | .state] | join(" ")' /tmp/json)" \
	"the list of states in JSON"
expect "68" "$(jq -s '[.[] | select(.state == "failed")][0].reason' /tmp/json)" \
	"the reason in JSON"
unload_module
monitor_ended() {
	! kill -0 "$text" 2>/dev/null
}
wait_until "$PATIENCE" monitor_ended || fail "the monitor outlives the module"
grep -q 'the kernel module rdmablk was unloaded' /tmp/monitor.err ||
	fail "the monitor says: $(</tmp/monitor.err)"
stop_target
