#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# insmod waits for a target that never answers, and then fails. Meanwhile nobody gets a list
# of disks: it could be read to its end long after the module is gone. The tool says so; one
# disk may be asked for, and disconnected, which ends the wait.
#
# kernels: 6.1 6.12 newest

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

NOBODY=10.99.0.77/a

insmod_begin() {
	insmod "$MODULE" connect=$NOBODY 2>/tmp/insmod &
	INSMOD=$!
	wait_until "$PATIENCE" "$RDMABLK" status rdmablk0 >/dev/null 2>&1 ||
		fail "no disk is connecting: $(cat /tmp/insmod)"
}

# insmod_fails WHAT
insmod_fails() {
	local status=0

	wait "$INSMOD" || status=$?
	expect 1 "$status" "the status of insmod, $1"
	[[ ! -d /sys/module/rdmablk ]] || fail "the module is loaded, $1"
}

modprobe -a rdma_cm ib_core
echo "== lists"
insmod_begin
run_expect 1 'the module is still loading' "$RDMABLK" list
run_expect 1 'the module is still loading' "$RDMABLK" stats
python3 - "$CASES/control" $INSMOD <<'PYTHON' || fail "see above"
import os
import sys
import time
sys.path.insert(0, sys.argv[1])
import rdmablknl as nl

# One message of a list is sent at once, the rest when that has been read.
asked = [nl.Netlink() for _ in range(2)]
asked[0].send(nl.GET, flags=nl.NLM_F_DUMP)
asked[1].send(nl.STATS_GET, flags=nl.NLM_F_DUMP)
end = time.monotonic() + 120
while os.path.exists("/sys/module/rdmablk"):
    assert time.monotonic() < end, "insmod still waits"
    time.sleep(0.05)
for one in asked:
    try:
        sys.exit(f"a list: {one.receive()}")
    except OSError as e:
        assert e.errno == nl.errno.EAGAIN, e
PYTHON
insmod_fails "when nobody answers"

echo "== a disconnect"
insmod_begin
# The module goes with its only disk, maybe before it can say so.
"$RDMABLK" disconnect rdmablk0 2>/tmp/disconnect ||
	grep -q 'the kernel module rdmablk was unloaded' /tmp/disconnect ||
	fail "disconnect: $(cat /tmp/disconnect)"
insmod_fails "when its disk is disconnected"

serve 1M
load_module "connect=$TARGET_ADDR/disk0"
expect 1 "$("$RDMABLK" list --noheadings | wc -l)" "disks when the module is loaded"
disconnect
unload_module
stop_target
