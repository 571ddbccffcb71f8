# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Things that go wrong, each with a beginning and an end, for cases with 'net: veth'
# and for tests/campaign, which draws them at random. Source it after fault/lib.sh.
#
#	fault_begin kill	... fault_end kill
#	fault_begin netem v0 loss 5%	... fault_end netem v0 loss 5%
#	fault_settled		all background work has ended, and rxe works
#
# The faults concern the disk $DEV, the daemon of 'start_target', and the ends v0 (initiator)
# and v1 (target) of the wire. The caller defines fault_serve, which starts the daemon again,
# and perhaps fault_gone, which checks what the daemon has left behind. It calls net_shaped
# before the first connection.

# All faults, each behind the words for what it needs alone: two faults that share a word
# cannot happen at the same time.
#	daemon	the process
#	port0, port1	the RDMA device of v0 and v1, its addresses, its link
#	wire0, wire1	packets that v0 and v1 send
#	queue, cpu, admin, memory	those of the initiator
#
# No fault lets the network stack of the target's end refuse a packet of a connection that
# goes on afterwards. rxe would then send the rest of a READ's response without its beginning.
# The rxe at the other end takes that for an error, but reports success (rxe_completer in
# rxe_comp.c; all kernels), so a READ would succeed without its data. Therefore v1 keeps its
# MTU and its queueing discipline, and a link and the target's address come back only when the
# initiator has noticed the loss.
FAULTS=(
	'daemon port1: kill'
	'daemon port1: term'
	'daemon port1: stop'
	'port0: rdma v0'
	'port1: rdma v1'
	'port0 port1: rdma v0 v1'
	'port0 port1 wire0 wire1: cable'
	'port0 port1: link v0'
	'port0 port1: link v1'
	'port0: address v0'
	'port1: address v1'
	'port0: mtu v0 1500'
	'wire0: flap v0'
	'wire1: flap v1'
	'wire0: qdisc v0'
	'wire1: firewall v0'
	'wire0: firewall v1'
	'wire0: firewall v1 cm'
	'wire1: firewall v0 cm'
	'queue: elevator mq-deadline'
	'queue: elevator bfq'
	'queue: elevator kyber'
	'queue: requests'
	'cpu: cpu'
	'admin: reconnect'
	'admin: set'
	'admin: look'
	'admin: neighbour'
	'memory: memory'
)
for shape in 'loss 0.1%' 'loss 1%' 'loss 5%' 'loss gemodel 1% 25%' 'duplicate 20%' \
	'delay 2ms reorder 75% 50%' 'corrupt 1%' 'delay 200ms' 'delay 20ms 10ms' \
	'loss 100%' 'loss 100%'; do
	FAULTS+=("wire0: netem v0 $shape" "wire1: netem v1 $shape"
		"wire0 wire1: netem v0+v1 $shape")
done
unset shape

# Faults that the campaign does not draw: fault number n of a seed must never change.
# shellcheck disable=SC2034 # for the caller
FAULTS_MORE=(
	'wire0: neighbour_lost v0'
	'wire1: neighbour_lost v1'
	'port0: route v0'
)
declare -A FAULT_WORKERS=()

# fault_begin WORD...; fault_end WORD...: begins or ends a fault of the table, given in one
# argument or in several
fault_begin() {
	local words

	read -ra words <<<"$*"
	"fault_${words[0]}_begin" "${words[@]:1}"
}

fault_end() {
	local words

	read -ra words <<<"$*"
	"fault_${words[0]}_end" "${words[@]:1}"
}

# rdma_objects: like leak_counts of guest.sh, but without the numbers of devices, which change
rdma_objects() {
	rdma resource show | sed -E 's/^[0-9]+: //' | sort
}

rdma_objects_are() {
	[[ $(rdma_objects) == "$1" ]]
}

# expect_objects WANT: waits until rdma_objects prints WANT, an earlier output
expect_objects() {
	wait_until "$PATIENCE" rdma_objects_are "$1" && return
	diff <(echo "$1") <(rdma_objects) >&2 || :
	rdma resource show qp >&2 || :
	rdma resource show cm_id >&2 || :
	fail "RDMA objects have leaked"
}

# --- background workers ------------------------------------------------------------

# fault_worker NAME CMD...: runs the command in the background, again and again until its end.
# Commands that wait for the disk must run there, because the case itself ends the outage.
fault_worker() {
	local name=$1

	shift
	rm -f "/tmp/fault.$name.end"
	(
		trap - ERR EXIT
		until [[ -e /tmp/fault.$name.end ]]; do
			"$@"
		done
	) >"/tmp/fault.$name" 2>&1 &
	FAULT_WORKERS[$name]=$!
}

fault_worker_end() {
	: >"/tmp/fault.$1.end"
}

fault_worker_over() {
	! kill -0 "${FAULT_WORKERS[$1]}" 2>/dev/null
}

