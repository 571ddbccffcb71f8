#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sysfs, lsblk, blockdev and the tool all report the same, correct attributes of the disk.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require lsblk jq

UUID=0a1b2c3d-4e5f-4061-8273-8495a6b7c8d9

serve 16M,uuid=$UUID --name bench
load_module connect="$TARGET_ADDR/disk0"

queue() {
	expect "$2" "$(<$QUEUE/"$1")" "queue/$1"
}

queue logical_block_size 512
queue physical_block_size 4096
queue minimum_io_size 4096
queue optimal_io_size 0
queue rotational 0
queue write_cache 'write through'
queue fua 0
queue add_random 0
queue zoned none
queue discard_granularity 4096
queue discard_max_hw_bytes 1073741824
queue discard_max_bytes 1073741824
queue write_zeroes_max_bytes 1073741824
queue chunk_sectors 0
queue max_integrity_segments 0
queue nr_zones 0
queue io_timeout 30000
(($(<$QUEUE/max_segments) >= 64)) || fail "max_segments: $(<$QUEUE/max_segments)"
(($(<$QUEUE/max_hw_sectors_kb) >= 1024)) ||
	fail "max_hw_sectors_kb: $(<$QUEUE/max_hw_sectors_kb)"
(($(<$QUEUE/max_segment_size) >= 65536)) ||
	fail "max_segment_size: $(<$QUEUE/max_segment_size)"

expect 512 "$(blockdev --getss $DEV)" "blockdev --getss"
expect 4096 "$(blockdev --getpbsz $DEV)" "blockdev --getpbsz"
expect 4096 "$(blockdev --getiomin $DEV)" "blockdev --getiomin"
expect 0 "$(blockdev --getioopt $DEV)" "blockdev --getioopt"
expect 0 "$(blockdev --getalignoff $DEV)" "blockdev --getalignoff"
expect 0 "$(blockdev --getro $DEV)" "blockdev --getro"
expect 32768 "$(blockdev --getsz $DEV)" "blockdev --getsz"

# One hardware queue per processor, each of the granted depth.
expect "$(nproc)" "$(find /sys/block/rdmablk0/mq -mindepth 1 -maxdepth 1 |
	wc -l)" "the number of hardware queues"
expect 128 "$(<"/sys/block/rdmablk0/mq/0/nr_tags")" "the depth of queue 0"
expect 128 "$(<$QUEUE/nr_requests)" "nr_requests"

# The disk uses the major number of the block layer, which LVM and other programs know.
expect 259 "$(cut -d: -f1 /sys/block/rdmablk0/dev)" "the major number"
expect 259 "$((0x$(stat -c %t $DEV)))" "the node's major number"
run_expect 1 '^$' grep rdmablk /proc/devices

# What lsblk makes of it.
lsblk --json --bytes -O $DEV >/tmp/lsblk
lsblk_is() {
	expect "$2" "$(jq -r ".blockdevices[0].\"$1\"" /tmp/lsblk)" "lsblk's $1"
}
lsblk_is type disk
lsblk_is size 16777216
lsblk_is ro false
lsblk_is rm false
lsblk_is hotplug false
lsblk_is rota false
lsblk_is rand false
lsblk_is log-sec 512
lsblk_is phy-sec 4096
lsblk_is min-io 4096
lsblk_is opt-io 0
lsblk_is disc-max 1073741824
lsblk_is disc-gran 4096
lsblk_is zoned none
[[ $(jq -r '.blockdevices[0]."maj:min"' /tmp/lsblk) == 259:* ]] ||
	fail "lsblk's maj:min is not of major 259"

