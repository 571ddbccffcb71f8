#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk of a one-region export has no region boundaries in its limits. If the export has grown
# to two regions while the disk was away, the disk does not go on: it says why, and holds its
# I/O. If it has grown within one larger region the disk goes on with the new size, and requests
# cross the end of the old region.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
FILE=/dev/shm/file DATA=/dev/shm/data ACROSS=$(((1 << 20) - 4096))

refused() {
	[[ $(attribute last_error) == *'export has become smaller or takes less'* ]]
}

grown() {
	(($(blockdev --getsize64 $DEV) == 2 << 20))
}

load_module
truncate -s 1M $FILE
random_file 1M $DATA
serve_file $FILE,cache=full,region=1M
connect --dev-loss-tmo off
expect 1 "$(status regions)" "the number of regions"
expect 0 "$(<$QUEUE/chunk_sectors)" "what no request crosses"
dd if=$DATA of=$DEV bs=64k oflag=direct conv=fsync status=none
stop_target
wait_state recovering

truncate -s 2M $FILE
serve_file $FILE,cache=full,region=1M
wait_until "$PATIENCE" refused || fail "not refused: $(attribute last_error)"
expect recovering "$(attribute state)" "the state with two regions"
expect $((1 << 20)) "$(blockdev --getsize64 $DEV)" "its size"
stop_target

serve_file $FILE,cache=full,region=2M
wait_state live
expect 1 "$(status regions)" "the number of regions"
wait_until "$PATIENCE" grown ||
	fail "the size is $(blockdev --getsize64 $DEV)"
random_file 8K $DATA.new
dd if=$DATA.new of=$DEV bs=8k count=1 oflag=direct,seek_bytes seek=$ACROSS conv=fsync \
	status=none
dd if=$DATA.new of=$DATA bs=4k oflag=seek_bytes seek=$ACROSS status=none
cmp -n $(((1 << 20) + 4096)) $DATA $DEV ||
	fail "the disk differs from what was written"
expect 0 "$(status errors)" "the number of failed requests"
disconnect
unload_module
stop_target
cmp -n $(((1 << 20) + 4096)) $DATA $FILE || fail "the file differs from what was written"
