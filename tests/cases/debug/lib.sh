# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of the kernel 'debug': whatever asks for memory with code of the
# module on its stack can be refused it. What rdma_cm and the block layer
# allocate for the module counts as its own.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

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

# module_text: first address of the module's code, and the one behind its last page
module_text() {
	awk '$4 == "[rdmablk]" && $2 ~ /[tT]/ { print $1 }' /proc/kallsyms | sort |
		sed -n '1p; $p' | { read -r first; read -r last
			printf '0x%s 0x%x\n' "$first" $(((0x$last | 0xfff) + 1)); }
}

# no_memory: each allocation of the module fails, until memory_again
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

# refused: how many allocations have failed since no_memory
refused() {
	local kind sum=0

	for kind in "${FAULTS[@]}"; do
		((sum += FAULTS_MANY - $(</sys/kernel/debug/"$kind"/times))) || :
	done
	echo "$sum"
}

# requests: that the block layer has seen end; asking costs no memory, unlike 'status'
requests() {
	awk '{ print $1 + $5 }' /sys/block/rdmablk0/stat
}

requests_more() {
	(($(requests) >= $1))
}

# inject WHAT ADDRESS|MODULE
inject() {
	python3 "$CASES/debug/inject.py" "$@" || fail "inject.py $*"
}
