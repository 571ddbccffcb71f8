#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon is killed thirty times under load and started again, after random pauses. So it is
# also killed while the disk is still coming back; before every third kill the test waits until
# the disk is back. No request fails, and after every ten kills the history allows the contents.
#
# kernels: 6.1 6.12 newest
# timeout: 900

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# pause_drawn MS: pauses for a random time up to MS milliseconds
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
# The disk is back before the fourth, seventh and tenth kill of each round, and at its end.
(($(attribute reconnects) >= 12)) || fail "$(attribute reconnects) reconnects only"
((went_on >= 12)) || fail "I/O before $went_on kills only"
(($(attribute held) > 0)) || fail "no request was ever in flight when it mattered"
disconnect
unload_module
stop_target
leak_check
