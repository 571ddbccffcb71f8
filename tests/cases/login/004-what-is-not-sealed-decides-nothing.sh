#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Peers without the key, and peers that have it and break the rules of version 2. At the target:
# a wrong proof, an unknown key, a frame that is repeated, changed or not sealed, and a join in
# the name of another queue pair end only their own session or login. A flood of logins that
# never prove a key keeps no host away. At the initiator: whatever reason a target without the
# key gives, before CHALLENGE or after PROOF, the outage continues, and the disk is back when
# its target is. A first connect fails with that reason. No request fails. A reject that claims
# a full adapter takes no queue from the disk. An unsealed CLOSE or RESIZE costs a live disk one
# reconnect, and no more. A login fails if a bit of a message has changed on the way, in either
# direction. This case samples the bits; unit tests have all of them.
#
# kernels: 6.12
# long-kernels: 6.1 newest
# timeout: 900
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq

# RDMABLK_R_*
VERSION=2 FEATURE=5 REQUIRED=48 FAILED=49 JOIN_MAC=51 STOLEN=67 REPLACED=69 DATA_LOST=74
FLOOD=200 LOGINS=4

configure() {
	printf '[target]\nlisten = %s:%s\n' "$TARGET_ADDR" "$BAD_PORT"
	printf 'keep-alive-min = %d\n' $((1000 * SLOWNESS))
	printf '[host %s]\nkey = %s\n' web1 web1 peer peer
	printf '[export disk0]\ntype = memory\nsize = 16M\narena = %s\nallow = web1\n' $ARENA
	printf '[export bait]\ntype = memory\nsize = 4M\nallow = peer\n'
}

daemon() {
	start_target --config $HOSTS_CONFIG "$@"
}

# meets REASON MODE: in an outage the disk meets a target without its key, twice
meets() {
	reason=$1
	start_bad_target "$2"
	before=$(attribute attempts)
	wait_until "$PATIENCE" met_twice ||
		fail "$2: the last error is '$(attribute last_error)', not '$reason'"
	expect recovering "$(attribute state)" "the state after $2"
	expect 0 "$(attribute io_failing)" "io_failing after $2"
	stop_bad_target
}

# met_twice: whether two tries or more were made since "before" was set, and the last one failed
# for this reason
met_twice() {
	[[ $(attribute last_error) =~ ^($reason)$ ]] && (($(attribute attempts) >= before + 2))
}

# meets_flips FAULT STEP BITS: in an outage, more than BITS tries of the disk meet a flipped bit
meets_flips() {
	daemon --fault "$1=$2"
	wait_until "$PATIENCE" log_count $(($3 + 1)) "fault: $1: bit [0-9]+ of" ||
		fail "$1: the disk does not try again: $(attribute state)"
	expect recovering "$(attribute state)" "the state after $1"
	expect 0 "$(attribute io_failing)" "io_failing after $1"
	stop_target KILL
}

flood_end() {
	kill "$flood" 2>/dev/null || :
}

# connects N: a host with a key logs in N times, one after the other, each at its first try
connects() {
	local n

	for ((n = 0; n < $1; n++)); do
		probe 0 --key "$KEYS/peer.key" bait io
	done
}

make_keys web1 peer stranger
configure >$HOSTS_CONFIG
load_module
load_keys web1
leak_snapshot
daemon
expect $DEV "$("$RDMABLK" connect --key web1 --queues 2 --dev-loss-tmo off --keep-alive-tmo $((2 * SLOWNESS)) \
	--reconnect-delay 1 --connect-tmo 4 "$TARGET_ADDR:$BAD_PORT/disk0")" "the disk"
expect 2 "$(attribute queues)" "the number of queues"
start_verify --rate_iops=100

# Attacks on the target
PROBE_OPTIONS=(--port "$BAD_PORT" --key "$KEYS/peer.key")
probe 0 bait io
probe $FAILED bait bad-proof
probe $JOIN_MAC bait join-mac
probe $JOIN_MAC bait join-foreign
for scenario in unsealed replayed; do
	probe 0 bait $scenario
