#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rdmablkd.service as installed, under systemd. Its hardening lets the daemon serve arenas in
# /dev/shm, arenas on a hugetlbfs of its own, and huge pages without a file. A file and a block
# device are served once a drop-in allows them, as the administrator's guide says. A kept arena
# outlives a restart and a crash. The service comes back by itself after a crash, and disks in
# use reconnect. A disk whose unit starts at the same time waits for the daemon. Both services
# get the key from systemd as a credential. RDMA devices may be closed to all other users.
# Timers write the figures of disks and daemon for node_exporter. systemd restarts a daemon
# whose loop has stopped. It does not retry a start that failed because of a mistake in the
# configuration.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/boot/lib.sh
source "$RDMABLK_TOP/tests/cases/boot/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

PROM=/var/lib/prometheus/node-exporter

# export_of NAME WORD...: a section of the daemon's file
export_of() {
	printf '%s\n' "[export $1]" 'type = memory' 'size = 16M' 'allow = web1' "${@:2}"
}

# drop_in: the guide's drop-in, for the file and the device of this case
drop_in() {
	local dir=/etc/systemd/system/rdmablkd.service.d line

	mkdir -p $dir
	commands_of "$RDMABLK_TOP/Documentation/admin-guide.rst" 'systemctl edit rdmablkd' |
		sed "s,=/dev/[^ ]*,=$LOOP," >$dir/override.conf
	for line in RequiresMountsFor=/srv/disks ReadWritePaths=/srv/disks "DeviceAllow=$LOOP rw" \
		SupplementaryGroups=disk; do
		grep -qx "$line" $dir/override.conf ||
			fail "no $line in the guide's drop-in: $(cat $dir/override.conf)"
	done
}

# files: a file and a block device that the user of the daemon may write, by the guide
files() {
	mkdir -p /srv/disks
	truncate -s 16M /srv/disks/file /root/device
	chown -R rdmablkd: /srv/disks
	modprobe loop
	LOOP=$(losetup -f --show /root/device)
	chgrp disk "$LOOP"
	chmod 660 "$LOOP"
	drop_in
}

# credentials: makes a key that only root can read, and units that load it as a credential
credentials() {
	local unit

	"$RDMABLK" key new --name web1 --out /root/web1.key
	for unit in rdmablkd rdmablk@; do
		mkdir -p $UNITS/$unit.service.d
		printf '%s\n' '[Service]' 'LoadCredential=web1.key:/root/web1.key' \
			>$UNITS/$unit.service.d/key.conf
	done
}

prepare() {
	boot_machine dummy0
	make -s -C "$RDMABLK_TOP/target" install PREFIX=/usr
	systemd-sysusers /usr/lib/sysusers.d/rdmablkd.conf
	files
	credentials
	echo 24 >/proc/sys/vm/nr_hugepages
	echo 'none /dev/rdmablkd hugetlbfs uid=rdmablkd,mode=0700,x-mount.mkdir 0 0' \
		>/etc/fstab
	{
		printf '%s\n' '[target]' "listen = $TARGET_ADDR" '[host web1]' 'key = web1'
		export_of disk0 'arena = /dev/shm/disk0'
		export_of kept 'arena = /dev/rdmablkd/kept'
		export_of large 'hugepages = 2M'
		printf '%s\n' '[export file]' 'file = /srv/disks/file' 'cache = full' 'allow = web1'
	} >/etc/rdmablk/rdmablkd.conf
	mkdir /etc/rdmablk/rdmablkd.conf.d $CONF.d
	printf '%s\n' '[export device]' "file = $LOOP" 'allow = web1' \
		>/etc/rdmablk/rdmablkd.conf.d/device.conf
	for name in disk0 kept large file device; do
		printf '%s\n' "[disk $name]" "export = $TARGET_ADDR/$name" 'key = web1' 'queues = 1' \
			'keep-alive-tmo = 2' 'on-data-loss = continue'
		[[ $name != disk0 ]] || echo 'auto = yes'
	done >$CONF.d/disks.conf
	: >$CONF
	mkdir "$UNITS/basic.target.wants" 2>/dev/null || :
	ln -s /usr/lib/systemd/system/rdmablkd.service "$UNITS/basic.target.wants"
	boot_systemd
}

property() {
	systemctl show --value -p "$1" rdmablkd
}

active() {
	[[ $(property ActiveState) == active ]]
}

expect_active() {
	wait_until "$PATIENCE" active || {
		systemctl --no-pager --full status rdmablkd || :
		fail "rdmablkd.service is $(property ActiveState)"
	}
}

# process_has REGEX: /proc/PID/status of the daemon has such a line
process_has() {
	grep -qE "$1" "/proc/$(property MainPID)/status" ||
		fail "the daemon's process has no '$1'"
}

