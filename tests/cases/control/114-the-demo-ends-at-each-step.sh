#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Ctrl-C ends rdmablk-demo at each of its steps, on a machine without RDMA modules: the demo
# leaves nothing behind. A module that the demo has loaded stays if another user needs it by
# then, and so do that user's links and devices.
#
# kernels: 6.12
# timeout: 600

# shellcheck source=tests/cases/control/demo.sh
source "$RDMABLK_TOP/tests/cases/control/demo.sh"

# no_rdma: removes all RDMA devices and modules, as after a boot
no_rdma() {
	local link

	for link in /sys/class/infiniband/*; do
		rdma link delete "${link##*/}"
	done
	for link in $(ip -o link show type dummy | awk -F ': ' '{ print $2 }'); do
		ip link delete "$link"
	done
	modprobe -r -a rdma_rxe rdma_ucm ib_uverbs rdma_cm iw_cm ib_cm dummy
	! grep -E '^(rdma|ib_|dummy)' /proc/modules || fail 'modules are left before the demo'
}

# end_at N: when the demo shows its Nth command, sends SIGINT to all of its processes, as a
# terminal does. ENDED is that command, or empty if the demo has fewer commands.
end_at() {
	local n=0 status=0 line demo

	ENDED=''
	env --default-signal=INT setsid "$DEMO" --size 1 >/run/demo.fifo 2>/run/demo.err &
	demo=$!
	while read -r line; do
		[[ $line == '$ '* ]] || continue
		if ((++n == $1)); then
			kill -INT -- "-$demo"
			ENDED=$line
		fi
	done </run/demo.fifo
	wait $demo || status=$?
	((status == (${#ENDED} > 0))) ||
		fail "status $status of a demo that is ended at '$ENDED': $(cat /run/demo.err)"
}

demo_module
no_rdma
state >/run/before
mkfifo /run/demo.fifo
for ((i = 1; ; i++)); do
	end_at $i
	same "a demo that is ended at '$ENDED'"
	[[ $ENDED ]] || break
done
((i > 15)) || fail "only $i commands"

# Another user makes a link of the same kind, and an RDMA device on it.
mkfifo /run/enter
"$DEMO" --size 1 --keep >/run/demo.log 2>&1 </run/enter &
demo=$!
exec {enter}>/run/enter
wait_until 60 grep -q 'what they were' /run/demo.log || fail "$(cat /run/demo.log)"
ip link add other type dummy
ip link set other up
rdma link add other_rxe type rxe netdev other
exec {enter}>&-
wait $demo || fail "$(cat /run/demo.log)"
for module in dummy rdma_rxe; do
	grep -q "the module $module stays, it is in use" /run/demo.log ||
		fail "$module: $(cat /run/demo.log)"
done
[[ -e /sys/class/infiniband/other_rxe && -e /sys/class/net/other ]] ||
	fail 'the device of somebody else is gone'
