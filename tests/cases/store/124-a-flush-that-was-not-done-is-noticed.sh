#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
# in-turn: yes
#
# A daemon that answers a flush without doing it, or forgets dirty ranges, loses promised data
# when it is killed. The check of the fsyncs notices that. The same daemon without such a fault
# passes.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"

BYTES=8388608
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd

# kept OPTION...: whether the data of all fsyncs survives a kill of the daemon
kept() {
	local status=0

	rm -f /dev/shm/disk0
	truncate -s $BYTES /dev/shm/disk0
	serve_file /dev/shm/disk0,cache=full "$@"
	durable_write $BYTES 20
	stop_target KILL
	cp /dev/shm/log /dev/shm/promise
	python3 "$DURABLE" check /dev/shm/disk0 $BYTES /dev/shm/promise >/tmp/verdict ||
		status=$?
	"$RDMABLK" disconnect --force rdmablk0
	wait "$WRITER" || :
	return $status
}

load_module
kept || fail "without a fault: $(tail -n 3 /tmp/verdict)"
for fault in lost-flush lost-dirty; do
	if kept --fault $fault; then
		fail "nobody has noticed $fault: $(tail -n 3 /tmp/verdict)"
	fi
	grep -q 'at least' /tmp/verdict || fail "$fault: $(tail -n 3 /tmp/verdict)"
done
unload_module
