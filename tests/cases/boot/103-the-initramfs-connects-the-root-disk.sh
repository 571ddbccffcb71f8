#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The script of the initramfs connects the disks that the kernel's command line names. It takes
# the key from beside the configuration, loads ib_ipoib before it brings up the network, and makes
# a Soft-RoCE device then. Without such words on the command line it does nothing. It waits for a
# target that is not there yet for as long as the configuration says. The hook copies the keys, and
# the modules that a login loads on demand. It refuses to copy keys into an initramfs that other
# users could read, and a kernel without the module. This case imitates initramfs-tools;
# tests/packages makes a real initramfs, and boots from it.
#
# kernels: 6.12

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

SCRIPT=$RDMABLK_TOP/tools/initramfs/scripts/local-top/rdmablk
LINK=rootlink ADDRESS=198.51.100.7

# words WORD...: runs the script with these words on the kernel's command line
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
	! modinfo ib_ipoib >/run/modinfo 2>&1 || [ -d /sys/module/ib_ipoib ] ||
		log_failure_msg 'no network over InfiniBand'
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
words rdmablk=root rdmablk_rxe=$LINK
[[ -b /dev/rdmablk0 ]] || fail "no disk: $(cat /run/script.log)"
! grep -qE '^(status|warning|failure)' /run/script.log || fail "$(cat /run/script.log)"
expect 'root web1' "$(rdmablk list -n -o export,key | xargs)" 'the disk, its key'


# Commas separate several disks. A name that is not in the configuration is an error, and the
# other disks are connected nevertheless.
rdmablk disconnect --all
sed -i '/^configure_networking/,/^}/c configure_networking() { :; }' /scripts/functions
words rdmablk=nobody,other,root
grep -qx 'status 1' /run/script.log || fail "no error: $(cat /run/script.log)"
expect 'other root' "$(rdmablk list -n -o export | sort | xargs)" 'the disks'
rdmablk disconnect --all

# hook UMASK [PATH]: runs the hook; the files it takes are in /run/initramfs and /run/taken
hook() {
	rm -rf /run/initramfs
	: >/run/taken
	(umask "$1"; DESTDIR=/run/initramfs version=$(uname -r) PATH=${2:-$PATH} sh "$HOOK")
}

HOOK=$RDMABLK_TOP/tools/initramfs/hooks/rdmablk
mkdir -p /usr/share/initramfs-tools /etc/initramfs-tools/conf.d
cat >/usr/share/initramfs-tools/hook-functions <<'END'
copy_exec() { echo "$1" >>/run/taken; }
manual_add_modules() { printf '%s\n' "$@" >>/run/taken; }
copy_modules_dir() { echo "$1" >>/run/taken; }
END
rm -f /etc/initramfs-tools/conf.d/rdmablk
hook 077
[[ ! -s /run/taken && ! -e /run/initramfs ]] || fail 'an initramfs that nobody has asked for'
printf '%s\n' RDMABLK=y RDMABLK_KEYS=web1 RDMABLK_RXE=y >/etc/initramfs-tools/conf.d/rdmablk
run_expect 1 'E: rdmablk: others could read the keys in the initramfs: set UMASK=0077' hook 022
hook 077
for taken in kernel/crypto kernel/arch/x86/crypto rdmablk rdma_cm rdma_rxe /usr/sbin/rdmablk; do
	grep -qx "$taken" /run/taken || fail "the hook does not take $taken: $(cat /run/taken)"
done
[[ -s /run/initramfs/etc/rdmablk/keys/web1.key ]] || fail 'no key'
expect '' "$(find /run/initramfs/etc/rdmablk/keys -perm /077)" 'what others may read'
mkdir /run/bin
ln -s /bin/{sh,cp,mkdir,chmod} /sbin/modprobe /usr/sbin/rdmablk /run/bin
run_expect 1 'E: rdmablk: RDMABLK_RXE=y needs the program rdma \(package iproute2\)' \
	hook 077 /run/bin
rm /etc/modprobe.d/rdmablk.conf
run_expect 1 'E: rdmablk: kernel .* has no module rdmablk' hook 077
