#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/replace-target.rst: files, notes, configuration and address of a target
# move to another machine under load. The disk goes on there, no request fails, the new
# machine's file has all that fsync has promised, and the old machine's file changes no more.
# Then the new machine is lost, and its disks move to a third one: the disk is live again there,
# too, because all data had been flushed.
#
# kernels: 6.12
# timeout: 900

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require rsync

SIZE=$((16 << 20))

# rsync [OPTION]... DIRECTORY new:DIRECTORY: to the second target; /old/DIRECTORY DIRECTORY: from
# the disks of the second one to the third one
rsync() {
	local from=${*: -2:1} to=${*: -1}

	case $from:$to in
	/srv/1/:new:/srv/1/) to=/srv/2/ ;;
	/run/target1/*:new:/run/target1/*) to=/run/target2/${to#new:/run/target1/} ;;
	/old/run/target1/*:/run/target1/*)
		from=/old/run/target2/${from#/old/run/target1/}
		to=/run/target3/${to#/run/target1/}
		;;
	*) fail "rsync from $from to $to" ;;
	esac
	mkdir -p "$to"
	command rsync "${@:1:$#-2}" "$from" "$to"
}

# The daemons run as root here.
chown() {
	[[ $* == '-R rdmablkd: /run/target1/state/ /run/target1/etc/keys /srv/2/disk0' ]] ||
		fail "chown $*"
}

systemctl() {
	case $* in
	'disable --now rdmablkd')
		stop_target
		expect 0 "$TARGET_STATUS" "the daemon's exit status"
		;;
	'enable --now rdmablkd')
		# The same paths on another machine are others here.
		((++MACHINE))
		sed -i "s,/srv/[12]/,/srv/$MACHINE/,; s,target[12],target$MACHINE," \
			/run/target$MACHINE/etc/rdmablkd.conf{,.d/*}
		net_wait net_rxe_ready rxe0 10.99.0.1 || fail "no RDMA at 10.99.0.1"
		target_start $MACHINE
		;;
	*) fail "systemctl $*" ;;
	esac
}

# another_boot: what a machine that has not run before has
another_boot() {
	cat /proc/sys/kernel/random/uuid >/run/boot_id
	mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
}

MACHINE=1
machines 1 128
target_start 1
truncate -s 24M /srv/1/disk0
rdmablk target add disk0,file=/srv/1/disk0
rdmablk target save
load_module
connect --dev-loss-tmo off
durable_start $DEV $SIZE

recipe replace-target s/eth0/dummy0/ s,/var/lib/rdmablkd/,/run/target1/state/,g \
	s,/etc/rdmablk/,/run/target1/etc/,g \
	's,mount -o ro /dev/sdb1 /old,mount --rbind / /old,' \
	's,mount /dev/sdc1 /srv,mount --bind /srv/2 /srv/3,'
follow 'to copy most of the data'
durable_progress
follow 'when the hosts may wait'
wait_state recovering
expect '' "$(ip -o address show to 10.99.0.1)" "the old address"
old=$(sha256sum </srv/1/disk0)
follow 'On the new machine'
wait_live 0
dmesg_has 'all that was written had been flushed' || fail "the kernel log does not say it"
durable_progress
durable_stop
still_live
durable_in /srv/2/disk0
expect "$old" "$(sha256sum </srv/1/disk0)" "the sum of the old file"

dd if=/dev/zero of=$DEV bs=4K count=1 seek=$((SIZE / 4096)) oflag=direct status=none
sync $DEV
stop_target KILL
wait_state recovering
another_boot
mkdir /srv/3
follow 'If its disks work in the new machine'
# All machines are this one, which had the address from the lost one.
CHANGES+=(-e 's/ip address add/ip address replace/')
follow 'On the new machine'
wait_live 0
(($(dmesg | grep -c 'all that was written had been flushed') == 2)) ||
	fail "the kernel log does not say it again"
expect 0 "$(status errors)" "the number of failed requests"
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
durable_in /srv/3/disk0
unload_module
recipe_end
