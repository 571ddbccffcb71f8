#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Messages of any shape to the module's netlink family, from several threads at once and beside
# real connects, cause no report of the kernel's checkers: right and wrong commands and
# attributes, cut headers, dumps that are not read to the end. Each command succeeds at least
# once, and refusals occur. At the end all disks are disconnected, data is right on a new disk,
# and the module can be unloaded.
#
# kernels: debug
# timeout: 900

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"

SEED=${NL_SEED:-1} MESSAGES=${NL_MESSAGES:-3000}

load_module
serve 1M --export disk1,memory,size=1M --export disk2,memory,size=1M \
	--export other,memory,size=8M
sweep_begin
program nl_fuzz
begin=$SECONDS
timeout 180 "$PROGRAM" "$TARGET_ADDR" "$SEED" "$MESSAGES" || fail "seed $SEED"
echo "seed $SEED, $MESSAGES messages of each thread, $((SECONDS - begin)) s"
[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk is left"
target_lives || fail "the daemon has not survived"
leak_check
connect
fio_verify 1
device_same_as_target
still_live
sweep_end
