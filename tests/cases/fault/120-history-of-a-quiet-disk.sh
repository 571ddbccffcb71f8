#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The history of a disk without any faults is legal, at the initiator and in the target's
# memory, over rounds of a writer that stops, that is killed and that goes on, with blocks of
# 512 and of 4096 bytes. The checks are not blind: wrong data planted in the target's memory is
# found by the checker in the memory and on the disk, and by the writer when it reads.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
# shellcheck source=tests/lib/history.sh
source "$RDMABLK_TOP/tests/lib/history.sh"

# plant_from FILE SECTOR: copies the sector from FILE into the arena
plant_from() {
	dd if="$1" of="$ARENA" bs=512 skip="$2" seek="$2" count=1 conv=notrunc \
		status=none
}

# first_change A B: the first sector in which two files differ
first_change() {
	local byte

	byte=$(cmp "$1" "$2" | grep -oE 'byte [0-9]+')
	echo $(((${byte#byte } - 1) / 512))
}

load_module
serve 4M
connect
history_start --max 256K --flush 20 --fua 20
history_progress 300
history_stop
history_check "$ARENA" $DEV
cp "$ARENA" /tmp/before

history_start --max 256K
kill -KILL "$HISTORY_PID"
history_wait 137
history_check --unclean "$ARENA"
history_run --max 256K --ops 200 --sweep
history_check "$ARENA" $DEV
still_live

# Plants the contents that a sector had one round earlier.
sector=$(first_change /tmp/before "$ARENA")
cp "$ARENA" /tmp/after
plant_from /tmp/before "$sector"
history_finds "^sector $sector: (old|zeroes)" "$ARENA" $DEV
history_run 1 --read 100 --ops 1 --sweep
grep -q "^sector $sector: " <<<"$OUTPUT" || fail "the writer finds another: $OUTPUT"
plant_from /tmp/after "$sector"
history_finds 'a writer has read 1 bad sectors' "$ARENA"

# Flips a bit.
rm "$HISTORY_LOG"
disconnect
stop_target
rm "$ARENA"
serve 4M,block=4096
connect
history_run --max 256K --ops 200 --sweep
history_check "$ARENA" $DEV
sector=$(first_change /dev/zero "$ARENA")
at=$((sector * 512 + 100))
byte=$(od -An -tu1 -j "$at" -N 1 "$ARENA")
printf '%b' "\\x$(printf %02x $((byte ^ 1)))" |
	dd of="$ARENA" bs=1 seek="$at" conv=notrunc status=none
history_finds "^sector $sector: damaged" "$ARENA" $DEV
disconnect
unload_module
stop_target
