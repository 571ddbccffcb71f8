#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/thin-backup.rst: a thin volume at the target is the disk of a mounted
# file system. A backup by a snapshot has all files, and all that fsync had promised when the
# file system was frozen. The pool gets trimmed space back. A killed daemon costs nothing.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require lvm lvcreate mkfs.ext4 fsfreeze fstrim

SIZE=$((4 << 20))

# pool_use: of the pool, in hundredths of a percent
pool_use() {
	lvs --noheadings -o data_percent vg0/pool | tr -d ' .'
}

needs_module dm-thin-pool
machines 1
ram_disk 128
vgcreate -q vg0 $RAM
target_start 1
recipe thin-backup s/400G/80M/ 's/100G/96M/'
follow 'which has a volume group'
load_module
follow 'On the host::'
mkdir /data/kept
cp -r /usr/include/linux/netfilter* "$RDMABLK_TOP/tests/lib" /data/kept
truncate -s $SIZE /data/durable
kept=$(sum_of /data/kept)
durable_start /data/durable $SIZE

follow 'Freeze it'
cp /dev/shm/durable /dev/shm/durable.frozen
follow 'meanwhile'
follow 'at once'
durable_progress
follow 'without hurry'
durable_progress
mkdir /srv/restored
tar -xf /srv/1/disk0.tar -C /srv/restored
expect "$kept" "$(sum_of /srv/restored/kept)" "the sum of the files of the backup"
python3 "$DURABLE" check /srv/restored/durable $SIZE /dev/shm/durable.frozen fsynced ||
	fail "the backup lacks something that fsync had promised"
[[ ! -e /dev/vg0/backup ]] || fail "the snapshot is there still"

# The pool gets back trimmed blocks.
random_file 24M /data/large
sync -f /data
used=$(pool_use)
rm /data/large
sync -f /data
fstrim /data
(($(pool_use) < used - 2000)) || fail "the pool keeps $(pool_use) of $used"

stop_target KILL
target_start 1
wait_live 0
durable_progress
durable_stop
expect "$kept" "$(sum_of /data/kept)" "the sum of the files"
umount /data
run_expect 0 '' e2fsck -fn $DEV
mount -o ro $DEV /data
durable_in /data/durable
umount /data
still_live
disconnect
stop_target
vgchange -q -an vg0
unload_module
recipe_end
