#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# As recovery/006. If a login waits for a slow fence, an old write does not land after a newer
# one. If the queue pairs of a killed daemon survive it, or if a reconnect does not fence the
# session that it replaces, the old write does land.
#
# net: veth

# shellcheck source=tests/cases/recovery/overtake.sh
source "$RDMABLK_TOP/tests/cases/recovery/overtake.sh"

overtake_setup
load_module

# A killed process leaves no session to fence. Here its queue pairs survive it.
overtake by_restart_with_survivors
old_lands 0
survivors_end
program faults/rdmablkd
RDMABLKD=$PROGRAM
overtake by_reconnect --fault slow-fence=3000
new_stays 0
overtake by_reconnect --fault no-fence
old_lands 0
unload_module
