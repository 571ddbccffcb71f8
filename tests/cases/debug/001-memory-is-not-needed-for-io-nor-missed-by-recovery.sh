#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# While each allocation of the module fails, I/O and keep-alives go on and ask for
# none. When the daemon is killed and started again meanwhile, one try after the
# other fails and no request does; with memory the disk comes back.
#
# kernels: debug
# allow: FAULT_INJECTION

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

load_module
leak_snapshot
serve 8M
connect --keep-alive-tmo 20 --dev-loss-tmo off
start_verify
quiet_rounds 2 500
outlasts_no_memory 1 again 8M
stop_verify
device_same_as_target
disconnect
stop_target
leak_check
unload_module
