#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# As recovery/006: a login waits for a fence that takes its time, and with that an old write
# does not land after a newer one. With queue pairs that outlive a killed daemon, or without a
# fence of the session that a reconnect replaces, it does.
#
# net: veth

# shellcheck source=tests/cases/recovery/overtake.sh
source "$RDMABLK_TOP/tests/cases/recovery/overtake.sh"

overtake_setup
load_module

# A killed process leaves no session to be fenced, so here it is its queue pairs that stay.
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
