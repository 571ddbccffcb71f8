#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While each allocation of the module fails, I/O and keep-alives go on and ask for
# none. When the daemon is killed and started again meanwhile, one try after the
# other fails and no request does; with memory the disk comes back.
#
# kernels: debug
# allow: FAULT_INJECTION

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

# Some I/O without memory; true when keep-alives were sent, too.
without_memory() {
	local before

	no_memory
	before=$(requests)
	wait_until "$PATIENCE" requests_more $((before + 500)) ||
		fail "I/O has stopped"
	expect 0 "$(refused)" "the number of allocations of a live disk"
	memory_again
	(($(status keepalives) >= keepalives + 2))
}

load_module
leak_snapshot
serve 8M
connect --keep-alive-tmo 20 --dev-loss-tmo off
start_verify
keepalives=$(status keepalives)
wait_until "$PATIENCE" without_memory || fail "no keep-alives"

no_memory
stop_target KILL
again 8M
wait_until "$PATIENCE" tried 4 || fail "only $(attribute attempts) tries"
expect recovering "$(attribute state)" "the state"
(($(refused) >= 3)) || fail "only $(refused) allocations have failed"
expect 0 "$(attribute io_failing)" "whether I/O fails"
memory_again
expect_back 1
expect_progress
stop_verify
device_same_as_target
disconnect
stop_target
leak_check
unload_module
