#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# insmod with a list of 16 exports: rdmablkN is the Nth of the list, all disks work at the same
# time with verified data, none has the data of another, and rmmod logs all of them out. When
# one export of the list is not available, no disk is connected.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

EXPORTS=() list=''
for ((i = 0; i < 16; i++)); do
	# The order of the list is not that of the names.
	EXPORTS[i]=e$((i * 7 % 16))
	words+=(--export "${EXPORTS[i]},memory,arena=/dev/shm/${EXPORTS[i]},size=$((i + 1))M")
	list+=,$TARGET_ADDR/${EXPORTS[i]}
done
start_target --insecure --listen "$TARGET_ADDR" "${words[@]}"
leak_snapshot
load_fails ENOENT 'no such export' "connect=${list:1},$TARGET_ADDR/e16"
insmod_all
leak_check

load_module connect="${list:1}"
for ((i = 0; i < 16; i++)); do
	expect "${EXPORTS[i]}" "$(attribute export $i)" "the export of rdmablk$i"
	expect live "$(attribute state $i)" "the state of rdmablk$i"
	expect $((2048 * (i + 1))) "$(</sys/block/rdmablk$i/size)" "the size"
done
expect 16 "$("$RDMABLK" list --json | jq '.devices | length')" "the length of the list"
run_fio --output-format=normal "$CASES/control/sixteen.fio"
for ((i = 0; i < 16; i++)); do
	cmp -n $(((i + 1) << 20)) "/dev/rdmablk$i" "/dev/shm/${EXPORTS[i]}" ||
		fail "rdmablk$i is not ${EXPORTS[i]}"
	expect 0 "$(disk_values status $i errors)" \
		"the number of failed requests"
done
# 16 logins so far and 15 of the refused list; each has been logged out.
unload_module
[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk outlives the module"
logged_out() {
	(($(grep -c 'closing: logged out' "$TARGET_LOG") >= 16))
}
wait_until "$PATIENCE" logged_out || fail "not all disks have been logged out"
leak_check
stop_target
