#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The figures of disks and daemon are correct: requests and bytes of a memory store and of an
# uncached file, commands and flushes at the daemon, a login that the daemon refused. During an
# outage the state says so, the duration of the outage grows, and the daemon has no figures. The
# figures of an export outlive its sessions. With an interval, the tool prints the rates of a
# disk.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require jq

# figure FILE SERIES: prints the value
figure() {
	awk -v series="$2 " 'index($0, series) == 1 { print substr($0, length(series) + 1) }' \
		"/tmp/$1"
}

# shows FILE SERIES VALUE
shows() {
	expect "$3" "$(figure "$1" "$2")" "$2"
}

# exceeds FILE SERIES THAN
exceeds() {
	awk -v value="$(figure "$1" "$2")" -v than="$3" 'BEGIN { exit !(value > than) }'
}

# more FILE SERIES THAN
more() {
	exceeds "$@" ||
		fail "$2 is '$(figure "$1" "$2")', not more than $3"
}

ask() {
	"$RDMABLK" metrics >/tmp/disks
	"$RDMABLK" target metrics >/tmp/target
}

start() {
	"$1" 16M --export disk1,file=/tmp/file
}

truncate -s 16M /tmp/file
load_module
start serve
connect --keep-alive-tmo 2
expect /dev/rdmablk1 "$("$RDMABLK" connect "$TARGET_ADDR/disk1")" "the second disk"
"$RDMABLK" set rdmablk0 --timed on

# There is I/O all the time, so the last interval has some.
"$RDMABLK" stats rdmablk0 1 2 --json >/tmp/rates &
stats=$!
while kill -0 $stats 2>/dev/null; do
	dd if=/dev/zero of=/dev/rdmablk0 bs=64k count=16 oflag=direct status=none
done
wait $stats || fail "stats with an interval fails"
expect 'true true' "$(jq -r '.devices[0] | "\(.writes_per_s > 0 and .p99_ns > 0) " +
	"\(.write_bytes_per_s > .writes_per_s)"' <(tail -n 1 /tmp/rates))" "the last interval"
expect 2 "$(wc -l </tmp/rates)" "the intervals"
ask
before=$(figure disks 'rdmablk_written_bytes_total{device="rdmablk0"}')
commands=$(figure target 'rdmablk_target_export_command_bytes_total{export="disk1",operation="write"}')
flushes=$(figure target 'rdmablk_target_export_flush_duration_seconds_count{export="disk1"}')
for disk in /dev/rdmablk0 /dev/rdmablk1; do
	dd if=/dev/zero of=$disk bs=64k count=16 oflag=direct conv=fsync status=none
done
run_expect failed 'no export of this name|no such export' "$RDMABLK" connect "$TARGET_ADDR/none"
ask
shows disks 'rdmablk_written_bytes_total{device="rdmablk0"}' $((before + (1 << 20)))
shows disks 'rdmablk_state{device="rdmablk0",state="live"}' 1
shows disks 'rdmablk_outage_seconds_total{device="rdmablk1"}' 0.000000000
more disks 'rdmablk_request_duration_seconds_count{device="rdmablk0",operation="write"}' 15
shows target 'rdmablk_target_export_command_bytes_total{export="disk1",operation="write"}' \
	$((commands + (1 << 20)))
more target 'rdmablk_target_export_flush_duration_seconds_count{export="disk1"}' "$flushes"
more target 'rdmablk_target_loop_turn_seconds_count' 10
more target 'rdmablk_target_pinned_bytes' $((16 << 20))
shows target 'rdmablk_target_sessions{state="live"}' 2
expect 1 "$(sed -nE 's/^rdmablk_target_refused_total\{what="login",.*\} //p' /tmp/target)" \
	"the refused logins"

# The session is over, and with it nothing that the export has done.
one_has_ended() {
	"$RDMABLK" target metrics >/tmp/target
	[[ $(figure target 'rdmablk_target_sessions_ended_total') == 1 ]]
}
"$RDMABLK" disconnect rdmablk1
# The daemon counts a session when it has destroyed what the session had.
wait_until "$PATIENCE" one_has_ended || fail "the session has not ended"
shows target 'rdmablk_target_export_command_bytes_total{export="disk1",operation="write"}' \
	$((commands + (1 << 20)))
more target 'rdmablk_target_export_flush_duration_seconds_count{export="disk1"}' "$flushes"

stop_target KILL
wait_state recovering
mkdir -p /tmp/d
"$RDMABLK" metrics --output /tmp/d/x.prom
cp /tmp/d/x.prom /tmp/disks
shows disks 'rdmablk_state{device="rdmablk0",state="recovering"}' 1
first=$(figure disks 'rdmablk_outage_seconds_total{device="rdmablk0"}')
longer() {
	"$RDMABLK" metrics >/tmp/disks
	exceeds disks 'rdmablk_outage_seconds_total{device="rdmablk0"}' "$first"
}
wait_until "$PATIENCE" longer || fail 'the outage does not get longer'
run_expect 5 'cannot connect to' "$RDMABLK" target metrics --output /tmp/d/y.prom
expect 'rdmablk_target_up 0' "$(grep -v '^#' /tmp/d/y.prom)" 'all figures of no daemon'
start again
wait_state live
ask
shows disks 'rdmablk_reconnects_total{device="rdmablk0"}' 1
more disks 'rdmablk_outage_seconds_total{device="rdmablk0"}' "$first"
shows disks 'rdmablk_data_lost{device="rdmablk0"}' 0
disconnect
unload_module
