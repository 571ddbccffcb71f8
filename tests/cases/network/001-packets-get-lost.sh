#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Under load, packets get lost in bursts, and vanish altogether: no request fails, the disk
# comes back when it was lost, and holds what a disk may hold. The counters of the network say
# that this really happened, those of the disk that what is lost in a black hole was tried
# again until retries were used up. So it is with a disk in memory, and with that of a file
# without a cache, whose commands are on the wire, too, and whose medium has all of it once it
# was flushed. What else becomes of packets is network/106.
#
# net: veth
# quick: yes

# shellcheck source=tests/cases/network/packets.sh
source "$RDMABLK_TOP/tests/cases/network/packets.sh"

through_memory() {
	shaped dropped loss gemodel 1% 25%
	black_hole v0
}

through_none() {
	shaped dropped loss gemodel 1% 25%
	black_hole v1
}

stores=(memory none)
[[ ! $QUICK ]] || stores=(memory)
rounds "${stores[@]}"
