# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For cases in which packets from the initiator wait on their way, net: veth. They
# wait at the receiver: rxe keeps a queue pair from being destroyed for as long as a
# packet of its own waits at the sender.

# hold_setup [ADDRESS]: prepares to hold packets from an address, or all packets
hold_setup() {
	local from=()

	(($# == 0)) || from=(match ip src "$1")
	modprobe ifb numifbs=1
	ip link set ifb0 up
	tc qdisc add dev ifb0 root netem limit 100000
	tc qdisc add dev v1 ingress
	tc filter add dev v1 parent ffff: protocol ip u32 \
		match ip protocol 17 0xff match ip dport 4791 0xffff \
		"${from[@]}" action mirred egress redirect dev ifb0
}

# hold_packets SECONDS: holds packets that come from now on; 0 lets them pass, but packets that
# wait already go on waiting
hold_packets() {
	tc qdisc change dev ifb0 root netem limit 100000 delay "$1s"
}

# packets_held: prints how many packets wait
packets_held() {
	[[ $(tc -s qdisc show dev ifb0) =~ backlog\ [0-9KMb]+\ ([0-9]+)p ]]
	echo "${BASH_REMATCH[1]}"
}

# packets_passed: prints how many packets have passed, at once or after waiting
packets_passed() {
	[[ $(tc -s qdisc show dev ifb0) =~ Sent\ [0-9]+\ bytes\ ([0-9]+)\ pkt ]]
	echo "${BASH_REMATCH[1]}"
}

# packets_wait [N]: whether at least N packets wait; default 1
packets_wait() {
	(($(packets_held) >= ${1:-1}))
}

no_packets_wait() {
	! packets_wait
}
