#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A packet filter drops large packets. A large request breaks each connection, a login does not,
# so the disk is live again and again. The large request fails when fast_io_fail_tmo has passed
# since its first connection was lost, as it would in one long outage; other requests are served
# meanwhile. This holds whether the transport notices earlier or later than the keep-alive
# would. A connection that is shorter than the keep-alive timeout does not count as the end of
# the outage, so that there are pauses between the tries. When large packets get through again,
# all goes on.
#
# net: veth
# timeout: 300

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

small_passes() {
	timeout 5 dd if=$DEV of=/dev/null bs=512 count=1 skip=64 iflag=direct status=none
}

# large_fails OPTION...: a large write fails on a disk that is connected with these options
large_fails() {
	local status=0

	connect --dev-loss-tmo off --fast-io-fail-tmo 4 --reconnect-delay 1 "$@"
	dd if=/dev/urandom of=$DEV bs=64k count=4 oflag=direct status=none
	nft -f - <<-END
	table ip small {
		chain input {
			type filter hook input priority 0;
			udp dport 4791 meta length > 900 counter drop
		}
	}
	END
	timeout "$PATIENCE" dd if=/dev/zero of=$DEV bs=64k count=1 oflag=direct 2>/tmp/dd.err ||
		status=$?
	[[ $status == 1 ]] || fail "$*: the write ends with status $status: $(</tmp/dd.err)"
	grep -q 'Link has been severed' /tmp/dd.err ||
		fail "$*: the write fails so: $(</tmp/dd.err)"
	expect 1 "$(status errors)" "the number of failed requests, $*"
	(($(attribute reconnects) > 1)) || fail "$*: only $(attribute reconnects) reconnects"
	wait_state live
}

# large_passes: the disk goes on when large packets get through again
large_passes() {
	small_passes || fail "a small request does not get through"
	nft delete table ip small
	dd if=/dev/zero of=$DEV bs=64k count=1 oflag=direct status=none
	cmp -n 65536 $DEV /dev/zero || fail "the disk is not what was written"
	expect 1 "$(status errors)" "the number of failed requests"
	disconnect
}

net_shaped
load_module
again 8M --export disk1,memory,size=4M
large_fails --keep-alive-tmo 20 --ack-timeout 13
# Each connection was shorter than keep_alive_tmo, so tries and reconnects are the same number.
expect "$(attribute reconnects)" "$(attribute attempts)" "the number of tries"
large_passes

# Here the transport gives up after 2 s, later than the keep-alive.
large_fails --keep-alive-tmo 1 --ack-timeout 16
large_passes
unload_module
stop_target
