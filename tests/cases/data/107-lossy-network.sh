#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packets get lost and overtake one another, and the data stays right: fio reads back what it
# wrote, and the target's memory has it. The counters prove that the network loses packets both
# ways.
#
# net: veth

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio tc

serve 8M
# The queueing discipline is changed before the first connection, because the change itself may
# drop packets.
for dev in v0 v1; do
	tc qdisc add dev $dev root netem limit 100000 delay 1ms \
		reorder 75% 50% loss 0.5%
done
load_module
connect --ack-timeout 14

dropped() {
	tc -j -s qdisc show dev "$1" | jq -r '.[0].drops'
}

run_fio --name=lossy --filename="$DEV" --direct=1 --ioengine=io_uring \
	--iodepth=8 --numjobs=2 --size=4M --io_size=2M --offset_increment=4M \
	--rw=randwrite --norandommap --bssplit=512/30:4k/50:14k/20 \
	--blockalign=512 --serialize_overlap=1 \
	--verify=crc32c --verify_fatal=1 --do_verify=1
device_same_as_target
still_live
for dev in v0 v1; do
	(($(dropped $dev) > 0)) || fail "no packet was lost on $dev"
done
disconnect
