#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each allocation of a disconnect fails once. Either the disk is gone or the next disconnect
# removes it, and nothing is left behind.
#
# kernels: debug
# timeout: 600
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
serve 8M
sweep_begin
inject disconnect "$TARGET_ADDR"
leak_check
connect
expect_works 4
sweep_end
