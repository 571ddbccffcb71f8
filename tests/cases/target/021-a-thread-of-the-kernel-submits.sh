#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With io-poll a thread of the kernel submits for all I/O threads of an export, one for
# each export, and none of one in memory. What is written is in the file, what is read is what
# the file has, while that thread spins and after it has gone to sleep; it takes no processor
# then, and ends with the daemon. Without io-poll there is none.
#
# smp: 2

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

POLL_MS=4
FILE=/tmp/second MEMORY=memory,memory,size=1M

# pollers: their names
pollers() {
	grep -h '^iou-sqp-' /proc/"$TARGET_PID"/task/*/comm || :
}

# busy: ticks of the processors that they have had
busy() {
	local task n=0 stat

	for task in /proc/"$TARGET_PID"/task/*; do
		grep -q '^iou-sqp-' "$task/comm" || continue
		read -ra stat <"$task/stat"
		n=$((n + stat[13] + stat[14]))
	done
	echo $n
}

# asleep: two looks, one tick apart and more, find no difference
asleep() {
	local before

	before=$(busy)
	pause 0.1
	[[ $(busy) == "$before" ]]
}

# in_and_out FIRST: 64 blocks, one at a time and together, from block FIRST
in_and_out() {
	dd if=/tmp/pattern of=$DEV bs=4k count=64 seek="$1" oflag=direct status=none
	dd if=$DEV bs=64k iflag=direct,skip_bytes count=4 skip=$(($1 * 4096)) status=none |
		cmp - /tmp/pattern || fail "what is read from block $1 on"
	dd if=/tmp/pattern of=$DEV bs=64k count=4 seek=$(($1 * 4096)) \
		oflag=direct,dsync,seek_bytes status=none
	cmp -n 262144 -i 0:$(($1 * 4096)) /tmp/pattern $DISK/disk0 ||
		fail "$DISK/disk0 lacks what was written from block $1 on"
}

load_module
ram_disk 32
file_system
truncate -s 16M $DISK/disk0
truncate -s 1M $FILE
random_file 256K /tmp/pattern

serve_file $DISK/disk0 --io-threads 3 --io-poll $POLL_MS --export second,file=$FILE \
	--export "$MEMORY"
expect 2 "$(pollers | wc -l)" "the number of threads that submit for two files"
connect
in_and_out 0
wait_until "$PATIENCE" asleep || fail "they never sleep: $(pollers)"
in_and_out 1000
still_live
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

serve_file $DISK/disk0 --io-threads 3
expect 0 "$(pollers | wc -l)" "the number of threads that submit, without io-poll"
connect
dd if=$DEV bs=64k iflag=direct,skip_bytes count=4 skip=$((1000 * 4096)) status=none |
	cmp - /tmp/pattern || fail "what a daemon without such threads reads"
disconnect
stop_target
unload_module
