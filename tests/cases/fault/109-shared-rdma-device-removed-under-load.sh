#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'rdma link delete' under load, of the one device that initiator and target of the same host
# share, with several disks. Both sides release the device, and go on when it is back. The
# module can be unloaded while a device is removed and sessions come and go.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

# connect_forever: connects and disconnects until the file /tmp/enough exists
connect_forever() {
	until [[ -e /tmp/enough ]]; do
		if "$RDMABLK" connect --connect-tmo 2 "$TARGET_ADDR/disk1"; then
			"$RDMABLK" disconnect rdmablk1 || :
		fi
	done >/dev/null 2>&1
}

serve 16M --export disk1,memory,size=16M
load_module
for _ in 1 2; do
	connect_brittle --keep-alive-tmo 4
	start_load
	rm -f /tmp/enough
	connect_forever &
	logins=$!
	wait_until "$PATIENCE" log_has 'export disk1: live' ||
		fail "no login while there is load"
	link_delete rxe0
	expect_load_failed
	expect_failed "RDMA device was removed|$LOST"
	expect_log 'device rxe0: closed'
	disconnect
	touch /tmp/enough
	wait "$logins"
	"$RDMABLK" disconnect --all
	: >"$TARGET_LOG"
	link_add rxe0 dummy0 "$TARGET_ADDR"
	expect_log "listening on $TARGET_ADDR:20420, device rxe0"
	connect
	expect_works
	disconnect
done
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
