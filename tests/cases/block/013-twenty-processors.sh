#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host has more processors than a disk has hardware queues by default: several processors
# share a queue. On request each processor gets a queue of its own. Writes of a processor go by
# the queue pair of its hardware queue, and a FLUSH fences exactly the queues that have written.
# No queue of an uncached file is granted less than 32 requests.
#
# smp: 20
# in-turn: yes

# shellcheck source=tests/cases/block/processors.sh
source "$RDMABLK_TOP/tests/cases/block/processors.sh"

start_many 20
serve_many 8
many_queues $DEFAULT_QUEUES
many_queues 20 --queues 64
staged_queues
end_many
