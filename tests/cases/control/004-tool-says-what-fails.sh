#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tool's errors that come from the kernel: each has the exit status of its cause and one
# line on stderr that says what failed and why. Without the module; an unknown disk; a disk in
# use, mounted and removed by force under the file system; connected twice, with and without
# --idempotent; --all with a disk in use; each reason why a connect fails; not root; without
# CAP_SYS_ADMIN; another network namespace. The doctor reports a missing module and a failed
# disk, and finds no error while all is well.
#
# in-turn: yes

# shellcheck disable=SC2086 # addresses have no spaces

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
require mkfs.ext4 setpriv unshare jq

# tool_fails STATUS WHAT-AND-WHY ARGUMENT...
tool_fails() {
	local status=0

	"$RDMABLK" "${@:3}" >/tmp/out 2>/tmp/err || status=$?
	expect "$1" $status "the exit status of: ${*:2}"
	grep -qxE "rdmablk: $2" /tmp/err || fail "'$(</tmp/err)' is not '$2'"
	[[ ! -s /tmp/out ]] || fail "it prints '$(</tmp/out)'"
}

# connect_fails STATUS WHY ARGUMENT...: the export comes last
connect_fails() {
	tool_fails "$1" "connect [^ ]+: $2" connect "${@:3}"
}

# no_error: the doctor has checked every part of the host, and reports warnings at most
no_error() {
	local check

	"$RDMABLK" doctor --json >/tmp/doctor || (($? == 9)) || fail "$(</tmp/doctor)"
	for check in adapter resources module disks keys verbs io_uring daemon sessions hosts \
			clock; do
		jq -e "any(.findings[]; .check == \"$check\")" /tmp/doctor >/dev/null ||
			fail "nothing about $check: $(</tmp/doctor)"
	done
	run_expect 0 'domains of the module: 1"' cat /tmp/doctor
	run_expect 0 'rxe0: Soft-RoCE' cat /tmp/doctor
}

a=$TARGET_ADDR
b=10.99.0.1
missing='the kernel module rdmablk is not loaded \(modprobe rdmablk\)'
tool_fails 8 "list: $missing" list
tool_fails 8 "status: $missing" status
tool_fails 8 "monitor: $missing" monitor
tool_fails 8 "disconnect rdmablk0: $missing" disconnect rdmablk0
connect_fails 8 "$missing" $a/disk0
run_expect 1 '^error +module +the module rdmablk is not loaded$' "$RDMABLK" doctor initiator

start_target --insecure --listen $a --listen $b --max-queues-per-host 6 \
	--max-pinned 96M --export disk0,memory,size=32M \
	--export disk1,memory,size=16M --export ro,memory,size=16M,ro \
	--export large,memory,size=64M
leak_snapshot
start_bad_target silent deaf reject=2
load_module

tool_fails 3 'disconnect rdmablk0: no such device' disconnect rdmablk0
tool_fails 3 'disconnect rdmablk9: no such device' disconnect /dev/rdmablk9
tool_fails 3 'status rdmablk0: no such device' status rdmablk0
run_expect 0 '^$' "$RDMABLK" disconnect --all
run_expect 0 '' "$RDMABLK" list

connect_fails 3 'no such export; there are disk0, disk1, large, ro' $a/none
connect_fails 3 'no such export; did you mean large\?' $a/lagre
connect_fails 5 'nobody listens on this port' $a:20421/disk0
connect_fails 5 'no route to this network' 10.55.0.1/disk0
connect_fails 6 'export is read-only \(--read-only connects to it\)' $a/ro
connect_fails 8 'no common protocol version' $a:$((BAD_PORT + 2))/disk0
connect_fails 5 'no answer in time' --connect-tmo 1 10.99.0.77/disk0
connect_fails 5 'no answer in time' --connect-tmo 1 $a:$((BAD_PORT + 1))/disk0
connect_fails 5 'the target does not answer the login' --connect-tmo 1 \
	$a:$BAD_PORT/disk0
connect_fails 1 '.+' --source fd99::1 $a/disk0
connect_fails 5 '.+' --source 10.55.0.1 $a/disk0
stop_bad_target

# Twice.
run_expect 0 '^/dev/rdmablk0$' "$RDMABLK" connect $a/disk0
connect_fails 4 'this export is connected( on this host)? already' $a/disk0
run_expect 0 '^/dev/rdmablk0$' "$RDMABLK" connect --idempotent $a/disk0
run_expect 0 '^/dev/rdmablk0$' "$RDMABLK" connect --idempotent $a:20420/disk0
connect_fails 4 'export is in use by this host already' $b/disk0
connect_fails 4 'export is in use by this host already' --steal $b/disk0
connect_fails 4 'export is in use by another host' \
	--host-id 1b4e28ba-2fa1-11d2-883f-0016d3cca427 $b/disk0
