# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of engines whose load is a history (tests/lib/history.sh), which machine two
# writes. LOAD has more options of the writer.
#
#	load [N]		starts a round; waits for N records of it, 100 by default
#	gone_on HOW BEGAN	the load goes on after a takeover
#	legal			ends the round; the history must allow the disk's contents

if [[ $ROLE == initiator ]]; then
	# shellcheck source=tests/lib/history.sh
	source "$RDMABLK_TOP/tests/lib/history.sh"
fi
LOAD=()

load() {
	history_start --flush 100 --fua 10 "${LOAD[@]}"
	history_progress "${1:-100}"
}

gone_on() {
	local before=$HELD

	back
	history_progress 1
	pair_over "$1" "$2"
	((HELD > before)) || fail "the outage held no request"
	history_progress
}

legal() {
	history_stop
	expect 0 "$(status errors)" "the number of failed requests"
	history_check "$DEV"
}
