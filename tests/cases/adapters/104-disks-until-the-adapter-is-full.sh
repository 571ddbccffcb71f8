#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An adapter has 64 queue pairs and 64 completion queues in all. Disks that ask for four
# hardware queues each are connected until it is full. The last disk that fits gets fewer queues
# than it asked for. The next one is refused with a text that names the adapter. The connected
# disks go on. When one of them is disconnected, another one fits. When there is room again, the
# disk with fewer queues gets all of its queues.
#
# kernels: 6.12
# in-turn: yes

# shellcheck source=tests/cases/adapters/lib.sh
source "$RDMABLK_TOP/tests/cases/adapters/lib.sh"
require fio

MOST=16

# add N: connects diskN, with at most as many queues as it asks for
add() {
	"$RDMABLK" connect --queues 2 --poll-queues 2 "$TARGET_ADDR/disk$1" >/tmp/added 2>&1
}

queues_of() {
	disk_values status "$1" queues
}

exports=()
for ((n = 0; n < MOST; n++)); do
	exports+=(--export "disk$n,memory,size=4M")
done
adapter queues=64
start_target --insecure --listen "$TARGET_ADDR" "${exports[@]}"
load_module

for ((n = 0; n < MOST; n++)); do
	add $n || break
	echo "disk $n: $(queues_of $n) queues, $(rdma -j res | jq -c '.[] | [.qp, .cq]')"
done
((n > 2 && n < MOST)) || fail "$n disks fit: $(</tmp/added)"
run_expect 0 '' grep -E 'no memory or no room on the device|has no room for more queues' /tmp/added
expect 4 "$(queues_of 0)" "the queues of the first disk"
(($(queues_of $((n - 1))) < 4)) || fail "the last disk has all the queues that it asked for"
dmesg_has 'has no room for 4 queues; trying with 2' || fail "no login asked for fewer"

# The connected disks have lost nothing.
for ((i = 0; i < n; i++)); do
	expect live "$(</sys/block/rdmablk$i/rdmablk/state)" "the state of disk $i"
	fio --name=verify --filename=/dev/rdmablk$i --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randwrite --bs=4k --size=1M --verify=crc32c >/tmp/fio ||
		fail "disk $i: $(</tmp/fio)"
done

"$RDMABLK" disconnect rdmablk0
add $n || fail "the room of a disk that has gone cannot be used: $(</tmp/added)"
expect live "$(</sys/block/rdmablk0/rdmablk/state)" "the state of the new disk"

# The adapter that was full has room again.
last=rdmablk$((n - 1))
"$RDMABLK" disconnect rdmablk0
for ((i = 0; i < 2 && $(queues_of $((n - 1))) < 4; i++)); do
	"$RDMABLK" reconnect --wait "$PATIENCE" $last
done
expect 4 "$(queues_of $((n - 1)))" "the queues of a disk that has room again"
"$RDMABLK" disconnect --all
stop_target
leak_check
