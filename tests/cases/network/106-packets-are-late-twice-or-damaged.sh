#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, packets are duplicated, reordered, damaged and delayed, and all packets of one
# direction vanish, then all of the other. No request fails, the disk comes back after each loss
# of the connection, and its contents are legal. The counters of the network prove that each of
# these faults happened. The stores are a memory store and an uncached file; network/100 has a
# cached file.
#
# net: veth
# timeout: 600

# shellcheck source=tests/cases/network/packets.sh
source "$RDMABLK_TOP/tests/cases/network/packets.sh"

through_memory() {
	shaped dropped loss gemodel 1% 25%
	shaped doubled duplicate 20%
	shaped gaps delay 2ms reorder 75% 50%
	shaped gaps corrupt 1%
	shaped queued delay 200ms
	expect_well 20
	black_hole v0
	black_hole v1
}

# Commands and their answers are on the wire, too.
through_none() {
	shaped dropped loss gemodel 1% 25%
	shaped doubled duplicate 20%
	shaped gaps corrupt 1%
	expect_well 20
	black_hole v0
	black_hole v1
}

rounds memory none
