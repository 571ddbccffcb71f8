# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of the kernel 'debug': an allocation with code of the module on its stack can be
# made to fail. What rdma_cm and the block layer allocate for the module counts as its own.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/lib/allocations.sh
source "$RDMABLK_TOP/tests/lib/allocations.sh"

FAULTS=(failslab fail_page_alloc)
FAULTS_MANY=1000000000

# fault_write KIND NAME VALUE [NAME VALUE]...
fault_write() {
	local kind=$1

	shift
	while (($#)); do
		echo "$2" >"/sys/kernel/debug/$kind/$1"
		shift 2
	done
}

# module_text: prints the first address of the module's code, and the address behind its last
# page
module_text() {
	awk '$4 == "[rdmablk]" && $2 ~ /[tT]/ { print $1 }' /proc/kallsyms | sort |
		sed -n '1p; $p' | { read -r first; read -r last
			printf '0x%s 0x%x\n' "$first" $(((0x$last | 0xfff) + 1)); }
}

# no_memory: makes each allocation of the module fail, until memory_again
no_memory() {
	local kind start end

	read -r start end < <(module_text)
	[[ $end ]] || fail "where is the module?"
	for kind in "${FAULTS[@]}"; do
		fault_write "$kind" probability 0 task-filter N \
			stacktrace-depth 32 require-start "$start" \
			require-end "$end" ignore-gfp-wait N space 0 \
			interval 1 verbose 1 times $FAULTS_MANY
	done
	fault_write fail_page_alloc min-order 0 ignore-gfp-highmem N
	for kind in "${FAULTS[@]}"; do
		fault_write "$kind" probability 100
	done
}

memory_again() {
	local kind

	for kind in "${FAULTS[@]}"; do
		fault_write "$kind" probability 0
	done
}

# refused: prints how many allocations have failed since no_memory
refused() {
	local kind sum=0

	for kind in "${FAULTS[@]}"; do
		((sum += FAULTS_MANY - $(</sys/kernel/debug/"$kind"/times))) || :
	done
	echo "$sum"
}

# requests: prints how many requests the block layer has completed; unlike 'status' it allocates
# no memory in the module
requests() {
	awk '{ print $1 + $5 }' /sys/block/rdmablk0/stat
}

requests_more() {
	(($(requests) >= $1))
}

# --- I/O without memory ---------------------------------------------------------------

# quiet_round KEEPALIVES REQUESTS [CMD...]: a round without memory. It runs CMD, and REQUESTS
# reads and writes of the load must end. True when the module asked for no memory in this round,
# and such rounds together have sent KEEPALIVES keep-alives. The kernel's checkers sometimes
# allocate for their pools while the module calls them, which counts as the module's. Some
# rounds have no such allocations. What a request or a keep-alive needs would be missing in each
# round.
quiet_round() {
	local before sent

	sent=$(status keepalives)
	no_memory
	before=$(requests)
	(($# == 2)) || "${@:3}" || fail "$3 fails without memory"
	wait_until "$PATIENCE" requests_more $((before + $2)) ||
		fail "I/O has stopped"
	asked=$(refused)
	memory_again
	((asked == 0)) || return 1
	((keepalives += $(status keepalives) - sent, keepalives >= $1))
}

# quiet_rounds KEEPALIVES REQUESTS [CMD...]: repeats quiet_round until it is true
quiet_rounds() {
	keepalives=0
	wait_until "$PATIENCE" quiet_round "$@" ||
		fail "$keepalives keep-alives in rounds without allocations; $asked in the last round"
}

# outlasts_no_memory N CMD...: without memory the daemon is killed, and CMD starts it again:
# each try to reconnect fails, but no request does. When memory is back, the disk comes back for
# the Nth time
outlasts_no_memory() {
	no_memory
	stop_target KILL
	"${@:2}"
	wait_until "$PATIENCE" tried 4 || fail "only $(attribute attempts) tries"
	expect recovering "$(attribute state)" "the state"
	(($(refused) >= 3)) || fail "only $(refused) allocations have failed"
	expect 0 "$(attribute io_failing)" "whether I/O fails"
	memory_again
	expect_back "$1"
	expect_progress
}

# --- exports that are files --------------------------------------------------------------

FILE=$DISK/file

# file_export full|none: starts the daemon with a file of 16 MiB as disk0
file_export() {
	local words=cache=$1

	[[ $1 == none ]] || words+=,arena=$ARENA
	if [[ ! -e $FILE ]]; then
		ram_disk 64
		file_system
		truncate -s 16M $FILE
	fi
	: >"$TARGET_LOG"
	serve_file "$FILE,$words"
}

# polled_kinds: does the I/O of other_kinds, and FUA writes that poll
polled_kinds() {
	other_kinds && fio --output=/tmp/fio.out --name=fua --filename=$DEV --direct=1 \
		--thread --ioengine=io_uring --hipri=1 --sync=dsync --rw=randwrite \
		--bs=4k --iodepth=4 --offset=10M --size=1M --number_ios=64
}

# kinds_need_no_memory CMD: the I/O of CMD needs no memory, and reached the target. On a disk
# with FUA, FUA writes do not count as FLUSHes, so the counted FLUSHes are real ones.
kinds_need_no_memory() {
	local flushes discards

	expect 1 "$(<$QUEUE/fua)" "whether the disk has FUA"
	expect true "$(status write_cache)" "write_cache"
	flushes=$(status flushes) discards=$(status discards)
	quiet_rounds 0 200 "$1"
	(($(status flushes) > flushes)) || fail "no FLUSH was sent"
	(($(status discards) >= discards + 16)) || fail "no DISCARD was sent"
	expect 0 "$(status errors)" "the number of failed requests"
}

# file_is_right: the target's file has what the disk reads
file_is_right() {
	sync $DEV
	dd if=$DEV iflag=direct bs=1M status=none >/tmp/contents
	same_as_file "$FILE" /tmp/contents
}

# io_of_a_file_needs_no_memory full|none: the common part of debug/107 and debug/108
io_of_a_file_needs_no_memory() {
	load_module
	leak_snapshot
	file_export "$1"
	connect --keep-alive-tmo 20 --dev-loss-tmo off
	start_verify --fsync=16
	kinds_need_no_memory other_kinds
	stop_verify
	file_is_right
	disconnect

	# The verifying load polls. The I/O of polled_kinds other than FUA uses interrupts.
	connect --queues 1 --poll-queues 1 --keep-alive-tmo 20 --dev-loss-tmo off
	expect 1 "$(attribute poll_queues)" "the number of polled queues"
	start_verify --ioengine=io_uring --hipri=1
	kinds_need_no_memory polled_kinds
	outlasts_no_memory 1 file_export "$1"
	stop_verify
	file_is_right
	disconnect
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	leak_check
	unload_module
}

# --- one allocation after the other -------------------------------------------------------

# Few tags and little load keep the time down, which the number of tries decides.
# shellcheck disable=SC2034 # for the cases
DEPTH=4 SLOWLY=(--iodepth=2 --rate_iops=100)

# sweep_begin [OPTION...]: counts objects after a first connect, because the daemon keeps a
# device open from then on
sweep_begin() {
	connect "$@"
	disconnect
	leak_snapshot
}

# inject WHAT ADDRESS|MODULE [OPTION...]
inject() {
	python3 "$CASES/debug/inject.py" "$@" || fail "inject.py $*"
}

# sweep_end: disconnects the disk; nothing must be left behind
sweep_end() {
	disconnect
	leak_check
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
	unload_module
}
