#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Measures the time from the return of the target to the end of the first request, over outages
# of random length, of the daemon and of the network. The figures are in the output; the case
# notices the return of the daemon up to about 0.3 s late. It checks that at most one try fails
# after the return, the one that was under way, and that the next one succeeds. life/002 checks
# the promised time, with a clock that can measure it.
#
# kernels: 6.12
# net: two
# timeout: 500

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

OUTAGES=12	# one half each
DELAY=2		# seconds, the default of reconnect_delay

network_off() {
	host_do link initiator off
}

network_on() {
	host_do link initiator on
}

# read_once FILE: reads the disk, and writes the time of the end to FILE
read_once() {
	dd if=$DEV of=/dev/null bs=4k count=1 iflag=direct status=none &&
		now >"$1"
}

now() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# outage N OFF ON SECONDS: makes an outage, and prints how long it took to come back
outage() {
	local n=$1 attempts back tries

	$2
	wait_state recovering
	rm -f /tmp/ended
	job reader read_once /tmp/ended
	wait_until 60 deadline_passed "$(deadline_in "$4")" || fail "the clock stands"
	$3
	# Tries that failed while the daemon was starting do not count.
	attempts=$(attribute attempts)
	back=$(now)
	job_ends reader
	wait_state live
	tries=$(($(attribute attempts) - attempts))
	echo "outage $n: $2, $4 s: first I/O $(($(</tmp/ended) - back)) ms" \
		"after the return was seen, try $tries"
	# A failing try may have begun since "attempts" was read.
	((tries <= 2)) || fail "$((tries - 1)) tries have failed after the return"
}

initiator() {
	local n

	load_module
	peer_wait served.0 $PEER
	connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay $DELAY
	for ((n = 1; n <= OUTAGES; n += 2)); do
		outage $n remote_stop remote_again $((2 + RANDOM % 19))
		outage $((n + 1)) network_off network_on $((2 + RANDOM % 19))
	done
	expect $OUTAGES "$(attribute reconnects)" "the number of outages"
	disconnect
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target_serve $((OUTAGES / 2))
else
	initiator
fi
