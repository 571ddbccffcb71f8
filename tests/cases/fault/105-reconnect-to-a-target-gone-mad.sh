#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In an outage a disk finds another target at the address. That target says nothing, hangs up,
# answers garbage, too late, out of order or twice, or does so after a successful login. The
# disk tries again, its I/O is held, and it goes on when a correct target is there. No request
# fails. If another try would be wrong, the disk fails and says why.
#
# kernels: 6.1 6.12
# timeout: 900

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

MODES=() REASONS=()

# meets REASON MODE: the disk meets this target; it strikes in the login or when the disk is
# live
meets() {
	REASONS+=("$1")
	MODES+=("$2")
}

other='the peer accepts, but is not an rdmablk target'
lost='connection lost( .*)?'
broken='malformed message|message not allowed in this state'
# The disk is live already
meets "$broken" soon-random=64
meets "$lost" soon-hang-up
meets "$broken" live-grant
meets 'session was silent for too long' live-mute
meets 'session was silent for too long' live-stale
meets "$broken" twice=8
# During the login
meets "$broken" twice=2
meets "$broken" twice=4
meets 'no answer in time' deaf
meets 'the target does not answer the login' silent
# All tries but the first wait 8.8 s for an answer.
meets 'the target does not answer the login|no answer in time' late=12000
meets "$lost" hang-up
meets "$other" empty-accept
meets "$other" bad-accept
meets 'the peer refuses, but is not an rdmablk target' reject-empty
meets 'the peer refuses, but is not an rdmablk target' reject-random
meets 'internal error of the target' close=96
meets 'unknown reason' close=4711
meets "$broken" random=512
meets "$broken" random=0
meets "$broken" type=4
meets 'the target sent a bad CHALLENGE' challenge-session
meets 'the target sent a bad GRANT' grant-size
meets 'the target sent bad REGIONS' regions-first
meets 'the target does not answer the login' no-grant
meets 'the target does not answer the login' no-live
meets "$broken" live-head

# bad MODE
bad() {
	stop_bad_target 2>/dev/null
	start_bad_target "$1"
}

losses() {
	dmesg | grep -cE "rdmablk0 .*: connection lost: ($reason)\$"
}

# met: whether the disk has tried more than once, and the last try failed for this reason
met() {
	[[ $(attribute last_error) =~ ^($reason)$ ]] && (($(attribute attempts) >= 2))
}

# lost_again: whether two more logins succeeded, and a connection was lost for this reason
lost_again() {
	(($(attribute reconnects) >= before + 2 && $(losses) > lost_before))
}

load_module
leak_snapshot
start_bad_target live-status
expect $DEV "$("$RDMABLK" connect --dev-loss-tmo off --keep-alive-tmo 1 \
	--reconnect-delay 1 --connect-tmo 2 "$TARGET_ADDR:$BAD_PORT/x")" "the disk"
start_load 0 --rw=randread --rate_iops=50
for ((i = 0; i < ${#MODES[@]}; i++)); do
	echo "${MODES[i]}"
	reason=${REASONS[i]} before=$(attribute reconnects)
	lost_before=$(losses) || :
	bad "${MODES[i]}"
	case ${MODES[i]} in
	soon-* | live-[!h]* | twice=8) wait_until "$PATIENCE" lost_again ;;
	*) wait_until "$PATIENCE" met ;;
	esac || fail "it is $(attribute state), the last error '$(attribute last_error)'"
	bad live-status
	wait_state live
	wait_until "$PATIENCE" completed_more 0 $(($(completed 0) + 20)) ||
		fail "no I/O: $(attribute state), $(attribute last_error)"
done

# An answer that comes twice does no harm.
answered_twice() {
	(($(status stale_answers) > stale))
}

before=$(attribute reconnects) stale=$(status stale_answers)
bad twice=10
expect_back $((before + 1))
wait_until "$PATIENCE" answered_twice || fail "no answer came twice"
wait_until "$PATIENCE" completed_more 0 $(($(completed 0) + 20)) || fail "no I/O"
expect $((before + 1)) "$(attribute reconnects)" "the number of outages"
still_live
stop_load

# After these reasons the disk does not try again.
bad live-status
wait_state live
for mode in 'no common protocol version=accept-version=99' \
	'authentication required=close=48' 'a required feature is missing=close=5' \
	'authentication failed=regions-mac' 'store has lost its contents=close=74'; do
	echo "$mode"
	bad "${mode#*=}"
	expect_failed "${mode%%=*}"
	run_expect 1 'Link has been severed' timeout "$PATIENCE" \
		dd if=$DEV of=/dev/null bs=4k count=1 iflag=direct
	bad live-status
	accept=()
	if [[ $mode == *'lost its contents'* ]]; then
		run_expect 1 'the loss is not accepted' "$RDMABLK" reconnect rdmablk0
		accept=(--accept-data-loss)
	fi
	"$RDMABLK" reconnect "${accept[@]}" --wait "$PATIENCE" rdmablk0
done
disconnect
unload_module
stop_bad_target
leak_check
