#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A device refuses to destroy a queue pair with EIO, although it is there. (libibverbs can be
# told to take EIO for a device that has gone.) The session is not fenced, and no other host
# gets its export, until the queue pair is destroyed. The log says what the session's end waits
# for.
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

REFUSE=/tmp/refuse FENCING=20
program refuse.so
SHIM=$PROGRAM

# The kernel shows the thread that has made a queue pair, which is a worker.
queue_pairs() {
	local tasks

	tasks=$(cd "/proc/$TARGET_PID/task" && echo * | tr ' ' '|')
	rdma resource show qp | grep -cE "pid ($tasks) " || :
}

# logs_in STATUS [OPTION...]: another host logs in
logs_in() {
	program target_probe
	run_expect "$1" '' timeout "$PATIENCE" "$PROGRAM" --host 2 "${@:2}" "$TARGET_ADDR" disk0 io
}

export RDMABLK_REFUSE=$REFUSE
LD_PRELOAD=$SHIM serve 16M
grep -q refuse.so "/proc/$TARGET_PID/maps" || fail "the daemon runs without the shim"
hold first --host 1 "$TARGET_ADDR" disk0
touch $REFUSE
holder_kill first
expect_log 'host probe1 .* cannot be fenced: Input/output error; the export stays taken'
! log_has 'host probe1 .* fenced: its queues and keys are gone' ||
	fail "fenced, and the queue pairs are there"
(($(queue_pairs) > 0)) || fail "the queue pairs are gone: this test proves nothing"
logs_in 0 --expect $FENCING
expect_log 'host probe1 .* has been ending for [0-9]+ s, waits for its next try to destroy queue pairs and memory keys; the export stays taken'

rm $REFUSE
expect_log 'host probe1 .* fenced: its queues and keys are gone'
logs_in 0
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
