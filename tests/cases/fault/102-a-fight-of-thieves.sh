#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two hosts steal an export from each other, eight times, while it is written. The disk of the
# robbed host fails with that reason, and none of its requests under way lands once the other
# host has the export: the history over all of them is legal. Then four hosts steal it at the
# same time, again and again. At the end the next host gets the export, and nothing is left
# behind.
#
# kernels: 6.1 6.12
# timeout: 600

# shellcheck source=tests/cases/network/lib.sh
source "$RDMABLK_TOP/tests/cases/network/lib.sh"

stolen='export was taken over by another host'
# A host may connect to an export by an address once, so each host here has its own address.
WHERE=("$TARGET_ADDR" 10.99.0.1 "[$TARGET_ADDR6]" '[fd99::1]')

host_id() {
	echo "0f0e0d0c-0b0a-4909-8807-06050403020$1"
}

# steal HOST: connects with --steal; prints the disk
steal() {
	"$RDMABLK" connect --steal --host-id "$(host_id "$1")" --dev-loss-tmo off \
		--keep-alive-tmo 2 --reconnect-delay 1 "${WHERE[$1]}/disk0"
}

# thief HOST: steals ten times; a try may fail only because another host was faster
thief() {
	local disk

	trap - ERR EXIT
	for _ in {1..10}; do
		if disk=$(steal "$1" 2>&1); then
			timeout 10 dd if=/dev/zero of="$disk" bs=4k count=1 \
				oflag=direct status=none 2>/dev/null || :
			"$RDMABLK" disconnect --force "${disk#/dev/}"
		else
			echo "$disk"
		fi
	done
}

load_module
leak_snapshot
serve 8M --listen 10.99.0.1 --listen "[$TARGET_ADDR6]" --listen '[fd99::1]'
owner=0
DEV=$(steal $owner)
for _ in {1..8}; do
	history_start --errors 0 --max 64K
	thief=$((1 - owner)) lost=$DEV
	DEV=$(steal $thief)
	expect_failed "$stolen" "${lost#/dev/rdmablk}"
	history_stop
	history_check --settle "$ARENA"
	history_check "$DEV"
	"$RDMABLK" disconnect "${lost#/dev/}"
	owner=$thief
done
history_start --max 64K
history_stop
history_check "$ARENA" "$DEV"
"$RDMABLK" disconnect --all

for host in 0 1 2 3; do
	thief $host >"/tmp/thief.$host" 2>&1 &
	thieves[host]=$!
done
for host in 0 1 2 3; do
	wait "${thieves[host]}" || fail "$(</tmp/thief.$host)"
	cat "/tmp/thief.$host"
done
[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk is left behind"
DEV=/dev/rdmablk0
connect
expect_works
disconnect
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
leak_check
