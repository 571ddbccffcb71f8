# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of adapters: the guest's only device is Soft-RoCE with the limits of
# another adapter, see build and limits.c. One device serves both ends, as in all cases
# with net: loop.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

ADAPTER=$RDMABLK_TOP/build/$KERNEL_SERIES/adapters/rdma_rxe.ko

# adapter NAME=VALUE...: replaces the guest's RDMA device by Soft-RoCE with these limits
adapter() {
	[[ -f $ADAPTER ]] || fail "no $ADAPTER, run tests/cases/adapters/build $KERNEL_SERIES"
	rdma link delete rxe0
	rmmod rdma_rxe
	insmod "$ADAPTER" "$@"
	net_add_rxe rxe0 dummy0 "$TARGET_ADDR" || fail "the adapter does not come up: $*"
	leak_snapshot
}

is_live() {
	[[ $(<$SESSION/state) == live ]]
}

# restart_target SIZE: ends the daemon and starts it again over its kept arena
restart_target() {
	stop_target
	serve "$1"
	wait_until "$PATIENCE" is_live || fail "the disk is $(<$SESSION/state), not live"
}

# chains_fit SGE: no request is more than four work requests of so many elements
chains_fit() {
	expect "$1" "$(status sge_per_wr)" "the elements of a work request"
	(($(<$QUEUE/max_segments) <= 4 * $1)) ||
		fail "a request may be more than four work requests"
}
