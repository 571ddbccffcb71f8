#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Initiators send garbage, truncated, altered, untimely or too many messages, join queues that
# they may not join, access memory outside of their grant, or send nothing. Each is told why and
# loses its session. Meanwhile a disk of the same daemon is written and verified. An initiator
# without the right to write changes nothing: not in a read-only session, on neither kind of
# queue, and not with the address and key of another session, live or ended.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

# bait_is_intact: it begins with the byte that the scenario "io" wrote, and not with an
# attacker's
bait_is_intact() {
	expect 01 "$(od -An -tx1 -N1 /dev/shm/bait | tr -d ' ')" "what bait begins with"
}

start_target --insecure --listen "$TARGET_ADDR" --login-timeout 3000 \
	--export "disk0,memory,size=16M,arena=$ARENA" \
	--export bait,memory,size=40M,region=16M,arena=/dev/shm/bait \
	--export fixed,memory,size=8M,ro --export shared,memory,size=8M,shared
load_module
connect --keep-alive-tmo 20
fio_verify 8 --numjobs=1 --size=8M --io_size=8M --loops=1000 --time_based \
	--runtime=600 --iodepth=2 --thinktime=10000 &
load=$!
cleanup_add kill "$load"
wait_until 60 completed_more 0 200 || fail "no load"

probe 0 bait io
probe 16 nope io
probe 17 fixed io
probe 0 --flags 1 fixed io
probe 71 bait silent
probe 68 --keep-alive 500 bait mute
probe 0 bait crash
for n in 1 16; do
	probe 3 --arg $n bait garbage
done
probe 0 bait oversize
for n in 16 20 24 100 263; do
	probe 3 --arg $n bait truncated
done
for n in 0 2 6 8 12 17; do
	probe 3 --arg $n bait flipped
done
for n in 2 4 5 6 7 8 9 10 11; do
	probe 4 --arg $n bait state
done
probe 4 bait hello-twice
probe 49 bait bad-proof
probe 54 bait ready-early
probe 51 bait join-mac
probe 50 bait join-generation
probe 3 bait join-kind
probe 34 bait join-range
probe 52 bait join-twice
probe 50 bait join-unknown
probe 70 bait outside
probe 70 bait wrong-key
probe 70 fixed write-read-only
bait_is_intact
for queue in 0 1; do
	probe 70 --arg $queue bait write-read-only
done
hold victim --host 2 "$TARGET_ADDR" bait
region=$(sed -n 's/^live, region //p' /tmp/hold.victim)
probe 70 --region "$region" shared foreign
! holder_is_gone victim || fail "the session whose key was tried has ended"
holder_kill victim
expect_log 'host probe2 .* export bait: fenced'
probe 70 --region "$region" shared foreign
bait_is_intact
probe 4 bait data-send
probe 4 bait flood
probe 1 --arg 0 bait cm
probe 2 --arg 1 bait cm
probe 0 bait io

kill -0 "$load" || fail "the load has ended"
kill "$load"
expect live "$(attribute state)" "the state of the undisturbed disk"
expect 0 "$(status errors)" "its failed requests"
target_lives || fail "the daemon is gone"
