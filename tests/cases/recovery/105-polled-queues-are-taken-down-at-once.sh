#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A polled queue has no interrupt that reports the end of a drain. The module polls for it at
# once, and not in the steps of 0.1 s of the kernel's own function, neither with requests in
# flight nor on an idle disk.
#
# kernels: 6.1 6.12

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# taken_down CMD [ARGS]: traces how CMD drains the queues; it must not wait in steps
taken_down() {
	echo >$TRACING/trace
	echo function >$TRACING/current_tracer
	"$@"
	cat $TRACING/trace >/tmp/trace
	echo nop >$TRACING/current_tracer
	grep -q 'rdmablk_queue_stop <-' /tmp/trace || fail "nothing was traced"
	! grep -E 'wait_for_completion_timeout <-.*ib_drain' /tmp/trace ||
		fail "$*: it waits in steps"
}

again_and_again() {
	"$RDMABLK" reconnect rdmablk0
	expect_back $((++backs))
}
backs=0

load_module
leak_snapshot
serve 16M
connect --queues 1 --poll-queues 2
printf '%s\n' rdmablk_queue_stop wait_for_completion_timeout >$TRACING/set_ftrace_filter
taken_down again_and_again
start_verify --ioengine=io_uring --hipri=1
taken_down again_and_again
expect_progress
stop_verify
device_same_as_target
taken_down disconnect
stop_target
leak_check
unload_module
