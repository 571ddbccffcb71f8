#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# From the return of the target to the end of the first request less than 1.5 times
# reconnect_delay passes. This holds when the network returns early or late in a try, when the
# network was away for rdma_cm only and a login had got as far as its data queues, and when the
# daemon is started again.
#
# Time counts instructions here, so it does not depend on how busy the host is. The clock runs
# ahead while the guest waits for a file of the host. Therefore no program is started between
# the return and the end of the first request in the trace. A page of a running program may
# still have to come from the host, so a measurement that is too long is repeated, twice at
# most.
#
# net: veth
# icount: yes

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require nft python3

DELAY=2		# seconds, the default of reconnect_delay
LIMIT=$((3 * DELAY * SLOWNESS * 1000 / 2))

# The rules drop packets by the group of the receiving network device. Group 5 receives no
# packet of RoCE; group 6 receives no request of rdma_cm for a data queue, see recovery/011.
nft -f - <<END
table ip away {
	chain input {
		type filter hook input priority 0;
		iifgroup 5 udp dport 4791 counter drop
		iifgroup 6 udp dport 4791 @th,104,24 1 @th,352,16 16 @th,1888,8 != 0 counter drop
	}
}
END

# away GROUP: puts both ends into this group
away() {
	echo "$1" >/sys/class/net/v0/netdev_group
	echo "$1" >/sys/class/net/v1/netdev_group
}

says() {
	local text

	read -r text <"$SESSION/$1"
	# shellcheck disable=SC2053 # a pattern
	[[ $text == $2 ]]
}

# expect_says ATTRIBUTE PATTERN: waits until the attribute matches
expect_says() {
	wait_until "$PATIENCE" says "$1" "$2" || fail "$1 is '$(attribute "$1")', not '$2'"
}

# closely CMD [ARGS]: waits until the command succeeds, and notices that within 10 ms
closely() {
	local deadline

	deadline=$(deadline_in "$PATIENCE")
	until "$@"; do
		! deadline_passed "$deadline" || fail "never: $*"
		pause 0.01
	done
}

# tries N: whether this outage has had N tries, and a try has failed. The outage before had a
# count of its own
tries() {
	local tries

	says last_error '?*' && read -r tries <"$SESSION/attempts" && ((tries >= $1))
}

has_ended() {
	local line

	while read -r line; do
		[[ $line != *'rdmablk_end: '*error=0 ]] || return 0
	done <$TRACING/trace
	return 1
}

# back WHAT: whether the first request ended within the limit after the mark "back" in the trace
back() {
	local ms

	wait_until "$PATIENCE" has_ended || fail "$1: no request ends"
	trace_stop
	ms=$(awk '
		{ match($0, /[0-9]+\.[0-9]+: /); t = substr($0, RSTART, RLENGTH - 2) }
		/: back$/ { back = t }
		/rdmablk_end: .*error=0$/ && !end { end = t }
		END { if (back && end) printf "%d", (end - back) * 1000 }' /tmp/trace)
	[[ $ms ]] || fail "$1: nothing in the trace"
	echo "$1: first request after $ms ms, $(attribute attempts) tries"
	wait_state live
	job_still reader
	# A short connection does not end the outage: the pauses between tries stay long.
	wait_until "$PATIENCE" deadline_passed "$(deadline_in 2)" || fail "the clock stands"
	((ms < LIMIT))
}

# soon CMD [ARGS]: the command succeeds at least once in three times
soon() {
	local try

	for try in 1 2 3; do
		! "$@" || return 0
	done
	fail "$*: more than $LIMIT ms, $try times"
}

# network GROUP SECONDS WHAT: the network is away, and back SECONDS after the second try began
network() {
	away "$1"
	[[ $1 == 5 ]] || "$RDMABLK" reconnect rdmablk0
	expect_says state recovering
	trace_start
	closely tries 2
	pause "$2"
	echo back >$TRACING/trace_marker
	away 0
	back "$3, back $2 s after a try has begun"
}

says_ready() {
	[[ $(<"$TARGET_LOG") == *'rdmablkd: ready'* ]]
}

# daemon: it is killed, and started again after six tries, when the pauses between tries are
# long
daemon() {
	stop_target KILL
	expect_says state recovering
	trace_start
	closely tries 6
	: >"$TARGET_LOG"
	"$RDMABLKD" --insecure --listen "$TARGET_ADDR" \
		--export "disk0,memory,arena=$ARENA,size=16M" >>"$TARGET_LOG" 2>&1 &
	TARGET_PID=$!
	closely says_ready
	echo back >$TRACING/trace_marker
	back "the daemon"
}

load_module
serve 16M
connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay $DELAY
job reader python3 "$CASES/life/reads.py" $DEV
for seconds in 0.01 0.5 1 1.5 1.9; do
	soon network 5 $seconds "the network"
	soon network 6 $seconds "what joins data queues"
done
for _ in 1 2 3; do
	soon daemon
done
kill "${JOB[reader]}"
job_ends reader any
disconnect
unload_module
stop_target
