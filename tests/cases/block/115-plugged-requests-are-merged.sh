#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sixteen adjacent requests of 4 KiB that are submitted together become one work request, for
# reads and for writes. With merging off they stay sixteen. The data is the same.
#
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
require fio

# sixteen FILE WORDS [OPTION...]: 16 blocks in one system call; each block names its own
# position
sixteen() {
	run_fio --name=sixteen --filename="$1" --ioengine=io_uring --bs=4k --number_ios=16 \
		--size=64k --offset="$OFFSET" --iodepth=16 --iodepth_batch_submit=16 \
		--verify=crc32c --verify_fatal=1 --do_verify=0 "${@:2}"
}

# Prints the numbers of requests and of work requests since the disk was connected.
counted() {
	"$RDMABLK" status rdmablk0 --json |
		jq -r '.devices[0] | "\(.reads + .writes) \(.work_requests)"'
}

# become NUMBER OPTION...: the I/O becomes NUMBER requests and NUMBER work requests
become() {
	local requests work_requests now_requests now_work_requests

	read -r requests work_requests < <(counted)
	sixteen $DEV --direct=1 "${@:2}"
	read -r now_requests now_work_requests < <(counted)
	expect "$1" $((now_requests - requests)) "the number of requests of ${*:2}"
	expect "$1" $((now_work_requests - work_requests)) \
		"the number of work requests of ${*:2}"
}

# become_all NUMBER: the same for a write and a read, and the target's memory has the data
become_all() {
	become "$1" --rw=write
	sixteen $ARENA --rw=read
	become "$1" --rw=read
}

serve 16M
load_module connect="$TARGET_ADDR/disk0"
OFFSET=1M
expect 0 "$(<$QUEUE/nomerges)" "queue/nomerges"
become_all 1
OFFSET=2M
echo 2 >$QUEUE/nomerges
become_all 16
device_same_as_target
still_live
