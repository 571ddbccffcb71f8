#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An initiator loses power between writes and flushes. All acknowledged data, and so the data of
# each fsync that has returned, gets into the target's file without the initiator. The machine
# reads it when it is back. The writers' log survives the power failure on the host. A daemon
# that ignores the unflushed data of an ended session is noticed.
#
# net: two
# timeout: 900

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4

BOOT=300	# seconds, more than the other machine takes to start
BYTES=16777216
DURABLE_LOG=/run/vm/log
RUNS=('full' 'none' 'full --fault lost-end')

# kept FILE: whether FILE has the promised data
kept() {
	cp "$1" /dev/shm/after
	python3 "$DURABLE" check /dev/shm/after $BYTES $DURABLE_LOG acknowledged >/tmp/verdict
}

# ended CACHE: the daemon ends the session of the dead machine, and brings a cached file up to
# date
ended() {
	expect_log "export disk0: closing: ($LOST)"
	expect_log 'export disk0: fenced'
	if [[ $1 == full ]]; then
		expect_log "disk0 is up to date, [0-9]+ bytes were not"
	fi
}

# good CACHE: the file has the promised data, and so has the next session of the initiator
good() {
	ended "$1"
	kept $DISK/disk0 || fail "cache=$1: lost: $(tail -n 3 /tmp/verdict)"
	cat /tmp/verdict
	host_do start initiator
	peer_set "judged.$run"
	peer_wait "seen.$run" $BOOT >/dev/null
}

# bad CACHE: with the fault the file lacks promised data
bad() {
	ended none
	if kept $DISK/disk0; then
		fail "cache=$1: nobody has noticed the fault"
	fi
	grep -q 'at least' /tmp/verdict || fail "cache=$1: $(tail -n 3 /tmp/verdict)"
}

target() {
	local cache options run

	ram_disk 64
	file_system
	for run in "${!RUNS[@]}"; do
		read -ra options <<<"${RUNS[run]}"
		cache=${options[0]}
		((${#options[@]} == 1)) || RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
		rm -f $DISK/disk0
		truncate -s $BYTES $DISK/disk0
		serve_file "$DISK/disk0,cache=$cache" "${options[@]:1}"
		peer_set "served.$run"
		peer_wait "writing.$run" $BOOT >/dev/null
		host_do kill initiator
		if ((${#options[@]} == 1)); then
			good "$cache"
		else
			bad "$cache"
		fi
		stop_target
	done
	peer_set over
	host_do start initiator
}

# write_on RUN: writes until the power is lost; with a fault, without any flush
write_on() {
	peer_wait "served.$1" $BOOT >/dev/null
	if [[ ${RUNS[$1]} == *fault* ]]; then
		durable_write $BYTES 0 4 1000000
		wait_until "$PATIENCE" durable_writes 200 || fail "no writes"
	else
		durable_write $BYTES 40
	fi
	peer_set "writing.$1"
	pause 600
}

# look RUN: after the boot a new session reads the promised data
look() {
	peer_wait "judged.$1" $BOOT >/dev/null
	connect
	dd if=$DEV of=/dev/shm/seen bs=1M iflag=direct status=none
	kept /dev/shm/seen || fail "the machine does not see: $(tail -n 3 /tmp/verdict)"
	disconnect
	peer_set "seen.$1"
}

if [[ $ROLE == target ]]; then
	target
	exit 0
fi
load_module
for ((run = 0; run < ${#RUNS[@]}; run++)); do
	if [[ ! -e /run/vm/writing.$run ]]; then
		write_on $run
	elif [[ ! -e /run/vm/seen.$run && ${RUNS[run]} != *fault* ]]; then
		look $run
	fi
done
peer_wait over $BOOT >/dev/null
unload_module
