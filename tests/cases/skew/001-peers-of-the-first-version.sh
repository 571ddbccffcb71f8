#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An initiator and a target without features of the protocol work with the present ones. Memory
# is served and used without commands. What needs commands is refused, and the refusal says why.
# No disk reconnects to a target that lacks what the disk was promised. A side that demands a
# key refuses the first version, and says so.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/skew/lib.sh
source "$RDMABLK_TOP/tests/cases/skew/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

need_peers first
FIRST=$PEERS

# serves_and_discards MOST: data goes both ways; a discard has at most MOST bytes
serves_and_discards() {
	expect "$1" "$(<$QUEUE/discard_max_bytes)" "what can be discarded at once"
	random_file 8M /tmp/pattern
	dd if=/tmp/pattern of=$DEV bs=1M oflag=direct conv=fsync status=none
	same_as_target /tmp/pattern 8388608
	fio_verify 8
	expect 0 "$(status errors)" "the number of failed requests"
}

refused_as_less() {
	[[ $(status last_error) == *'has become smaller or takes less'* ]]
}

# A target of the first version. The disk has no commands, and gets none later.
new=$RDMABLKD
RDMABLKD=$FIRST/target/rdmablkd
serve 8M
load_module
make_keys early
load_keys early
run_expect 8 'the target takes no keys: set auth = psk there, or connect without --key' \
	"$RDMABLK" connect --key early "$TARGET_ADDR/disk0"
connect --dev-loss-tmo off
serves_and_discards 0
run_expect 1 'not supported' blkdiscard -f $DEV
stop_target KILL
RDMABLKD=$new
serve 8M
wait_state live
serves_and_discards 0
disconnect

# A disk that was promised commands does not go on without them.
connect --dev-loss-tmo off
serves_and_discards 1073741824
stop_target KILL
RDMABLKD=$FIRST/target/rdmablkd
serve 8M
wait_until "$PATIENCE" refused_as_less || fail "the last error is '$(status last_error)'"
expect recovering "$(<$SESSION/state)" "the state"
stop_target KILL
RDMABLKD=$new
serve 8M
wait_state live
serves_and_discards 1073741824
disconnect
unload_module
stop_target

# An initiator of the first version: memory as ever; files are refused.
truncate -s 8M /dev/shm/full /dev/shm/none
start_target --insecure --listen "$TARGET_ADDR" \
	--export "disk0,memory,arena=$ARENA,size=8M" \
	--export full,file=/dev/shm/full,cache=full --export none,file=/dev/shm/none
MODULE=$FIRST/$KERNEL_SERIES/rdmablk.ko load_module
connect
serves_and_discards 0
disconnect
for name in full none; do
	run_expect 8 'a required feature is missing' "$RDMABLK" connect "$TARGET_ADDR/$name"
done
stop_target

# A target that demands keys says so to an initiator of the first version, too.
serve_with_key 8M
run_expect 6 'authentication required' "$RDMABLK" connect "$TARGET_ADDR/disk0"
unload_module
stop_target
