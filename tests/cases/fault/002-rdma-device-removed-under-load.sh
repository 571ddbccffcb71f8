#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdma link delete' under load, of the initiator's device and of the target's: the command
# returns, all requests end with an error, nothing hangs, the disk fails and can be
# disconnected. The daemon goes on, and listens again when its device is back. Then the disk is
# connected again and works.
#
# kernels: 6.12
# long-kernels: 6.1
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

serve 16M
load_module

connect_brittle --keep-alive-tmo 4
start_load
link_delete rv0
expect_load_failed
expect_failed 'RDMA device was removed'
expect_no_io
run_expect 5 'no RDMA device leads to' "$RDMABLK" connect "$TARGET_ADDR/other"
disconnect
expect_log 'session .*: closing'
expect_log 'fenced: its queues and keys are gone'
link_add rv0 v0 "$INITIATOR_ADDR"
connect_brittle --keep-alive-tmo 4
expect_works

start_load
link_delete rv1
expect_load_failed
expect_failed "RDMA device was removed|$LOST"
expect_no_io
expect_log 'device rv1: closed'
target_lives || fail "the daemon has not survived: $(cat "$TARGET_LOG")"
disconnect
: >"$TARGET_LOG"
link_add rv1 v1 "$TARGET_ADDR"
expect_log "listening on $TARGET_ADDR:20420, device rv1"
connect_brittle
expect_works

# An idle disk that no process has open notices the removal, too.
link_delete rv0
expect_failed 'RDMA device was removed'
link_delete rv1
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
