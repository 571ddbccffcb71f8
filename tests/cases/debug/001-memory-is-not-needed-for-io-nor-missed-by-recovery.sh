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

# A round of I/O without memory; true when none was asked for, in this one and in others,
# while two keep-alives were sent. What the kernel's own checkers take for their pools now
# and then counts as the module's, because that is who calls them: rounds without that
# come, whereas what a request or a keep-alive needs is needed in each.
quiet_round() {
	local before sent

	sent=$(status keepalives)
	no_memory
	before=$(requests)
	wait_until "$PATIENCE" requests_more $((before + 500)) ||
		fail "I/O has stopped"
	asked=$(refused)
	memory_again
	((asked == 0)) || return 1
	((keepalives += $(status keepalives) - sent, keepalives >= 2))
}

load_module
leak_snapshot
serve 8M
connect --keep-alive-tmo 20 --dev-loss-tmo off
start_verify
keepalives=0
wait_until "$PATIENCE" quiet_round ||
	fail "$keepalives keep-alives in rounds without allocations; $asked in the last round"

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
