#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A network, or a target, whose answers take longer than reconnect_delay: a login in which
# each message and each queue gets its answer in less than connect_tmo, and than the
# target's login-timeout, succeeds although the whole of it takes longer; a lost connection
# comes back although the answer to the control queue takes longer than reconnect_delay. And
# data queues join together: the requests of all are sent although none is answered.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require nft tc jq

# Requests of rdma_cm for data queues, see recovery/011: counted before they are dropped
count_joins() {
	nft -f - <<-END
	table ip joins {
		chain input {
			type filter hook input priority 0;
			iifname v1 udp dport 4791 @th,104,24 1 @th,352,16 16 @th,1888,8 != 0 counter drop
		}
	}
	END
}

joins_sent() {
	(($(nft -j list table ip joins |
		jq '[.nftables[].rule.expr[]?.counter.packets? // empty] | add') >= $1))
}

# Two queue pairs each of two queues, and of two for polled I/O
PAIRS=8
OPTIONS=(--queues 2 --poll-queues 2 --keep-alive-tmo 60 --ack-timeout 20 --dev-loss-tmo off)
load_module
serve 16M

for dev in v0 v1; do
	tc qdisc add dev $dev root netem limit 10000 delay 550ms
done
connect "${OPTIONS[@]}" --connect-tmo 5 --reconnect-delay 1
"$RDMABLK" reconnect rdmablk0
expect_back 1
echo "slow answers: live after $(attribute attempts) tries"
for dev in v0 v1; do
	tc qdisc del dev $dev root
done
device_same_as_target
disconnect
stop_target

# Each of the eight requests takes 0.6 s, so all of them longer than login-timeout.
serve 16M --login-timeout 4000
slow_joins rate 4kbit
connect "${OPTIONS[@]}" --connect-tmo 4
tc qdisc del dev v1 ingress
device_same_as_target
disconnect

connect "${OPTIONS[@]}" --connect-tmo 60 --reconnect-delay 60
count_joins
"$RDMABLK" reconnect rdmablk0
wait_until "$PATIENCE" joins_sent $PAIRS || fail "data queues wait for each other"
nft delete table ip joins
stop_target
disconnect
unload_module
