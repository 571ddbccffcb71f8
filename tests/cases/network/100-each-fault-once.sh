#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each fault of tests/lib/faults.sh, once, for two seconds, on an otherwise healthy
# disk under load: the disk is live afterwards and goes on, no request has failed, and
# what is on it is what a disk may hold.
#
# kernels: 6.1 6.12 newest
# net: veth
# timeout: 1800

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

net_shaped
load_module
nothing=$(rdma_objects)
fault_serve
connect_patient
for ((i = 0; i < ${#FAULTS[@]}; i++)); do
	((i % 8)) || history_start --max 128K --flush 100 --fua 10
	fault=${FAULTS[i]#*: }
	echo "$fault"
	echo "$fault" >/dev/kmsg
	fault_begin "$fault"
	pause 2
	fault_end "$fault"
	fault_settled
	expect_well
	((i % 8 != 7 && i != ${#FAULTS[@]} - 1)) || expect_legal
done
disconnect
unload_module
stop_target
expect_objects "$nothing"
