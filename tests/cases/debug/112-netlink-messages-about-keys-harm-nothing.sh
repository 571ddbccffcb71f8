#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Messages of any shape to the module's netlink family, where disks have keys: several threads
# connect, set and disconnect, each connection proves its key every second, and the keys are
# loaded, revoked, invalidated, cut and left to expire. That causes no report of the kernel's
# checkers. Each command succeeds at least once, and refusals occur. At the end all disks are
# disconnected, data is right on a new disk, and the module can be unloaded.
#
# kernels: debug
# timeout: 900

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

fuzz_with_keys "${NL_SEED:-1}" "${NL_MESSAGES:-2000}"
