#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In FIPS mode, in which the crypto layer refuses what is not approved, it gives the module
# all that a login needs. The newest kernel is built without that mode.
#
# kernels: 6.1 6.12
# cmdline: fips=1

# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

[[ -f /proc/sys/crypto/fips_enabled ]] || skip "this kernel is built without FIPS mode"
[[ $(</proc/sys/crypto/fips_enabled) == 1 ]] || fail "this kernel is not in FIPS mode"
computes_what_others_do
