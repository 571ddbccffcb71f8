#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/mirror.rst: md RAID 1 over two targets. One target is killed under load:
# the array goes on, takes the disk back, and copies only the data written meanwhile. Then one
# target loses unflushed data: after a full copy both halves are equal. Both have all that fsync
# has promised.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require mdadm

SIZE=$((6 << 20))

degraded_is() {
	[[ $(</sys/block/md0/md/degraded) == "$1" ]]
}

synced() {
	degraded_is 0 && [[ $(</sys/block/md0/md/sync_action) == idle ]]
}

# lose_second: the array goes on without its second disk
lose_second() {
	on 2
	stop_target KILL
	wait_until "$PATIENCE" degraded_is 1 || fail "md has not noticed: $(</proc/mdstat)"
	grep -q faulty /sys/block/md0/md/dev-rdmablk1/state || fail "$(</proc/mdstat)"
	durable_progress
}

# puts_back WORDS: the commands bring the second disk back, with COPIED bytes
puts_back() {
	local before

	kill -STOP "$DURABLE_PID"
	before=$(disk_writes 1)
	follow "$1"
	wait_until "$PATIENCE" synced || fail "no resync: $(</proc/mdstat)"
	grep -q '\[UU\]' /proc/mdstat || fail "$(</proc/mdstat)"
	COPIED=$(($(disk_writes 1) - before))
	kill -CONT "$DURABLE_PID"
	durable_progress
}

decided() {
	[[ $(attribute state 1) == @(live|failed) ]]
}

needs_module raid1
machines 2 160
target_start 1
target_start 2
# Of the usual 64 MiB, a chunk of the bitmap would be the whole array.
recipe mirror s/500G/64M/ 's/--bitmap internal/& --bitmap-chunk 64K/'
on 1
follow 'On each of the two targets'
on 2
follow 'On each of the two targets'
load_module
follow 'On the host'
grep -q '\[UU\]' /proc/mdstat || fail "$(</proc/mdstat)"
durable_start /dev/md0 $SIZE

lose_second
target_start 2
wait_live 1
puts_back 'Put it back'
((COPIED > 0 && COPIED < 16 << 20)) || fail "$COPIED bytes were copied of 6 MiB with writes"

# The file is another one, as it was at some time before.
lose_second
cp --sparse=always /srv/2/disk0 /srv/2/copy
mv /srv/2/copy /srv/2/disk0
target_start 2
wait_until "$PATIENCE" decided || fail "the second disk is $(attribute state 1)"
puts_back 'Remove the superblock first'
((COPIED >= 56 << 20)) || fail "only $COPIED bytes of 64 MiB were copied"

# Why the superblock has to go
mdadm /dev/md0 --fail /dev/rdmablk1 --remove /dev/rdmablk1
run_expect 0 're-added' mdadm /dev/md0 --add /dev/rdmablk1
wait_until "$PATIENCE" synced || fail "no resync: $(</proc/mdstat)"

durable_stop
durable_in /dev/md0
offset=$(($(</sys/block/md0/md/dev-rdmablk1/offset) * 512))
bytes=$(blockdev --getsize64 /dev/md0)
mdadm --stop /dev/md0
"$RDMABLK" disconnect --all
for n in 1 2; do
	on $n
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
done
cmp -n "$bytes" -i $offset /srv/1/disk0 /srv/2/disk0 || fail "the halves differ"
tail -c +$((offset + 1)) /srv/2/disk0 >/srv/half
durable_in /srv/half
unload_module
recipe_end
