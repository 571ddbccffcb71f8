#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is killed thirty times under load and started again, each after a time that
# is drawn, so also while the disk is coming back from the last time; before every third
# it has come back. No request fails, and each ten times its contents are what a disk may
# hold.
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
went_on=0
for round in 1 2 3; do
	history_start --max 128K --flush 100 --fua 10
	for n in {1..10}; do
		before=$(history_records)
		((n % 3 != 1)) || history_progress
		pause_drawn 2000
		# Held requests that are issued again make only a few records.
		((went_on += $(history_records) >= before + 100)) || :
		stop_target KILL
		pause_drawn 1000
		again 8M
	done
	expect_well
	expect_legal
	echo "round $round: $(attribute reconnects) reconnects, $(attribute held) held," \
		"I/O before $went_on of $((10 * round)) kills"
done
# The fourth, the seventh and the tenth of each round, and the end of it
(($(attribute reconnects) >= 12)) || fail "$(attribute reconnects) reconnects only"
((went_on >= 12)) || fail "I/O before $went_on kills only"
(($(attribute held) > 0)) || fail "no request was ever in flight when it mattered"
disconnect
unload_module
stop_target
leak_check
