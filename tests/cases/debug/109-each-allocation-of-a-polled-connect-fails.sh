#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An uncached file and a polled queue: each allocation of a connect fails once, in any layer.
# Each failure is reported with an errno and a reason, and leaves nothing behind.
#
# kernels: debug
# timeout: 900
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
file_export none
sweep_begin
inject connect "$TARGET_ADDR" --depth $DEPTH --poll
leak_check
connect --queues 1 --poll-queues 1 --queue-depth $DEPTH
start_verify "${SLOWLY[@]}" --ioengine=io_uring --hipri=1
other_kinds
stop_verify
file_is_right
sweep_end
