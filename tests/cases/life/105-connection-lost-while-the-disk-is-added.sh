#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first connection is lost while the kernel scans the disk for partitions. That read fails,
# so that the connect ends, and the disk is there in an ordinary outage. Later I/O is held until
# the target is back, and does not fail. Then partitions are scanned again, and found.
#
# The network loses the requests of RDMA READs and nothing else. So the login succeeds, and the
# first read waits until the daemon is killed. The transport itself would wait for two minutes.
#
# kernels: 6.12
# net: veth

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require nft sfdisk udevadm

live() {
	[[ $("$RDMABLK" list --json | jq -r '.devices[0].state') == live ]]
}

# The rule matches opcode 0x0c of the base transport header, behind the UDP header. It drops
# packets at the receiver, because rxe takes a refused send for an error of the queue pair.
nft -f - <<-END
table ip reads {
	chain input {
		type filter hook input priority 0
		udp dport 4791 @th,64,8 0x0c counter drop
	}
}
END
mkdir -p /run/udev/rules.d
cp "$RDMABLK_TOP/tools/udev/61-rdmablk.rules" /run/udev/rules.d
start_udevd
load_module
serve 16M
truncate -s 16M /tmp/table
sfdisk --quiet /tmp/table <<<'label: dos
start=2048, size=8192'
dd if=/tmp/table of=$ARENA bs=4k count=1 conv=notrunc status=none
random_file 4K /tmp/pattern
job connect "$RDMABLK" connect --dev-loss-tmo off --reconnect-delay 1 \
	--ack-timeout 22 "$TARGET_ADDR/disk0"
wait_until "$PATIENCE" live || fail "no login: $(</tmp/job.connect)"
job_still connect
stop_target KILL
job_ends connect
expect recovering "$(attribute state)" "the state"
dmesg_has 'rdmablk0: unable to read partition table|Buffer I/O error on dev rdmablk0' ||
	fail "partitions have been read"
[[ ! -e ${DEV}p1 ]] || fail "there is a partition"
is_held() {
	[[ $(attribute io_failing) == 0 ]]
}
wait_until "$PATIENCE" is_held || fail "I/O fails"
job write dd if=/tmp/pattern of=$DEV bs=4k seek=1 oflag=direct status=none
job_blocks write
wait_until "$PATIENCE" tried $(($(attribute attempts) + 2)) ||
	fail "only $(attribute attempts) tries"
job_still write
nft delete table ip reads
again 16M
expect_back 1
job_ends write
device_same_as_target
cmp -n 4096 -i 0:4096 /tmp/pattern $ARENA || fail "the target has other data"
wait_until "$PATIENCE" test -b ${DEV}p1 || fail "no partition"
expect 8192 "$(blockdev --getsz ${DEV}p1)" "the size of the partition"
udevadm settle --timeout="$PATIENCE"
disconnect
unload_module
