#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels: 6.1 6.12
#
# A read-only cached file. A restarted daemon serves the same contents under the same epoch, and
# the disk goes on. If the file was changed meanwhile, even with its old time stamps, the cached
# data of the host is stale, and the disk fails.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
FILE=/var/tmp/read-only

read_only() {
	serve_file "$FILE,cache=full,ro"
}

load_module
random_file 16M $FILE
read_only
connect --read-only --dev-loss-tmo off
epoch=$(status epoch)
dd if=$DEV bs=1M iflag=direct status=none | cmp - $FILE || fail "it reads as something else"

for signal in TERM KILL; do
	stop_target $signal
	read_only
	wait_until "$PATIENCE" state_is live || fail "the disk is $(status state)"
	expect "$epoch" "$(status epoch)" "the epoch after SIG$signal"
	dd if=$DEV bs=1M iflag=direct status=none | cmp - $FILE ||
		fail "it reads as something else"
done

stop_target
touch -r $FILE /tmp/times
printf changed | dd of=$FILE conv=notrunc status=none
touch -r /tmp/times $FILE
read_only
expect_failed 'store has lost its contents'
"$RDMABLK" reconnect --accept-data-loss --wait 60 rdmablk0
dd if=$DEV bs=1M iflag=direct status=none | cmp - $FILE || fail "it reads as something else"
[[ $(status epoch) != "$epoch" ]] || fail "the epoch of other contents is the same"
disconnect
stop_target
unload_module
