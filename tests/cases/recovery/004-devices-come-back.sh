#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdma link delete' under load, on either side and on both at once: the command returns, I/O is
# held, and the disk comes back by itself when the device is back.
#
# net: veth
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

load_module
serve 16M
connect --keep-alive-tmo 4 --reconnect-delay 1
start_verify

link_delete rv0
wait_state recovering
expect 'RDMA device was removed' "$(attribute reason)" "the reason"
wait_until "$PATIENCE" tried 2 || fail "only $(attribute attempts) tries"
link_add rv0 v0 "$INITIATOR_ADDR"
expect_back 1
expect_progress

: >"$TARGET_LOG"
link_delete rv1
wait_state recovering
expect_closed_and_back rv1 2

link_delete rv1
link_delete rv0
wait_state recovering
link_add rv0 v0 "$INITIATOR_ADDR"
link_add rv1 v1 "$TARGET_ADDR"
expect_back 3
expect_progress
stop_verify

# Without load only the session itself can notice the removal.
link_delete rv0
wait_state recovering
link_add rv0 v0 "$INITIATOR_ADDR"
expect_back 4
start_verify
expect_progress
end_verified
