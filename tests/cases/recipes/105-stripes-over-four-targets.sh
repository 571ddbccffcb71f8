#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/stripe.rst: md RAID 10 over four targets goes on when one target is
# killed under load, and is whole again when a fifth target has replaced it. RAID 0 and LVM
# stripes over four targets wait while one target is away. All that fsync has promised is there.
#
# kernels: 6.12
# timeout: 900

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require mdadm lvm

SIZE=$((16 << 20))

degraded_is() {
	[[ $(</sys/block/md0/md/degraded) == "$1" ]]
}

synced() {
	degraded_is 0 && [[ $(</sys/block/md0/md/sync_action) == idle ]]
}

serve_on() {
	target_start "$1"
	follow 'On each of the four targets'
}

# empty_again: the four targets have new files
empty_again() {
	local n

	for n in 1 2 3 4; do
		on $n
		rdmablk target remove disk0
		rm "/srv/$n/disk0"
		follow 'On each of the four targets'
	done
}

# stripes WORDS DEVICE: made by that block; it waits while the second target is away
stripes() {
	local n

	follow "$1"
	durable_start "$2" $SIZE
	on 2
	stop_target KILL
	wait_state recovering 1
	target_start 2
	wait_live 1
	durable_progress
	durable_stop
	durable_in "$2"
	for n in 0 1 2 3; do
		expect 0 "$(disk_values status $n errors)" \
			"the number of failed requests of disk $n"
	done
}

needs_module raid0 raid10 dm-mod
machines 5 224
recipe stripe s/500G/32M/
for n in 1 2 3 4; do
	serve_on $n
done
load_module
follow 'for RAID 10'
durable_start /dev/md0 $SIZE
on 3
stop_target KILL
wait_until "$PATIENCE" degraded_is 1 || fail "md has not noticed: $(</proc/mdstat)"
durable_progress
serve_on 5
follow '10.0.0.5 for the third'
wait_until "$PATIENCE" synced || fail "no resync: $(</proc/mdstat)"
grep -q '\[UUUU\]' /proc/mdstat || fail "$(</proc/mdstat)"
durable_progress
# The partner of the new one: all is on the new one.
on 4
stop_target KILL
wait_until "$PATIENCE" degraded_is 1 || fail "md has not noticed: $(</proc/mdstat)"
durable_progress
durable_stop
durable_in /dev/md0
mdadm --stop /dev/md0
rdmablk disconnect --all

for n in 3 4; do
	target_start $n
done
empty_again
stripes 'by RAID 0' /dev/md0
expect 'raid0 4' "$(</sys/block/md0/md/level) $(</sys/block/md0/md/raid_disks)" \
	"the level of /dev/md0, and how many disks it has"
mdadm --stop /dev/md0
rdmablk disconnect --all

empty_again
stripes 'by LVM' /dev/vg1/data
expect 4 "$(lvs --noheadings -o stripes vg1/data | tr -d ' ')" "the number of stripes"
vgchange -q -an vg1
rdmablk disconnect --all
unload_module
recipe_end
