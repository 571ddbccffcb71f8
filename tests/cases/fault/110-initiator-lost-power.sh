#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host that lost power frees its export: the daemon ends its silent session, and
# another host gets the export, with what was written. A host that comes back
# before that takes over from itself, at once.
#
# The initiator's machine is powered off hard and started again, twice.
#
# net: two
# timeout: 300

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

BOOT=150	# seconds, more than the other machine takes to start

target() {
	serve 16M
	load_module
	peer_set ready
	peer_wait first $BOOT
	run_expect 4 'export is in use by another host' \
		"$RDMABLK" connect "$TARGET_ADDR/disk0"
	host_do kill initiator
	# The last answer to it may have been on its way.
	expect_log 'export disk0: closing: (session was silent for too long|connection lost)'
	expect_log 'export disk0: fenced'
	connect
	dd if=$DEV of=/run/vm/survived bs=1M count=1 iflag=direct status=none
	cmp /run/vm/pattern /run/vm/survived || fail "what was written is not there"
	disconnect

	host_do start initiator
	peer_wait second $BOOT
	: >"$TARGET_LOG"
	host_do kill initiator
	host_do start initiator
	peer_wait third $BOOT
	# The same queue pair numbers as before the power cut make the target's
	# connection manager end the old connection even before the daemon does.
	expect_log 'export disk0: closing: (session was replaced by a newer login|connection lost)'
	peer_set over
}

first() {
	peer_wait ready $BOOT
	load_module
	connect --keep-alive-tmo 2
	random_file 1M /run/vm/pattern
	dd if=/run/vm/pattern of=$DEV bs=1M oflag=direct status=none
	start_load 0 --offset=8M
	peer_set first
	pause 600
}

# Silence would end this session after two minutes only.
second() {
	load_module
	connect --keep-alive-tmo 60
	random_file 1M /run/vm/pattern
	dd if=/run/vm/pattern of=$DEV bs=1M oflag=direct status=none
	peer_set second
	pause 600
}

third() {
	load_module
	connect
	dd if=$DEV of=/tmp/survived bs=1M count=1 iflag=direct status=none
	cmp /run/vm/pattern /tmp/survived || fail "what was written is not there"
	disconnect
	unload_module
	peer_set third
	peer_wait over "$PATIENCE"
}

if [[ $ROLE == target ]]; then
	target
elif [[ ! -e /run/vm/first ]]; then
	first
elif [[ ! -e /run/vm/second ]]; then
	second
else
	third
fi
