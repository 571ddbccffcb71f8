#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each allocation that loading the module makes fails once, then each of a connect
# and each of a disconnect, among them those of rdma_cm, the RDMA device and the
# block layer. Each failure is reported with an errno and a reason and leaves
# nothing behind; after the last one all is as it was.
#
# kernels: debug
# timeout: 1200
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

inject load "$MODULE"
load_module
serve 8M
# The daemon opens the device for its first initiator, and keeps it.
connect
disconnect
leak_snapshot
inject connect "$TARGET_ADDR"
leak_check
inject disconnect "$TARGET_ADDR"
leak_check
connect
expect_works 4
disconnect
leak_check
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
unload_module
