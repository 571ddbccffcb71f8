#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An export that is larger than what rxe registers in one piece has several regions. Data is
# right on both sides of their boundaries.
#
# kernels: 6.1 6.12 newest
# mem: 3072

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=1280M
load_module
connect
expect 5 "$(status regions)" "the number of regions"
random_file 8M /tmp/pattern
dd if=/tmp/pattern of=$DEV bs=1M seek=1020 oflag=direct conv=fsync status=none
cmp /tmp/pattern <(dd if=$DEV bs=1M skip=1020 count=8 iflag=direct status=none) ||
	fail "other data is read where two regions meet"
disconnect
unload_module
stop_target
