#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, packets come twice, overtake one another, are damaged, take their time, and vanish
# altogether in one direction and in the other: no request fails, the disk comes back whenever
# it was lost, and holds what a disk may hold. The counters of the network say that each of
# these really happened. So it is with a disk in memory and with that of a file without a
# cache; network/100 does the same to a file with a cache.
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
