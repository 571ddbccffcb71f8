#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sixteen disks from one insmod: rdmablkN is the Nth of the list, each has a
# content of its own that only its own export holds, all work at once, and rmmod
# logs all of them out.
#
# smp: 1
# mem: 1536

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"

DISKS=16
exports=() list=''
for ((i = 0; i < DISKS; i++)); do
	exports+=(--export "e$i,memory,size=2M,arena=/dev/shm/e$i")
	list+=${list:+,}$TARGET_ADDR/e$i
done
start_target --insecure --listen "$TARGET_ADDR" "${exports[@]}"
leak_snapshot
load_module connect="$list"

for ((i = 0; i < DISKS; i++)); do
	expect "e$i" "$(<"/sys/block/rdmablk$i/rdmablk/export")" "the export of rdmablk$i"
	expect live "$(<"/sys/block/rdmablk$i/rdmablk/state")" "the state of rdmablk$i"
done
expect "$DISKS" "$("$RDMABLK" list --noheadings | wc -l)" "the number of disks listed"
run_expect 1 'this export is connected already' \
	"$RDMABLK" connect "$TARGET_ADDR/e3"

# All at once.
writers=()
for ((i = 0; i < DISKS; i++)); do
	random_file 2M "/tmp/pattern.$i"
	dd if="/tmp/pattern.$i" of="/dev/rdmablk$i" bs=64k oflag=direct status=none &
	writers+=($!)
done
for pid in "${writers[@]}"; do
	wait "$pid" || fail "a writer failed"
done
for ((i = 0; i < DISKS; i++)); do
	cmp -n $((2 << 20)) "/tmp/pattern.$i" "/dev/shm/e$i" ||
		fail "e$i does not hold what was written to rdmablk$i"
	dd if="/dev/rdmablk$i" bs=64k iflag=direct status=none |
		cmp - "/tmp/pattern.$i" || fail "rdmablk$i reads something else"
done

# A gap is filled again.
"$RDMABLK" disconnect rdmablk5
expect $((DISKS - 1)) "$("$RDMABLK" list --noheadings | wc -l)" "the number of disks listed"
expect /dev/rdmablk5 "$("$RDMABLK" connect "$TARGET_ADDR/e5")" "the disk of e5"

unload_module
wait_until 20 test "$(grep -c 'closing: logged out' "$TARGET_LOG")" -ge $((DISKS + 1)) ||
	fail "not every session was logged out: $(cat "$TARGET_LOG")"
leak_check
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
