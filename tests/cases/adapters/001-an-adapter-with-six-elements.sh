#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An adapter with six scatter/gather elements, 16 READs at a time, no inline data, one
# completion vector and regions of 8 MiB carries every byte: requests of 512 bytes to
# 256 KiB at any sector, from buffers at any address that the queue allows, over four
# regions. A flush succeeds, and the disk comes back after the daemon has restarted.
#
# kernels: 6.12

# shellcheck source=tests/cases/adapters/lib.sh
source "$RDMABLK_TOP/tests/cases/adapters/lib.sh"
require fio

adapter sge=6 reads=16 inline_data=0 vectors=1 mr_size=$((8 << 20))
serve 32M
load_module
connect
chains_fit 6
expect 4 "$(status regions)" "the number of regions"
fio_verify 32 --iomem_align=512
sync "$DEV"
restart_target 32M
device_same_as_target
fio_verify 32 --iomem_align=1536
device_same_as_target
still_live
disconnect
stop_target
leak_check
