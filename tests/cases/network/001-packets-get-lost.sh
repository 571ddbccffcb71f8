#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, all packets of one direction vanish, and packets get lost in bursts: no request
# fails, the disk comes back when it was lost, and holds what a disk may hold. The black hole
# hits a disk in memory: its counters say that requests were tried again until retries were used
# up. The bursts hit that of a file without a cache, whose commands are on the wire, too, and whose
# medium has all of it once it was flushed: the counters of the network say that packets were lost.
# Among the long tests each disk meets both. What else becomes of packets is network/106.
#
# net: veth
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/network/packets.sh
source "$RDMABLK_TOP/tests/cases/network/packets.sh"

through_memory() {
	[[ ! $LONG ]] || shaped dropped loss gemodel 1% 25%
	black_hole v0
}

through_none() {
	shaped dropped loss gemodel 1% 25%
	[[ ! $LONG ]] || black_hole v1
}

stores=(memory none)
[[ ! $QUICK ]] || stores=(memory)
rounds "${stores[@]}"
