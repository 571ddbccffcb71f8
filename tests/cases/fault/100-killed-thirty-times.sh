#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is killed thirty times under load and started again, each after a time that
# is drawn, so also while the disk is coming back from the last time: no request fails,
# and each ten times its contents are what a disk may hold.
#
# kernels: 6.1 6.12 newest
# timeout: 900

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# pause_drawn MS: up to that
pause_drawn() {
	local ms

	printf -v ms '%04d' $((RANDOM % $1))
	pause "${ms:0:1}.${ms:1}"
}

RANDOM=$((seed = SRANDOM % 32768))
echo "seed $seed"
load_module
leak_snapshot
serve 8M
connect_patient
for round in 1 2 3; do
	history_start --max 128K --flush 100 --fua 10
	for _ in {1..10}; do
		pause_drawn 2000
		stop_target KILL
		pause_drawn 1000
		again 8M
	done
	expect_well
	expect_legal
	echo "round $round: $(attribute reconnects) reconnects, $(attribute held) held"
done
(($(attribute reconnects) >= 3)) || fail "it was never lost"
(($(attribute held) > 0)) || fail "no request was ever in flight when it mattered"
disconnect
unload_module
stop_target
leak_check
