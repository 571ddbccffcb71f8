#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two hosts and one target. Each host works on its own export at the same time. A second writer
# is refused, on another host and as another instance of the same host; a second reader is
# admitted. With 'shared' both write, with 'ro' neither. --steal takes the export over: the I/O
# of the other host fails at once with the reason, and its disk can be removed.
#
# One machine is both hosts here: they differ by host id, and by the address at
# which they reach the target.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

B_ID=1b4e28ba-2fa1-11d2-883f-0016d3cca427

# a N EXPORT [OPTION...]; b N EXPORT [OPTION...]: connects as /dev/rdmablkN
a() {
	expect "/dev/rdmablk$1" "$("$RDMABLK" connect "${@:3}" "10.99.0.2/$2")" "the disk"
}

b() {
	expect "/dev/rdmablk$1" \
		"$("$RDMABLK" connect --host-id $B_ID "${@:3}" "10.99.0.1/$2")" "the disk"
}

# refused TEXT ADDRESS EXPORT [OPTION...]
refused() {
	run_expect failed "^rdmablk: connect $2/$3: $1" \
		"$RDMABLK" connect "${@:4}" "$2/$3"
}

start_target --insecure --listen 10.99.0.2 --listen 10.99.0.1 \
	--export disk0,memory,size=16M --export disk1,memory,size=16M \
	--export shared,memory,size=16M,shared --export ro,memory,size=16M,ro
load_module
leak_snapshot

# Each host uses its own export, at the same time.
a 0 disk0 --keep-alive-tmo 60
b 1 disk1
run_fio --name=a --filename=/dev/rdmablk0 --name=b --filename=/dev/rdmablk1 \
	--direct=1 --thread --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k \
	--size=2M --verify=crc32c --verify_fatal=1 --do_verify=1

# A second writer is refused.
refused 'export is in use by another host' 10.99.0.1 disk0 --host-id $B_ID
refused 'export is in use by this host already' 10.99.0.1 disk0
refused 'export is in use by this host already' 10.99.0.1 disk0 --steal
expect live "$(attribute state)" "the state"
# A second reader is admitted.
put 0 'from a'
b 2 disk0 --read-only
expect 1 "$(</sys/block/rdmablk2/ro)" "the ro flag"
get 2 'from a'
put 0 'again from a'
get 2 'again from a'
"$RDMABLK" disconnect rdmablk2

# The export is stolen. With this keep-alive timeout a held write would take two minutes.
start_load 0
b 2 disk0 --steal
expect_load_failed 0
expect_failed 'export was taken over by another host' 0
expect_no_io 0
expect_log 'export disk0: closing: export was taken over by another host'
put 2 'from b'
get 2 'from b'
"$RDMABLK" disconnect rdmablk0
refused 'export is in use by another host' 10.99.0.2 disk0
a 0 disk0 --steal
get 0 'from b'
expect_failed 'export was taken over by another host' 2
"$RDMABLK" disconnect --all

# Shared: both hosts write, and each sees what the other wrote.
a 0 shared
b 1 shared
expect true "$(status shared)" "shared"
put 0 'shared a'
get 1 'shared a'
put 1 'shared b'
get 0 'shared b'
run_fio --direct=1 --thread --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k \
	--size=2M --verify=crc32c --verify_fatal=1 --do_verify=1 \
	--name=a --filename=/dev/rdmablk0 --name=b --filename=/dev/rdmablk1 --offset=8M
"$RDMABLK" disconnect --all

# Read-only: both hosts read, and neither writes.
refused 'export is read-only .--read-only connects to it.' 10.99.0.2 ro
a 0 ro --read-only
b 1 ro --read-only
for n in 0 1; do
	dd if=/dev/rdmablk$n of=/dev/null bs=1M status=none
	run_expect 1 'Operation not permitted|Read-only' \
		dd if=/dev/zero of=/dev/rdmablk$n bs=4k count=1 oflag=direct
done
"$RDMABLK" disconnect --all
leak_check
unload_module
stop_target
