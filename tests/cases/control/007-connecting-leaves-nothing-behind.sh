#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk connected, used and disconnected 50 times, and 50 connects that fail: the
# kernel's memory, the RDMA objects of both sides and the daemon's memory and
# descriptors are what they were, and the module can be unloaded.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M
load_module
leak_snapshot
python3 "$CASES/control/leak.py" "$TARGET_ADDR" "$TARGET_PID" 50 ||
	fail "leak.py"
leak_check
expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
