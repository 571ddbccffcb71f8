# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of many processors. The guest has more of them than the host; what these
# cases look at is how processors, hardware queues and queue pairs are numbered.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
require fio python3

# shellcheck disable=SC2034 # for the cases
DEFAULT_QUEUES=16 # RDMABLK_DEFAULT_QUEUES of the module

# start_many N: checks that the guest has N processors, and loads the module
start_many() {
	cpus=$(nproc)
	((cpus == $1)) || fail "the guest has $cpus processors, not $1"
	leak_snapshot
	load_module
}

# contexts_are N: the disk has N hardware queues, each serves at least one processor, and each
# processor has exactly one
contexts_are() {
	local dirs=(/sys/block/rdmablk0/mq/*) dir all=()

	expect "$1" "$(<$SESSION/queues)" "the number of queues that the target has granted"
	expect "$1" "${#dirs[@]}" "the number of hardware queues"
	for dir in "${dirs[@]}"; do
		[[ -n $(<"$dir/cpu_list") ]] || fail "no processor has hardware queue ${dir##*/}"
		read -ra list <<<"$(tr -d , <"$dir/cpu_list")"
		all+=("${list[@]}")
		for cpu in "${list[@]}"; do
			context[cpu]=${dir##*/}
		done
	done
	expect "$(seq 0 $((cpus - 1)))" "$(printf '%s\n' "${all[@]}" | sort -n)" \
		"the processors of all hardware queues"
}
declare -a context=()

# each_processor_has_its_queue: a write of each processor goes by the queue pair of its own
# hardware queue, and its data is at the target
each_processor_has_its_queue() {
	local cpu seen

	# Each processor's trace buffer has room for these events. trace_start would make large
	# ones.
	echo 64 >$TRACING/buffer_size_kb
	echo >$TRACING/trace
	echo 1 >$TRACING/events/rdmablk/rdmablk_queue/enable
	python3 "$CASES/block/each_processor.py" $DEV >/tmp/places
	echo 0 >$TRACING/events/rdmablk/rdmablk_queue/enable
	cat $TRACING/trace >/tmp/trace
	expect "$cpus" "$(wc -l </tmp/places)" "the number of processors that have written"
	for ((cpu = 0; cpu < cpus; cpu++)); do
		seen=$(grep -E "rdmablk_queue: .* op=write sector=$((cpu * 8)) " /tmp/trace)
		[[ $seen == *"queue=${context[cpu]} "*"hwq=${context[cpu]} "* ]] ||
			fail "processor $cpu has hardware queue ${context[cpu]}, and: $seen"
	done
	dd if=$DEV bs=4k count="$cpus" iflag=direct status=none |
		cmp - <(python3 -c "import sys
for cpu in range($cpus): sys.stdout.buffer.write(cpu.to_bytes(8, 'little') * 512)") ||
		fail "not each processor's write is at the target"
}

# all_write: each processor writes its part, reads it back, and flushes
all_write() {
	run_fio --name=all --filename=$DEV --direct=1 --thread --ioengine=io_uring \
		--iodepth=4 --numjobs="$cpus" --cpus_allowed="0-$((cpus - 1))" \
		--cpus_allowed_policy=split --size=64K --offset_increment=64K \
		--rw=randwrite --bs=4k --verify=crc32c --verify_fatal=1 --do_verify=1 \
		--end_fsync=1 --group_reporting
}

# fences: how many FENCEs the disk has sent
fences() {
	disk_values stats 0 fences
}

# flush_fences N: a FLUSH after a write of each processor fences all N queues; the queue
# that carries the FLUSH needs no command for that. A second FLUSH fences no queue
flush_fences() {
	local before

	python3 "$CASES/block/each_processor.py" $DEV >/dev/null
	before=$(fences)
	sync $DEV
	expect $(($1 - 1)) $(($(fences) - before)) "the number of FENCEs before a FLUSH"
	before=$(fences)
	sync $DEV
	expect 0 $(($(fences) - before)) "the number of FENCEs before a FLUSH of nothing"
}

# in_file FILE: after a flush the target's file has what the disk reads
in_file() {
	sync $DEV
	dd if=$DEV bs=1M iflag=direct status=none | cmp - "$1" ||
		fail "the file is not what the disk reads"
}

# many_queues N [OPTION...]: a disk in memory whose file is brought up to date by FLUSH
many_queues() {
	connect "${@:2}"
	contexts_are "$1"
	each_processor_has_its_queue
	all_write
	flush_fences "$1"
	in_file "$FILE"
	still_live
	disconnect
}

# staged_queues [OPTION...]: a disk of an uncached file with too few slots for a queue of each
# processor. It gets 14 queues, and no queue has less than 32 requests.
staged_queues() {
	local path

	path=$("$RDMABLK" connect "$@" "$TARGET_ADDR/disk1")
	expect $DEV "$path" "the disk"
	contexts_are 14
	(($(<$SESSION/queue_depth) >= 32)) ||
		fail "a depth of $(<$SESSION/queue_depth), and not 32 at least"
	all_write
	in_file "$FILE.1"
	still_live
	disconnect
}

# no_complaint: the kernel log has no warning of the module or of rxe
no_complaint() {
	dmesg --level=emerg,alert,crit,err,warn |
		grep -v 'logged in without a key' >/tmp/complaints || :
	run_expect 1 '' grep 'rdmablk0\|rxe' /tmp/complaints
}

FILE=/dev/shm/file

# serve_many MIB: starts the daemon with a cached and an uncached file
serve_many() {
	truncate -s "$1M" $FILE $FILE.1
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--export "disk0,file=$FILE,cache=full" --export "disk1,file=$FILE.1"
}

end_many() {
	no_complaint
	unload_module
	stop_target
	expect 0 "$TARGET_STATUS" "the status of the daemon"
	leak_check
}
