#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A cached file: each allocation for the dirty map and for the commands of FLUSH fails once in a
# connect, which reports that and leaves nothing behind. Each allocation for the commands fails
# once in the login after an outage, too, under load that flushes: the disk comes back by
# itself, no request fails, and flushed data is in the file.
#
# kernels: debug
# timeout: 600
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
file_export full
sweep_begin
inject connect "$TARGET_ADDR" --below rdmablk_dirty_init --depth $DEPTH
inject connect "$TARGET_ADDR" --below rdmablk_cmdq_create --depth $DEPTH
leak_check
connect --queues 1 --queue-depth $DEPTH --reconnect-delay 1
start_verify "${SLOWLY[@]}" --fsync=16
inject recover "$TARGET_ADDR" --below rdmablk_cmdq_create
expect_progress
other_kinds
stop_verify
file_is_right
sweep_end
