#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One address holds 256 half-open connections, and sends HELLO after HELLO without PROOF, half
# of them with a key that the daemon knows and half with an unknown key, 10,000 in all.
# Meanwhile the disk of a host with a key connects again and again: each connect takes less than
# a second, each turn of the daemon's loop less than 10 ms, and the daemon's memory stays below
# what its limits on logins allow.
#
# Time counts instructions here: those of the flood, of the daemon and of the connect, which
# share one processor. So the times do not depend on how busy the host is, and the test can
# judge them. A bucket of the loop's histogram ends at 8.4 ms, the next one at 16.8 ms.
#
# icount: yes
# timeout: 3600

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq chrt
program target_probe

HELLOS=5000	# of each key
HALF_OPEN=256
LOGINS=256	# in progress; as many sessions may be ending besides
LOGIN_US=1000000	# most of a connect
TURN_NS=10000000	# most of a turn
t=$TARGET_ADDR t6=fd99::1
# While the guest waits for the host its clock jumps from timer to timer.
TARGET_READY_TIMEOUT=100000 PATIENCE=100000

flooding() {
	kill -0 "${flood[known]}" 2>/dev/null || kill -0 "${flood[stranger]}" 2>/dev/null
}

# log_in: connects and disconnects a disk; $US: microseconds that the connect has taken
log_in() {
	local start=${EPOCHREALTIME/./}

	"$RDMABLK" connect --key web1 --dev-loss-tmo 0 "[$t6]/disk0" >/tmp/connected
	US=$((${EPOCHREALTIME/./} - start))
	expect /dev/rdmablk0 "$(</tmp/connected)" "the disk"
	put 0 "round $times"
	get 0 "round $times"
	disconnect_all
}

# turns: prints the histogram of the loop's turns; its buckets end at a number of nanoseconds
turns() {
	"$RDMABLK" target metrics --json | jq -c '.daemon.loop_turns.buckets'
}

make_keys web1 stranger
{
	printf '[target]\nlisten = %s\nlisten = [%s]\n' "$t" "$t6"
	printf 'max-logins = %s\nmax-logins-per-address = %s\nlogin-rate = 1000000\n' $LOGINS $LOGINS
	printf 'login-timeout = 600000\nhello-timeout = 600000\nlog-level = debug\n'
	printf '[host web1]\nkey = web1\n'
	printf '[export disk0]\ntype = memory\nsize = 8M\nallow = web1\n'
} >"$HOSTS_CONFIG"
load_keys web1
start_target --config "$HOSTS_CONFIG"
# A real initiator is another machine, and takes no processor from the daemon during a turn.
chrt --all-tasks --fifo --pid 1 "$TARGET_PID"
load_module
times=0
log_in		# from now on its address is known, and its programs are in memory
log_in
echo "alone, a connect takes $US us"
wait_until "$PATIENCE" no_sessions || fail "$(sessions) sessions after a logout"
rss=$(memory VmRSS)

"$PROGRAM" --key $KEYS/web1.key --arg $HALF_OPEN "$t" disk0 half-open >/tmp/half-open 2>&1 &
half=$!
cleanup_add kill -KILL "$half"
wait_until "$PATIENCE" grep -q 'half open' /tmp/half-open ||
	fail "no half-open connections: $(cat /tmp/half-open)"
expect_logs $((LOGINS * 3 / 4)) ': connected$'
each=$((($(memory VmRSS) - rss) / (LOGINS * 3 / 4) + 1))	# KiB of a login
declare -A flood
"$PROGRAM" --key $KEYS/web1.key --arg "$HELLOS" "$t" disk0 unproven >/tmp/unproven.known 2>&1 &
flood[known]=$!
"$PROGRAM" --key $KEYS/stranger.key --arg "$HELLOS" "$t" disk0 unproven \
	>/tmp/unproven.stranger 2>&1 &
flood[stranger]=$!
cleanup_add kill -KILL "${flood[@]}"
for kind in known stranger; do
	wait_until "$PATIENCE" grep -q unproven "/tmp/unproven.$kind" ||
		fail "no flood: $(tail -n 3 "/tmp/unproven.$kind")"
done
most=0 longest=0
while flooding; do
	log_in
	times=$((times + 1))
	((US <= longest)) || longest=$US
	now=$(memory VmRSS)
	((now <= most)) || most=$now
	echo "$times: $US us, $(tail -n 1 /tmp/unproven.known)"
done
for kind in known stranger; do
	wait "${flood[$kind]}" || fail "the flood has ended: $(tail -n 3 "/tmp/unproven.$kind")"
	expect "$HELLOS unproven" "$(grep unproven "/tmp/unproven.$kind" | tail -n 1)" "the flood"
done
turns >/tmp/turns
echo "$times logins in the flood of $((2 * HELLOS)), of $longest us at most; $((most - rss)) KiB more"
echo "at most; the turns of the loop: $(</tmp/turns)"
((times > 0)) || fail "no login in the flood"
((longest < LOGIN_US)) || fail "a login in the flood has taken $longest us"
((most <= rss + 2 * LOGINS * each)) ||
	fail "the daemon has $most KiB in a flood, before $rss"
expect 0 "$(jq "map(select(.end_ns == null or .end_ns > $TURN_NS)) | length" /tmp/turns)" \
	"durations of turns above 10 ms"
kill -KILL "$half"
wait_until "$PATIENCE" no_sessions || fail "$(sessions) sessions after the flood"
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
