#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 256 read-only hosts, one session each, want an uncached export, and flush it without pause. As
# many are admitted as the daemon's limits leave to readers; the others are refused with the
# reason and text of the limit. A writer is admitted beside them with as many queues as it gets
# when alone, its data is right, and no FLUSH of a reader waits for the writer's fdatasync. The
# daemon's memory and registered memory stay below its limits. When the readers have gone
# nothing is registered for them.
#
# mem: 2048
# timeout: 600

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
require fio

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
READERS=256 READ_ONLY=1 STAGED=3	# HELLO's flags; RDMABLK_F_COMMANDS and _STAGED
LIMIT_SESSIONS=33 LIMIT_MEMORY=35	# RDMABLK_R_LIMIT_*
FILE=/dev/shm/file RULES=/run/rules SYNC=/tmp/sync

# registered KIB: whether at most KIB are registered
registered() {
	(($(memory VmPin) <= $1))
}

# serve_readers WORDS [OPTION...]
serve_readers() {
	: >$RULES
	truncate -s 16M $FILE
	start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
		--keep-alive-max 600000 --export "disk0,file=$FILE,fault=$RULES$1" "${@:2}"
	# Memory that the first session leaves in the daemon does not count.
	connect --queues 2
	queues=$(<$SESSION/queues)
	disconnect
	rss=$(memory VmRSS) pinned=$(memory VmPin)
	leak_snapshot
}

# rounds: prints how often each reader has flushed
rounds() {
	grep -c '^round' /tmp/crowd || :
}

more_rounds() {
	(($(rounds) >= $1))
}

# readers_flush: each reader gets answers to two more FLUSHes
readers_flush() {
	wait_until "$PATIENCE" more_rounds $(($(rounds) + 2)) ||
		fail "the readers' FLUSHes get no answers: $(tail -n 3 /tmp/crowd)"
}

# crowd LIVE REASON KIB EACH: of READERS hosts LIVE are admitted, the others are refused with
# REASON. The daemon has at most KIB KiB of slots and receives for them, and EACH KiB of other
# memory for each. The kernel counts each page of slots and receives twice, for the RDMA device
# and for the rings. The messages of a session take up to four pages more.
crowd() {
	program target_probe
	"$PROGRAM" --arg $READERS --queues 1 --flags $READ_ONLY --features $STAGED \
		--keep-alive 600000 "$TARGET_ADDR" disk0 crowd >/tmp/crowd 2>&1 &
	crowd_pid=$!
	cleanup_add kill -KILL $crowd_pid
	wait_until 300 grep -q '^crowd' /tmp/crowd || fail "no crowd: $(tail /tmp/crowd)"
	expect "crowd: $1 live, $((READERS - $1)) refused with $2" \
		"$(grep '^crowd' /tmp/crowd)" "the crowd"
	expect "$1" "$(sessions)" "the number of sessions"
	registered $((pinned + 2 * $3 + $1 * 16)) || fail "$(memory VmPin) KiB are registered, before $pinned"
	(($(memory VmRSS) <= rss + $3 + $1 * $4)) ||
		fail "the daemon has $(memory VmRSS) KiB, before $rss"
	echo "$1 readers: $(($(memory VmPin) - pinned)) KiB registered," \
		"$(($(memory VmRSS) - rss)) KiB of memory"
	readers_flush
}

sync_is_over() {
	[[ -s $SYNC ]]
}

# writer_works TEXT: one more reader is refused with TEXT, and a writer gets as many queues as
# it gets when alone
writer_works() {
	refused "$1" "$TARGET_ADDR/disk0" --read-only --queues 1
	connect --queues 2
	expect "$queues" "$(<$SESSION/queues)" "the number of queues of the writer"
	fio_verify 8 --fsync=64
	# A hanging fdatasync of the writer does not hold up readers.
	echo 'sync hang' >$RULES
	dd if=/dev/urandom of=$DEV bs=4k count=1 oflag=direct status=none
	rm -f $SYNC
	(sync $DEV && echo over >$SYNC) &
	readers_flush
	[[ ! -s $SYNC ]] || fail "a FLUSH does not wait for the fdatasync"
	: >$RULES
	wait_until "$PATIENCE" sync_is_over || fail "the writer's FLUSH does not end"
	sync $DEV
	dd if=$DEV bs=1M iflag=direct status=none | cmp - $FILE || fail "the file differs"
	readers_flush
	still_live
	disconnect
}

# nobody: the readers end, and everything that they had is freed
nobody() {
	kill -KILL $crowd_pid || fail "the crowd is gone: $(tail /tmp/crowd)"
	wait_until "$PATIENCE" registered "$pinned" ||
		fail "$(memory VmPin) KiB are registered, and not $pinned"
	leak_check
	expect 0 "$(sessions)" "the number of sessions"
	connect
	disconnect
	stop_target
	expect 0 "$TARGET_STATUS" "the status of the daemon"
}

load_module

# 16 slots of 16 KiB for each session, with 8 KiB to receive: three quarters of the sessions
serve_readers ,slot-bytes=16K,slot-memory=256K --max-sessions 256
crowd 192 $LIMIT_SESSIONS $((192 * 16 * 24)) 320
writer_works 'too many sessions'
nobody

# 131 slots of 128 KiB: 11 sessions in three quarters of the memory
serve_readers '' --max-pinned-total 256M
crowd 11 $LIMIT_MEMORY $((192 << 10)) 640
writer_works 'too much registered memory'
nobody
unload_module
