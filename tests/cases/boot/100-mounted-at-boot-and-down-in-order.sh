#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A machine that systemd boots connects the disk that rdmablk.conf wants and mounts the
# file system that fstab has on it, both as the administrator's guide has them. A reboot
# unmounts it, then disconnects, then loses its network: the file system is clean and the
# daemon was told. A reboot while the target is away for good, with dev_loss_tmo off and
# writes that wait, comes to an end; what was on the disk before is there at the next boot.
#
# kernels: 6.12
# net: two
# timeout: 1500

# shellcheck source=tests/cases/boot/lib.sh
source "$RDMABLK_TOP/tests/cases/boot/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"

FS=99999999-8888-4777-a666-555544443333

target() {
	serve 32M
	mkfs.ext4 -q -F -U $FS $ARENA 32M
	peer_set served
	peer_wait booted.1 "$BOOT_PATIENCE"
	boot_down initiator
	expect_log 'logged out'
	run_expect 0 'Filesystem state: +clean' dumpe2fs -h $ARENA
	debugfs -R 'cat /file' $ARENA 2>/dev/null | cmp - /run/vm/file ||
		fail "what was written before the reboot is not there"

	host_do start initiator
	peer_wait booted.2 "$BOOT_PATIENCE"
	stop_target KILL
	peer_set lost
	boot_down initiator
	serve 32M
	host_do start initiator
	peer_wait booted.3 "$BOOT_PATIENCE"
	pause 600
}

# The next one of booted.1 booted.2 booted.3
count_boots() {
	BOOTS=1
	while [[ -e /run/vm/booted.$BOOTS ]]; do
		((++BOOTS))
	done
}

mounted() {
	mountpoint -q /data
}

# With nofail nothing else waits for the mount.
expect_mounted() {
	wait_until "$PATIENCE" mounted || :
	systemctl --no-pager --full status rdmablk@data data.mount || :
	systemctl is-active --quiet rdmablk@data || fail "rdmablk@data is not active"
	mounted || fail "nothing is mounted on /data"
	expect -1 "$(attribute dev_loss_tmo)" "dev_loss_tmo"
	still_live
}

# guide WORDS: prints the commands of the guide that WORDS introduce
guide() {
	commands_of "$RDMABLK_TOP/Documentation/admin-guide.rst" "$1"
}

initiator() {
	peer_wait served "$BOOT_PATIENCE"
	boot_machine eth0
	guide 'which disks a host has' | sed "/^$/,\$d; s/10\.0\.0\.1/$TARGET_ADDR/" >$CONF
	guide 'Name them by UUID' | sed -n "s/^UUID=[0-9a-f-]* /UUID=$FS /p" >/etc/fstab
	cat $CONF /etc/fstab
	grep -qx '\[disk data\]' $CONF || fail "the guide has no disk data"
	echo 'keep-alive-tmo = 2' >>$CONF
	mkdir /data
	boot_systemd
}

booted() {
	count_boots
	expect_mounted
	case $BOOTS in
	1)
		random_file 1M /run/vm/file
		cp /run/vm/file /data/file
		;;
	2)
		cmp /data/file /run/vm/file
		;;
	3)
		# The third boot has replayed the journal of the file system.
		cmp /data/file /run/vm/file
		peer_set booted.3
		exit 0
		;;
	esac
	peer_set booted.$BOOTS
	if ((BOOTS == 2)); then
		leave_something_to_write
	fi
	boot_again
}

writer_waits() {
	grep -q '^State:.D' "/proc/$writer/status"
}

# Leaves a process that waits in a write, and unwritten data of the file system.
leave_something_to_write() {
	peer_wait lost "$PATIENCE"
	wait_state recovering
	cp /run/vm/file /data/lost &
	writer=$!
	sync /data &
	wait_until "$PATIENCE" writer_waits || fail "nothing waits for the target"
}

if [[ $ROLE == target ]]; then
	target
elif [[ ${BOOTED:-} ]]; then
	booted
else
	initiator
fi
