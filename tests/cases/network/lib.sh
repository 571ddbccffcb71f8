# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of network and the long ones of fault: faults of tests/lib/faults.sh
# while the history of the disk is written.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/lib/history.sh
source "$RDMABLK_TOP/tests/lib/history.sh"
# shellcheck source=tests/lib/stores.sh
source "$RDMABLK_TOP/tests/lib/stores.sh"
# shellcheck source=tests/lib/faults.sh
source "$RDMABLK_TOP/tests/lib/faults.sh"

fault_serve() {
	store_serve --export disk1,memory,size=4M
}

fault_gone() {
	store_check_flushed
}

# connect_patient [OPTION...]: connects a disk that never gives up, and notices a loss soon
connect_patient() {
	connect --dev-loss-tmo off --keep-alive-tmo 2 --reconnect-delay 1 \
		--ack-timeout 15 "$@"
}

# expect_well [N]: the disk is live, the writer goes on, and no request has failed
expect_well() {
	wait_state live
	history_progress "${1:-50}"
	expect 0 "$(status errors)" "the number of failed requests"
}

# expect_legal: ends the round; the contents of the disk and of its store are legal
expect_legal() {
	history_stop
	grep -q ' writes, 0 failed; .* reads, 0 failed; .* flushes, 0 failed' \
		/tmp/history.out || fail "requests have failed: $(</tmp/history.out)"
	store_check
}

# counters DEV NAME...: prints the sum of the device's counters
counters() {
	local dir=/sys/class/infiniband/$1/ports/1/hw_counters name sum=0

	shift
	for name in "$@"; do
		((sum += $(<"$dir/$name"))) || :
	done
	echo $sum
}

# qdisc DEV KEY: prints a value of the device's queueing discipline
qdisc() {
	tc -j -s qdisc show dev "$1" | jq -r ".[0].$2"
}

# hung_task_after SECONDS: the kernel reports a hung task only after that time, because I/O may
# be held for long
hung_task_after() {
	echo "$1" >/proc/sys/kernel/hung_task_timeout_secs
}
