#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each change of a disk's state is an event of 'rdmablk monitor', as text and as JSON, and an
# event of the trace. Each request is queued and completed once in the trace, with its
# direction, sector and size. The work requests posted to the adapter are those of the requests.
# Statistics time each request while timing is on, and no request while it is off. They count
# the fences that a flush or a discard sends.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

states() {
	awk '{ $1 = ""; print substr($0, 2) }' /tmp/text
}

# monitor_has LINE...: whether the monitor printed exactly these lines, without their times
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

truncate -s 16M /tmp/file
serve 16M --export "disk1,file=/tmp/file,cache=full"
load_module
"$RDMABLK" monitor >/tmp/text 2>/tmp/monitor.err &
text=$!
"$RDMABLK" monitor --json >/tmp/json 2>&1 &
json=$!
cleanup_add kill "$text" "$json" 2>/dev/null
wait_until "$PATIENCE" subscribed || fail "the monitors do not listen"
trace_start

connect --queues 1
dd if=/dev/urandom of=$DEV bs=4k seek=2 count=8 oflag=direct status=none
dd if=$DEV of=/dev/null bs=64k count=3 skip=1 iflag=direct status=none
dd if=/dev/zero of=$DEV bs=512 seek=7 count=1 oflag=direct status=none
disconnect
trace_stop
expect_events 'rdmablk0 connecting' 'rdmablk0 live' 'rdmablk0 deleting'

# has COUNT REGEX: expects so many matching lines of the trace
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
has "$(grep -c rdmablk_queue: /tmp/trace)" 'rdmablk_complete: rdmablk0 .*error=0'
# work_requests EVENT: prints the sum of the work requests of all such events
work_requests() {
	awk -v event="rdmablk_$1:" '$0 ~ event { sub(/.* wrs=/, ""); n += $1 } END { print n }' \
		/tmp/trace
}
expect "$(work_requests queue)" "$(work_requests post)" "the work requests that were posted"
has 0 'error=-'
has 1 'rdmablk_state: rdmablk0 new -> connecting reason=0'
has 1 'rdmablk_state: rdmablk0 connecting -> live reason=0'
has 1 'rdmablk_state: rdmablk0 live -> deleting reason=0'
has 3 'rdmablk_state:'

# A failure.
: >/tmp/text
connect_brittle --keep-alive-tmo 1
# timed READS WRITES [FLUSHES DISCARDS]: the numbers of requests in the histograms, and in
# their buckets
timed() {
	local flushes=${3:-0} discards=${4:-0}

	expect "$1 $1 $2 $2 $flushes $flushes $discards $discards" \
		"$("$RDMABLK" stats rdmablk0 --json | jq -r '.devices[0].latency |
		[.read, .write, .flush, .discard | .requests, ([.buckets[].count] | add // 0)]
		| join(" ")')" "the requests that were timed"
}
dd if=/dev/zero of=$DEV bs=4k count=3 oflag=direct status=none
timed 0 0
"$RDMABLK" set rdmablk0 --timed on
reads=$(status reads) writes=$(status writes)
dd if=/dev/zero of=$DEV bs=4k count=6 oflag=direct status=none
dd if=$DEV of=/dev/null bs=64k count=5 iflag=direct status=none
timed 5 6
expect "5 6" "$(($(status reads) - reads)) $(($(status writes) - writes))" "the requests"
"$RDMABLK" set rdmablk0 --timed off
dd if=$DEV of=/dev/null bs=4k count=2 iflag=direct status=none
timed 5 6
kill -STOP "$TARGET_PID"
expect_failed 'session was silent for too long'
kill -CONT "$TARGET_PID"
disconnect
silent='session was silent for too long'
expect_events 'rdmablk0 connecting' 'rdmablk0 live' "rdmablk0 recovering: $silent" \
	"rdmablk0 recovering: $silent (I/O fails)" \
	"rdmablk0 failed: $silent (I/O fails)" "rdmablk0 deleting: $silent (I/O fails)"
# A connect that fails never reaches the state live.
: >/tmp/text
run_expect 3 'no such export' "$RDMABLK" connect "$TARGET_ADDR/none"
expect_events 'rdmablk0 connecting' 'rdmablk0 deleting: no such export'

json_states() {
	jq -rs '[.[] | select(.version == 1 and .event == "state" and
		.name == "rdmablk0" and .index == 0) | .state] | join(" ")' /tmp/json
}
json_has() {
	[[ $(json_states 2>/dev/null) == "$1" ]]
}
# The monitor with --json is another process, and may be slower than the one that was read.
wait_until "$PATIENCE" json_has 'connecting live deleting connecting live recovering recovering failed deleting connecting deleting' ||
	fail "the list of states in JSON: $(json_states)"
expect "68" "$(jq -s '[.[] | select(.state == "failed")][0].reason' /tmp/json)" \
	"the reason in JSON"

# Flushes and discards, of a disk with a cache.
# counted KEY: prints a value of the statistics
counted() {
	disk_values stats 0 "$1"
}
expect $DEV "$("$RDMABLK" connect --queues 2 "$TARGET_ADDR/disk1")" "the disk of the file"
"$RDMABLK" set rdmablk0 --timed on
reads=$(status reads)
expect 0 "$(counted fences)" "the fences before all"
for cpu in 0 1; do
	taskset -c $cpu dd if=/dev/zero of=$DEV bs=4k count=1 seek=$cpu oflag=direct status=none
done
expect 0 "$(counted fences)" "the fences of writes"
# The FLUSH goes by a queue that has written. Only the other queue needs a FENCE.
sync $DEV
expect 1 "$(counted fences)" "the fences before a flush"
# The FLUSH was the fence of its own queue, so nothing is left to fence.
blkdiscard -o 64k -l 64k $DEV
expect 1 "$(counted fences)" "the fences where all has been flushed"
taskset -c 0 dd if=/dev/zero of=$DEV bs=4k count=1 oflag=direct status=none
blkdiscard -o 64k -l 64k $DEV
expect 2 "$(counted fences)" "the fences before a discard"
# Nothing has been written since, so no queue needs a FENCE.
blkdiscard -o 128k -l 64k $DEV
sync $DEV
expect 2 "$(counted fences)" "the fences where nobody has written"
timed $(($(status reads) - reads)) 3 "$(status flushes)" 3
expect 3 "$(status discards)" "the discards"
disconnect
unload_module
monitor_ended() {
	! kill -0 "$text" 2>/dev/null
}
wait_until "$PATIENCE" monitor_ended || fail "the monitor outlives the module"
grep -q 'the kernel module rdmablk was unloaded' /tmp/monitor.err ||
	fail "the monitor says: $(</tmp/monitor.err)"
stop_target
