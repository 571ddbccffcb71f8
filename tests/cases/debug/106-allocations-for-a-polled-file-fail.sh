#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An uncached file and a polled queue: each allocation for the disk and its tags, and for the
# commands and answers of the queues, fails once in a connect, which reports that and leaves
# nothing behind. Each allocation for commands and answers fails once in the login after an
# outage, too, under a load that polls: the disk comes back by itself, no request fails, and
# flushed data is in the file.
#
# kernels: debug
# timeout: 600
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
file_export none
sweep_begin
inject connect "$TARGET_ADDR" --below rdmablk_disk_alloc --depth $DEPTH --poll
inject connect "$TARGET_ADDR" --below rdmablk_cmdq_create --depth $DEPTH --poll
leak_check
connect --queues 1 --poll-queues 1 --queue-depth $DEPTH --reconnect-delay 1
start_verify "${SLOWLY[@]}" --ioengine=io_uring --hipri=1
inject recover "$TARGET_ADDR" --below rdmablk_cmdq_create
expect_progress
other_kinds
stop_verify
file_is_right
sweep_end
