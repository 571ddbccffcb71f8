#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Requests of polling tasks have hardware queues of their own, without interrupts. Reads find
# the written data, and so does the target. No request fails when the connection is lost while a
# task polls. If the polling task is stopped, the block layer's timer may fire although the
# answers have arrived; that ends no connection. Polled writes are durable after a flush, and
# with FUA at once. A disk with only one granted queue uses interrupts. The work item that polls
# for other completions may sleep, so it runs on a workqueue of its own.
#
# kernels: 6.1 6.12 newest

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

nothing_inflight() {
	(($(inflight) == 0))
}

# polled_fio N [OPTION...]: runs one polling job on /dev/rdmablkN
polled_fio() {
	run_fio --name=polled --filename="/dev/rdmablk$1" --direct=1 \
		--ioengine=io_uring --hipri=1 --size=2M --bs=4k --rw=randwrite \
		--iodepth=8 "${@:2}"
}

FILE=/dev/shm/file
load_module
truncate -s 4M $FILE $FILE.2
STORES=(--export "disk1,file=$FILE,cache=full" --export "disk2,file=$FILE.2,cache=none")
serve 16M "${STORES[@]}"
connect --queues 1 --poll-queues 1 --keep-alive-tmo 2
expect 2 "$(attribute queues)" "the number of queues"
expect 1 "$(attribute poll_queues)" "the number of polled queues"
expect 1 "$(<$QUEUE/io_poll)" "io_poll"
trace_start
start_verify --ioengine=io_uring --hipri=1
trace_stop
grep -q 'rdmablk_queue: .* queue=1 ' /tmp/trace || fail "nothing has gone by the polled queue"
! grep -q 'rdmablk_queue: .* queue=0 .*op=write' /tmp/trace ||
	fail "a polled write has gone by the other queue"

echo 500 >$QUEUE/io_timeout
verify_stop_in_flight
wait_until "$PATIENCE" nothing_inflight || fail "the timer ends nothing"
kill -CONT "$VERIFY"
expect_progress
expect 0 "$(attribute reconnects)" "the number of reconnects"
echo 30000 >$QUEUE/io_timeout

stop_target KILL
wait_state recovering
again 16M "${STORES[@]}"
expect_back 1
expect_progress
for i in 2 3; do
	"$RDMABLK" reconnect rdmablk0
	expect_back "$i"
	expect_progress
done
(($(attribute held) > 0)) || fail "no request was ever in flight when it mattered"
stop_verify
device_same_as_target

"$RDMABLK" connect --queues 1 --poll-queues 1 "$TARGET_ADDR/disk1"
echo 1 >$TRACING/events/workqueue/workqueue_queue_work/enable
polled_fio 1 --verify=crc32c --verify_fatal=1
sync /dev/rdmablk1
echo 0 >$TRACING/events/workqueue/workqueue_queue_work/enable
grep 'function=rdmablk_poll_work' $TRACING/trace >/tmp/works || fail "nobody watches"
! grep -v 'workqueue=rdmablk_poll ' /tmp/works || fail "it sleeps where others wait"
cmp /dev/rdmablk1 $FILE || fail "the file is not what was flushed"
polled_fio 1 --sync=dsync --iodepth=4 --number_ios=64
cmp /dev/rdmablk1 $FILE || fail "the file is not what was written durably"
"$RDMABLK" connect --queues 1 --poll-queues 1 "$TARGET_ADDR/disk2"
polled_fio 2 --bssplit=512/40:4k/40:64k/20 --verify=crc32c --verify_fatal=1
cmp /dev/rdmablk2 $FILE.2 || fail "the file is not what was written"
"$RDMABLK" disconnect --all
stop_target

again 16M --max-queues-per-host 1
connect --queues 1 --poll-queues 1
expect 0 "$(attribute poll_queues)" "the number of polled queues"
polled_fio 0 --verify=crc32c --verify_fatal=1
disconnect
stop_target
unload_module
