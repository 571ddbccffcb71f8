#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One address holds 256 half-open connections. They take all login slots that an unknown address
# may have while no other login needs them. The address also sends HELLO after HELLO without
# PROOF, 10,000 in all. Meanwhile a disk of a known address connects again and again, each time
# at its first try. The daemon's memory stays below what its limits on logins allow, and nothing
# is left after the flood.
#
# mem: 1024
# timeout: 3600

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe

HELLOS=10000 HALF_OPEN=256
LOGINS=256	# in progress; as many sessions may be ending besides
t=$TARGET_ADDR t6=fd99::1

flooding() {
	kill -0 "$flood" 2>/dev/null
}

start_target --insecure --listen "$t" --listen "[$t6]" --export disk0,memory,size=8M \
	--max-logins $LOGINS --max-logins-per-address $LOGINS --login-rate 1000000 \
	--login-timeout 600000 --hello-timeout 600000 --log-level debug
load_module
disk 0 "[$t6]/disk0"	# from now on its address is known
disconnect_all
wait_until "$PATIENCE" no_sessions || fail "$(sessions) sessions after a logout"
rss=$(memory VmRSS)

"$PROGRAM" --arg $HALF_OPEN "$t" disk0 half-open >/tmp/half-open 2>&1 &
half=$!
cleanup_add kill -KILL "$half"
wait_until "$PATIENCE" grep -q 'half open' /tmp/half-open ||
	fail "no half-open connections: $(cat /tmp/half-open)"
expect_logs $((LOGINS * 3 / 4)) ': connected$'
each=$((($(memory VmRSS) - rss) / (LOGINS * 3 / 4) + 1))	# KiB of a login
"$PROGRAM" --arg $HELLOS "$t" disk0 unproven >/tmp/unproven 2>&1 &
flood=$!
cleanup_add kill -KILL "$flood"
wait_until "$PATIENCE" grep -q unproven /tmp/unproven ||
	fail "no flood: $(tail -n 3 /tmp/unproven)"
times=0 most=0
while flooding; do
	disk 0 "[$t6]/disk0"
	put 0 "round $times"
	get 0 "round $times"
	disconnect_all
	times=$((times + 1))
	now=$(memory VmRSS)
	((now <= most)) || most=$now
done
wait "$flood" || fail "the flood has ended: $(tail -n 3 /tmp/unproven)"
expect "$HELLOS unproven" "$(grep unproven /tmp/unproven | tail -n 1)" "the flood"
((times > 0)) || fail "no login in the flood"
((most <= rss + 2 * LOGINS * each)) ||
	fail "the daemon has $most KiB in a flood, before $rss"
echo "$times logins in the flood; the daemon had $((most - rss)) KiB more at most"
kill -KILL "$half"
wait_until "$PATIENCE" no_sessions || fail "$(sessions) sessions after the flood"
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
