# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of boot: a machine that systemd boots. The case runs twice. The first run is
# like that of any other case: it writes the machine's files into /etc and calls boot_systemd,
# which does not return. The second run, with BOOTED set, is a service of the booted system.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

BOOT_PATIENCE=400	# seconds: a boot, or a shutdown that waits for what is lost
CONF=/etc/rdmablk/rdmablk.conf
UNITS=/etc/systemd/system

# Masks units that a test machine does not need. Each costs a second when emulated, and tmpfiles
# would empty /tmp, which is the host's.
boot_mask() {
	local unit

	for unit in apt-daily.timer apt-daily-upgrade.timer blk-availability.service \
		dbus.service dbus.socket dm-event.socket dpkg-db-backup.timer \
		e2scrub_all.timer fstrim.timer hwclock.service \
		kmod-static-nodes.service lvm2-lvmpolld.socket lvm2-monitor.service \
		man-db.timer mdadm-shutdown.service modprobe@drm.service \
		modprobe@efi_pstore.service modprobe@fuse.service \
		modprobe@dm_mod.service modprobe@loop.service \
		nvmefc-boot-connections.service nvmf-autoconnect.service \
		rdma-load-modules@rdma.service rdma-load-modules@roce.service \
		rdma-ndd.service \
		systemd-binfmt.service systemd-firstboot.service \
		systemd-hwdb-update.service systemd-journal-flush.service \
		systemd-logind.service systemd-modules-load.service \
		systemd-random-seed.service systemd-remount-fs.service \
		systemd-sysusers.service systemd-timesyncd.service \
		systemd-tmpfiles-clean.timer systemd-tmpfiles-setup-dev.service \
		systemd-tmpfiles-setup.service \
		systemd-update-utmp.service uuidd.socket; do
		ln -sfn /dev/null "$UNITS/$unit"
	done
}

# The network is up already. This service takes it down at shutdown, as on a real machine.
boot_network() {
	cat >"$UNITS/test-network.service" <<-EOF
	[Unit]
	Before=network.target network-online.target
	Wants=network.target

	[Service]
	Type=oneshot
	RemainAfterExit=yes
	ExecStart=/bin/true
	ExecStop=/sbin/ip link set ${1:-eth0} down

	[Install]
	WantedBy=network-online.target
	EOF
	mkdir -p "$UNITS/network-online.target.wants" /etc/systemd/network
	# The network device keeps its name.
	ln -sf /dev/null /etc/systemd/network/99-default.link
	ln -sf ../test-network.service "$UNITS/network-online.target.wants"
}

# boot_machine NETDEV: sets up what all machines of these cases need
boot_machine() {
	# The host may be a container; the guest is not one.
	rm -f /.dockerenv /run/.containerenv
	make -s -C "$RDMABLK_TOP/tools" install PREFIX=/usr
	mkdir -p "${CONF%/*}" /etc/systemd/journald.conf.d /etc/modprobe.d
	tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
	echo "install rdmablk /sbin/modprobe -a rdma_cm ib_core && /sbin/insmod $MODULE" \
		>/etc/modprobe.d/rdmablk.conf
	printf '[Journal]\nStorage=volatile\nForwardToConsole=yes\nTTYPath=/dev/ttyS0\n' \
		>/etc/systemd/journald.conf.d/test.conf
	boot_mask
	boot_network "$1"
}

# boot_systemd: ends with status 88, at which process 1 goes on as systemd
boot_systemd() {
	export -p >/run/case.env
	cat >/run/case <<-EOF
	#!/bin/bash
	source /run/case.env
	export BOOTED=1
	exec "$RDMABLK_TOP/tests/vm/guest-init" resume
	EOF
	chmod +x /run/case
	cat >"$UNITS/case.service" <<-EOF
	[Unit]
	Wants=remote-fs.target
	After=remote-fs.target

	[Service]
	ExecStart=/run/case
	EOF
	printf '[Unit]\nRequires=basic.target\nWants=case.service\nAfter=basic.target\n' \
		>"$UNITS/case.target"
	ln -sfn case.target "$UNITS/default.target"
	exit 88
}

# boot_again: reboots this machine; it does not come back by itself
boot_again() {
	host_do release "$ROLE"
	systemctl --no-block reboot
	pause 3600
}

boot_is_down() {
	host_ask gone "$1"
}

# boot_down ROLE: waits until that machine has ended
boot_down() {
	wait_until "$BOOT_PATIENCE" boot_is_down "$1" || fail "the $1 does not end"
}
