#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The scripts of tools/bpf fit the tracepoints of the module. Both attach: one breaks down the
# time of each read, the other prints a change of a disk's state. control/112 checks what they
# count under load and in an outage.
#
# timeout: 600

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

require bpftrace
declare -A BPF_PID=()

bpf_ended() {
	! kill -0 "${BPF_PID[$1]}" 2>/dev/null
}

bpf_traces() {
	grep -q '^Tracing' "/tmp/$1" || bpf_ended "$1"
}

load_module
serve 16M
connect
for script in rdmablk-latency rdmablk-errors; do
	"$RDMABLK_TOP/tools/bpf/$script.bt" >/tmp/$script 2>&1 &
	BPF_PID[$script]=$!
	cleanup_add kill $! 2>/dev/null
done
for script in "${!BPF_PID[@]}"; do
	wait_until $((4 * PATIENCE)) bpf_traces "$script" || :
	grep -q '^Tracing' "/tmp/$script" || fail "$script: $(<"/tmp/$script")"
done
before=$(status reads)
dd if=$DEV of=/dev/null bs=4k count=5 iflag=direct status=none
reads=$(($(status reads) - before))
disconnect
for script in "${!BPF_PID[@]}"; do
	kill -INT "${BPF_PID[$script]}"
	wait_until "$PATIENCE" bpf_ended "$script" || fail "$script does not end"
	wait "${BPF_PID[$script]}" || fail "the status of $script is $?"
done
expect "@broken_down[read]: $reads" "$(grep '^@broken_down' /tmp/rdmablk-latency)" \
	"what is said of $reads reads"
grep -q 'rdmablk0 live -> deleting' /tmp/rdmablk-errors ||
	fail "no change of state: $(</tmp/rdmablk-errors)"
unload_module
