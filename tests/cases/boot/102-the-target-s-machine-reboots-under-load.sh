#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The target's machine is rebooted in order, under a load that flushes, with an uncached file.
# systemd stops the daemon while the network is still up. The daemon announces its shutdown, and
# the initiator flushes. So no data is lost, although the boot empties the page cache and
# changes the epoch. When the service is back the disk goes on by itself: no request has failed,
# and the contents are what the history allows. store/104 shows what happens to the same disk
# when the machine loses its power.
#
# kernels: 6.12
# net: two
# disk: 64M
# timeout: 1200

# shellcheck source=tests/cases/boot/lib.sh
source "$RDMABLK_TOP/tests/cases/boot/lib.sh"
# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
UUID=3f0c5a86-4a0e-4b9f-8a53-5d1f6f0f7a21

# Sets up a machine that serves its disk by a service. It runs at each boot, as only the disk
# and the daemon's state are kept.
prepare() {
	local dir=/etc/systemd/system/rdmablkd.service.d

	boot_machine eth0
	make -s -C "$RDMABLK_TOP/target" install PREFIX=/usr
	systemd-sysusers /usr/lib/sysusers.d/rdmablkd.conf
	modprobe virtio_blk
	wait_until "$PATIENCE" test -b /dev/vda || fail "no /dev/vda"
	chgrp disk /dev/vda
	chmod 660 /dev/vda
	mkdir -p $dir
	printf '%s\n' '[Service]' 'DeviceAllow=/dev/vda rw' 'SupplementaryGroups=disk' \
		>$dir/override.conf
	printf '%s\n' '[target]' "listen = $TARGET_ADDR" 'insecure = yes' \
		'[export disk0]' 'file = /dev/vda' 'cache = none' "uuid = $UUID" \
		>/etc/rdmablk/rdmablkd.conf
	mkdir -p "$UNITS/basic.target.wants" /run/vm/state /var/lib/rdmablkd
	mount --bind /run/vm/state /var/lib/rdmablkd
	ln -s /usr/lib/systemd/system/rdmablkd.service "$UNITS/basic.target.wants"
	boot_systemd
}

active() {
	systemctl is-active --quiet rdmablkd
}

booted() {
	local n=1

	[[ ! -e /run/vm/served.1 ]] || n=2
	wait_until "$PATIENCE" active || {
		systemctl --no-pager --full status rdmablkd || :
		fail "rdmablkd.service is not active"
	}
	peer_set served.$n "$(</proc/sys/kernel/random/boot_id)"
	if ((n == 1)); then
		peer_wait load "$BOOT_PATIENCE"
		host_do restart target
		systemctl --no-block reboot
	fi
	pause 3600
}

# by_then N: waits until the target's service runs for the Nth time; prints the boot id
by_then() {
	peer_wait "served.$1" "$BOOT_PATIENCE"
}

initiator() {
	local boot epoch

	# shellcheck source=tests/lib/history.sh
	source "$RDMABLK_TOP/tests/lib/history.sh"
	load_module
	boot=$(by_then 1)
	connect --dev-loss-tmo off
	expect true "$(status staged)" "staged"
	epoch=$(attribute epoch)
	history_start --flush 100 --fua 10
	history_progress 500
	peer_set load
	wait_until "$BOOT_PATIENCE" state_is recovering || fail "the target does not go"
	expect 'target is shutting down' "$(attribute reason)" "the reason"
	[[ $boot != "$(by_then 2)" ]] || fail "the target was not booted"
	expect_back 1
	history_progress 500
	expect 1 "$(attribute reconnects)" "the number of reconnects"
	[[ $(attribute epoch) != "$epoch" ]] || fail "the epoch is that of the first boot"
	dmesg_has 'the store has started again; all that was written had been flushed' ||
		fail "the log does not say that nothing was lost"
	history_stop
	expect 0 "$(status errors)" "the number of failed requests"
	history_check $DEV
	disconnect
	unload_module
}

if [[ $ROLE == initiator ]]; then
	initiator
elif [[ ${BOOTED:-} ]]; then
	booted
else
	prepare
fi
