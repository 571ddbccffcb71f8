#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdma link delete' at the target where ib_uverbs hears of the removal before rdma_cm, because
# rdma_cm was loaded first. rxe then cannot take the device from the daemon, and no event of
# verbs or rdma_cm asks the daemon to release it. The command returns all the same, and when the
# device is back the disk comes back by itself. The command also returns when the daemon has
# only ever used the device for a connection that it refused.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# The kernel informs the module that was loaded last first. The kernel 'debug' has the order of
# this case anyway.
verbs_last() {
	grep -q '^ib_uverbs ' /proc/modules || return 0
	modprobe rdma_cm
	modprobe -r rdma_ucm rdma_rxe
	! grep -q '^ib_uverbs ' /proc/modules || fail "ib_uverbs is still there"
	modprobe -a rdma_cm rdma_rxe rdma_ucm
}

link_delete rv0
link_delete rv1
verbs_last
link_add rv0 v0 "$INITIATOR_ADDR"
link_add rv1 v1 "$TARGET_ADDR"

# The daemon listens on all addresses, so no listener has a device. The peer does not speak the
# protocol.
program target_probe
LISTEN=0.0.0.0 serve 16M
run_expect 0 '^rejected' timeout "$PATIENCE" "$PROGRAM" --arg 0 --expect 1 "$TARGET_ADDR" disk0 cm
expect_log 'connection from .*: refused:'
link_delete rv1
expect_log 'device rv1: closed'
link_add rv1 v1 "$TARGET_ADDR"
stop_target
expect 0 "$TARGET_STATUS" "the exit status of a daemon whose device has come back"

load_module
serve 16M
connect --keep-alive-tmo 4 --reconnect-delay 1
start_verify
expect_progress
: >"$TARGET_LOG"
link_delete rv1
wait_state recovering
expect_log 'device rv1: is being removed'
expect_closed_and_back rv1 1
end_verified
