#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdmablk devices' prints the same as ibv_devinfo about an RDMA device: limits, both MTUs, the
# address that the target listens on. It notices a new MTU of the network device, and needs
# neither the module nor root. Without a uverbs device the limits are unknown, and it says why.
#
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

# devinfo WORD: prints the number that ibv_devinfo has for it, as in "active_mtu: 1024 (3)"
devinfo() {
	sed -nE "s/^[[:space:]]+$1:[[:space:]]+(0x)?([0-9a-f]+)([[:space:]].*)?$/\\1\\2/p" /tmp/devinfo
}

# value FILTER: prints a value of the device
value() {
	"$RDMABLK" devices --json rxe0 >/tmp/devices
	jq -r ".devices[0]$1" /tmp/devices
}

# limit NAME: prints a limit; without jq, which has no integers of 64 bits
limit() {
	awk -v name="$1" '$1 == name { print $2 }' /tmp/text
}

ibv_devinfo -v -d rxe0 >/tmp/devinfo
"$RDMABLK" devices rxe0 >/tmp/text
for limit in max_qp max_qp_wr max_sge max_sge_rd max_cq max_cqe max_pd max_mr max_mr_size \
	max_qp_rd_atom max_qp_init_rd_atom max_res_rd_atom; do
	expect "$(printf %u "$(devinfo $limit)")" "$(limit $limit)" "$limit"
done
expect "$(devinfo num_comp_vectors)" "$(limit completion_vectors)" 'completion vectors'
for mtu in active_mtu max_mtu; do
	expect "$(devinfo $mtu)" "$(value ".ports[0].$mtu")" "$mtu"
done
expect true "$(value .software)" 'an rxe device is software'
expect ACTIVE "$(value '.ports[0].state')" 'the state'
expect "RoCE v2" "$(value ".ports[0].gids[] | select(.address == \"$TARGET_ADDR\").kind")" \
	"the kind of the target's address"
run_expect 0 "^  gid 1/[0-9]+ +$TARGET_ADDR, RoCE v2, netdev " "$RDMABLK" devices
run_expect 3 'no such RDMA device; did you mean .rxe0.' "$RDMABLK" devices rxe1

before=$(value '.ports[0].active_mtu')
netdev=$(value '.ports[0].netdev')
small=$((before > 256 ? before / 2 : 512))
ip link set "$netdev" mtu $((small + 120))
follows() {
	(($(value '.ports[0].active_mtu') == small))
}
wait_until "$PATIENCE" follows || fail "the MTU is $(value '.ports[0].active_mtu'), not $small"

mount -t tmpfs none /dev/infiniband
run_expect 0 '^  limits +not known: .+' "$RDMABLK" devices
expect null "$(value .limits)" 'the limits without a uverbs device'
expect "$TARGET_ADDR" "$(value ".ports[0].gids[] | select(.address == \"$TARGET_ADDR\").address")" \
	'the address without a uverbs device'
umount /dev/infiniband
