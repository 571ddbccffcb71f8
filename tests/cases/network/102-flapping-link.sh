#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, a wire carries nothing every other 0.3 s for half a minute; then a link goes down
# ten times, and up again as soon as the loss is noticed. I/O is held and goes on, no request
# fails, tries do not pile up, and one session is left.
#
# kernels: 6.1 6.12 newest
# net: veth
# timeout: 600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

cm_ids() {
	rdma resource show | grep -oE 'cm_id [0-9]+' | awk '{ n += $2 } END { print n }'
}

# look_at_ids: updates the highest number of cm_ids seen
look_at_ids() {
	local now

	now=$(cm_ids)
	((most >= now)) || most=$now
}

net_shaped
nothing=$(rdma_objects)
load_module
serve 8M
connect_patient
one=$(rdma_objects) ids=$(cm_ids) most=0
history_start --max 64K --flush 100

fault_begin flap v1
deadline=$(deadline_in 30)
until deadline_passed "$deadline"; do
	look_at_ids
	pause 0.3
done
fault_end flap v1
fault_settled
expect_well
for _ in {1..10}; do
	fault_begin link v1
	fault_noticed
	look_at_ids
	fault_end link v1
	look_at_ids
done
fault_settled
echo "reconnects: $(attribute reconnects), cm_ids: $ids, at most $most"
# An old session may still be fenced, and a login may be given up, at the same time.
((most <= 4 * ids)) || fail "$most cm_ids"
expect_well
(($(attribute reconnects) > 0)) || fail "the link was never missed"
expect_legal
expect_objects "$one"
disconnect
unload_module
stop_target
expect_objects "$nothing"