# fault_join NAME: waits for a worker that was told to end
fault_join() {
	wait_until "$PATIENCE" fault_worker_over "$1" ||
		fail "'$1' hangs: $(tail -n 5 "/tmp/fault.$1")"
	wait "${FAULT_WORKERS[$1]}" || fail "'$1': $(tail -n 5 "/tmp/fault.$1")"
	unset "FAULT_WORKERS[$1]"
}

# fault_settled: ends all background work. A worker may wait for the disk, and the disk for a
# device that has to be mended. So it mends devices first, and once more at the end
fault_settled() {
	local name

	fault_mend v0
	fault_mend v1
	for name in "${!FAULT_WORKERS[@]}"; do
		fault_join "$name"
	done
	fault_mend v0
	fault_mend v1
}

# fault_mend DEV [ADDR]: makes the RDMA device again if its queue pair 1 is in error. That
# queue pair carries the connection manager. In rxe of 6.12 and later it is dead for good once
# the network stack has refused one of its packets, because the link was down, there was no
# address, or the queueing discipline was replaced.
fault_mend() {
	rdma resource show qp link "r$1/1" |
		grep 'type GSI state ERR' >/dev/null || return 0
	FAULT_MENDED=$((FAULT_MENDED + 1))
	link_delete "r$1"
	link_add "r$1" "$1" "${2:-$(net_veth_address "$1")}"
}
FAULT_MENDED=0

# --- the daemon -----------------------------------------------------------------------

fault_gone() {
	:
}

fault_kill_begin() {
	stop_target KILL
	fault_gone
}

fault_kill_end() {
	fault_serve
}

fault_term_begin() {
	kill -TERM "$TARGET_PID"
	wait_until 5 target_is_gone || :
}

# The daemon waits for an initiator with unflushed data, and that initiator may be cut off.
fault_term_end() {
	local status=0

	wait_until "$PATIENCE" target_is_gone || fail "the daemon does not end"
	wait "$TARGET_PID" || status=$?
	expect 0 $status "the daemon's exit status"
	TARGET_PID=''
	fault_gone
	fault_serve
}

fault_stop_begin() {
	kill -STOP "$TARGET_PID"
}

fault_stop_end() {
	kill -CONT "$TARGET_PID"
}

# --- devices, links, addresses ----------------------------------------------------------

# rdma DEV...
fault_rdma_begin() {
	local dev

	for dev in "$@"; do
		link_delete "r$dev"
	done
}

fault_rdma_end() {
	local dev

	for dev in "$@"; do
		link_add "r$dev" "$dev" "$(net_veth_address "$dev")"
	done
}

fault_cable_begin() {
	timeout "$PATIENCE" ip link delete v0 || fail "'ip link delete' does not return"
	net_veth_remove || fail "the network is not gone"
}

fault_cable_end() {
	net_veth_pair || fail "no network"
}

# fault_noticed: waits until the initiator has noticed that its connection is lost
fault_noticed() {
	wait_until "$PATIENCE" fault_is_noticed ||
		fail "nobody notices: $(attribute state)"
}

fault_is_noticed() {
	! state_is live || (($(attribute reconnects) > FAULT_RECONNECTS))
}

# link DEV
fault_link_begin() {
	FAULT_RECONNECTS=$(attribute reconnects)
	ip link set "$1" down
}

fault_link_end() {
	fault_noticed
	ip link set "$1" up
	net_veth_routes
	net_veth_ready v0 v1 || fail "no RDMA on $1"
}

# address DEV
fault_address_begin() {
	FAULT_RECONNECTS=$(attribute reconnects)
	ip address del "$(net_veth_address "$1")/32" dev "$1"
}

fault_address_end() {
	fault_noticed
	ip address add "$(net_veth_address "$1")/32" dev "$1"
	net_veth_routes
	net_veth_ready "$1" || fail "no RDMA on $1"
}

# neighbour_lost DEV: sets a wrong link address for the peer, so packets reach nobody
fault_neighbour_lost_begin() {
	ip neigh replace "$(net_veth_peer "$1")" lladdr 02:00:00:00:00:01 dev "$1" \
		nud permanent
}

fault_neighbour_lost_end() {
	net_veth_routes
}

