#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# As 013, with 64 processors, by default and with a hardware queue for each.
#
# smp: 64
# mem: 2048
# timeout: 600

# shellcheck source=tests/cases/block/processors.sh
source "$RDMABLK_TOP/tests/cases/block/processors.sh"

start_many 64
serve_many 16
many_queues $DEFAULT_QUEUES
many_queues 64 --queues 64
staged_queues
staged_queues --queues 64
end_many
