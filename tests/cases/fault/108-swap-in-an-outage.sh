#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A machine that swaps to the disk all the time survives an absence of its target of 10 seconds:
# the daemon killed, the link down, the target's machine stopped. First a program has less
# memory than it uses and the rest of the machine has enough; then the whole machine is short of
# memory. No process is killed for want of memory, one reconnect follows each outage, and each
# page has its contents.
#
# kernels: 6.12
# net: two
# timeout: 1200

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
# shellcheck source=tests/cases/fault/pressed.sh
source "$RDMABLK_TOP/tests/cases/fault/pressed.sh"
require mkswap swapon

group=/sys/fs/cgroup/pressed
n=0

# --- the target's machine -------------------------------------------------------------

away_kill() {
	stop_target KILL
	pause 10
	serve 256M
}

away_link() {
	host_do link target off
	pause 15
	host_do link target on
}

target() {
	local what

	serve 256M
	peer_set ready
	while :; do
		((++n))
		what=$(peer_wait "away.$n" 600)
		[[ $what != over ]] || break
		"away_$what"
		peer_set "back.$n"
	done
	stop_target
	peer_set over
}

# --- the machine that swaps -----------------------------------------------------------

# press MIB [CGROUP]: starts the program; returns when all of its memory was swapped out once
press() {
	/usr/bin/python3 "$CASES/fault/pressed.py" "$@" </tmp/go >/tmp/said 2>&1 &
	PRESSED=$!
	exec {go}>/tmp/go
	until visited $(($1 * 256 + 4096)); do
		goes_on
	done
}

press_end() {
	exec {go}>&-
	wait_until $((3 * PATIENCE)) pressed_over || fail "the program hangs"
	wait "$PRESSED" || fail "the program has found: $(tail -n 3 /tmp/said)"
	grep -qx 'the same' /tmp/said || fail "the program said: $(tail -n 3 /tmp/said)"
}

swap_ins() {
	awk '/^pswpin/ { print $2 }' /proc/vmstat
}

oom_kills() {
	awk '/^oom_kill / { print $2 }' /proc/vmstat
}

reconnected() {
	(($(attribute reconnects) > before))
}

# outage_is_over: there was one reconnect, and both program and swapping go on
outage_is_over() {
	local ins

	wait_until "$PATIENCE" reconnected ||
		fail "not back: $(attribute state), $(attribute last_error)"
	wait_state live
	ins=$(swap_ins)
	goes_on
	(($(swap_ins) > ins)) || fail "nothing is swapped any more"
	expect $((before + 1)) "$(attribute reconnects)" "the number of reconnects"
	expect 0 "$(status errors)" "the number of failed requests"
	expect 0 "$(oom_kills)" "the number of processes killed for want of memory"
}

# away kill|link
away() {
	echo "$1"
	before=$(attribute reconnects)
	((++n))
	peer_set "away.$n" "$1"
	peer_wait "back.$n" "$PATIENCE" >/dev/null
	outage_is_over
}

# stopped: stops the target's machine, which cannot continue by itself, for 10 s of the outage
stopped() {
	echo stop
	before=$(attribute reconnects)
	host_do stop target
	wait_state recovering
	pause 10
	host_do cont target
	outage_is_over
}

initiator() {
	local kib

	peer_wait ready 150
	load_module
	# With a deep queue, pages under way to the disk could be all the memory that the
	# program may have. The kernel cannot reclaim them, and would kill the program for want
	# of memory.
	connect --dev-loss-tmo off --reconnect-delay 1 --queue-depth 8
	mkswap -q $DEV
	swapon $DEV
	mkfifo /tmp/go

	echo "+memory" >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	echo 32M >$group/memory.max
	press 64 $group
	away kill
	away link
	stopped
	press_end

	# Memory taken for huge pages is neither given back nor swapped.
	kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
	echo $((kib / 2048 - 48)) >/proc/sys/vm/nr_hugepages
	press 144
	away kill
	away link
	press_end
	echo 0 >/proc/sys/vm/nr_hugepages

	swapoff $DEV
	disconnect
	unload_module
	peer_set "away.$((n + 1))" over
	peer_wait over "$PATIENCE"
}

"$ROLE"
