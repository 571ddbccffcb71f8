# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guests' test networks, each with its rxe devices. net_up_NET brings one up, in the
# initramfs. net_names_NET exports addresses as INITIATOR_ADDR, TARGET_ADDR and, where there
# is IPv6, INITIATOR_ADDR6 and TARGET_ADDR6. The caller sets NET, MTU and ROLE.

# net_wait CMD...: until it succeeds, 20 s at most
net_wait() {
	local i never

	exec {never}<> <(:)
	for ((i = 0; i < 400; i++)); do
		"$@" && break
		read -r -t 0.05 -u "$never" || :
	done
	exec {never}>&-
	((i < 400))
}

# net_rxe_ready DEV ADDR: the port is up and ADDR has become a GID
net_rxe_ready() {
	local port=/sys/class/infiniband/$1/ports/1 gid=$2 a b c d

	[[ $(<"$port/state") == *ACTIVE ]] || return 1
	IFS=. read -r a b c d <<<"$gid"
	printf -v gid 'ffff:%02x%02x:%02x%02x' "$a" "$b" "$c" "$d"
	cat "$port"/gids/[0-9] 2>/dev/null | grep -q "$gid\$"
}

# net_add_rxe DEV NETDEV ADDR
net_add_rxe() {
	rdma link add "$1" type rxe netdev "$2" &&
		net_wait net_rxe_ready "$1" "$3"
}

net_common() {
	local f

	for f in all default; do
		echo 0 >"/proc/sys/net/ipv6/conf/$f/accept_dad"
		echo 0 >"/proc/sys/net/ipv6/conf/$f/dad_transmits"
	done
	ip link set lo up
}

# One device that talks to itself. rxe loops such packets internally: they
# never pass the network stack.
net_names_loop() {
	export INITIATOR_ADDR=10.99.0.2 TARGET_ADDR=10.99.0.2
	export INITIATOR_ADDR6=fd99::2 TARGET_ADDR6=fd99::2
}

net_up_loop() {
	net_common
	ip -batch - <<-EOF || return 1
	link add dummy0 mtu $MTU type dummy
	link set dummy0 up
	addr add 10.99.0.2/24 dev dummy0
	addr add 10.99.0.1/24 dev dummy0
	addr add fd99::1/64 dev dummy0 nodad
	addr add fd99::2/64 dev dummy0 nodad
	EOF
	net_add_rxe rxe0 dummy0 10.99.0.2
}

# A veth pair in one namespace whose packets really cross it. The table of local addresses is
# asked last; before it, policy rules send each end's traffic to the other end. The rules with
# 'oif' serve rxe's route look-ups and rdma_cm's reverse check.
net_names_veth() {
	export INITIATOR_ADDR=10.2.0.1 TARGET_ADDR=10.2.0.2
	export INITIATOR_ADDR6='' TARGET_ADDR6=''
}

net_up_veth() {
	net_common
	ip rule add pref 100 lookup local && ip rule del pref 0 || return 1
	net_veth_pair
}

# Makes the pair, its addresses and routes. When one end is gone, 'net_veth_remove;
# net_veth_pair' brings traffic back.
net_veth_pair() {
	local d

	ip link add v0 mtu "$MTU" type veth peer name v1 mtu "$MTU" || return 1
	for d in all default v0 v1; do
		echo 1 >"/proc/sys/net/ipv4/conf/$d/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/$d/rp_filter"
	done
	ip -batch - <<-EOF || return 1
	addr add 10.2.0.1/32 dev v0
	addr add 10.2.0.2/32 dev v1
	link set v0 up
	link set v1 up
	rule add pref 8 oif v0 to 10.2.0.2 lookup 102
	rule add pref 9 oif v1 to 10.2.0.1 lookup 101
	rule add pref 10 iif lo from 10.2.0.1 to 10.2.0.2 lookup 102
	rule add pref 11 iif lo from 10.2.0.2 to 10.2.0.1 lookup 101
	rule add pref 12 iif lo from 0.0.0.0/32 to 10.2.0.2 lookup 102
	EOF
	net_veth_routes && { [[ ! ${NET_SHAPED:-} ]] || net_shaped; } &&
		net_add_rxe rv0 v0 10.2.0.1 && net_add_rxe rv1 v1 10.2.0.2
}

