#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two targets have the same address in turn, and exports of the same name and size. A disk of
# each is in use all the time. While the other target answers, a disk holds its I/O, says what
# is wrong, and tries again; when its own target is back it goes on. No request fails, and no
# disk reads or writes data of the other target.
#
# kernels: 6.1 6.12
# net: veth
# timeout: 600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

first=$ARENA second=/dev/shm/second
disk1=/dev/rdmablk1
size=$((8 << 20)) port=20421
declare -A uuid=(
	[$first]=7d2c0a34-61a5-4f0e-9f3b-0c1d2e3f4a5b
	[$second]=00000000-61a5-4f0e-9f3b-0c1d2e3f4a5b
)

# serves ARENA: at the first port for disk 0, at the second for disk 1, because a host uses
# an export once
serves() {
	ARENA=$1 again "8M,uuid=${uuid[$1]}" --listen "$TARGET_ADDR:$port"
}

refused_before() {
	[[ $(attribute last_error "$1") == 'export is not the one it was' ]]
}

tried_since() {
	(($(attribute attempts "$1") >= $2))
}

# refused N: disk N is not gone on with, and that is not the last try
refused() {
	wait_until "$PATIENCE" refused_before "$1" ||
		fail "the last error of disk $1 is '$(attribute last_error "$1")'"
	wait_until "$PATIENCE" tried_since "$1" $(($(attribute attempts "$1") + 3)) ||
		fail "disk $1 is not tried again"
	refused_before "$1" || fail "and now it is '$(attribute last_error "$1")'"
	expect recovering "$(attribute state "$1")" "the state of disk $1"
	expect 0 "$(attribute io_failing "$1")" "io_failing of disk $1"
}

disk_is_back() {
	(($(attribute reconnects "$1") >= $2)) && state_is live "$1"
}

# back N COUNT: disk N, for the COUNTth time
back() {
	wait_until "$PATIENCE" disk_is_back "$1" "$2" ||
		fail "disk $1 is $(attribute state "$1"): $(attribute last_error "$1")"
	expect "$2" "$(attribute reconnects "$1")" "the reconnects of disk $1"
}

# second_holds FILE: nobody else has written there
second_holds() {
	cmp -n $size "$1" $second || fail "the second export is not what it was"
}

# write_held FILE: on disk 1, in an outage
write_held() {
	dd if="$1" of=$disk1 bs=1M oflag=direct status=none &
	WRITE=$!
	wait_until "$PATIENCE" write_waits || fail "the write does not wait"
}

write_waits() {
	[[ $(<"/proc/$WRITE/stat") == *') D '* ]]
}

write_over() {
	! kill -0 "$WRITE" 2>/dev/null
}

load_module
leak_snapshot
serves $first
connect_patient
history_start --max 64K --flush 100 --fua 10
stop_target KILL

serves $second
path=$("$RDMABLK" connect --dev-loss-tmo off --reconnect-delay 1 \
	"$TARGET_ADDR:$port/disk0")
expect $disk1 "$path" "the second disk"
random_file $size /tmp/old
dd if=/tmp/old of=$disk1 bs=1M oflag=direct status=none
second_holds /tmp/old
refused 0

turn=0
for signal in KILL TERM KILL; do
	((++turn))
	stop_target $signal
	wait_state recovering 1
	random_file $size /tmp/new
	write_held /tmp/new
	serves $first
	back 0 $turn
	refused 1
	expect_well
	second_holds /tmp/old
	write_waits || fail "the write has ended"

	stop_target $signal
	serves $second
	back 1 $turn
	wait_until "$PATIENCE" write_over || fail "the write hangs"
	wait "$WRITE" || fail "the write has failed"
	refused 0
	second_holds /tmp/new
	cmp $disk1 /tmp/new || fail "disk 1 is not what was written"
	mv /tmp/new /tmp/old
done

stop_target KILL
serves $first
back 0 $((turn + 1))
expect_well
expect_legal
second_holds /tmp/old
expect 0 "$(disk_values status 1 errors)" \
	"the number of failed requests of disk 1"
"$RDMABLK" disconnect --all
unload_module
stop_target
leak_check
