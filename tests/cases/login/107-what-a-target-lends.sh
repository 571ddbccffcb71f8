#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdmablk ping' uses the memory that the target lends. It says so if the target lends less than
# ping asked for, or nothing. It fails if data that it wrote to one place changes another. A host
# makes as many visits at a time as it may have sessions. On a signal ping stops measuring, and
# prints what it has measured. When the target shuts down, ping prints that reason.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require jq

# Less than is asked for, and nothing
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M --scratch 8K
run_expect 0 '^read +8192 +1 ' "$RDMABLK" ping -c 1 -s 8192 "$TARGET_ADDR"
run_expect 1 'the target lends 8192 bytes only: use --size 8192 or less' \
	"$RDMABLK" ping -c 1 -s 8193 "$TARGET_ADDR"
stop_target
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M --scratch 1K
run_expect 0 '^read +1024 +1 ' "$RDMABLK" ping -c 1 "$TARGET_ADDR"
stop_target
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M --scratch 0
run_expect 0 'warning: the target does not lend a scratch region: messages only' \
	"$RDMABLK" ping -c 1 "$TARGET_ADDR"
run_expect 8 'the target does not lend a scratch region$' \
	"$RDMABLK" ping -c 1 --read "$TARGET_ADDR"
stop_target

# None of the exports takes this address.
start_target --insecure --listen "$TARGET_ADDR" \
	--export disk0,memory,size=16M,allow-address=192.0.2.1
run_expect 0 'warning: the target lends no scratch region to this address, which may use no export: messages only' \
	"$RDMABLK" ping -c 1 "$TARGET_ADDR"
stop_target

# The daemon maps two places of the region to one, so the second write changes the first.
plain=$RDMABLKD
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M \
	--fault fold-scratch
run_expect 10 'what was read is not what was written: at byte 0 of the scratch region' \
	"$RDMABLK" ping --blast 1 "$TARGET_ADDR"
run_expect 10 'what was read is not what was written: at byte 0 ' \
	"$RDMABLK" ping -c 1 -s 8192 "$TARGET_ADDR"
run_expect 0 '^read +4096 +1 ' "$RDMABLK" ping -c 1 "$TARGET_ADDR"
stop_target
RDMABLKD=$plain

# A visit counts as a session of the host. A signal ends the measurement, and ping succeeds.
visiting() {
	"$RDMABLK" target sessions --json >/tmp/sessions
	jq -e '.logins.visits == 1 and .sessions[0].visit and .sessions[0].scratch > 0' \
		/tmp/sessions >/dev/null && grep -q '^1: send .* us, write .* us, read .* us$' /tmp/long
}
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M \
	--max-sessions-per-host 1
"$RDMABLK" ping -c 60 -i 1000 "$TARGET_ADDR" >/tmp/long &
long=$!
wait_until "$PATIENCE" visiting || fail "no visit: $(</tmp/sessions)"
run_expect 1 'too many sessions' "$RDMABLK" discover "$TARGET_ADDR"
kill -TERM $long
status=0
wait $long || status=$?
expect 0 "$status" "the status of an interrupted ping"
grep -q 'times in microseconds' /tmp/long || fail "interrupted: $(</tmp/long)"

# The target ends a visit while requests are under way: ping and the log of the daemon say why.
measuring() {
	"$RDMABLK" target sessions --json >/tmp/sessions
	jq -e '.sessions[0].visit and .sessions[0].keepalives > 0' /tmp/sessions >/dev/null
}
"$RDMABLK" ping --blast 60 "$TARGET_ADDR" >/tmp/long 2>&1 &
long=$!
wait_until "$PATIENCE" measuring || fail "no blast: $(</tmp/sessions)"
stop_target
status=0
wait $long || status=$?
expect 5 "$status" "the status of a ping whose target shuts down"
grep -q ': target is shutting down$' /tmp/long || fail "it says: $(</tmp/long)"
grep -q 'visit .* ended: target is shutting down' "$TARGET_LOG" || fail "no such end is logged"
