#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon ends the silent session of a host that lost power. Another host then gets the
# export with the written data. A host that comes back before that replaces its own old session,
# at once.
#
# The initiator's machine is powered off and started again, twice.
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
	# The reason depends on whether an answer to the initiator was under way at the power
	# cut.
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
	# If the new queue pair has the same number as before the power cut, the target's
	# connection manager ends the old connection even before the daemon does.
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

# Silence would end this session only after two minutes.
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
