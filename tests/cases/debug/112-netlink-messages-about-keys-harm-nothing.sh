#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Messages of any shape to the module's netlink family, where disks have keys: while several
# threads connect, set and disconnect, each connection proves its key every second, and the
# keys are loaded, revoked, invalidated, cut and left to expire. That brings no report of the
# kernel's checkers. Each command has succeeded and been refused meanwhile, all disks go away,
# data is right on another, and the module goes.
#
# kernels: debug
# timeout: 900

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

fuzz_with_keys "${NL_SEED:-1}" "${NL_MESSAGES:-2000}"
