#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A message of rdma_cm for a data queue is lost while a disk comes back; rdma_cm would repeat it
# only after seconds. The try is given up after reconnect_delay, even if connect_tmo is longer,
# and the next try succeeds. The lost message is a request, or a reply after the target has
# admitted the queue. A network in which a queue takes longer than reconnect_delay to join does
# not keep the disk away, because tries get longer. A login that waits for a data queue learns
# at once that the control queue has ended, and why. All packets of a disk have the requested
# type of service.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require nft tc jq

# Offsets in the UDP datagram. QP: the number of the queue pair, 1 for that of rdma_cm. MESSAGE:
# 16 for a request, 19 for a reply. In the private data, KIND: of a request, the kind of the
# queue; NUMBER: of a reply, the number of the queue, 0 for the control queue.
QP='@th,104,24' MESSAGE='@th,352,16' KIND='@th,1888,8' NUMBER='@th,752,16'

# lose RULE: drops matching messages of rdma_cm from now on
lose() {
	nft -f - <<-END
	table ip joins {
		chain input {
			type filter hook input priority 0;
			udp dport 4791 $QP 1 $1 counter drop
		}
	}
	END
}

lost() {
	nft -j list table ip joins |
		jq '[.nftables[].rule.expr[]?.counter.packets? // empty] | add'
}

is_lost() {
	(($(lost) > 0))
}

lose_no_more() {
	nft delete table ip joins
}

tries_given_up() {
	dmesg | grep -c 'cannot reconnect: no answer in time (-110), try 1$'
}

# come_back N RULE: while RULE drops messages, N first tries are given up; rdma_cm itself would
# report that there is no answer after 70 s
come_back() {
	connect "${PATIENT[@]}" --reconnect-delay 1
	lose "$2"
	"$RDMABLK" reconnect rdmablk0
	wait_until "$PATIENCE" tried 2 || fail "$(attribute attempts) tries"
	expect "$1" "$(tries_given_up)" "the number of first tries that were given up"
	is_lost || fail "nothing was lost"
	lose_no_more
	expect_back 1
	device_same_as_target
	disconnect
}

joins_delayed() {
	[[ $(tc -s qdisc show dev ifb0) =~ Sent\ [0-9]+\ bytes\ ([0-9]+) ]]
	echo "${BASH_REMATCH[1]}"
}

# writes_of_service EXPECTED...: whether packets of RDMA WRITEs (opcodes 6 to 10) have DSCP 26,
# and whether some have another DSCP
writes_of_service() {
	nft -f - <<-END
	table ip joins {
		chain input {
			type filter hook input priority 0;
			iifname v1 udp dport 4791 @th,64,8 6-10 ip dscp 26 counter
			iifname v1 udp dport 4791 @th,64,8 6-10 ip dscp != 26 counter
		}
	}
	END
	dd if=/dev/zero of=$DEV oflag=direct bs=4k count=4 status=none
	expect "$*" "$(nft -j list table ip joins |
		jq -r '[.nftables[].rule.expr[]?.counter.packets? // empty | . > 0] | join(" ")')" \
		"packets with DSCP 26, and with another"
	lose_no_more
}

# written EXPECTED: so many READ requests (opcode 12) are sent with 4 writes
written() {
	nft -f - <<-END
	table ip joins {
		chain input {
			type filter hook input priority 0;
			iifname v1 udp dport 4791 @th,64,8 12 counter
		}
	}
	END
	dd if=/tmp/data of=$DEV oflag=direct bs=4k count=4 status=none
	expect "$1" "$(lost)" "READs behind 4 writes"
	lose_no_more
	device_same_as_target
}

# No timeout of either side ends the login.
PATIENT=(--queues 1 --connect-tmo 600 --keep-alive-tmo 60 --dev-loss-tmo off)
load_module
serve 16M --login-timeout 600000

# The type of service is the DSCP times 4.
connect --queues 1 --tos 104
writes_of_service true false
expect 104 "$(status tos)" "the type of service"
disconnect
connect --queues 1
writes_of_service false true
expect -1 "$(status tos)" "the type of service"

# With --ordered a READ follows each WRITE.
random_file 16K /tmp/data
written 0
disconnect
connect --queues 1 --ordered
written 4
expect true "$(status ordered)" "each WRITE ends with a READ"
disconnect

come_back 1 "iifname v1 $MESSAGE 16 $KIND != 0"
come_back 2 "iifname v0 $MESSAGE 19 $NUMBER != 0"

connect "${PATIENT[@]}" --reconnect-delay 1
slow_joins delay 1.5s
"$RDMABLK" reconnect rdmablk0
expect_back 1
echo "slow joins: live after $(attribute attempts) tries, $(joins_delayed) requests"
(($(joins_delayed) >= 2)) || fail "the joins were not slow"
tc qdisc del dev v1 ingress
device_same_as_target
disconnect

# The timeouts are so long that no try ends by time.
connect "${PATIENT[@]}" --reconnect-delay 600
lose "iifname v1 $MESSAGE 16 $KIND != 0"
"$RDMABLK" reconnect rdmablk0
wait_until "$PATIENCE" is_lost || fail "nothing was lost"
stop_target
wait_until "$PATIENCE" dmesg_has 'cannot reconnect: target is shutting down .*, try 1' ||
	fail "the wait goes on: $(attribute attempts) tries, $(attribute last_error)"
disconnect
unload_module
