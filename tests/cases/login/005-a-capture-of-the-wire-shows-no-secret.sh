#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An attacker records all packets of a login with a key, and of a reconnect. After PROOF each
# message has a seal. No message has the address and the key of the region, the UUID of the
# export, or K. The same search finds the first three in a login without a key. Replayed
# messages of the initiator get no further than HELLO, at the same daemon and at the next one. A
# target that cannot prove that it accepts a data queue gets no packet on it, although writes
# wait for it.
#
# net: veth
# kernels: 6.12
# long-kernels: 6.1 newest
# timeout: 600
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq

FAILED=49	# RDMABLK_R_AUTH_FAILED
STRANGER='somebody else has accepted a queue: its MAC is wrong'

wire() {
	python3 "$CASES/login/wire.py" "$@"
}

# capture NAME: records packets at the initiator's end from now on
capture() {
	: >/tmp/capture
	python3 "$CASES/login/wire.py" capture v0 "/tmp/$1" >/tmp/capture &
	CAPTURE=$!
	wait_until "$PATIENCE" grep -q capturing /tmp/capture || fail "no capture"
}

capture_end() {
	kill "$CAPTURE"
	wait "$CAPTURE" || fail "the capture has failed"
}

# secrets NAME: prints secrets of the captured session: address and key of its region, UUID
secrets() {
	local uuid addr key

	uuid=$(<$SESSION/uuid)
	read -r addr key <<<"$(wire regions "/tmp/$1")"
	[[ $key ]] || fail "no READ was captured"
	echo "$addr $key ${uuid//-/}"
}

# shows_nothing NAME: the capture has none of the session's secrets
shows_nothing() {
	local words

	expect '' "$(wire bare "/tmp/$1")" "messages without a seal after PROOF, $1"
	read -ra words <<<"$(secrets "$1")"
	expect '' "$(wire clear "/tmp/$1.control" "${words[@]}")" "what is shown, $1"
	python3 "$CASES/login/secret.py" "$KEYS/default.key" -- "/tmp/$1" ||
		fail "bytes of the key are on the wire, $1"
}

# captured NAME CMD [ARGS]: captures a connect of the disk and a read of its first block
captured() {
	capture "$1"
	"${@:2}"
	dd if=$DEV of=/tmp/begin bs=4k count=1 iflag=direct status=none
	capture_end
	wire control "/tmp/$1" "/tmp/$1.control"
}

connect_with_key() {
	expect $DEV "$("$RDMABLK" connect --key default --dev-loss-tmo off --keep-alive-tmo $((5 * SLOWNESS)) \
		--reconnect-delay 1 "$TARGET_ADDR/disk0")" "the disk"
}

# comes_back: kills the daemon and starts it again; the disk comes back
comes_back() {
	stop_target KILL
	start_target --config $HOSTS_CONFIG
	expect_back 1
}

# replay: the recorded messages of the first login get a CHALLENGE and no more
replay() {
	probe $FAILED --replay /tmp/said disk0 recorded
	still_live
}

write_is_over() {
	! kill -0 "$WRITE" 2>/dev/null
}

# decided: whether the initiator has refused the accepts in two tries, or the disk is live
decided() {
	state_is live ||
		{ [[ $(attribute last_error) == "$STRANGER" ]] && (($(attribute attempts) >= 3)); }
}

load_module
leak_snapshot

# Without a key the search finds the secrets.
serve 16M
captured open connect
read -ra words <<<"$(secrets open)"
expect "${words[*]}" "$(wire clear /tmp/open.control "${words[@]}" | xargs)" \
	"what a login without a key shows"
disconnect
stop_target
rm $ARENA

# With a key
serve_with_key 16M
captured sealed connect_with_key
shows_nothing sealed

# An attacker replays the recorded messages.
wire recorded /tmp/sealed /tmp/said
replay
captured back comes_back
shows_nothing back
replay
expect 1 "$(attribute reconnects)" "the number of outages"

# A stranger accepts the data queues, while a write waits.
stop_target KILL
wait_state recovering
random_file 64k /tmp/data
dd if=/tmp/data of=$DEV bs=64k oflag=direct status=none &
WRITE=$!
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
capture stranger
start_target --config $HOSTS_CONFIG --fault foreign-accept
wait_until "$PATIENCE" decided || fail "the last error is '$(attribute last_error)'"
capture_end
read -r reached joins <<<"$(wire data /tmp/stranger "$TARGET_ADDR")"
((joins >= 2)) || fail "only $joins requests to join were captured"
expect 0 "$reached" "the number of packets on data queues whose accept is wrong"
expect recovering "$(attribute state)" "the state"
! write_is_over || fail "the write has ended"
stop_target KILL
RDMABLKD=$RDMABLK_TOP/target/rdmablkd
capture ours
start_target --config $HOSTS_CONFIG
expect_back 2
wait_until "$PATIENCE" write_is_over || fail "the write hangs"
wait "$WRITE" || fail "the write has failed"
capture_end
read -r reached joins <<<"$(wire data /tmp/ours "$TARGET_ADDR")"
((reached > 0 && joins >= 2)) || fail "the capture does not see data: $reached, $joins"
same_as_target /tmp/data 65536
disconnect
stop_target
leak_check
unload_module
