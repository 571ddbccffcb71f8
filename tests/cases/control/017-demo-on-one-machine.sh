#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rdmablk-demo, as the package brings it, on a machine that has nothing loaded: it says what
# is missing before it does anything; it makes an RDMA device of its own, or takes one that
# there is, and verifies a disk; whether it succeeds, fails or is ended, nothing of it is left.
# Modules for encryption are the kernel's own matter.
#
# kernels: 6.12

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require modprobe ip rdma

DEMO=$RDMABLK_TOP/tools/demo/rdmablk-demo
export RDMABLK RDMABLKD

# Disks, keys, modules, links, files: lines that tell one state from another
state() {
	"$RDMABLK" key list -n 2>/dev/null || :
	compgen -G '/dev/rdmablk*' || :
	compgen -G '/run/rdmablk-demo*' || :
	ls /sys/class/net /sys/class/infiniband
	cut -d ' ' -f 1 /proc/modules | grep -E '^(rdma|ib_|iw_|dummy|udp|ip6_udp)' | sort
	pgrep -x rdmablkd || :
}

same() {
	state >/run/after
	diff /run/before /run/after || fail "$1 leaves something behind"
}

state >/run/before
run_expect 3 'there is no module rdmablk for this kernel' "$DEMO"
RDMABLKD=/nowhere run_expect 3 'there is no program /nowhere' "$DEMO"
same 'what it cannot do'
echo "install rdmablk /sbin/modprobe -a rdma_cm ib_core && /sbin/insmod $MODULE" \
	>/etc/modprobe.d/rdmablk.conf
ip address add 198.51.100.1/32 dev lo
run_expect 3 'this machine has the address 198.51.100.1' "$DEMO"
ip address delete 198.51.100.1/32 dev lo

run_expect 0 '== 64 MiB are what they were' "$DEMO"
grep -qx "/dev/rdmablk0" <<<"$OUTPUT" || fail "no disk: $OUTPUT"
same 'the demo'
run_expect 0 '== 8 MiB are what they were' "$DEMO" --address "$TARGET_ADDR" --size 8
same 'the demo on a device'

# A daemon that does not start.
RDMABLKD=/bin/false run_expect 1 'the daemon did not get ready' "$DEMO" --size 8
same 'a demo that fails'

# Ended while its disk is connected.
mkfifo /run/enter
"$DEMO" --size 8 --keep >/run/demo.log 2>&1 </run/enter &
demo=$!
exec {enter}>/run/enter
wait_until 60 grep -q 'what they were' /run/demo.log || fail "$(cat /run/demo.log)"
[[ -b /dev/rdmablk0 ]] || fail 'no disk while it waits'
kill -TERM $demo
exec {enter}>&-
wait $demo && fail 'ended with success'
same 'a demo that is ended'
