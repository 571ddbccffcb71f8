#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/swap.rst: a group of programs uses more memory than it may have. Part of
# the rest is in zswap, part on the disk. The daemon is killed, and later started again with its
# arena: no program is killed, and each page has its contents. The service for the boot activates
# the swap space, and ends it.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
# shellcheck source=tests/cases/fault/pressed.sh
source "$RDMABLK_TOP/tests/cases/fault/pressed.sh"
require mkswap swapon

GROUP=/sys/fs/cgroup/batch
UNIT=/etc/systemd/system/swap0.service

# stat_of KEY: prints a value of the group's memory.stat
stat_of() {
	awk -v key="$1" '$1 == key { print $2 }' $GROUP/memory.stat
}

waits_for_swap() {
	grep -q '^State:.D' "/proc/$PRESSED/status"
}

# service KEY: runs the commands that the unit of the service has for KEY
service() {
	local command

	while read -r command; do
		$command || fail "$command"
	done < <(sed -n "s/^$1=//p" $UNIT)
}

# No systemd runs here.
systemctl() {
	[[ $* == 'enable swap0' ]] || fail "systemctl $*"
	expect rdmablk@swap0.service "$(sed -n 's/^Requires=//p' $UNIT)" "what the service needs"
	rdmablk up swap0
	service ExecStartPre
	service ExecStart
}

[[ -d /sys/module/zswap ]] || skip "no zswap"
machines 1
target_start 1
recipe swap s/64G/96M/ s/=4G/=32M/ 's/echo 4G/echo 32M/' 's/echo 1G/echo 128K/' \
	"s,/dev/disk/by-id/rdmablk-UUID,$DEV,"
follow 'an arena outlives the daemon'
load_module
follow 'On the host::'
grep -q '^/dev/rdmablk0 ' /proc/swaps || fail "$(</proc/swaps)"
follow 'zswap in front of it'
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
follow 'a group of programs'

mkfifo /tmp/go
/usr/bin/python3 "$CASES/fault/pressed.py" 48 $GROUP </tmp/go >/tmp/said 2>&1 &
PRESSED=$!
exec {go}>/tmp/go
goes_on $((48 * 256 + 4096))
(($(stat_of zswpout) > 0)) || fail "nothing is in zswap: $(<$GROUP/memory.stat)"
(($(<$GROUP/memory.swap.current) >= 12 << 20)) ||
	fail "only $(<$GROUP/memory.swap.current) bytes are out"
(($(disk_writes 0) >= 8 << 20)) || fail "only $(disk_writes 0) bytes went to the disk"

stop_target KILL
wait_state recovering
wait_until "$PATIENCE" waits_for_swap || fail "the program does not wait"
target_start 1
wait_live 0
goes_on
# The daemon has it open, too, so its end would not be seen.
echo >&"$go"
wait_until "$PATIENCE" pressed_over || fail "the program hangs"
wait "$PRESSED" || fail "the program has found: $(tail -n 3 /tmp/said)"
grep -qx 'the same' /tmp/said || fail "the program said: $(tail -n 3 /tmp/said)"
expect 0 "$(awk '/^oom_kill / { print $2 }' /proc/vmstat)" "processes killed for want of memory"
still_live
swapoff $DEV
disconnect

mkdir -p /etc/rdmablk
follow 'activates the swap space'
grep -q '^/dev/rdmablk0 .*[[:space:]]10$' /proc/swaps || fail "$(</proc/swaps)"
service ExecStop
! grep -q '^/dev/rdmablk0 ' /proc/swaps || fail "$(</proc/swaps)"
rdmablk down swap0
stop_target
unload_module
recipe_end
