#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fio reads back what it wrote: checksummed blocks of 512 bytes to 1 MiB at any sector, several
# jobs at once, queue depths 1, 16 and 128, io_uring and psync, with reads between writes. The
# same holds for writes through a mapping. All the data is in the target's memory.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

serve 48M
load_module connect="$TARGET_ADDR/disk0"
verify_all_ways
disconnect
