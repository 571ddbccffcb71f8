#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each allocation of an outage and of the login after it fails once, under load that verifies
# what it reads. Each time the disk comes back by itself, and no request fails. A netlink
# command that finds no memory reports that, and changes nothing.
#
# kernels: debug
# timeout: 900
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
leak_snapshot
serve 8M
connect --queues 1 --reconnect-delay 1
inject commands "$TARGET_ADDR"
start_verify
inject recover "$TARGET_ADDR"
expect_progress
stop_verify
device_same_as_target
disconnect
stop_target
leak_check
unload_module
