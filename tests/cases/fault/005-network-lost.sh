#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A network that loses every packet, or goes down: noticed by the transport when
# there is load, by the keep-alive when there is none. All requests end, the disk
# is failed and can be disconnected. The daemon ends the silent session, and the
# export is free again.
#
# Also: no write is reported as failed before the target's session must have
# ended, session_tmo_ms after the failure; reads are, at once. The trace shows
# which request ended when.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
require tc

# Not by a new qdisc, at which the network stack refuses packets for a moment and
# rxe takes that for an error of the queue pair.
loss() {
	tc qdisc change dev v0 root netem limit 10000 loss "$1%"
}

# held_check TRACE SESSION_TMO_MS: what the trace says about the failed session
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

# Idle: only the keep-alive can notice.
ip link set v1 down
expect_failed "$LOST"
expect_no_io
disconnect
# A link that was down has lost its routes. Its removal takes the RDMA device
# along, and the daemon listens when both are back.
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
