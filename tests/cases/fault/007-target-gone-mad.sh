#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target that logs an initiator in and then misbehaves costs it that one session,
# with a reason, and nothing else: a disk of another target works on meanwhile. Its
# answers on write queues are to what was asked, and it gets at no memory of the initiator.
# A READ whose answer is wrong fails; no data comes with it.
# What it may do without harm does none. What its adapter refuses, and what it has no
# receive for, is counted, each as what it is.
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

# read_fails REASON BYTES MODE: of a staged session; without REASON it goes on
read_fails() {
	REASONS+=("$1")
	READS+=("$2")
	MODES+=("$3")
}

broken='malformed message|message not allowed in this state'
lost='connection lost'
silent='session was silent for too long'
# Of these the login may hear before it is over.
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
# Answers on a write queue: to nothing, several where one is agreed on, one with data.
fails_with 'message not allowed in this state' live-answer
fails_with 'malformed message' live-answer-list
fails_with 'malformed message' live-answer-data
# What reaches for the initiator's memory breaks its own connection.
fails_with "$lost" live-reach-read
fails_with "$lost" live-reach-write
fails_with "$silent" live-mute
fails_with "$silent" live-stale
# The answer to a READ command of a staged session: with its data, 4 KiB, or, of 64 KiB, in
# a list, the data being in the slot. First answers that name no command in flight, or one
# that is over: only with "twice" the READ gets what it asked for.
state='message not allowed in this state'
for how in free stale twice; do
	read_fails "$state" 4k staged-$how
done
for how in reserved beyond early twice; do
	read_fails "$state" 64k staged-list-$how
done
# Lists of nothing, of one and a half answers, of more than a list may have
for bytes in 0 6 260; do
	read_fails 'malformed message' 64k staged-list-bytes=$bytes
done
# A list that says that data has come, which it cannot bring
read_fails 'malformed message' 4k staged-list-data
# Data: none, too much, more than there is memory for, not asked for, or with an error
for bytes in 0 4097; do
	read_fails 'malformed message' 4k staged-bytes=$bytes
done
read_fails 'malformed message' 4k staged-bytes=8193
read_fails 'malformed message' 64k staged-bytes=4
read_fails 'malformed message' 4k staged-error-data
read_fails 'access outside the granted regions' 64k staged-slot-outside
# Only who reads finds out.
fails_with 'access outside the granted regions' live-wrong-key
fails_with 'access outside the granted regions' live-outside
# No harm.
fails_with '' live-events
fails_with '' live-status
fails_with '' staged-well
# No harm but to the one READ
read_fails '' 4k staged-error
read_fails '' 64k staged-list-error
# Noticed by the first keep-alive, before its answer is late.
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
tmo=1
for ((i = 0; i < ${#MODES[@]}; i++)); do
	echo "${MODES[i]}"
	# A target that is merely slow is not to be taken for a dead one.
	[[ -n ${REASONS[i]} && ! ${READS[i]} ]] || tmo=3
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
