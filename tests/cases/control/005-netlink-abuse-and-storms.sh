#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The management interface refuses wrong requests with the errno that belongs to each, answers
# mutated requests, refuses every command of an unprivileged process, and survives many
# processes that connect, disconnect, list and ask at once. Nothing is left behind, and the
# module can be unloaded.

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

python_test() {
	python3 "$CASES/control/$1.py" "${@:2}" || fail "$1.py"
}

serve 1M --export disk1,memory,size=1M --export disk2,memory,size=1M
load_module
leak_snapshot
python_test netlink_abuse "$TARGET_ADDR" 1500
python_test storm "$TARGET_ADDR" 8 disk0 disk1 disk2
leak_check
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
	python3 "$CASES/control/unprivileged.py" || fail "unprivileged.py"
connect
expect_works 1
disconnect
expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
unload_module
leak_check
target_lives || fail "the daemon has not survived"
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
