#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The scripts of tools/bpf under load. rdmablk-latency.bt breaks down each request that is an
# RDMA READ or WRITE, and counts the requests that are commands; all parts have the same count.
# rdmablk-errors.bt prints an outage, requests that are posted again and requests that fail.
#
# timeout: 1800

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

BPF=$RDMABLK_TOP/tools/bpf
require bpftrace

bpf_ended() {
	! kill -0 "$BPF_PID" 2>/dev/null
}

bpf_traces() {
	grep -q '^Tracing' "/tmp/$1" || bpf_ended
}

# bpf_start SCRIPT: starts it in the background; an emulated processor compiles it slowly
bpf_start() {
	"$BPF/$1.bt" >"/tmp/$1" 2>&1 &
	BPF_PID=$!
	cleanup_add cp "/tmp/$1" /run/vm
	cleanup_add kill "$BPF_PID" 2>/dev/null
	wait_until $((4 * PATIENCE)) bpf_traces "$1" || :
	grep -q '^Tracing' "/tmp/$1" || fail "$1: $(</tmp/"$1")"
}

bpf_stop() {
	kill -INT "$BPF_PID"
	wait_until "$PATIENCE" bpf_ended || fail "the script does not end"
	wait "$BPF_PID" || fail "the script's status is $?"
}

# count_of MAP OPERATION: a counter that rdmablk-latency.bt prints
count_of() {
	sed -nE "s/^@$1\[$2\]: ([0-9]+)\$/\\1/p" /tmp/rdmablk-latency
}

# histogram_of MAP OPERATION: prints the number of requests in all buckets of the histogram
histogram_of() {
	awk -v head="@$1[$2]:" '
		$0 ~ /^@/ { on = index($0, head) == 1; next }
		on && match($0, /[)\]] +[0-9]+ +\|/) {
			n = substr($0, RSTART + 1, RLENGTH - 2); sum += n
		}
		END { print sum + 0 }' /tmp/rdmablk-latency
}

load_module
truncate -s 16M /tmp/file
serve 16M --export "disk1,file=/tmp/file,cache=none,size=16M"
connect --queues 2
"$RDMABLK" set rdmablk0 --timed on
expect /dev/rdmablk1 "$("$RDMABLK" connect "$TARGET_ADDR/disk1")" "the second disk"

bpf_start rdmablk-latency
before=$("$RDMABLK" stats rdmablk0 --json)
fio --name=mixed --filename=$DEV --direct=1 --rw=randrw --bs=4k --size=8M --io_size=4M \
	--ioengine=libaio --iodepth=32 --iodepth_batch_submit=8 --minimal >/dev/null
dd if=/dev/rdmablk1 of=/dev/null bs=4k count=5 iflag=direct status=none
bpf_stop
after=$("$RDMABLK" stats rdmablk0 --json)

# done_by KEY: prints how much the disk's counter has grown while the script ran
done_by() {
	jq -rn --argjson a "$after" --argjson b "$before" \
		"\$a.devices[0].$1 - \$b.devices[0].$1"
}

[[ -z $(count_of not_matched '.*') ]] || fail "not matched: $(</tmp/rdmablk-latency)"
for op in read write; do
	n=$(done_by "${op}s")
	((n > 100)) || fail "only $n ${op}s"
	expect "$n" "$(done_by "latency.$op.requests")" "${op}s that were timed"
	expect "$n" "$(count_of broken_down $op)" "${op}s that were broken down"
	for part in a_to_post_us b_transport_us c_to_end_us; do
		expect "$n" "$(histogram_of $part $op)" "${op}s in $part"
	done
done
expect "$(done_by writes)" "$(histogram_of total_us write)" "writes in total_us"
# Reads of the second disk are commands. udev and the kernel may add some reads.
commands=$(count_of as_a_whole read)
((commands >= 5)) || fail "only $commands commands"
expect $(($(done_by reads) + commands)) "$(histogram_of total_us read)" "reads in total_us"

# The first outage is waited out. In the second one the held requests fail.
"$RDMABLK" disconnect rdmablk1
bpf_start rdmablk-errors
start_verify
stop_target KILL
wait_state recovering
again 16M
expect_back 1
expect_progress
stop_verify
requeues=$(status requeues)
((requeues > 0)) || fail "no request was in flight in the outage"
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo 0
start_load
stop_target KILL
wait_state recovering
expect_load_failed
"$RDMABLK" disconnect rdmablk0
bpf_stop
expect "$requeues" "$(grep -c 'posted again:' /tmp/rdmablk-errors)" "requests posted again"
for words in 'live -> recovering reason' 'recovering -> live reason' \
		'recovering -> deleting reason' 'queue [01] tag [0-9]+ failed: error -67'; do
	grep -qE "rdmablk0 $words" /tmp/rdmablk-errors ||
		fail "no '$words': $(</tmp/rdmablk-errors)"
done
unload_module
