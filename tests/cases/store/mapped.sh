# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of stores on a disk, $STORE, which can be made to fail: a device-mapper device
# over /dev/vda.

# shellcheck source=tests/cases/store/shapes.sh
source "$RDMABLK_TOP/tests/cases/store/shapes.sh"

# udev does not run here, so only the kernel makes device nodes.
export DM_DISABLE_UDEV=1
# shellcheck disable=SC2034 # for the cases
STORE=/dev/mapper/store
SECTORS=65536

# table: replaces the store's device-mapper table by stdin, with I/O under way
table() {
	dmsetup load store
	dmsetup suspend --noflush --nolockfs store
	dmsetup resume --noflush --nolockfs store
}

mended() {
	echo "0 $SECTORS linear /dev/vda 0" | table
}

end() {
	close_disk
	disconnect
	stop_target
}
