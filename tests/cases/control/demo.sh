# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of rdmablk-demo: compares what a demo may change in a machine.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require modprobe ip rdma

# shellcheck disable=SC2034 # for the cases
DEMO=$RDMABLK_TOP/tools/demo/rdmablk-demo
export RDMABLK RDMABLKD

# Prints the disks, keys, devices, files, modules and daemons that a demo may change. Modules
# for encryption are left out, because the kernel loads and keeps them by itself.
state() {
	"$RDMABLK" key list -n 2>/dev/null || :
	compgen -G '/dev/rdmablk*' || :
	ls -A /dev/shm /sys/class/net /sys/class/infiniband 2>/dev/null || :
	awk '/^(rdma|ib_|iw_|dummy|udp|ip6_udp)/ { print $1 }' /proc/modules | sort
	pgrep -x rdmablkd || :
}

# same WHAT: expects the state that is saved in /run/before
same() {
	state >/run/after
	diff /run/before /run/after || fail "$1 leaves something behind"
}

# demo_module: makes modprobe find the module of this tree
demo_module() {
	echo "install rdmablk /sbin/modprobe -a rdma_cm ib_core && /sbin/insmod $MODULE" \
		>/etc/modprobe.d/rdmablk.conf
}
