#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In an outage, with requests held, an administrator switches the I/O scheduler, changes the
# number of requests and has the partitions read again. All three wait for the held requests,
# and none keeps the disk from coming back. When the disk is back they complete, and no request
# has failed. A processor with held requests can be taken offline at once.
#
# quick: yes
# in-turn: yes

# shellcheck source=tests/cases/life/lib.sh
source "$RDMABLK_TOP/tests/cases/life/lib.sh"

load_module
modprobe -qa mq-deadline || :
serve 16M
connect --keep-alive-tmo 1 --dev-loss-tmo off --reconnect-delay 1
scheduler_is none

# The load runs on the processor that is taken offline, so requests of its queue are held.
start_verify --cpus_allowed=1
lose_target
job cpu write_to $CPU 0
job_ends cpu
expect 0 "$(<$CPU)" "the processor"
job scheduler write_to $QUEUE/scheduler mq-deadline
job_waits scheduler "$FREEZE"
job requests write_to $QUEUE/nr_requests 16
job partitions blockdev --rereadpt $DEV
wait_until "$PATIENCE" tried $(($(attribute attempts) + 2)) ||
	fail "only $(attribute attempts) tries"
job_still scheduler requests partitions
run_expect 0 'recovering' "$RDMABLK" status rdmablk0
again 16M
expect_back 1
for name in scheduler requests partitions; do
	job_ends $name
done
scheduler_is mq-deadline
expect 16 "$(<$QUEUE/nr_requests)" "the number of requests"
expect_progress
stop_verify
device_same_as_target
write_to $CPU 1
disconnect
