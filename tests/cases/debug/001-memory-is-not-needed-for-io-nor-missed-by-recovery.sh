#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While every allocation of the module fails, I/O and keep-alives of a disk with a key go on
# without allocating memory. When the daemon is killed and started again meanwhile, each try to
# reconnect fails, but no request does. When memory is back, the disk comes back. It then proves
# its key again each second under load. A disconnect ends a proof that the target does not
# answer.
#
# kernels: debug
# allow: FAULT_INJECTION

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

load_module
leak_snapshot
serve_with_key 8M 'log-level = debug'
connect --key default --keep-alive-tmo 20 --dev-loss-tmo off
expect psk "$(status auth)" "the authentication"
start_verify
quiet_rounds 2 500
outlasts_no_memory 1 start_with_key
"$RDMABLK" set rdmablk0 --key default --reauth-tmo 1
wait_until "$PATIENCE" proofs_more 3 || fail "the key is not proven again: $(<"$TARGET_LOG")"
expect_progress
expect 1 "$(attribute reconnects)" "the number of outages"
stop_verify
device_same_as_target
disconnect_while_proving
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
leak_check
unload_module