# net_veth_routes [INITIATOR TARGET]: makes the routes that an end loses when it is down, or
# has no address. Without its route the other end is unreachable: both addresses are local,
# and packets must not take the short way inside the machine.
net_veth_routes() {
	local from=${1:-v0} to=${2:-v1} m0 m1

	m0=$(<"/sys/class/net/$from/address")
	m1=$(<"/sys/class/net/$to/address")
	{
		# An end without its address gets its route when the address is back.
		if net_has_address "$from" 10.2.0.1; then
			echo "route replace 10.2.0.2/32 dev $from src 10.2.0.1 table 102"
		fi
		if net_has_address "$to" 10.2.0.2; then
			echo "route replace 10.2.0.1/32 dev $to src 10.2.0.2 table 101"
		fi
		cat <<-EOF
		neigh replace 10.2.0.2 lladdr $m1 dev $from nud permanent
		neigh replace 10.2.0.1 lladdr $m0 dev $to nud permanent
		route replace unreachable 10.2.0.2/32 metric 100 table 102
		route replace unreachable 10.2.0.1/32 metric 100 table 101
		EOF
	} | ip -batch -
}

# net_has_address DEV ADDRESS
net_has_address() {
	[[ $(ip -o address show dev "$1" to "$2") ]]
}

# net_veth_address DEV: prints the address of an end
net_veth_address() {
	echo "10.2.0.$((${1#v} + 1))"
}

# net_veth_peer DEV: prints the address of the other end
net_veth_peer() {
	echo "10.2.0.$((2 - ${1#v}))"
}

# net_veth_ready DEV...: waits until RDMA works again on these ends
net_veth_ready() {
	local dev

	for dev in "$@"; do
		net_wait net_rxe_ready "r$dev" "$(net_veth_address "$dev")" || return 1
	done
}

# net_shaped: prepares both ends to be shaped, also when they are made again. Call it before the
# first connection: the network stack refuses packets while the first queueing discipline is
# replaced, which costs rxe the queue pair.
net_shaped() {
	local dev

	NET_SHAPED=1
	modprobe -q sch_netem
	for dev in v0 v1; do
		tc qdisc add dev $dev root netem limit 100000 || return 1
	done
}

# net_shape DEV [NETEM...]: shapes the packets that an end sends; without arguments it sends
# normally again. Netem remembers how much to corrupt.
net_shape() {
	tc qdisc change dev "$1" root netem limit 100000 corrupt 0% "${@:2}"
}

net_veth_remove() {
	local pref

	rdma link delete rv0 2>/dev/null
	rdma link delete rv1 2>/dev/null
	ip link delete v0 2>/dev/null
	for pref in 8 9 10 11 12; do
		ip rule del pref "$pref" 2>/dev/null
	done
	return 0
}

# In place of the pair: a switch with two ends of the initiator, v0 and v2, and two of the
# target, v1 and v3. The addresses are at v0 and v1, and can move.
net_switch() {
	local d

	net_veth_remove
	ip link add switch mtu "$MTU" type bridge && ip link set switch up || return 1
	for d in v0 v1 v2 v3; do
		ip link add "$d" mtu "$MTU" type veth peer name "p$d" mtu "$MTU" || return 1
		echo 1 >"/proc/sys/net/ipv4/conf/$d/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/$d/rp_filter"
		ip link set "p$d" master switch up
		ip link set "$d" up
		ip rule add pref 8 oif "$d" to 10.2.0.2 lookup 102
		ip rule add pref 9 oif "$d" to 10.2.0.1 lookup 101
		rdma link add "r$d" type rxe netdev "$d" || return 1
	done
	ip -batch - <<-EOF || return 1
	rule add pref 10 iif lo from 10.2.0.1 to 10.2.0.2 lookup 102
	rule add pref 11 iif lo from 10.2.0.2 to 10.2.0.1 lookup 101
	rule add pref 12 iif lo from 0.0.0.0/32 to 10.2.0.2 lookup 102
	addr add 10.2.0.1/32 dev v0
	addr add 10.2.0.2/32 dev v1
	EOF
	net_veth_routes v0 v1
	net_veth_ready v0 v1
}

# Two machines on one wire.
net_names_two() {
	export INITIATOR_ADDR=10.99.0.1 TARGET_ADDR=10.99.0.2
	export INITIATOR_ADDR6=fd99::1 TARGET_ADDR6=fd99::2
}

net_up_two() {
	local host=1

	if [[ $ROLE == target ]]; then
		host=2
	fi
	net_common
	net_wait test -e /sys/class/net/eth0 || return 1
	ip -batch - <<-EOF || return 1
	link set eth0 mtu $MTU
	link set eth0 up
	addr add 10.99.0.$host/24 dev eth0
	addr add fd99::$host/64 dev eth0 nodad
	EOF
	net_add_rxe rxe0 eth0 "10.99.0.$host"
}