run_expect 0 '^/dev/rdmablk1$' "$RDMABLK" connect --read-only $a/disk1
connect_fails 4 'rdmablk1 is connected to it, but read-only' --idempotent $a/disk1
run_expect 0 '^/dev/rdmablk1$' "$RDMABLK" connect --idempotent --read-only $a/disk1
connect_fails 1 'too much registered memory' $a/large

# In use.
exec {fd}<>/dev/rdmablk0
busy='(the device is in use|the disk is open or mounted)'
tool_fails 4 "disconnect rdmablk0: $busy \(--force removes it anyway\)" \
	disconnect rdmablk0
tool_fails 4 "disconnect rdmablk0: $busy \(--force removes it anyway\)" \
	disconnect --all
[[ ! -e /dev/rdmablk1 ]] || fail "--all has kept a disk that is not in use"
expect live "$(attribute state)" "the state"
exec {fd}>&-
mkfs.ext4 -q /dev/rdmablk0
mount /dev/rdmablk0 /mnt
echo data >/mnt/file
tool_fails 4 "disconnect rdmablk0: $busy: mounted at /mnt \(--force removes it anyway\)" \
	disconnect rdmablk0
run_expect 0 '^$' "$RDMABLK" disconnect --force rdmablk0
[[ ! -e /dev/rdmablk0 ]] || fail "the disk outlives --force"
run_expect 1 'Input/output error|Read-only file system|No such device' \
	dd if=/dev/urandom of=/mnt/more bs=1M count=1 oflag=direct
umount /mnt
leak_check
tool_fails 3 'disconnect rdmablk0: no such device' disconnect --force rdmablk0
# The writes before the forced disconnect are there.
connect
no_error
e2fsck -fy /dev/rdmablk0 >/tmp/fsck || (($? <= 1)) || fail "$(</tmp/fsck)"

# Every user may see what sysfs has, and sysfs has what the module tells root.
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		"$RDMABLK" "$@"
}
"$RDMABLK" list >/tmp/of-root
nobody list >/tmp/of-nobody 2>&1
cmp /tmp/of-root /tmp/of-nobody
run_expect 0 '^rdmablk: status: warning: the module answers only root' nobody status
"$RDMABLK" list --json >/tmp/of-root
nobody list --json >/tmp/of-nobody 2>/dev/null
python3 - <<-'PYTHON'
	import json
	root, nobody = (json.load(open('/tmp/of-' + who))['devices'][0]
	                for who in ('root', 'nobody'))
	told = {key for key, value in nobody.items() if value is not None}
	assert {key: root[key] for key in told} == {key: nobody[key] for key in told}
	assert len(told) > 30, told
PYTHON

# A process that may only configure networks changes nothing.
limited() {
	setpriv --bounding-set -sys_admin --inh-caps=-sys_admin "$RDMABLK" "$@"
}
for command in "disconnect --force rdmablk0" "set rdmablk0 --io-tmo 5" "reconnect rdmablk0" \
		"connect $a/disk1"; do
	# shellcheck disable=SC2086 # words
	run_expect 7 'not permitted: this also needs CAP_SYS_ADMIN$' limited $command
done
run_expect 0 'rdmablk0 .*live' limited list
limited stats rdmablk0 --json >/tmp/stats || fail "no counters without CAP_SYS_ADMIN"
expect live "$(attribute state)" "the state"
disconnect

# A failed disk counts as connected, but does not satisfy --idempotent.
connect_brittle --keep-alive-tmo 1
stop_target KILL
expect_failed "$LOST"
run_expect 1 "^error +disks +rdmablk0 is failed: .+" "$RDMABLK" doctor initiator
connect_fails 4 'rdmablk0 is connected to it, but failed: .+' --idempotent $a/disk0
disconnect

# JSON of a failure goes to stdout.
run_expect 3 '"code":"ENODEV"|"code": "ENODEV"' "$RDMABLK" status rdmablk5 --json

# Users without CAP_NET_ADMIN get an error.
for command in "stats rdmablk0" "disconnect rdmablk0" "connect $a/disk0"; do
	# shellcheck disable=SC2086 # words
	run_expect 7 'not permitted: this needs CAP_NET_ADMIN' nobody $command
done
run_expect 1 'from the initial network namespace only' \
	unshare --net "$RDMABLK" list
unload_module
