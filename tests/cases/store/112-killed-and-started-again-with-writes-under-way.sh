#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon of an uncached file is killed again and again while checksummed writes are under
# way. The file stays locked until the last write of the dead daemon is over; then its successor
# gets the file. No request fails, and no data is lost: the epoch stays, because the host's page
# cache does.
#
# smp: 2
# timeout: 300

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
require fio

load_module
ram_disk 64
file_system
truncate -s 16M $DISK/disk0
serve_file $DISK/disk0
connect --reconnect-delay 1 --keep-alive-tmo 5
start_verify
for n in 1 2 3 4 5; do
	stop_target KILL
	serve_file $DISK/disk0
	expect_back "$n"
	expect_progress
done
stop_verify
disconnect
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
unload_module
