#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A file that the target has in its memory: each allocation of the map of what is to be
# flushed, and of the commands for that, fails once in a connect, which says so and leaves
# nothing behind. So do those of the commands in the login after an outage, under load that
# flushes: the disk comes back by itself, no request fails, and what was flushed is in the
# file.
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
