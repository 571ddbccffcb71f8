#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, the link is down for 1 and 10 seconds at the target's end and at the initiator's,
# and for 120 seconds at the target's. I/O is held until the link is back; then the disk comes
# back by itself.
#
# kernels: 6.1 6.12 newest
# net: veth
# timeout: 900

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

# A task that waits for two minutes is not reported as hung.
hung_task_after 600
net_shaped
load_module
nothing=$(rdma_objects)
serve 8M
connect_patient
history_start --max 64K --flush 100
for seconds in 1 10 120; do
	for end in v1 v0; do
		((seconds < 120)) || [[ $end == v1 ]] || continue
		echo "$end down for $seconds s"
		fault_begin link $end
		((seconds == 1)) || wait_state recovering
		pause $seconds
		fault_end link $end
		fault_settled
		expect_well
		echo "reconnects: $(attribute reconnects)"
	done
done
(($(attribute reconnects) >= 3)) || fail "the link was never missed"
expect_legal
disconnect
unload_module
stop_target
expect_objects "$nothing"
