#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A write whose packets are held back in the network does not land after a newer write was
# acknowledged. The newer write comes from the same initiator after a reconnect, after a restart
# of the killed daemon, or from another host that has stolen the export. The disconnect messages
# of the old connection are held back as well, so the target learns of its end only by the new
# login. With a daemon that grants before a slow fence is complete, or without a fence, the old
# write does land, and this test notices it. recovery/107 has the other ways in which it lands.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/overtake.sh
source "$RDMABLK_TOP/tests/cases/recovery/overtake.sh"

overtake_setup
load_module

overtake by_reconnect
expect_log 'closing: session was replaced by a newer login'
new_stays 0
overtake by_restart
new_stays 0
overtake by_theft
expect_failed 'export was taken over by another host'
! wait "$writer" || fail "the held write has not failed"
new_stays 1

program faults/rdmablkd
RDMABLKD=$PROGRAM
overtake by_reconnect --fault slow-fence=100000 --fault grant-early
old_lands 0
overtake by_theft --fault no-fence
old_lands 1
unload_module
