# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Finds allocations of the kernel that have code of the module on their stack. Source it after
# guest.sh. Every kernel of a distribution can do that. Only the kernel 'debug' can show what
# happens to I/O when such an allocation fails.

ALLOCATION_EVENTS=(/sys/kernel/tracing/events/kmem/{kmalloc,kmem_cache_alloc,mm_page_alloc})

# module_allocations CMD...: runs the command, and prints the stacks of allocations that have
# code of the module in them: on all processors while the command runs, deferred work included
module_allocations() {
	local event status=0

	for event in "${ALLOCATION_EVENTS[@]}"; do
		echo 'hist:keys=stacktrace:size=16384' >"$event/trigger"
	done
	"$@" >/tmp/allocations.out 2>&1 || status=$?
	for event in "${ALLOCATION_EVENTS[@]}"; do
		cat "$event/hist"
		echo '!hist:keys=stacktrace' >"$event/trigger"
	done >/tmp/allocations
	((status == 0)) || {
		cat /tmp/allocations.out >&2
		fail "$* fails with status $status"
	}
	expect ${#ALLOCATION_EVENTS[@]} "$(grep -cE 'Dropped: 0$' /tmp/allocations)" \
		"the number of complete histograms"
	awk -v RS='} hitcount:' '/\[rdmablk\]/' /tmp/allocations
}

# has_histograms: whether the kernel can count allocations by stack. The kernel 'debug' cannot:
# it only runs the commands here, and proves the same in debug/107 and debug/108.
has_histograms() {
	[[ -e ${ALLOCATION_EVENTS[0]}/hist || $(uname -r) != *-rdmablk-debug ]]
}

# needs_no_memory CMD...: fails if the module allocates memory while the command runs
needs_no_memory() {
	local stacks

	has_histograms || {
		"$@" >/dev/null || fail "$* fails with status $?"
		return 0
	}
	stacks=$(module_allocations "$@")
	[[ ! $stacks ]] || {
		echo "$stacks" >&2
		fail "the module has allocated memory during: $*"
	}
}

# needs_memory CMD...: fails if no allocation of the module is seen; then needs_no_memory would
# prove nothing
needs_memory() {
	local stacks

	has_histograms || {
		"$@" >/dev/null || fail "$* fails with status $?"
		return 0
	}
	stacks=$(module_allocations "$@")
	[[ $stacks ]] || fail "no allocation of the module is seen during: $*"
}

# other_kinds: does FUA writes, FLUSHes, DISCARDs, WRITE ZEROES, and writes whose data is too
# large for a command; on a disk of at least 16 MiB
other_kinds() {
	dd if=/dev/zero of="$DEV" bs=4k count=16 seek=2048 oflag=direct,dsync status=none &&
		dd if=/dev/zero of="$DEV" bs=512k count=2 seek=18 oflag=direct \
			conv=fsync status=none &&
		dd if="$DEV" of=/dev/null bs=512k count=2 skip=18 iflag=direct status=none &&
		blkdiscard -o 12M -l 1M -p 128k "$DEV" &&
		blkdiscard -z -o 14M -l 1M -p 128k "$DEV"
}
