#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Initiators that send garbage, truncated, altered, untimely or too many messages,
# join queues that they may not, reach outside of what was granted to them or say
# nothing at all: each is told why and loses its session. Meanwhile a disk of the
# same daemon is written and verified.
#
# kernels: 6.12
# timeout: 240

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

program target_probe

# probe WANTED [OPTION...] EXPORT MODE: the reason the daemon gives, 0 for success
probe() {
	local want=$1 args=("${@:2}") expectation=()

	((want == 0)) || expectation=(--expect "$want")
	run_expect 0 '' timeout 60 "$PROGRAM" "${expectation[@]}" \
		"${args[@]:0:${#args[@]}-2}" "$TARGET_ADDR" "${args[@]: -2}"
}

start_target --insecure --listen "$TARGET_ADDR" --login-timeout 3000 \
	--export "disk0,memory,size=16M,arena=$ARENA" \
	--export bait,memory,size=40M,region=16M \
	--export fixed,memory,size=8M,ro --export shared,memory,size=8M,shared
load_module
connect --keep-alive-tmo 20
fio_verify 8 --numjobs=1 --size=8M --io_size=8M --loops=1000 --time_based \
	--runtime=600 &
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
