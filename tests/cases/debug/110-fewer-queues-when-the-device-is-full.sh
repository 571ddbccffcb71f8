#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The RDMA device cannot create a queue pair for one of two hardware queues. The login begins
# again with one queue, which both share, and the disk works. Each allocation on the way fails
# once.
#
# kernels: debug
# timeout: 900
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
serve 8M
sweep_begin
inject connect "$TARGET_ADDR" --queues 2 --below rdmablk_queue_create_qp
dmesg_has 'has no room for 2 queues; trying with 1' || fail "no login asked for fewer queues"
leak_check
connect --queues 2
expect_works 4
sweep_end
