#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/reliability.rst describes nvme-rdma and the kernel's target. On this kernel its
# claims hold: a write whose packets were late, which timed out and was tried again, lands a
# second time after a newer write; a target whose memory has lost its contents serves zeroes; a
# disk whose RDMA device is removed is gone, and does not come back with it. If one of these
# checks fails, the document is out of date.
#
# kernels: 6.12
# net: veth
# timeout: 600

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/hold.sh
source "$RDMABLK_TOP/tests/lib/hold.sh"
require tc nvme

HOLD=40		# seconds
NVME=/dev/nvme0n1
STORE=/dev/store0
NVMET=/sys/kernel/config/nvmet

# The namespace is a RAM disk that the test can read at the target.
nvmet_up() {
	modprobe null_blk nr_devices=0
	modprobe -a nvmet nvmet-rdma nvme-rdma
	mountpoint -q /sys/kernel/config ||
		mount -t configfs configfs /sys/kernel/config
	store_up
	mkdir $NVMET/subsystems/peer $NVMET/subsystems/peer/namespaces/1 $NVMET/ports/1
	echo 1 >$NVMET/subsystems/peer/attr_allow_any_host
	namespace_up
	echo rdma >$NVMET/ports/1/addr_trtype
	echo ipv4 >$NVMET/ports/1/addr_adrfam
	echo "$TARGET_ADDR" >$NVMET/ports/1/addr_traddr
	echo 4420 >$NVMET/ports/1/addr_trsvcid
	port_up
}

store_up() {
	local disk=/sys/kernel/config/nullb/${STORE#/dev/}

	mkdir "$disk"
	echo 1 >"$disk/memory_backed"
	echo 16 >"$disk/size"
	echo 1 >"$disk/power"
	[[ -b $STORE ]] || fail "no $STORE"
}

namespace_up() {
	echo "$STORE" >$NVMET/subsystems/peer/namespaces/1/device_path
	echo 1 >$NVMET/subsystems/peer/namespaces/1/enable
}

port_up() {
	ln -s $NVMET/subsystems/peer $NVMET/ports/1/subsystems/peer
}

# Imitates a restart of the target's machine: the same namespace with the same UUID, on an empty
# RAM disk.
lose_contents() {
	rm $NVMET/ports/1/subsystems/peer
	echo 0 >$NVMET/subsystems/peer/namespaces/1/enable
	rmdir "/sys/kernel/config/nullb/${STORE#/dev/}"
	store_up
	namespace_up
	port_up
}

nvme_connect() {
	nvme connect -t rdma -a "$TARGET_ADDR" -s 4420 -n peer --nr-io-queues 1 \
		--keep-alive-tmo 300 --reconnect-delay 1
	wait_until "$PATIENCE" test -b $NVME || fail "no $NVME"
}

nvme_state_is() {
	[[ $(</sys/class/nvme/nvme0/state) == "$1" ]]
}

nvme_wait() {
	wait_until "$PATIENCE" nvme_state_is "$1" ||
		fail "the state is $(</sys/class/nvme/nvme0/state), not $1"
}

write_one() {
	timeout "$PATIENCE" dd if="$1" of=$NVME bs=4k count=1 oflag=direct status=none
}

store_is() {
	dd if="$STORE" bs=4k count=1 iflag=direct status=none | cmp -s - "$1"
}

disk_is() {
	dd if=$NVME bs=4k count=1 iflag=direct status=none | cmp -s - "$1"
}

# With multipath support, requests time out on the queue of the only path.
io_timeout() {
	local queue

	for queue in /sys/block/nvme0*n1/queue/io_timeout; do
		[[ ! -e $queue ]] || echo "$1" >"$queue"
	done
}

stale_write() {
	local writer held

	write_one /tmp/zero
	io_timeout 2000
	hold_packets $HOLD
	write_one /tmp/old &
	writer=$!
	wait_until "$PATIENCE" packets_wait || fail "nothing is held back"
	nvme_wait connecting
	# The disconnect requests of the old connections are held, too.
	held=$(packets_held)
	hold_packets 0
	nvme_wait live
	wait $writer || fail "the write that was tried again has failed"
	store_is /tmp/old || fail "what was acknowledged is not there"
	io_timeout 30000
	write_one /tmp/new
	store_is /tmp/new || fail "what was acknowledged is not there"
	packets_wait "$held" || fail "the packets were not held for long enough"
	wait_until "$PATIENCE" no_packets_wait || fail "packets are held for ever"
	wait_until "$PATIENCE" store_is /tmp/old || fail "the old write has not landed"
	disk_is /tmp/old || fail "the disk has something else than its target"
}

silent_loss() {
	write_one /tmp/new
	lose_contents
	reads_zero() {
		disk_is /tmp/zero
	}
	wait_until "$PATIENCE" reads_zero || fail "no zeroes"
	nvme_wait live
	disk_is /tmp/zero || fail "the disk reads something else than zeroes"
}

removal() {
	link_delete rv0
	wait_until "$PATIENCE" test ! -e /sys/class/nvme/nvme0 ||
		fail "the controller outlives its RDMA device"
	[[ ! -e $NVME ]] || fail "the disk outlives its RDMA device"
	link_add rv0 v0 "$INITIATOR_ADDR"
	pause 5
	[[ ! -e $NVME ]] || fail "the disk has come back"
}

head -c 4096 /dev/zero >/tmp/zero
random_file 4096 /tmp/old
random_file 4096 /tmp/new
hold_setup
nvmet_up
nvme_connect
stale_write
echo "nvme-rdma: a write that timed out has landed after a newer one"
silent_loss
echo "nvme-rdma: a target that has lost its contents serves zeroes"
removal
echo "nvme-rdma: the disk has gone with its RDMA device"
