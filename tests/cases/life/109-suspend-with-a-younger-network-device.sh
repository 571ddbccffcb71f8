#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The network device is younger than the module, so the kernel suspends it before older devices.
# The disk stops before the network device all the same, and no request of a load fails.
#
# kernels: 6.12
# net: two
# timeout: 400

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

# suspended DEVICE: the line of the log in which the first suspend of a device begins
suspended() {
	dmesg | awk -v call=" $1: PM: calling [a-z_]+suspend" '!n && $0 ~ call { n = NR }
		END { print n + 0 }'
}

initiator() {
	local level pci disk net

	insmod "${MODULE%/kernel/*}/stay/stay.ko"
	load_module
	peer_wait served.0 "$PEER"
	link_delete rxe0
	pci=$(readlink -f /sys/class/net/eth0/device/..)
	echo 1 >"$pci/remove"
	echo 1 >/sys/bus/pci/rescan
	net_up_two || fail "eth0 does not come back"
	connect --keep-alive-tmo 5
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	# One device after the other, the youngest first
	echo 0 >/sys/power/pm_async
	echo 1 >/sys/power/pm_print_times
	start_verify
	for level in devices core; do
		echo $level >/sys/power/pm_test
		echo mem >/sys/power/state || fail "no suspend to $level: $(dmesg | tail -n 20)"
		wait_state live
		expect_progress
	done
	stop_verify
	disk=$(suspended 'rdmablk[0-9a-z.]*') net=$(suspended "${pci##*/}")
	((0 < disk && disk < net)) || fail "the disk stops in line $disk, its network device in line $net"
	expect 0 "$(status errors)" "the number of failed requests"
	disconnect
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target_serve 0
else
	initiator
fi
