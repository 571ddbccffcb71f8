#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# insmod fails with the right errno and one line that says what failed, where and why: no route,
# no RDMA device for the address, no listener, an export that does not exist or is in use, a
# limit that is reached. A list is connected as a whole or not at all: its good elements are
# logged out again.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
program target_probe

# connect_fails ERRNO TEXT CONNECT
connect_fails() {
	load_fails "$1" \
		"^rdmablk: rdmablk[0-9]+ [^ ]+: connect failed: $2 \(-[0-9]+\)\$" \
		"connect=$3"
}

ip link add nordma type dummy
ip link set nordma up
ip address add 10.77.0.1/24 dev nordma
ip route add unreachable 10.66.0.0/24
t=$TARGET_ADDR
serve 16M --export disk1,memory,size=16M --export ro,memory,size=1M,ro \
	--export large,memory,size=64M --max-pinned 32M --log-level debug
leak_snapshot

connect_fails ENETUNREACH 'no route to this network' 10.55.0.1/disk0
connect_fails ENETUNREACH 'no route to this network' '[fd55::1]/disk0'
connect_fails EHOSTUNREACH 'no route to host' 10.66.0.1/disk0
connect_fails ENODEV 'no RDMA device leads to this address' 10.77.0.2/disk0
connect_fails ECONNREFUSED 'nobody listens on this port' "$t:20421/disk0"
connect_fails ENOENT 'no such export' "$t/none"
connect_fails ENOENT 'no such export' "$t/Disk0"
connect_fails EROFS 'export is read-only' "$t/ro"
connect_fails ENOSPC 'too much registered memory' "$t/large"
insmod_all

# All or nothing: disk0 and disk1 are logged in, and out again.
connect_fails ENOENT 'no such export' "$t/disk0,$t/none,$t/disk1"
connect_fails ECONNREFUSED 'nobody listens on this port' \
	"$t/disk0,$t/disk1,$t:20421/disk0"
insmod_all
expect_log 'export disk0: closing: logged out'
expect_log 'export disk1: closing: logged out'
leak_check

"$PROGRAM" --host 200 --hold 600000 "$t" disk0 hold >/tmp/holder &
cleanup_add kill "$!"
wait_until "$PATIENCE" grep -q '^live' /tmp/holder
connect_fails EBUSY 'export is in use by another host' "$t/disk0"
connect_fails EBUSY 'export is in use by another host' "$t/disk1,$t/disk0"
insmod_all
