#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each fault of tests/lib/faults.sh, once, for two seconds, on an otherwise healthy disk under
# load. Afterwards the disk is live and goes on, no request has failed, and its contents are
# legal. The stores are a memory store, a cached file and an uncached file. The medium of a file
# has all flushed data whenever the daemon ends, and all of the data after another flush.
#
# kernels: 6.1 6.12 newest
# net: veth
# timeout: 3600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

BYTES=8388608
SPARE=$((BYTES - 1048576))	# what the writer leaves alone begins there

start() {
	history_start --max 128K --flush 100 --fua 10 --size $SPARE
}

# once FAULT
once() {
	echo "$STORE: $1"
	echo "$STORE: $1" >/dev/kmsg
	fault_begin "$1"
	pause 2
	fault_end "$1"
}

# each_once FAULT...: checks the contents after every eight faults
each_once() {
	local fault n=0

	for fault in "$@"; do
		((n % 8)) || start
		once "${fault#*: }"
		fault_settled
		expect_well
		((++n % 8)) || expect_legal
	done
	((n % 8 == 0)) || expect_legal
}

# with_zeroes FAULT...: the same while WRITE ZEROES and DISCARD are under way
with_zeroes() {
	local fault

	start
	fault_begin zeroes $SPARE
	for fault in "$@"; do
		once "$fault"
		expect_well
	done
	fault_end zeroes
	fault_settled
	expect_legal
	dd if=$DEV bs=1M skip=$((SPARE >> 20)) iflag=direct status=none |
		cmp -n 1048576 - /dev/zero || fail "there is something else than zeroes"
}

# each_fault STORE
each_fault() {
	store_make "$1" $BYTES
	fault_serve
	connect_patient
	each_once "${FAULTS[@]}" "${FAULTS_MORE[@]}"
	with_zeroes kill 'rdma v0' 'netem v0+v1 loss 100%' reconnect
	disconnect
	stop_target
	store_remove
}

net_shaped
load_module
nothing=$(rdma_objects)
for store in memory none full; do
	each_fault $store
done
unload_module
expect_objects "$nothing"