done
bytes=(0 16 60)
[[ ! $LONG ]] || bytes+=(2 8 24)
for byte in "${bytes[@]}"; do
	probe 0 --arg "$byte" bait forged
done
hello_step=964 proof_step=202
[[ ! $LONG ]] || hello_step=97 proof_step=19
probe 0 --arg $hello_step bait flip-hello
probe 0 --arg $proof_step bait flip-proof
probe 0 bait io
PROBE_OPTIONS=(--port "$BAD_PORT")
probe $FAILED --key "$KEYS/stranger.key" bait io
probe $REQUIRED bait io

# Logins without a proof, while hosts log in
program target_probe
"$PROGRAM" --port "$BAD_PORT" --key "$KEYS/stranger.key" --arg $FLOOD "$TARGET_ADDR" bait \
	unproven >/tmp/flood 2>&1 &
flood=$!
cleanup_add flood_end
wait_until "$PATIENCE" grep -q unproven /tmp/flood || fail "no flood: $(</tmp/flood)"
connects $LOGINS
wait_until "$PATIENCE" grep -q "^$FLOOD unproven" /tmp/flood ||
	fail "the flood has not come to its end: $(</tmp/flood)"
expect_progress
expect 0 "$(attribute reconnects)" "the number of outages"

# Attacks in the place of the target
stop_target KILL
wait_state recovering
meets 'export was taken over by another host' close=$STOLEN
meets 'session was replaced by a newer login' close-proof=$REPLACED
meets 'store has lost its contents' close-proof=$DATA_LOST
meets 'authentication failed' close-proof=$FAILED
if [[ $LONG ]]; then
	meets 'a required feature is missing' close=$FEATURE
	meets 'no common protocol version' close=$VERSION
fi
meets 'authentication required' reject=$REQUIRED
meets 'the target takes no keys.*' reject=$VERSION
meets 'authentication failed' reject=$FAILED
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
daemon --fault full-reject
before=$(attribute attempts)
reason="target's RDMA device has no room for more queues"
wait_until "$PATIENCE" met_twice ||
	fail "rejected queues: the last error is '$(attribute last_error)', not '$reason'"
expect recovering "$(attribute state)" "the state after rejected queues"
! dmesg_has 'no room for [0-9]+ queues; trying with' || fail "a reject has taken queues from the disk"
stop_target KILL
if [[ $LONG ]]; then
	meets_flips flip-challenge 333 12
	meets_flips flip-accept 101 12
else
	meets_flips flip-challenge 333 2
fi

# Unsealed messages to a live disk
size=$(blockdev --getsize64 $DEV)
daemon --fault unsealed-close=$STOLEN --fault unsealed-resize=$((2 * size))
wait_until "$PATIENCE" reconnected 3 ||
	fail "$(attribute state) after $(attribute reconnects) reconnects"
wait_state live
dmesg_has 'ignoring the reason of a close that is not sealed: export was taken over' ||
	fail "no CLOSE without a seal has come"
dmesg_has 'rdmablk0 .*: connection lost: authentication failed' ||
	fail "no RESIZE without a seal has ended a session"
expect "$size" "$(blockdev --getsize64 $DEV)" "the size"
expect 0 "$(attribute io_failing)" "io_failing"
expect 2 "$(attribute queues)" "the number of queues after rejects"
expect_progress
stop_verify
device_same_as_target
expect 3 "$(attribute reconnects)" "the number of outages"
disconnect

# A first connect fails with the reason.
stop_target
start_bad_target close=$STOLEN close-proof=$FAILED
run_expect 5 'export was taken over by another host' \
	"$RDMABLK" connect --key web1 "$TARGET_ADDR:$BAD_PORT/disk0"
run_expect 6 'authentication failed' \
	"$RDMABLK" connect --key web1 "$TARGET_ADDR:$((BAD_PORT + 1))/disk0"
stop_bad_target
leak_check
unload_module
