#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rdmablk-demo as packaged, on a machine that has nothing loaded. It reports what is missing
# before it changes anything. It makes an RDMA device of its own or uses one that is there, by
# IPv4 or IPv6, and verifies a disk. It leaves nothing behind, whether it succeeds, fails or is
# ended. It does not fill memory.
#
# kernels: 6.12
# in-turn: yes

# shellcheck source=tests/cases/control/demo.sh
source "$RDMABLK_TOP/tests/cases/control/demo.sh"

state >/run/before
run_expect 3 'there is no module rdmablk for this kernel' "$DEMO"
RDMABLKD=/nowhere run_expect 3 'there is no program /nowhere' "$DEMO"
same 'what it cannot do'
demo_module
ip address add 198.51.100.1/32 dev lo
run_expect 3 'this machine has the address 198.51.100.1' "$DEMO"
ip address delete 198.51.100.1/32 dev lo
mount -o remount,size=16M /dev/shm
run_expect 3 'there is no room for 64 MiB in /dev/shm' "$DEMO"
mount -o remount,size=512M /dev/shm
run_expect 3 'MiB of memory are too few for two times 500 MiB' "$DEMO" --size 500
same 'what it has no room for'

run_expect 0 '== 8 MiB are what they were' "$DEMO" --size 8
grep -qx "/dev/rdmablk0" <<<"$OUTPUT" || fail "no disk: $OUTPUT"
same 'the demo'
if [[ $LONG ]]; then
	run_expect 0 '== 64 MiB are what they were' "$DEMO"
	same 'the demo without options'
fi
run_expect 0 '== 1 MiB are what they were' "$DEMO" --address "$TARGET_ADDR6" --size 1
same 'the demo on an IPv6 address'

# The daemon does not start.
RDMABLKD=/bin/false run_expect 1 'the daemon did not get ready' "$DEMO" --size 8
same 'a demo that fails'

# The demo is ended while its disk is connected.
mkfifo /run/enter
"$DEMO" --address "$TARGET_ADDR" --size 1 --keep >/run/demo.log 2>&1 </run/enter &
demo=$!
exec {enter}>/run/enter
wait_until 60 grep -q 'what they were' /run/demo.log || fail "$(cat /run/demo.log)"
[[ -b /dev/rdmablk0 ]] || fail 'no disk while it waits'
kill -TERM $demo
exec {enter}>&-
wait $demo && fail 'ended with success'
same 'a demo that is ended'
