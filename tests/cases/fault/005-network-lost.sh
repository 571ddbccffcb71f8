#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A network loses every packet, or goes down. Under load the transport notices the loss, on an
# idle disk the keep-alive does. All requests end, the disk fails and can be disconnected. The
# daemon ends the silent session, and the export is free again.
#
# Writes are reported as failed only when the target's session must have ended, session_tmo_ms
# after the failure. Reads are reported as failed at once. The trace shows when each request
# ended.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
require tc

# 'change' instead of 'replace': with a new qdisc the network stack refuses packets for a
# moment, which rxe takes for an error of the queue pair.
loss() {
	tc qdisc change dev v0 root netem limit 10000 loss "$1%"
}

# held_check TRACE SESSION_TMO_MS: checks the end of each request in the trace of the failed
# session
held_check() {
	python3 "$CASES/fault/held.py" "$1" "$2" || fail "the trace"
}

tc qdisc add dev v0 root netem limit 10000
load_module
serve 16M
connect_brittle --keep-alive-tmo 4
trace_start
start_load
loss 100
expect_load_failed
expect_failed 'connection lost|session was silent for too long'
trace_stop
held_check /tmp/trace "$(attribute session_tmo_ms)"
expect_log 'session .*: closing: (session was silent for too long|connection lost)'
loss 0
disconnect
connect_brittle --keep-alive-tmo 2
expect_works

# The disk is idle, so only the keep-alive can notice.
ip link set v1 down
expect_failed "$LOST"
expect_no_io
disconnect
# The link that was down has lost its routes, so the link is made again. Its removal removes the
# RDMA device, too. The daemon listens again when both are back.
: >"$TARGET_LOG"
timeout "$PATIENCE" ip link delete v0 || fail "'ip link delete' does not return"
net_veth_remove || fail "the network is not gone"
net_veth_pair || fail "no network"
expect_log "listening on $TARGET_ADDR:20420, device rv1"
connect
expect_works
disconnect
unload_module
stop_target
