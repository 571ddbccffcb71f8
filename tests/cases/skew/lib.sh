# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases with old peers, which tests/cases/skew/build has built.

# need_peers NAME: sets $PEERS to their directory; without them the case is skipped, or fails
need_peers() {
	local verdict why

	PEERS=$RDMABLK_TOP/build/$1
	[[ -e $PEERS/lacks ]] || fail "no peers in $PEERS: tests/cases/skew/build makes them"
	if read -r verdict why <"$PEERS/lacks"; then
		"$verdict" "no peers in $PEERS: $why"
	fi
	[[ -x $PEERS/target/rdmablkd && -f $PEERS/$KERNEL_SERIES/rdmablk.ko ]] ||
		fail "$PEERS is not complete: tests/cases/skew/build"
}
