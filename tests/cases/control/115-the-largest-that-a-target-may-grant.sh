#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target grants the largest values that the protocol allows: sizes, regions, granules,
# trailers, slots, numbers of commands, timeouts. It grants them once to a disk with default
# options, and once to a disk that asks for as much as it can. Either the disk is there and can
# be read, or the connect fails with a text that says why. The memory that the initiator uses
# for the disk stays below a bound. It is free again after the disconnect, which waits for none
# of the target's timeouts.
#
# smp: 16
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

MODES=(largest largest-cache largest-granules largest-staged)
ALL=(--queues 16 --queue-depth 1024)
KEEP=$((8 << 10))	# of what this host has available, KiB: not back, and no leak

available() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}

# is_back KIB
is_back() {
	(($(available) >= $1 - KEEP))
}

at() {
	local i

	for ((i = 0; i < ${#MODES[@]}; i++)); do
		[[ ${MODES[i]} != "$1" ]] || echo "$TARGET_ADDR:$((BAD_PORT + i))/disk0"
	done
}

# grants MIB MODE [OPTION...]: the disk costs this host so much memory at most
grants() {
	local before used start

	before=$(available)
	expect $DEV "$("$RDMABLK" connect "${@:3}" "$(at "$2")")" "the disk"
	used=$((before - $(available)))
	echo "$2 ${*:3}: $((used >> 10)) MiB, $(<$SESSION/queues) queues of depth" \
		"$(<$SESSION/queue_depth), $(blockdev --getsize64 $DEV) bytes"
	((used <= $1 << 10)) || fail "$2 ${*:3} costs $used KiB, more than $1 MiB"
	dd if=$DEV bs=4k count=2 iflag=direct status=none | cmp -n 8192 - /dev/zero ||
		fail "$2: the contents"
	still_live
	start=$SECONDS
	disconnect
	((SECONDS - start < PATIENCE)) || fail "$2: $((SECONDS - start)) s to disconnect"
	wait_until "$PATIENCE" is_back "$before" ||
		fail "$2 ${*:3}: $((before - $(available))) KiB are not back"
}

# refuses TEXT MODE
refuses() {
	local before

	before=$(available)
	run_expect failed "$1" "$RDMABLK" connect "$(at "$2")"
	[[ ! -e $DEV ]] || fail "$2: a disk is left behind"
	wait_until "$PATIENCE" is_back "$before" ||
		fail "$2: $((before - $(available))) KiB are not back"
}

leak_snapshot
start_bad_target "${MODES[@]}"
load_module
# What the kernel keeps after the first disk is no matter of the others'.
"$RDMABLK" connect "$(at largest)" >/dev/null
disconnect
# So much for queue pairs, completion queues and requests; with granules 64 MiB for what is
# dirty and what is being flushed; staged 64 MiB at most for answers.
refuses "the export is too large for the target's granule" largest-cache
grants 48 largest
grants 112 largest-granules
grants 80 largest-staged
grants 144 largest "${ALL[@]}"
grants 208 largest-granules "${ALL[@]}"
grants 216 largest-staged "${ALL[@]}"
unload_module
stop_bad_target
leak_check
