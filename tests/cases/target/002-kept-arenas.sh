#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A kept arena, on tmpfs and on hugetlbfs, has the same contents, epoch and UUID after SIGTERM
# and after kill -9 under load. Other memory comes back as zeroes under another epoch: that of
# an anonymous export, that of an arena whose file was removed, and that of an arena that was
# never complete, whatever is in its file. The second of two daemons on one arena is refused,
# says why, and does not harm the first; when the first one has ended, the other starts and
# serves the same contents. When an arena's file is cut short under live sessions, the daemon
# ends the sessions of this export only, says why, and refuses logins until the export is
# reopened. An arena that has lost a huge page keeps the rest under another epoch.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

require fallocate

KEPT=/dev/shm/kept HUGE=/run/huge/kept
NAMES=(kept huge anonymous)

# Huge pages for an arena of 4 MiB and for its trailer.
echo 3 >/proc/sys/vm/nr_hugepages
expect 3 "$(</proc/sys/vm/nr_hugepages)" "the number of huge pages"
mkdir /run/huge
mount -t hugetlbfs none /run/huge

start() {
	start_target --insecure --listen "${1:-$TARGET_ADDR}" --state-dir /run/state \
		--export "kept,memory,size=8M,arena=$KEPT" \
		--export "huge,memory,size=4M,arena=$HUGE" \
		--export anonymous,memory,size=4M,hugepages=no
}

# connect_disks N [ADDRESS]: connects the first N exports
connect_disks() {
	local n

	for ((n = 0; n < $1; n++)); do
		disk $n "${2:-$TARGET_ADDR}/${NAMES[n]}"
	done
}

# write_on FILE: writes behind the compared part until a write fails; dd's output goes to FILE
write_on() {
	while dd if=/dev/zero of=$DEV bs=4k seek=1024 count=1024 oflag=direct; do
		:
	done 2>"$1"
}

# Keeps epochs and UUIDs of the first start for comparison with later starts.
remember() {
	local n

	for n in 0 1 2; do
		EPOCH[n]=$(attribute epoch $n)
		UUID[n]=$(attribute uuid $n)
	done
}
EPOCH=() UUID=()

# contents N FILE
contents() {
	dd if="/dev/rdmablk$1" bs=1M count=4 iflag=direct status=none |
		cmp -n $((4 << 20)) - "$2" || fail "the contents of ${NAMES[$1]}"
}

# is_kept N; is_new N: and the epoch says which
is_kept() {
	expect "${EPOCH[$1]}" "$(attribute epoch "$1")" "the epoch of ${NAMES[$1]}"
	expect "${UUID[$1]}" "$(attribute uuid "$1")" "the UUID of ${NAMES[$1]}"
	contents "$1" /tmp/pattern
}

is_new() {
	[[ ${EPOCH[$1]} != "$(attribute epoch "$1")" ]] ||
		fail "${NAMES[$1]} has lost its contents and not its epoch"
	expect "${UUID[$1]}" "$(attribute uuid "$1")" "the UUID of ${NAMES[$1]}"
	contents "$1" /dev/zero
}

random_file 4M /tmp/pattern
load_module
start
expect_log "export kept: arena $KEPT is new, .* in pages of 4 KiB"
expect_log "export huge: arena $HUGE is new, .* in pages of 2048 KiB"
connect_disks 3
remember
for n in 0 1 2; do
	contents $n /dev/zero
	dd if=/tmp/pattern of=/dev/rdmablk$n bs=1M oflag=direct status=none
done
disconnect_all
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

start
expect_log "export kept: arena $KEPT keeps its contents"
connect_disks 3
is_kept 0
is_kept 1
is_new 2

# A second daemon, for each of the arenas.
for arena in "kept,memory,size=8M,arena=$KEPT" "huge,memory,size=4M,arena=$HUGE"; do
	run_expect 1 "arena ${arena##*=}: another process holds it" \
		timeout "$PATIENCE" "$RDMABLKD" --insecure --listen "$TARGET_ADDR:4420" \
		--state-dir /run/state --export "$arena"
done
is_kept 0
is_kept 1

# kill -9, and there are writes.
write_on /tmp/writes &
before=$(completed 0)
wait_until "$PATIENCE" completed_more 0 $((before + 100)) || fail "no writes"
stop_target KILL
wait "$!"
expect_failed "$LOST"
grep -q 'Link has been severed' /tmp/writes || fail "the writes: $(</tmp/writes)"
disconnect_all
start "$TARGET_ADDR:4420"
connect_disks 2 "$TARGET_ADDR:4420"
is_kept 0
is_kept 1
disconnect_all
stop_target

# One that was being filled when its daemon died, and one that is gone.
printf '\1' | dd of=$KEPT bs=1 seek=$(((8 << 20) + 16)) conv=notrunc status=none
rm $HUGE
start
expect_log "export kept: arena $KEPT is new"
connect_disks 2
is_new 0
is_new 1

# The zeroing command is the first to touch a page that the file no longer has.
truncate -s 4K $KEPT
if blkdiscard -z /dev/rdmablk0 2>/tmp/zeroes; then
	fail "zeroes were written to an arena that is cut short"
fi
expect_failed 'store has failed and must be reopened'
expect_log 'export kept: a page of its arena is missing: .*; its sessions end'
"$RDMABLK" disconnect /dev/rdmablk0
refused '.*store has failed and must be reopened' "$TARGET_ADDR/kept"
dd if=/tmp/pattern of=/dev/rdmablk1 bs=1M oflag=direct status=none
contents 1 /tmp/pattern
rm $KEPT
"$RDMABLK" target reopen kept
disk 0 "$TARGET_ADDR/kept"
contents 0 /dev/zero

# The kernel takes a huge page out of the file when its memory has failed.
epoch=$(attribute epoch 1)
disconnect_all
stop_target
fallocate --punch-hole --offset 0 --length 2M $HUGE
start
expect_log "export huge: arena $HUGE has lost pages: they are zero, the rest is as it was"
connect_disks 2
[[ $epoch != "$(attribute epoch 1)" ]] || fail "huge has lost a page and not its epoch"
expect "${UUID[1]}" "$(attribute uuid 1)" "the UUID of huge"
{ head -c 2M /dev/zero && tail -c 2M /tmp/pattern; } >/tmp/rest
contents 1 /tmp/rest
disconnect_all
unload_module
stop_target
