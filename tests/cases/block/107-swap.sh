#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The disk carries swap: a program that uses three times the memory it may have
# finds all of it unchanged after it went out and came back, the disk cannot be
# disconnected meanwhile, and swapoff brings back what is still out.

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require mkswap swapon

group=/sys/fs/cgroup/swapped
serve 96M
load_module connect="$TARGET_ADDR/disk0"
mkswap -q $DEV
swapon $DEV
run_expect 4 'in use: swap ' "$RDMABLK" disconnect rdmablk0

echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo 32M >$group/memory.max
mkfifo /tmp/go
/usr/bin/python3 "$CASES/block/swapped.py" $group 64 </tmp/go >/tmp/said &
program=$!
exec {go}>/tmp/go

said() {
	grep -qx "$1" /tmp/said || ! kill -0 $program 2>/dev/null
}

wait_until 90 said swapped || fail "the program did not get through"
grep -qx swapped /tmp/said || fail "the program ended early"
# Out and in again at least once, and most of it is out now.
(($(status writes) > 0 && $(status reads) > 0)) || fail "nothing was swapped"
out=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
((out >= 2 * 32 * 256)) || fail "only $out pages were swapped out"
(($(<$group/memory.swap.current) >= 24 << 20)) ||
	fail "only $(<$group/memory.swap.current) bytes are out"

echo max >$group/memory.max
swapoff $DEV
expect 0 "$(<$group/memory.swap.current)" "what is out after swapoff"
echo >&$go
wait $program || fail "the program found other data"
grep -qx 'the same' /tmp/said || fail "the program said: $(</tmp/said)"
still_live
disconnect
