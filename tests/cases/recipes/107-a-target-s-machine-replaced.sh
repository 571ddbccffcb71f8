#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Documentation/recipes/replace-target.rst: files, notes, configuration and address of a target
# move to another machine under load. The disk goes on there, no request fails, all that fsync
# has promised is in the new machine's file, and nothing more gets into the old one's.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/recipes/lib.sh
source "$RDMABLK_TOP/tests/cases/recipes/lib.sh"
require rsync

SIZE=$((16 << 20))

# rsync [OPTION]... SOURCE new:DIRECTORY: to the second target
rsync() {
	local to=${*: -1}

	[[ $to == new:* ]] || fail "rsync to $to"
	to=${to#new:}
	case $to in
	/srv/1/) to=/srv/2/ ;;
	/run/target1/*) to=${to/target1/target2} ;;
	*) fail "rsync to $to" ;;
	esac
	mkdir -p "$to"
	command rsync "${@:1:$#-1}" "$to"
}

systemctl() {
	case $* in
	'stop rdmablkd')
		stop_target
		expect 0 "$TARGET_STATUS" "the daemon's exit status"
		;;
	'start rdmablkd')
		# The same paths on another machine are others here.
		sed -i 's,/srv/1/,/srv/2/,; s,target1,target2,' \
			/run/target2/etc/rdmablkd.conf /run/target2/etc/rdmablkd.conf.d/*
		net_wait net_rxe_ready rxe0 10.99.0.1 || fail "no RDMA at 10.99.0.1"
		target_start 2
		;;
	*) fail "systemctl $*" ;;
	esac
}

machines 1 128
target_start 1
truncate -s 24M /srv/1/disk0
rdmablk target add disk0,file=/srv/1/disk0
rdmablk target save
load_module
connect --dev-loss-tmo off
durable_start $DEV $SIZE

recipe replace-target s/eth0/dummy0/ s,/var/lib/rdmablkd/,/run/target1/state/,g \
	s,/etc/rdmablk/,/run/target1/etc/,g
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
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
durable_in /srv/2/disk0
expect "$old" "$(sha256sum </srv/1/disk0)" "the sum of the old file"
unload_module
recipe_end
