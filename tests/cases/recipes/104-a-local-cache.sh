#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/cache.rst: a local disk as a cache of a remote one. With dm-cache in
# writethrough mode reads that hit the cache go on while the target is lost, and the target has
# each write. With dm-writecache writes go on meanwhile, and an fsync waits; after the cache is
# removed the target has everything.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require lvm dmsetup

SIZE=$((12 << 20)) MIB=$((1 << 20))

# cache_blocks: of dm-cache, those that are in use
cache_blocks() {
	dmsetup status vg1-data | awk '{ split($7, blocks, "/"); print blocks[1] }'
}

read_hits() {
	dmsetup status vg1-data | awk '{ print $8 }'
}

read_first() {
	timeout "$PATIENCE" dd if=/dev/vg1/data of=/dev/null bs=4k count=16 iflag=direct status=none
}

# hit: reads the first 64 KiB until they come from the cache
hit() {
	local before

	before=$(read_hits)
	read_first
	(($(read_hits) >= before + 16))
}

# file_has_all: the volume, which begins after the first MiB of the target's file, has what
# fsync has promised
file_has_all() {
	tail -c +$((MIB + 1)) /srv/1/disk0 >/srv/volume
	durable_in /srv/volume
	rm /srv/volume
}

needs_module dm-cache dm-cache-smq dm-writecache
machines 1
modprobe brd rd_nr=2 rd_size=$((128 * 1024))
wait_until "$PATIENCE" test -b /dev/ram1 || fail "no /dev/ram1"
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 /srv
target_start 1
truncate -s 48M /srv/1/disk0
rdmablk target add disk0,file=/srv/1/disk0
rdmablk target save
load_module
recipe cache 's,/dev/nvme0n1,/dev/ram1,g'
follow 'whose local disk is'

follow 'For a cache of reads'
durable_start /dev/vg1/data $SIZE
durable_progress
durable_stop
wait_until "$PATIENCE" hit || fail "nothing gets into the cache: $(dmsetup status vg1-data)"
stop_target KILL
wait_state recovering
for _ in 1 2 3; do
	read_first
done
expect recovering "$(attribute state)" "the state"
dd if=/tmp/script of=/dev/vg1/data bs=4k count=1 seek=4096 oflag=direct conv=sync status=none &
write=$!
file_has_all
kill -0 $write || fail "a write has ended without the target"
target_start 1
wait_live 0
wait $write || fail "the write has failed"
durable_in /dev/vg1/data
follow 'To end either of them'
durable_in /dev/vg1/data

follow 'Or for a cache of writes'
durable_start /dev/vg1/data $SIZE
stop_target KILL
wait_state recovering
random_file 1M /tmp/pattern
timeout "$PATIENCE" dd if=/tmp/pattern of=/dev/vg1/data bs=64k seek=256 oflag=direct status=none ||
	fail "writes do not go on"
fsyncs=$(durable_fsyncs)
timeout "$PATIENCE" dd if=/dev/vg1/data bs=64k skip=256 count=16 iflag=direct status=none |
	cmp - /tmp/pattern || fail "the cache has something else"
expect recovering "$(attribute state)" "the state"
expect "$fsyncs" "$(durable_fsyncs)" "the number of fsyncs without the target"
target_start 1
wait_live 0
durable_progress
durable_stop
follow 'To end either of them'
durable_in /dev/vg1/data
vgchange -q -an vg1
still_live
disconnect
file_has_all
cmp -n $MIB -i 0:$((17 * MIB)) /tmp/pattern /srv/1/disk0 || fail "a write is not at the target"
stop_target
unload_module
recipe_end
