#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first connection is lost while partitions are looked for: that read fails, so
# that the connect ends, and the disk is there, in an outage like any other. I/O is
# held until the target is back, and does not fail.
#
# The network loses the requests of RDMA READs, and nothing else, so the login
# succeeds and the first read waits until the daemon is killed.
#
# kernels: 6.12
# net: veth

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require nft

live() {
	[[ $("$RDMABLK" list --json | jq -r '.devices[0].state') == live ]]
}

# Operation 0x0c of the base transport header, behind that of UDP. Where packets
# arrive: rxe takes a refusal of those it sends for an error of the queue pair.
nft -f - <<-END
table ip reads {
	chain input {
		type filter hook input priority 0
		udp dport 4791 @th,64,8 0x0c counter drop
	}
}
END
load_module
serve 16M
random_file 4K /tmp/pattern
job connect "$RDMABLK" connect --dev-loss-tmo off --reconnect-delay 1 \
	"$TARGET_ADDR/disk0"
wait_until "$PATIENCE" live || fail "no login: $(</tmp/job.connect)"
job_still connect
stop_target KILL
job_ends connect
expect recovering "$(attribute state)" "the state"
dmesg_has 'rdmablk0: unable to read partition table|Buffer I/O error on dev rdmablk0' ||
	fail "partitions have been read"
is_held() {
	[[ $(attribute io_failing) == 0 ]]
}
wait_until "$PATIENCE" is_held || fail "I/O fails"
job write dd if=/tmp/pattern of=$DEV bs=4k oflag=direct status=none
job_blocks write
wait_until "$PATIENCE" tried $(($(attribute attempts) + 2)) ||
	fail "only $(attribute attempts) tries"
job_still write
nft delete table ip reads
again 16M
expect_back 1
job_ends write
device_same_as_target
same_as_target /tmp/pattern 4096
disconnect
unload_module
