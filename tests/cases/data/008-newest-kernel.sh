#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# On Debian's newest kernel, too, insmod connects the disk with a key, fio verifies what it
# wrote, and a disconnect and rmmod leave nothing behind.
#
# kernels: newest
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require fio

serve_with_key 32M
leak_snapshot
load_module connect="$TARGET_ADDR/disk0"
expect psk "$(<$SESSION/auth)" "the authentication"
fio_verify 16
device_same_as_target
still_live
disconnect
leak_check
unload_module
