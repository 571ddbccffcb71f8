#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, all packets of one direction vanish, and packets get lost in bursts. No request
# fails, the disk comes back after a loss of the connection, and its contents are legal. The
# black hole hits a disk of a memory store: its counters show that requests were retried until
# the retries were used up. The bursts hit a disk of an uncached file, whose commands are on the
# wire, too. The medium has all flushed data, and the counters of the network show lost packets.
# In the long tests each disk meets both faults. network/106 has more faults of packets.
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
