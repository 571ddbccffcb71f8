#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host with more processors than a disk has hardware queues by default: several share one,
# each processor has its own when that is asked for, what each of them writes gets to the
# target by the queue pair that is its own, and a FLUSH fences those that wrote and no other.
# No queue of a file without a cache is granted less than 32 requests.
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
