#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The same with one processor and an Ethernet MTU of 1500, where a work request
# of 1 MiB is a thousand packets: one hardware queue, and what fio writes with
# several engines and queue depths is what it reads.
#
# smp: 1
# mtu: 1500

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

expect 1 "$(nproc)" "the number of processors"
expect 1500 "$(<"/sys/class/net/dummy0/mtu")" "the MTU"
serve 48M
load_module connect="$TARGET_ADDR/disk0"
expect 1 "$(<$SESSION/queues)" "the number of queues"
verify_all_ways
disconnect
