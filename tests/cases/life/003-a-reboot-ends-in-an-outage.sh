#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A machine is shut down after its target has gone for good, with dev_loss_tmo off. A dirty ext4
# is on one disk, another one on an md array over a second disk. sync waits, because its I/O is
# held; it ends with an error when the administrator makes I/O fail. Or the machine reboots
# without waiting for sync: then kernel tasks that wait for the disk, like md when it writes its
# superblocks, do not wait for ever.
#
# The machine starts again, which proves that it went down.
#
# kernels: 6.12
# timeout: 150
# in-turn: yes

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"
require mkfs.ext4 mdadm

dirty() {
	cp -r /etc/default "$1"
	random_file 4M "$1/file"
}

if [[ -e /run/vm/down ]]; then
	echo "restarted: $(</run/vm/down)"
	exit 0
fi

serve 32M --export disk1,memory,arena=/dev/shm/disk1,size=32M
load_module
connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay 1
"$RDMABLK" connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay 1 \
	"$TARGET_ADDR/disk1"
mkfs.ext4 -q -E lazy_itable_init=0 $DEV
mkdir /mnt/a /mnt/b
mount $DEV /mnt/a
modprobe raid1
mdadm --create /dev/md0 --run --metadata=1.2 --level=1 --raid-devices=2 \
	/dev/rdmablk1 missing
mkfs.ext4 -q -E lazy_itable_init=0 /dev/md0
mount /dev/md0 /mnt/b
random_file 4M /mnt/b/file
sync

# A shutdown begins with sync and umount. The administrator makes I/O fail.
dirty /mnt/a
writes_b() {
	completed_more 1 $((before + 100))
}
before=$(completed 1)
job writer fio --name=writer --filename=/mnt/b/file --size=4M --rw=randwrite \
	--direct=1 --ioengine=psync --time_based --runtime=600
wait_until "$PATIENCE" writes_b || fail "no load: $(</tmp/job.writer)"
stop_target KILL
wait_state recovering
job sync sync -f /mnt/a
job_blocks sync
wait_until "$PATIENCE" tried $(($(attribute attempts) + 2)) ||
	fail "only $(attribute attempts) tries"
job_still sync
run_expect 32 'busy' umount /mnt/a
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo 0
job_ends sync 1
timeout "$PATIENCE" umount /mnt/a || fail "it cannot be unmounted"

# The administrator does nothing, and the machine reboots.
read -ra inflight </sys/block/rdmablk1/inflight
((inflight[1] > 0)) || fail "nothing is held"
job sync sync
job_blocks sync
job umount umount -l /mnt/b
peer_set down "$(cut -d ' ' -f 1 /proc/uptime)"
host_do restart initiator
busybox reboot -n -f
pause 600
