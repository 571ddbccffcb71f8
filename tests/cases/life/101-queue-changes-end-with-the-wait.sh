#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A change of a disk's queue in an outage waits only as long as requests are held: until I/O
# fails, also with the target still away, or until the disk is disconnected by force. Taking a
# processor offline or online waits for nothing.
#
# kernels: 6.1 6.12

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

load_module
modprobe -qa mq-deadline || :
leak_snapshot
serve 16M
connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay 1
start_verify --cpus_allowed=1
lose_target
job cpu write_to $CPU 0
job_ends cpu
again 16M
expect_back 1
expect_progress

# A processor comes online in an outage.
lose_target
job cpu write_to $CPU 1
job_ends cpu
job scheduler write_to $QUEUE/scheduler mq-deadline
job_waits scheduler "$FREEZE"
again 16M
expect_back 2
job_ends scheduler
scheduler_is mq-deadline
expect_progress
stop_verify
device_same_as_target

# I/O fails, and the target is still away.
start_load 0 --cpus_allowed=1
lose_target
job cpu write_to $CPU 0
job_ends cpu
job scheduler write_to $QUEUE/scheduler none
job_waits scheduler "$FREEZE"
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo 0
expect_load_failed
job_ends scheduler
expect recovering "$(attribute state)" "the state"
scheduler_is none
write_to $CPU 1
again 16M
expect_back 3
"$RDMABLK" set rdmablk0 --fast-io-fail-tmo off

# The disk is disconnected.
start_load
lose_target
job scheduler write_to $QUEUE/scheduler mq-deadline
job_waits scheduler "$FREEZE"
job requests write_to $QUEUE/nr_requests 8
timeout "$PATIENCE" "$RDMABLK" disconnect --force rdmablk0 ||
	fail "the disconnect hangs"
expect_load_failed
job_ends scheduler any
job_ends requests any
[[ ! -e $DEV ]] || fail "the disk outlives the disconnect"
leak_check
unload_module
