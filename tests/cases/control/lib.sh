# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases that make a connect fail.

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"

BAD_PORT=30000		# of bad_target's first mode
TABLE=''

# load_fails ERRNO REGEX PARAMETERS: one more line for insmod_all
load_fails() {
	TABLE+="$1"$'\t'"$2"$'\t'"$3"$'\n'
}

# insmod_all: loads the module once for each of these lines, in one process, because an emulated
# processor starts a program more slowly than it loads a module
insmod_all() {
	modprobe -a rdma_cm ib_core
	[[ ! -d /sys/module/rdmablk ]] || fail "the module is loaded"
	printf '%s' "$TABLE" |
		python3 "$RDMABLK_TOP/tests/cases/control/insmod.py" "$MODULE" ||
		fail "insmod; bad_target says: $(cat /tmp/bad_target 2>/dev/null || :)"
	TABLE=''
	[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk is left behind"
}

# start_bad_target MODE...: starts bad_target with one port for each mode, from BAD_PORT on
start_bad_target() {
	program bad_target
	BAD_PORT=$BAD_PORT "$PROGRAM" "$TARGET_ADDR" "$@" >/tmp/bad_target 2>&1 &
	BAD_PID=$!
	wait_until "$PATIENCE" grep -q '^ready' /tmp/bad_target ||
		fail "bad_target: $(cat /tmp/bad_target)"
}

# stop_bad_target: ends bad_target, which must still be running
stop_bad_target() {
	kill -KILL "$BAD_PID" || fail "bad_target: $(cat /tmp/bad_target)"
	wait "$BAD_PID" || :
}