all_live() {
	! "$RDMABLK" list -n -o state | grep -qvx live
}

restarted_more() {
	(($(property NRestarts) > $1))
}

# disk_of EXPORT: prints the path of the disk
disk_of() {
	"$RDMABLK" list -n -o path,export | awk -v name="$1" '$2 == name { print $1 }'
}

# kept EXPORT: the disk is live and has the written data
kept() {
	wait_until "$PATIENCE" all_live || fail "not live: $("$RDMABLK" list)"
	dd if="$(disk_of "$1")" bs=1M count=1 iflag=direct status=none |
		cmp - /tmp/pattern || fail "$1 has lost its contents"
}

# verbs_closed: whether the guide's udev rule has closed the RDMA devices to other users
verbs_closed() {
	[[ $(stat -c '%a %G' /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm | sort -u) == \
		'660 rdma' ]]
}

close_verbs() {
	cp /usr/share/doc/rdmablkd/examples/70-rdmablkd-verbs.rules /etc/udev/rules.d
	udevadm control --reload
	udevadm trigger --subsystem-match=infiniband_verbs --subsystem-match=misc
	wait_until "$PATIENCE" verbs_closed ||
		fail "the devices are open: $(ls -l /dev/infiniband)"
}

has_line() {
	grep -qx "$2" "$PROM/$1" 2>/dev/null
}

# figures UNIT FILE LINE: the unit's timer makes it write FILE, which everybody may read and
# which has LINE
figures() {
	[[ ! -e $PROM/$2 ]] || fail "$PROM/$2 is there already"
	systemctl start "$1.timer"
	wait_until "$PATIENCE" has_line "$2" "$3" || {
		systemctl --no-pager --full status "$1.timer" "$1.service" || :
		fail "$PROM/$2 has no line '$3': $(cat "$PROM/$2")"
	}
	systemctl stop "$1.timer"
	expect 644 "$(stat -c %a "$PROM/$2")" "the mode of $PROM/$2"
}

# stuck: the daemon is stopped (SIGSTOP), and systemd notices and restarts it
stuck() {
	local restarts

	mkdir -p /run/systemd/system/rdmablkd.service.d
	printf '%s\n' '[Service]' 'WatchdogSec=10' 'TimeoutAbortSec=2' \
		>/run/systemd/system/rdmablkd.service.d/watchdog.conf
	systemctl daemon-reload
	systemctl restart rdmablkd
	restarts=$(property NRestarts)
	kill -STOP "$(property MainPID)"
	wait_until "$PATIENCE" restarted_more "$restarts" ||
		fail "nobody notices that it has stopped"
	expect_active
}

booted() {
	local name restarts

	expect_active
	systemctl is-active --quiet rdmablk@disk0 || fail "disk0 is not up"
	expect psk "$("$RDMABLK" list -n -o auth)" "the proof of disk0"
	process_has "^Uid:\s+$(id -u rdmablkd)\s"
	process_has '^CapEff:\s+0+$'
	process_has '^NoNewPrivs:\s+1$'
	process_has '^Seccomp:\s+2$'
	random_file 1M /tmp/pattern
	"$RDMABLK" up --all
	expect 'device disk0 file kept large' \
		"$("$RDMABLK" list -n -o export | sort | xargs)" "what is up"
	for name in disk0 kept file device; do
		dd if=/tmp/pattern of="$(disk_of $name)" bs=1M oflag=direct conv=fsync \
			status=none
	done
	cmp -n 1048576 /tmp/pattern /srv/disks/file || fail "the file has not got it"

	mkdir -p $PROM
	figures rdmablk-metrics rdmablk.prom 'rdmablk_up 1'
	figures rdmablk-target-metrics rdmablk-target.prom 'rdmablk_target_up 1'
	expect 3min "$(property WatchdogUSec)" "the watchdog"
	close_verbs
	systemctl restart rdmablkd
	for name in disk0 kept file device; do
		kept $name
	done
	restarts=$(property NRestarts)
	kill -KILL "$(property MainPID)"
	wait_until "$PATIENCE" restarted_more "$restarts" || fail "it stays down"
	expect_active
	for name in disk0 kept file device; do
		kept $name
	done

	stuck
	for name in disk0 kept file device; do
		kept $name
	done

	systemctl stop rdmablk@disk0
	expect 'device file kept large' "$("$RDMABLK" list -n -o export | sort | xargs)" \
		"what is up without disk0"
	"$RDMABLK" down --all
	echo 'listen = nowhere' >>/etc/rdmablk/rdmablkd.conf
	run_expect 1 '' systemctl restart rdmablkd
	expect failed "$(property ActiveState)" "the state after a mistake"
	expect 2 "$(property ExecMainStatus)" "the status after a mistake"
}

if [[ ${BOOTED:-} ]]; then
	booted
else
	prepare
fi
