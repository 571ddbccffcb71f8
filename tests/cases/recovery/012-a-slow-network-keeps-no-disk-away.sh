#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The answers of a network or a target take longer than reconnect_delay. A login succeeds
# although the whole of it takes long, if each message and each queue is answered within
# connect_tmo and the target's login-timeout. A lost connection comes back although the control
# queue takes longer than reconnect_delay to connect. Data queues join in parallel: all their
# requests are sent although none is answered.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require nft tc jq

# Counts and drops the requests of rdma_cm for data queues, see recovery/011.
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

# Two queue pairs for each of two normal and two polled queues
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

# The eight requests take 0.6 s each, so together longer than login-timeout.
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