# route DEV: the route leads to a gateway that does not exist. Removing the route would change
# nothing: rxe names the device, and Linux then takes the address for one on the same wire.
fault_route_begin() {
	FAULT_RECONNECTS=$(attribute reconnects)
	ip route replace "$(net_veth_peer "$1")/32" via 10.2.0.254 dev "$1" onlink \
		table $((102 - ${1#v}))
}

fault_route_end() {
	fault_noticed
	net_veth_routes
}

# mtu DEV MTU
fault_mtu_begin() {
	ip link set "$1" mtu "$2"
}

fault_mtu_end() {
	ip link set "$1" mtu "$MTU"
}

# --- packets ------------------------------------------------------------------------------

# netem DEV[+DEV] WHAT...
fault_netem_begin() {
	local dev

	for dev in ${1//+/ }; do
		net_shape "$dev" "${@:2}"
	done
}

fault_netem_end() {
	local dev

	for dev in ${1//+/ }; do
		net_shape "$dev"
	done
}

fault_flap_once() {
	net_shape "$1" loss 100%
	pause 0.3
	net_shape "$1"
	pause 0.3
}

# flap DEV: sends nothing during every second 0.3 s
fault_flap_begin() {
	fault_worker "flap $1" fault_flap_once "$1"
}

# The next fault may use the same wire.
fault_flap_end() {
	fault_worker_end "flap $1"
	fault_join "flap $1"
}

# qdisc DEV: changes the queueing discipline and back, which drops packets
fault_qdisc_begin() {
	tc qdisc replace dev "$1" root pfifo limit 1000
}

fault_qdisc_end() {
	tc qdisc replace dev "$1" root netem limit 100000
}

# firewall DEV [cm]: drops what DEV receives of RoCE, or of the connection manager only,
# whose queue pair is number 1
fault_firewall_begin() {
	local only=''

	# The number follows 8 bytes of UDP and 5 of the base transport header.
	[[ ${2:-} != cm ]] || only='@th,104,24 1'
	nft -f - <<-END
	table ip fault_$1 {
		chain input {
			type filter hook input priority 0;
			iifname $1 udp dport 4791 $only counter drop
		}
	}
	END
}

fault_firewall_end() {
	nft delete table ip "fault_$1"
}

# --- the initiator ------------------------------------------------------------------------

fault_elevator_once() {
	echo "$1" >"$QUEUE/scheduler"
	pause 0.1
	echo none >"$QUEUE/scheduler"
	pause 0.1
}

# elevator NAME
fault_elevator_begin() {
	modprobe -qa "$1" "$1-iosched" || :
	fault_worker elevator fault_elevator_once "$1"
}

fault_elevator_end() {
	fault_worker_end elevator
}

# Discards are included if the store can do them.
fault_zeroes_once() {
	blkdiscard -f -z -o "$1" -l 512K "$DEV"
	(($(<"$QUEUE/discard_max_bytes") == 0)) ||
		blkdiscard -f -o $(($1 + 524288)) -l 512K "$DEV"
}

# zeroes OFFSET: zeroes the MiB at OFFSET, which nothing else uses
fault_zeroes_begin() {
	fault_worker zeroes fault_zeroes_once "$1"
}

fault_zeroes_end() {
	fault_worker_end zeroes
}

fault_requests_once() {
	local n

	for n in 4 37 128; do
		echo $n >"$QUEUE/nr_requests"
		pause 0.1
	done
}

fault_requests_begin() {
	fault_worker requests fault_requests_once
}

fault_requests_end() {
	fault_worker_end requests
}

fault_cpu_once() {
	echo 0 >/sys/devices/system/cpu/cpu1/online
	pause 0.2
	echo 1 >/sys/devices/system/cpu/cpu1/online
	pause 0.2
}

fault_cpu_begin() {
	fault_worker cpu fault_cpu_once
}

fault_cpu_end() {
	fault_worker_end cpu
}

fault_reconnect_once() {
	"$RDMABLK" reconnect rdmablk0
	pause 0.2
}

# reconnect: asks for reconnects, also during a reconnect
fault_reconnect_begin() {
	fault_worker reconnect fault_reconnect_once
}

fault_reconnect_end() {
	fault_worker_end reconnect
}

fault_set_once() {
	"$RDMABLK" set rdmablk0 --keep-alive-tmo 1 --reconnect-delay 2
	"$RDMABLK" set rdmablk0 --keep-alive-tmo 2 --reconnect-delay 1
}

fault_set_begin() {
	fault_worker set fault_set_once
}

fault_set_end() {
	fault_worker_end set
}

fault_look_once() {
	cat "$SESSION"/*
	"$RDMABLK" status --json
	rdma resource show
}

# look: reads all status of the disk
fault_look_begin() {
	fault_worker look fault_look_once
}

fault_look_end() {
	fault_worker_end look
}

# A connect may fail because another fault has taken the target away.
fault_neighbour_once() {
	"$RDMABLK" connect --connect-tmo 2 "$TARGET_ADDR/disk1" || :
	[[ ! -e /sys/block/rdmablk1 ]] || "$RDMABLK" disconnect --force rdmablk1
}

# neighbour: connects and disconnects another disk of the same target, disk1
fault_neighbour_begin() {
	fault_worker neighbour fault_neighbour_once
}

fault_neighbour_end() {
	fault_worker_end neighbour
}

# Takes memory until only what the kernel and running programs need is left.
fault_memory_once() {
	local key kib mib

	while read -r key kib _; do
		[[ $key != MemAvailable: ]] || break
	done </proc/meminfo
	mib=$((kib / 1024 - 80))
	((mib < 1)) || choom -n 1000 -- \
		dd if=/dev/zero of=/dev/null bs=${mib}M count=1 status=none
	pause 0.1
}

# memory: takes nearly all memory, gives it back, and repeats that
fault_memory_begin() {
	fault_worker memory fault_memory_once
}

fault_memory_end() {
	fault_worker_end memory
}
