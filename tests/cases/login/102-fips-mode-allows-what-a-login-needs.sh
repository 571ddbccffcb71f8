#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In FIPS mode the crypto layer refuses algorithms that are not approved. It still gives the
# module everything that a login needs. A disk with a key is written and read back, also after
# it has proved its key again. The newest kernel is built without FIPS mode.
#
# kernels: 6.1 6.12
# cmdline: fips=1

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

[[ -f /proc/sys/crypto/fips_enabled ]] || skip "this kernel is built without FIPS mode"
[[ $(</proc/sys/crypto/fips_enabled) == 1 ]] || fail "this kernel is not in FIPS mode"
computes_what_others_do

load_module
leak_snapshot
serve_with_key 8M 'log-level = debug'
connect --key default
expect psk "$(status auth)" "the authentication"
fio_verify 8
"$RDMABLK" set rdmablk0 --key default
wait_until 60 proofs_more 0 || fail "the key is not proved again: $(<"$TARGET_LOG")"
fio_verify 8
expect 0 "$(status reconnects)" "the number of outages"
"$RDMABLK" reconnect rdmablk0 --wait 60
device_same_as_target
still_live
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
leak_check
unload_module
