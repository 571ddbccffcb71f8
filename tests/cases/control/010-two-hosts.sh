#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two machines. The target's machine uses its own export as well, as a second host. The host ids
# differ by themselves. One host writes. The other is refused, then takes the export over, and
# the first host finds out.
#
# net: two

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

second_host() {
	serve 16M --export disk1,memory,size=16M
	load_module
	peer_set ready
	peer_wait written "$PATIENCE"
	run_expect 4 'export is in use by another host' \
		"$RDMABLK" connect "$TARGET_ADDR/disk0"
	expect /dev/rdmablk0 "$("$RDMABLK" connect "$TARGET_ADDR/disk1")" "the disk"
	peer_set second
	# Both work at the same time.
	run_fio --name=second --filename=/dev/rdmablk0 --direct=1 --ioengine=libaio \
		--iodepth=8 --rw=randwrite --bs=4k --size=4M --verify=crc32c \
		--verify_fatal=1 --do_verify=1
	peer_wait finished "$PATIENCE"
	"$RDMABLK" connect --steal "$TARGET_ADDR/disk0"
	dd if=/dev/rdmablk1 of=/run/vm/second bs=1M count=4 iflag=direct status=none
	peer_set stolen
	peer_wait noticed "$PATIENCE"
	"$RDMABLK" disconnect --all
	unload_module
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	peer_set over
}

first_host() {
	peer_wait ready "$PATIENCE"
	load_module connect="$TARGET_ADDR/disk0"
	random_file 4M /tmp/pattern
	dd if=/tmp/pattern of=$DEV bs=1M oflag=direct status=none
	peer_set written
	peer_wait second "$PATIENCE"
	run_fio --name=first --filename=$DEV --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randwrite --bs=4k --offset=4M --size=4M --verify=crc32c \
		--verify_fatal=1 --do_verify=1
	peer_set finished
	peer_wait stolen "$PATIENCE"
	cmp -n $((4 << 20)) /tmp/pattern /run/vm/second ||
		fail "the second host reads something else"
	expect_failed 'export was taken over by another host'
	expect_no_io
	disconnect
	unload_module
	peer_set noticed
	peer_wait over "$PATIENCE"
}

if [[ $ROLE == target ]]; then
	second_host
else
	first_host
fi
