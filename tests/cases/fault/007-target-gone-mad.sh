#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target that logs an initiator in and then misbehaves ends that one session, with a reason,
# and harms nothing else: a disk of another target works on meanwhile. Wrong answers on write
# queues are found out, and the target cannot access the initiator's memory. A READ with a wrong
# answer fails and delivers no data. Unusual but allowed behaviour has no effect. Requests that
# the target's adapter refuses, and messages for which it has no receive, are counted
# separately.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

MODES=() REASONS=() READS=()

# fails_with REASON MODE
fails_with() {
	REASONS+=("$1")
	MODES+=("$2")
	READS+=('')
}

# read_fails REASON BYTES MODE: a READ of a staged session fails; without REASON the session
# goes on
read_fails() {
	REASONS+=("$1")
	READS+=("$2")
	MODES+=("$3")
}

broken='malformed message|message not allowed in this state'
lost='connection lost'
silent='session was silent for too long'
# These may strike before the login is over, so the connect may report the reason.
fails_with "$broken" soon-random=64
fails_with 'internal error of the target' soon-close=96
fails_with "$lost" soon-hang-up
fails_with "$broken" live-random=64
fails_with "$broken" live-random=3
fails_with "$broken" live-grant
fails_with "$broken" live-tag
fails_with 'malformed message' live-oversize
fails_with "$lost" live-hang-up
fails_with "$lost" live-drop-data
fails_with 'internal error of the target' live-close=96
fails_with 'unknown reason' live-close=4711
# Answers on a write queue: to no command, a list where none was agreed on, one with data
fails_with 'message not allowed in this state' live-answer
fails_with 'malformed message' live-answer-list
fails_with 'malformed message' live-answer-data
# An access to the initiator's memory breaks the target's own connection.
fails_with "$lost" live-reach-read
fails_with "$lost" live-reach-write
fails_with "$silent" live-mute
fails_with "$silent" live-stale
# Answers to a READ command of a staged session. A READ of 4 KiB gets its data with the answer.
# A READ of 64 KiB gets its answer in a list, and its data is in the slot. These answers name no
# command in flight, or one that was answered already. Only with "twice" the READ may succeed.
state='message not allowed in this state'
for how in free stale twice; do
	read_fails "$state" 4k staged-$how
done
for how in reserved beyond early twice; do
	read_fails "$state" 64k staged-list-$how
done
# Lists of no answer, of one and a half answers, of more answers than a list may have
for bytes in 0 6 260; do
	read_fails 'malformed message' 64k staged-list-bytes=$bytes
done
# A list answers a READ whose data must come with the answer; a list cannot carry it
read_fails 'malformed message' 4k staged-list-data
# Data with the answer: none, too much, more than the receive has room for, unasked for, or with
# an error
for bytes in 0 4097; do
	read_fails 'malformed message' 4k staged-bytes=$bytes
done
read_fails 'malformed message' 4k staged-bytes=8193
read_fails 'malformed message' 64k staged-bytes=4
read_fails 'malformed message' 4k staged-error-data
read_fails 'access outside the granted regions' 64k staged-slot-outside
# Only a READ or WRITE notices these.
fails_with 'access outside the granted regions' live-wrong-key
fails_with 'access outside the granted regions' live-outside
# These are allowed.
fails_with '' live-events
fails_with '' live-status
fails_with '' staged-well
# Only the one READ fails.
read_fails '' 4k staged-error
read_fails '' 64k staged-list-error
# The first keep-alive finds no receive, which the transport reports before the answer is late.
fails_with "$lost" live-no-recv
declare -A ENDED=([live-wrong-key]=remote [live-outside]=remote [live-no-recv]=rnr
	[staged-slot-outside]=remote)

keepalives_more() {
	(($(disk_values status 1 keepalives) >= $1))
}

# harmless: the disk of rdmablk1 works, and goes on working
harmless() {
	dd if=/dev/rdmablk1 bs=1M count=1 iflag=direct status=none |
		cmp -n $((1 << 20)) - /dev/zero || fail "the contents"
	wait_until "$PATIENCE" keepalives_more 2 || fail "no keep-alive"
	expect live "$(attribute state 1)" "the state"
}

# expect_read_fails BYTES MODE: a READ where the target strikes fails and delivers nothing.
# With "twice" the first answer is right, and the READ may be over before the second comes.
expect_read_fails() {
	local status=0

	timeout "$PATIENCE" dd if=/dev/rdmablk1 of=/tmp/read bs="$1" count=1 skip=512k \
		iflag=direct,skip_bytes status=none 2>/tmp/read.err || status=$?
	if [[ $2 == *-twice ]] && ((status == 0)); then
		cmp -n $((${1%k} << 10)) /tmp/read /dev/zero || fail "the contents"
		return
	fi
	expect 1 $status "the status of a READ"
	grep -qE 'Link has been severed|Input/output error' /tmp/read.err ||
		fail "$(</tmp/read.err)"
	[[ ! -s /tmp/read ]] || fail "data has come"
}

serve 16M
start_bad_target "${MODES[@]}"
load_module
connect
start_load 0 --rate_iops=20
for ((i = 0; i < ${#MODES[@]}; i++)); do
	echo "${MODES[i]}"
	# Only a silent target is to count as dead, not one that is merely slow.
	tmo=$((3 * SLOWNESS))
	[[ ${REASONS[i]} != "$silent" ]] || tmo=1
	if ! "$RDMABLK" connect --dev-loss-tmo 0 --keep-alive-tmo $tmo \
		"$TARGET_ADDR:$((BAD_PORT + i))/x" \
		>/tmp/connect 2>&1; then
		[[ ${MODES[i]} == soon-* ]] || fail "$(</tmp/connect)"
		grep -qE "${REASONS[i]}" /tmp/connect || fail "$(</tmp/connect)"
		continue
	fi
	if [[ ${READS[i]} ]]; then
		expect_read_fails "${READS[i]}" "${MODES[i]}"
		if [[ ${REASONS[i]} ]]; then
			expect_failed "${REASONS[i]}" 1
		else
			grep -q 'Input/output error' /tmp/read.err || fail "$(</tmp/read.err)"
			expect live "$(attribute state 1)" "the state"
		fi
	elif [[ -z ${REASONS[i]} ]]; then
		harmless
	else
		timeout "$PATIENCE" dd if=/dev/rdmablk1 of=/dev/null bs=4k count=1 \
			iflag=direct status=none 2>/dev/null || :
		expect_failed "${REASONS[i]}" 1
	fi
	[[ ! ${ENDED[${MODES[i]}]:-} ]] || expect_ended "${ENDED[${MODES[i]}]}" 1
	"$RDMABLK" disconnect rdmablk1
done
for mode in live-reach-read live-reach-write; do
	run_expect 0 "^$mode: (remote access error|remote invalid request error)" \
		cat /tmp/bad_target
done
stop_bad_target
stop_load
still_live
disconnect
unload_module
stop_target
