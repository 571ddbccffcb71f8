#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A disk with a key: each allocation for the key, for the crypto layer's algorithms and inside
# them fails once in a connect, which reports that and leaves nothing behind. The same
# allocations fail once in the login after an outage, under load that verifies what it reads:
# the disk comes back by itself, and no request fails.
#
# kernels: debug
# timeout: 900
# allow: FAULT_INJECTION|page allocation failure|vmalloc error|ref_tracker: memory allocation|kmemleak: Cannot allocate a scan area

# shellcheck source=tests/cases/debug/lib.sh
source "$RDMABLK_TOP/tests/cases/debug/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

load_module
serve_with_key 8M
sweep_begin --key default
for below in rdmablk_keys_give rdmablk_auth_open rdmablk_auth_begin rdmablk_auth_challenge; do
	inject connect "$TARGET_ADDR" --key default --depth $DEPTH --below $below
done
leak_check
connect --key default --queues 1 --queue-depth $DEPTH --reconnect-delay 1
expect psk "$(status auth)" "the authentication"
start_verify "${SLOWLY[@]}"
for below in rdmablk_auth_begin rdmablk_auth_challenge; do
	inject recover "$TARGET_ADDR" --below $below
done
expect_progress
stop_verify
device_same_as_target
sweep_end
