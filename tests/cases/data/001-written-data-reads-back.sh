#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole life of a disk once. insmod connects it with a key. What the initiator writes is at
# the same place in the target's memory, and what is in the target's memory is what it reads. A
# disconnect removes the disk, a connect by the tool brings it back with its contents, and at
# the end nothing is left. No key of the RDMA device gives a peer access to the initiator's
# memory.
#
# kernels: 6.1 6.12
# quick: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

# keys OBJECT: prints the module's RDMA objects of a kind, with the keys that they have
keys() {
	rdma -d resource show "$1" | grep -F '[rdmablk]' || :
}

serve_with_key 16M
leak_snapshot
load_module connect="$TARGET_ADDR/disk0"
[[ -b $DEV ]] || fail "insmod returned without $DEV"
expect psk "$(<$SESSION/auth)" "the authentication"
expect live "$(<$SESSION/state)" "the state"
[[ $(keys pd) ]] || fail "the disk has no protection domain: $(rdma -d resource show pd)"
if [[ $(keys mr) || $(keys pd) == *unsafe_global_rkey* ]]; then
	fail "memory is remotely accessible: $(keys mr) $(keys pd)"
fi
expect $((16 << 20)) "$(blockdev --getsize64 "$DEV")" "the size"

# The initiator writes, the target sees it.
random_file 16M /tmp/pattern
dd if=/tmp/pattern of="$DEV" bs=1M oflag=direct status=none
same_as_target /tmp/pattern

# The target's memory changes, the initiator sees it: sectors 7 to 34.
dd if=/dev/urandom of=$ARENA bs=512 seek=7 count=28 conv=notrunc status=none
device_same_as_target
run_expect 1 'differ' cmp -n $((16 << 20)) /tmp/pattern "$ARENA"

# Single sectors, so that a misplaced one would show.
for sector in 0 1 4095 32767; do
	dd if=/dev/urandom of=/tmp/sector bs=512 count=1 status=none
	dd if=/tmp/sector of="$DEV" bs=512 seek=$sector oflag=direct \
		status=none
	dd if=$ARENA bs=512 skip=$sector count=1 status=none |
		cmp - /tmp/sector || fail "sector $sector is not where it belongs"
done
still_live

sum=$(head -c 16M $ARENA | sha256sum)
disconnect
leak_check
connect --key default
expect "$sum" "$(dd if="$DEV" iflag=direct bs=1M status=none | sha256sum)" \
	"the checksum after the reconnect"
"$RDMABLK" disconnect --all
[[ ! -e $DEV ]] || fail "$DEV outlives disconnect --all"
leak_check
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
