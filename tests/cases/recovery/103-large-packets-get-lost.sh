#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is larger than a packet filter lets through breaks each connection, a login does
# not: the disk is live again and again. A request that meets the end of one connection
# after the other fails when fast_io_fail_tmo has passed, as it would in one outage; others
# are served meanwhile; and a connection that does not last does not count as the end of
# the outage, so that there are pauses between the tries. When large packets get through,
# all goes on.
#
# net: veth
# timeout: 300

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

small_passes() {
	timeout 5 dd if=$DEV of=/dev/null bs=512 count=1 skip=64 iflag=direct status=none
}

net_shaped
load_module
again 8M --export disk1,memory,size=4M
connect --dev-loss-tmo off --fast-io-fail-tmo 4 --keep-alive-tmo 20 --reconnect-delay 1 \
	--ack-timeout 13
dd if=/dev/urandom of=$DEV bs=64k count=4 oflag=direct status=none

nft -f - <<END
table ip small {
	chain input {
		type filter hook input priority 0;
		udp dport 4791 meta length > 900 counter drop
	}
}
END
status=0
timeout "$PATIENCE" dd if=/dev/zero of=$DEV bs=64k count=1 oflag=direct 2>/tmp/dd.err ||
	status=$?
[[ $status == 1 ]] || fail "the write ends with status $status: $(</tmp/dd.err)"
grep -q 'Link has been severed' /tmp/dd.err ||
	fail "the write fails so: $(</tmp/dd.err)"
expect 1 "$(status errors)" "the number of failed requests"
(($(attribute reconnects) > 1)) || fail "only $(attribute reconnects) reconnects"
wait_state live
# Each life was shorter than keep_alive_tmo.
expect "$(attribute reconnects)" "$(attribute attempts)" "the number of tries"
small_passes || fail "a small request does not get through"

nft delete table ip small
dd if=/dev/zero of=$DEV bs=64k count=1 oflag=direct status=none
cmp -n 65536 $DEV /dev/zero || fail "the disk is not what was written"
expect 1 "$(status errors)" "the number of failed requests"
disconnect
unload_module
stop_target