# The identity of the disk.
session() {
	expect "$2" "$(<$SESSION/"$1")" "rdmablk/$1"
}
session state live
session reason 'no error'
session model rdmablk
session serial $UUID
session uuid $UUID
session wwid uuid.$UUID
session export disk0
session target "$TARGET_ADDR:20420"
session target_name bench
session ibdev rxe0
session queue_depth 128
session regions 1
session fast_io_fail_tmo -1
session dev_loss_tmo 600
session reconnect_delay 2
session io_tmo 30
session keep_alive_asked 5
session on_data_loss fail
session io_failing 0
for file in "$SESSION"/*; do
	[[ $(stat -c %a "$file") == 444 ]] || fail "$file is writable"
done

# The tool says the same.
expect live "$(status state)" "status' state"
expect $UUID "$(status uuid)" "status' uuid"
expect "$(<$SESSION/epoch)" "$(status epoch)" "status' epoch"
expect "$(<$SESSION/session_id)" "$(status session_id)" "status' session_id"
expect 16777216 "$(status size)" "status' size"
expect 512 "$(status logical_block)" "status' logical_block"
expect 4096 "$(status physical_block)" "status' physical_block"
expect "$(<$QUEUE/max_segments)" "$(status max_segments)" "status' max_segments"
expect "$(($(<$QUEUE/max_hw_sectors_kb) << 10))" "$(status max_io)" \
	"status' max_io"
expect "$(<$SESSION/read_depth)" "$(status read_depth)" "status' read_depth"
expect "$(nproc)" "$(status queues)" "status' queues"
expect bench "$(status target_name)" "status' target_name"
expect 0 "$(status openers)" "status' openers"
exec {held}<$DEV
expect 1 "$(status openers)" "status' openers with one"
exec {held}<&-
# As many READs at once as the device can do, not the 1 of a default.
(($(status read_depth) >= 16)) || fail "read_depth: $(status read_depth)"

# Counters count, in requests and in bytes.
before_reads=$(status reads) before_bytes=$(status read_bytes)
dd if=$DEV of=/dev/null bs=64k count=4 iflag=direct status=none
expect $((before_reads + 4)) "$(status reads)" "the number of reads"
expect $((before_bytes + 262144)) "$(status read_bytes)" "the bytes read"
dd if=/dev/zero of=$DEV bs=8k count=3 oflag=direct status=none
expect 3 "$(status writes)" "the number of writes"
expect 24576 "$(status write_bytes)" "the bytes written"
expect 0 "$(status errors)" "the number of errors"
disconnect

# A depth and a number of queues that somebody asked for.
connect --queues 1 --queue-depth 31
expect 1 "$(find /sys/block/rdmablk0/mq -mindepth 1 -maxdepth 1 | wc -l)" \
	"the number of hardware queues"
expect 31 "$(<"/sys/block/rdmablk0/mq/0/nr_tags")" "the depth of queue 0"
session queues 1
session queue_depth 31
# The block layer would choose another for a single hardware queue.
[[ $(<$QUEUE/scheduler) == *'[none]'* ]] || fail "the scheduler is $(<$QUEUE/scheduler)"
disconnect

# timeout_is MS: of a request; the block layer rounds it down to its ticks
timeout_is() {
	local got

	got=$(<$QUEUE/io_timeout)
	((got <= $1 && got > $1 - 10)) || fail "queue/io_timeout is $got, not $1"
}

# Longer than a transport tries that stretches its timeout, 4.096 us * 2^N, to 4 times as
# much, and tries 7 times, by a second; and no shorter than that of other disks.
connect --queues 1 --ack-timeout 17
timeout_is 30000
disconnect
# 0 is what the path record says; rdma_cm makes up 16, or 18, for RoCE.
connect --queues 1 --ack-timeout 0
expect 0 "$(status ack_timeout)" "the ack_timeout"
n=$(<$QUEUE/io_timeout)
((n == 30000 || n == 28 * (4096 << 18) / 1000000 + 1000 ||
	n == 28 * (4096 << 20) / 1000000 + 1000)) || fail "queue/io_timeout is $n"
disconnect
for n in 18 22; do
	connect --queues 1 --ack-timeout $n
	timeout_is $((28 * (4096 << n) / 1000000 + 1000))
	disconnect
done
