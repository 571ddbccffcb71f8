#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
#
# The disk of a block device has the device's limits: its block sizes, the preferred and the
# largest sizes of requests, and whether it rotates. With cache=full it has them, too, except
# the largest size. A device without a volatile cache makes a disk without one, which gets no
# flush.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

# scsi_disk: whether scsi_debug has a disk; sets SCSI to its name
scsi_disk() {
	SCSI=$(find /sys/bus/pseudo/drivers/scsi_debug/ -path '*/block/sd*' -prune \
		-name 'sd*' -printf '%f\n' -quit 2>/dev/null)
	[[ -z $SCSI ]] && SCSI=$(find /sys/block -name 'sd*' -printf '%f\n' -quit)
	[[ -n $SCSI && -b /dev/$SCSI ]]
}

# limit NAME VALUE: the disk's queue has this limit
limit() {
	expect "$2" "$(<"$QUEUE/$1")" "queue/$1 with $CACHE"
}

# as_device DEV: the disk has the limits of the device
as_device() {
	local name

	for name in logical_block_size physical_block_size minimum_io_size \
		optimal_io_size rotational discard_granularity; do
		limit $name "$(<"/sys/block/$1/queue/$name")"
	done
}

# export_of DEV CACHE [OPTION...]
export_of() {
	CACHE=$2
	serve_file "/dev/$1,cache=$2"
	connect "${@:3}"
}

load_module
modprobe sd_mod
modprobe scsi_debug dev_size_mb=32 physblk_exp=4 opt_xferlen_exp=6 opt_blks=384 lbpu=1 \
	unmap_granularity=32
wait_until "$PATIENCE" scsi_disk || fail "no disk of scsi_debug"
echo 1 >"/sys/block/$SCSI/queue/rotational"
modprobe null_blk nr_devices=1 gb=1 bs=4096 max_sectors=64
wait_until "$PATIENCE" test -b /dev/nullb0 || fail "no /dev/nullb0"

# The emulated device must have these limits, or the test would prove nothing.
for limit in physical_block_size:8192 minimum_io_size:32768 optimal_io_size:196608; do
	expect "${limit#*:}" "$(<"/sys/block/$SCSI/queue/${limit%:*}")" "$SCSI's ${limit%:*}"
done
expect 32 "$(</sys/block/nullb0/queue/max_hw_sectors_kb)" "nullb0's max_hw_sectors_kb"

export_of "$SCSI" none
as_device "$SCSI"
limit max_hw_sectors_kb 128
limit write_cache "write back"
fio_verify 16
disconnect
stop_target

export_of "$SCSI" full
as_device "$SCSI"
limit max_hw_sectors_kb 1024
limit write_cache "write back"
disconnect
stop_target

export_of "$SCSI" full,ro --read-only
limit minimum_io_size 32768
limit rotational 1
disconnect
stop_target

export_of nullb0 none
limit logical_block_size 4096
limit max_hw_sectors_kb 32
expect 32768 "$(status max_io)" "status' max_io"
expect "write through" "$(</sys/block/nullb0/queue/write_cache)" "nullb0's write_cache"
limit write_cache "write through"
expect false "$(status write_cache)" "status' write_cache"
dd if=/dev/zero of=$DEV bs=1M count=4 oflag=direct conv=fsync status=none
expect 0 "$(status flushes)" "the number of flushes"
disconnect
stop_target
modprobe -r null_blk
unload_module
