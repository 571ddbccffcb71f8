#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Adapters with 13 and with 30 scatter/gather elements carry every byte: requests of 512
# bytes to 256 KiB at any sector, from buffers that begin in the middle of pages, so that
# the largest have more pieces than a work request has elements. Of 30 elements 16 are used.
# A flush succeeds, and the disk comes back after the daemon has restarted.
#
# kernels: 6.12

# shellcheck source=tests/cases/adapters/lib.sh
source "$RDMABLK_TOP/tests/cases/adapters/lib.sh"
require fio

# carries ELEMENTS USED
# shellcheck disable=SC2119 # no parameters: defaults
carries() {
	adapter sge="$1" reads=16 inline_data=0
	serve 8M
	load_module
	connect
	chains_fit "$2"
	fio_verify 8 --iomem_align=512
	sync "$DEV"
	restart_target 8M
	device_same_as_target
	fio_verify 8 --iomem_align=1536
	device_same_as_target
	still_live
	disconnect
	unload_module
	stop_target
	leak_check
	rm "$ARENA"
}

carries 13 13
carries 30 16
