#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Commands on write queues, by initiators in userspace. WRITE_ZEROES and DISCARD of a memory
# store change their range, and nothing else. An impossible command is answered and changes
# nothing. Each of many commands is answered. A command that breaks a rule ends its session, and
# so does one that belongs to a feature that was not agreed on. A daemon that answers before the
# command is done (--fault early-zeroes) is noticed. io_uring is forbidden meanwhile, on kernels
# with that sysctl.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
PROBE_OPTIONS=(--features 1)
uring=/proc/sys/kernel/io_uring_disabled

if [[ -e $uring ]]; then
	echo 2 >"$uring"
fi
start_target --insecure --listen "$TARGET_ADDR" \
	--export bait,memory,size=40M,region=16M,arena=/dev/shm/bait \
	--export fixed,memory,size=8M,ro
probe 0 bait commands
probe 0 bait many
probe 0 bait commands-read-only
probe 0 --flags 1 fixed commands-read-only
# An initiator with the feature of commands need not send any. Both sides must offer a feature.
probe 0 bait io
probe 0 --features 7 bait io
for n in {0..5} 7 8; do
	probe 3 --arg "$n" bait bad-command
done
# The adapter refuses a message that is longer than its receive, and an access without a key.
probe 70 --arg 6 bait bad-command
probe 4 bait early-command
probe 4 --features 0 --arg 0 bait unasked
probe 3 --features 0 --arg 1 bait unasked
probe 4 --features 0 bait data-send
probe 0 bait commands
stop_target TERM
expect 0 "$TARGET_STATUS" "how the daemon ends"

# A slow store thread changes no answer, except with the fault, which does not wait for it.
RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
PROBE_OPTIONS+=(--keep-alive 20000)
for fault in '' early-zeroes; do
	start_target --insecure --listen "$TARGET_ADDR" --export bait,memory,size=40M \
		--fault slow-store=1000 ${fault:+--fault "$fault"}
	if [[ ! $fault ]]; then
		probe 0 bait commands
	else
		run_expect 1 'zeroes' "$PROGRAM" "${PROBE_OPTIONS[@]}" "$TARGET_ADDR" \
			bait commands
	fi
	stop_target KILL
done
