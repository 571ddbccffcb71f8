#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A daemon that ends on SIGTERM under load tells its initiators twice: that it is about to end,
# and that their sessions have ended. So no write is held: all requests fail at once. The
# adapter of a stopped daemon (SIGSTOP) still answers READs and WRITEs; the missing keep-alive
# reveals it. After SIGCONT the daemon finds the session gone, and a new connect works without a
# restart.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

load_module
serve 16M --drain-ms 500
connect_brittle --keep-alive-tmo 60
start_load
stop_target TERM
expect 0 "$TARGET_STATUS" "the daemon's exit status"
expect_log 'SIGTERM: shutting down'
expect_log 'rdmablkd: done'
# With this keep-alive timeout, held writes would take two minutes.
expect_load_failed
expect_failed 'target is shutting down'
dmesg_has 'rdmablk0 .*: target is about to shut down, in [1-9][0-9]{0,2} ms' ||
	fail "the initiator has not been warned"
expect_no_io
disconnect

serve 16M
connect_brittle --keep-alive-tmo 2
start_load
kill -STOP "$TARGET_PID"
expect_load_failed
expect_failed 'session was silent for too long'
expect_no_io
disconnect
# A connect to the stopped daemon fails after connect_tmo, not later.
run_expect 5 'no answer in time|does not answer the login' \
	"$RDMABLK" connect --connect-tmo 1 "$TARGET_ADDR/disk0"
kill -CONT "$TARGET_PID"
expect_log 'session .* export disk0: closing: (connection lost|session was silent for too long)'
connect
expect_works

# The same with a disk that is idle.
disconnect
connect_brittle --keep-alive-tmo 1
kill -STOP "$TARGET_PID"
expect_failed 'session was silent for too long'
kill -CONT "$TARGET_PID"
disconnect
connect
expect_works
disconnect
unload_module
stop_target
