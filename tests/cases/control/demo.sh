# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of rdmablk-demo: what a demo may change in a machine.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require modprobe ip rdma

# shellcheck disable=SC2034 # for the cases
DEMO=$RDMABLK_TOP/tools/demo/rdmablk-demo
export RDMABLK RDMABLKD

# Disks, keys, modules, links, files: lines that tell one state from another. Modules for
# encryption are the kernel's own matter.
state() {
	"$RDMABLK" key list -n 2>/dev/null || :
	compgen -G '/dev/rdmablk*' || :
	ls -A /dev/shm /sys/class/net /sys/class/infiniband 2>/dev/null || :
	awk '/^(rdma|ib_|iw_|dummy|udp|ip6_udp)/ { print $1 }' /proc/modules | sort
	pgrep -x rdmablkd || :
}

# same WHAT: the state is the one of /run/before
same() {
	state >/run/after
	diff /run/before /run/after || fail "$1 leaves something behind"
}

# demo_module: modprobe finds the module of this tree
demo_module() {
	echo "install rdmablk /sbin/modprobe -a rdma_cm ib_core && /sbin/insmod $MODULE" \
		>/etc/modprobe.d/rdmablk.conf
}
