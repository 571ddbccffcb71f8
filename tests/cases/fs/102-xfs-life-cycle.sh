#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The life of an xfs: made, mounted, filled with a real tree of files,
# unmounted; after a disconnect and a reconnect it checks clean and holds the
# same files, and can be written again.
#
# mem: 1536

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/fs/lib.sh
source "$CASES/fs/lib.sh"
require mkfs.xfs xfs_repair

check_xfs() {
	xfs_repair -n $DEV >/tmp/fsck 2>&1 ||
		{ cat /tmp/fsck; fail "xfs_repair"; }
}

# mkfs.xfs makes no smaller one.
serve 304M
load_module connect="$TARGET_ADDR/disk0"
life_cycle xfs check_xfs mkfs.xfs -q
