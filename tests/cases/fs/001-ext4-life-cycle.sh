#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The life of an ext4: made, mounted, filled with a real tree of files,
# unmounted; after a disconnect and a reconnect it checks clean and holds the
# same files, and can be written again.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/fs/lib.sh
source "$CASES/fs/lib.sh"
require mkfs.ext4 e2fsck

check_ext4() {
	e2fsck -fn $DEV >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
}

serve 64M
load_module connect="$TARGET_ADDR/disk0"
life_cycle ext4 check_ext4 mkfs.ext4 -q
