#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The script of the initramfs connects the disks that the kernel's command line names, with
# the key that lies beside the configuration, on a Soft-RoCE device that it makes, once the
# network is up; without such words it does nothing; a target that is not there yet is waited
# for as long as the configuration says. What initramfs-tools brings is played by this case,
# and tests/packages looks at what the hook puts into an initramfs.
#
# kernels: 6.12

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

SCRIPT=$RDMABLK_TOP/tools/initramfs/scripts/local-top/rdmablk
LINK=rootlink ADDRESS=198.51.100.7

# words WORD...: the kernel's command line
words() {
	echo "quiet $* ro" >/run/cmdline
	mount --bind /run/cmdline /proc/cmdline
	"$SCRIPT" >/run/script.log 2>&1 || echo "status $?" >>/run/script.log
	umount /proc/cmdline
}

serve() {
	start_target --config /run/rdmablkd.conf
}

mkdir -p /scripts /etc/rdmablk/keys
cat >/scripts/functions <<END
configure_networking() {
	ip link add $LINK type dummy
	ip link set $LINK mtu 9000 up
	ip address add $ADDRESS/32 dev $LINK
}
log_warning_msg() { echo "warning: \$*"; }
log_failure_msg() { echo "failure: \$*"; }
END
cp "$RDMABLK" /usr/sbin/rdmablk
echo "install rdmablk /sbin/insmod $MODULE" >/etc/modprobe.d/rdmablk.conf
rdmablk key new --name web1 --out /etc/rdmablk/keys/web1.key
printf '%s\n' '[disk root]' "export = $ADDRESS/root" 'key = web1' 'wait = 60' \
	'[disk other]' "export = $ADDRESS/other" 'key = web1' >/etc/rdmablk/rdmablk.conf
printf '%s\n' '[target]' "listen = $ADDRESS" '[host web1]' 'key = web1' \
	'[export root]' 'type = memory' 'size = 8M' 'allow = web1' \
	'[export other]' 'type = memory' 'size = 8M' 'allow = web1' >/run/rdmablkd.conf

expect udev "$("$SCRIPT" prereqs)" 'what has to run before'
words root=/dev/sda1
[[ ! -s /run/script.log && ! -e /sys/module/rdmablk && ! -e /sys/class/net/$LINK ]] ||
	fail "without a disk: $(cat /run/script.log)"

# The daemon cannot listen before the script has made the device.
(
	wait_until 60 test -e /sys/class/infiniband/rdmablk_rxe
	serve
	wait "$TARGET_PID" || :
) &
cleanup_add pkill -x rdmablkd
words rdmablk=root rdmablk.rxe=$LINK
[[ -b /dev/rdmablk0 ]] || fail "no disk: $(cat /run/script.log)"
! grep -qE '^(status|warning|failure)' /run/script.log || fail "$(cat /run/script.log)"
expect 'root web1' "$(rdmablk list -n -o export,key | xargs)" 'the disk, its key'


# Several have commas between them. One that is not in the configuration is an error, and the
# others are connected nevertheless.
rdmablk disconnect --all
sed -i '/^configure_networking/,/^}/c configure_networking() { :; }' /scripts/functions
words rdmablk=nobody,other,root
grep -qx 'status 1' /run/script.log || fail "no error: $(cat /run/script.log)"
expect 'other root' "$(rdmablk list -n -o export | sort | xargs)" 'the disks'
rdmablk disconnect --all
