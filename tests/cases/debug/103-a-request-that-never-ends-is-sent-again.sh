#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A completion is withheld from the block layer (fail_io_timeout), under load that verifies what
# it reads. The request times out, which causes an ordinary outage, and is sent again. It
# completes once, and no request fails. Failures above the driver (fail_make_request) do not
# affect the disk.
#
# kernels: debug

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

one_withheld() {
	[[ $(</sys/kernel/debug/fail_io_timeout/times) == 0 ]]
}

load_module
leak_snapshot
serve 8M
connect
echo 10000 >$QUEUE/io_timeout
echo 1 >/sys/block/rdmablk0/io-timeout-fail
start_verify
for i in 1 2 3; do
	fault_write fail_io_timeout task-filter N interval 20 verbose 0 times 1 \
		probability 100
	wait_until "$PATIENCE" one_withheld || fail "nothing was withheld"
	expect_back "$i"
	expect_progress
done
fault_write fail_io_timeout probability 0
(($(attribute held) >= 3)) || fail "only $(attribute held) requests were held"
stop_verify
device_same_as_target

echo 1 >/sys/block/rdmablk0/make-it-fail
fault_write fail_make_request task-filter N interval 1 verbose 0 times 1 \
	probability 100
run_expect 1 'Input/output error' dd if=$DEV of=/dev/null bs=4k count=1 iflag=direct
echo 0 >/sys/block/rdmablk0/make-it-fail
read_one
expect 3 "$(attribute reconnects)" "the number of outages"
still_live
disconnect
stop_target
leak_check
unload_module
