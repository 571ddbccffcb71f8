#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each allocation of a module load fails once, then each allocation of a connect, those of
# rdma_cm, the RDMA device and the block layer included. Each failure is reported with an errno
# and a reason, and leaves nothing behind.
#
# kernels: debug
# timeout: 900
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

inject load "$MODULE"
load_module
serve 8M
sweep_begin
inject connect "$TARGET_ADDR"
leak_check
connect
expect_works 4
sweep_end
