#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# As data/002 with one processor, one hardware queue and an Ethernet MTU of 1500: a work request
# of 1 MiB is a thousand packets. fio reads back what it wrote with several engines and queue
# depths.
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
