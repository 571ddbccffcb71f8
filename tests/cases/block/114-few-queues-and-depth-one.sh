#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk works with fewer queues than it asked for: when the target grants one queue to a host
# with two processors, both processors share it. A queue depth of one still takes requests of a
# mebibyte. Both disks verify under load from all processors.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

hardware_queues() {
	find /sys/block/rdmablk0/mq -mindepth 1 -maxdepth 1 | wc -l
}

# Both processors keep their hardware queue full.
verify_from_all() {
	fio_verify 16 --cpus_allowed=0-1 --cpus_allowed_policy=split \
		--iodepth="$1"
	device_same_as_target
	still_live
}

serve 32M --max-queues-per-host 1 --export disk1,memory,size=4M
load_module connect="$TARGET_ADDR/disk0"
expect 2 "$(hardware_queues)" "the number of hardware queues"
expect 1 "$(<$SESSION/queues)" "the number of queues granted"
expect 1 "$(status queues)" "status' queues"
verify_from_all 128

# All of the limit is taken.
run_expect 1 'too many queues' "$RDMABLK" connect "$TARGET_ADDR/disk1"
disconnect

connect --queue-depth 1
expect 1 "$(<"/sys/block/rdmablk0/mq/0/nr_tags")" "the depth of queue 0"
expect 1 "$(<$SESSION/queue_depth)" "the depth granted"
verify_from_all 16
dd if=/dev/urandom of=$DEV bs=1M count=4 oflag=direct status=none
device_same_as_target
disconnect
