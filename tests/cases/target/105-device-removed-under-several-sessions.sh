#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdma link delete' of one of the daemon's two devices, with several kinds of sessions on it:
# under load, idle, read-only, of a userspace initiator, and one in the middle of its login. All
# of them end, none hangs, and the command returns. A session on the other device works on and
# notices nothing. When the device is back the daemon listens there again. Then the same once
# more while memory is being registered for a login.
#
# net: veth

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
program target_probe
# This daemon can register memory slowly.
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd

start() {
	local name exports=()

	for name in a b c d e; do
		exports+=(--export "$name,memory,size=8M,arena=/dev/shm/$name")
	done
	start_target --insecure --log-level debug --listen "$TARGET_ADDR" \
		--listen "$INITIATOR_ADDR" "${exports[@]}" "$@"
}

load_module
start
disk 0 "$TARGET_ADDR/a" --keep-alive-tmo 4
disk 1 "$TARGET_ADDR/b" --keep-alive-tmo 60
disk 2 "$TARGET_ADDR/c" --keep-alive-tmo 60 --read-only
hold process --host 1 "$TARGET_ADDR" c
# Both ends of this disk use the device that stays.
disk 3 "$INITIATOR_ADDR/d" --keep-alive-tmo 60
expect rv0 "$(attribute ibdev 3)" "the device of the undisturbed disk"
put 1 'before the removal'
: >"$TARGET_LOG"
"$PROGRAM" "$TARGET_ADDR" e silent >/tmp/login &
login=$!
cleanup_add kill "$login"
expect_log ': connected$'
start_load 0
start_load 3

link_delete rv1
expect_load_failed 0
for n in 0 1 2; do
	expect_failed "RDMA device was removed|$LOST" $n
done
expect_no_io 1
run_expect 1 'Link has been severed' \
	timeout "$PATIENCE" dd if=/dev/rdmablk2 of=/dev/null bs=4k count=1 iflag=direct
wait_until "$PATIENCE" holder_is_gone process || fail "the process hangs"
expect_log 'device rv1: closed'
expect_log "listening no more on $TARGET_ADDR:20420"
target_lives || fail "the daemon has not survived"
before=$(completed 3)
wait_until "$PATIENCE" completed_more 3 $((before + 100)) ||
	fail "the disk on the other device stands still"
for n in 0 1 2; do
	"$RDMABLK" disconnect rdmablk$n
done

: >"$TARGET_LOG"
link_add rv1 v1 "$TARGET_ADDR"
expect_log "listening on $TARGET_ADDR:20420, device rv1"
disk 0 "$TARGET_ADDR/b"
get 0 'before the removal'
disk 1 "$TARGET_ADDR/a"
disk 2 "$TARGET_ADDR/e"
stop_load 3
expect live "$(attribute state 3)" "the state of the undisturbed disk"
expect 0 "$(disk_values status 3 errors)" \
	"its failed requests"
disconnect_all
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

start --fault slow-login=2000
for name in a b c; do
	"$RDMABLK" connect "$TARGET_ADDR/$name" >"/tmp/connect.$name" 2>&1 &
	connects+=($!)
done
expect_logs 3 ': connected$'
link_delete rv1
for n in 0 1 2; do
	! wait "${connects[n]}" || fail "a login has survived its device"
done
expect_log 'device rv1: closed'
: >"$TARGET_LOG"
link_add rv1 v1 "$TARGET_ADDR"
expect_log "listening on $TARGET_ADDR:20420, device rv1"
disk 0 "$TARGET_ADDR/b" --connect-tmo 60
get 0 'before the removal'
disconnect_all
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
