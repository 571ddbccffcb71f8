#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# insmod waits for a target that never answers, and then fails. Until then the module gives no
# list of disks, because a reader could still read the rest of it after the module is gone. The
# tool says so. A single disk may be asked for. It may also be disconnected, which ends the
# wait.
#
# long-kernels: newest

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

NOBODY=10.99.0.77/a
LOADING='the module is still loading'

insmod_waits() {
	kill -0 "$INSMOD" 2>/dev/null
}

insmod_ended() {
	! insmod_waits
}

connecting() {
	insmod_ended || "$RDMABLK" status rdmablk0 >/dev/null 2>&1
}

insmod_begin() {
	insmod "$MODULE" connect=$NOBODY 2>/tmp/insmod &
	INSMOD=$!
	wait_until "$PATIENCE" connecting || fail "no disk is connecting"
}

# insmod_fails WHAT
insmod_fails() {
	local status=0

	wait_until "$PATIENCE" insmod_ended || fail "insmod still waits, $1"
	wait "$INSMOD" || status=$?
	expect 1 "$status" "the status of insmod, $1"
	[[ ! -d /sys/module/rdmablk ]] || fail "the module is loaded, $1"
}

# while_loading COMMAND...: runs the command while insmod waits; sets $STATUS and $OUTPUT. On a
# slow machine insmod may end before the command does; then both run again.
while_loading() {
	local try waited

	for try in 1 2 3 4 5 6; do
		insmod_begin
		STATUS=0
		OUTPUT=$("$@" 2>&1) || STATUS=$?
		waited=
		! insmod_waits || waited=1
		insmod_fails "when nobody answers ($try)"
		[[ ! $waited ]] || return 0
	done
	fail "insmod ends before '$*' does: $OUTPUT"
}

modprobe -a rdma_cm ib_core
echo "== lists"
for command in list stats; do
	while_loading "$RDMABLK" $command
	expect "1 rdmablk: $command: $LOADING" "$STATUS $OUTPUT" "what $command says"
done

# The kernel sends one message of a list at once, and the rest when that has been read.
cat >/tmp/lists.py <<'PYTHON'
import os
import sys
import time
sys.path.insert(0, sys.argv[1])
import rdmablknl as nl

end = time.monotonic() + float(sys.argv[2])


def wait(condition, what):
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def family():
    """Two sockets, when the module has registered."""
    try:
        asked.extend(nl.Netlink() for _ in range(2 - len(asked)))
    except FileNotFoundError:
        return False
    return True


asked = []
wait(family, "the module does not come")
asked[0].send(nl.GET, flags=nl.NLM_F_DUMP)
asked[1].send(nl.STATS_GET, flags=nl.NLM_F_DUMP)
print("asked", flush=True)
wait(lambda: not os.path.exists("/sys/module/rdmablk"), "insmod still waits")
for one in asked:
    try:
        sys.exit(f"a list: {one.receive()}")
    except OSError as e:
        assert e.errno == nl.errno.EAGAIN, e
PYTHON
python3 /tmp/lists.py "$CASES/control" "$PATIENCE" >/tmp/lists &
lists=$!
insmod_begin
insmod_fails "when nobody answers"
wait $lists || fail "see above: $(cat /tmp/lists)"

echo "== a disconnect"
insmod_begin
# The module is unloaded with its only disk, maybe before the disconnect can be acknowledged.
"$RDMABLK" disconnect rdmablk0 2>/tmp/disconnect ||
	grep -Eq 'the kernel module rdmablk (was unloaded|is not loaded)' /tmp/disconnect ||
	fail "disconnect: $(cat /tmp/disconnect)"
insmod_fails "when its disk is disconnected"

serve 1M
load_module "connect=$TARGET_ADDR/disk0"
expect 1 "$("$RDMABLK" list --noheadings | wc -l)" "disks when the module is loaded"
disconnect
unload_module
stop_target
