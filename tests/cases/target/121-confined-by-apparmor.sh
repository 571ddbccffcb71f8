#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon with the AppArmor profile of its package, enforced: it serves memory, huge pages, a
# kept arena, and files with and without a cache, comes back after kill -9, writes an audit log,
# and obeys "rdmablk target". The profile denies it nothing that it needs. A file in a place
# that the profile does not name is refused; it is served when the local part of the profile
# names it. The command of --run is not confined, and gets the SIGTERM that the daemon gets.
# rdmablk-demo works.
#
# cmdline: apparmor=1 security=apparmor
# timeout: 600

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
require apparmor_parser

PROFILE=$RDMABLK_TOP/target/apparmor/rdmablkd LOCAL=/etc/apparmor.d/local/rdmablkd
NAMES=(memory huge kept full none)

denials() {
	dmesg | grep 'apparmor="DENIED"' || :
}

# confined: the daemon runs with the profile
confined() {
	expect 'rdmablkd (enforce)' "$(</proc/"$TARGET_PID"/attr/current)" 'the profile'
}

start() {
	start_target --insecure --listen "$TARGET_ADDR" --audit /var/log/rdmablkd/audit.jsonl \
		--export memory,memory,size=8M,hugepages=no \
		--export huge,memory,size=4M,hugepages=2M \
		--export kept,memory,size=8M,arena=/dev/shm/kept \
		--export full,file=/srv/full,cache=full --export none,file=/srv/none
	confined
}

# unconfined COMMAND: runs it by --run
unconfined() {
	"$RDMABLKD" --insecure --listen "$TARGET_ADDR" --export run,memory,size=1M --run "$1"
}

connect_disks() {
	local n

	for n in "${!NAMES[@]}"; do
		disk "$n" "$TARGET_ADDR/${NAMES[n]}"
	done
}

# The files are elsewhere, because an overlay over 9p takes no O_DIRECT, and its path names are
# not those of the profile.
mount -t tmpfs none /srv
mount -t securityfs none /sys/kernel/security 2>/dev/null || :
[[ $(</sys/module/apparmor/parameters/enabled) == Y ]] || fail 'AppArmor is off'
echo 4 >/proc/sys/vm/nr_hugepages
mkdir -p /var/lib/rdmablkd /var/log/rdmablkd "${LOCAL%/*}" /run/rdmablkd /opt/disks
truncate -s 8M /srv/full /srv/none /opt/disks/other
cp "$RDMABLKD" /usr/sbin/rdmablkd
export RDMABLK
export RDMABLKD=/usr/sbin/rdmablkd TARGET_LOG=/var/log/rdmablkd/log
rm -f $LOCAL
apparmor_parser -rTK "$PROFILE"
load_module

# shellcheck disable=SC2016 # the command expands it
run_expect 7 '' unconfined 'cat /proc/$$/attr/current >/root/run; exit 7'
expect unconfined "$(</root/run)" 'the profile of the command'
run_expect 127 'status 127: a program that it names was not found' unconfined /opt/nothing
start_target --insecure --listen "$TARGET_ADDR" --export run,memory,size=1M --run \
	'trap "echo told >/root/told; exit 7" TERM; touch /root/begun; while :; do sleep 0.1; done'
confined
wait_until "$PATIENCE" test -e /root/begun || fail 'the command does not begin'
stop_target
expect 7 "$TARGET_STATUS" 'the status of the command that a SIGTERM ends'
expect told "$(</root/told)" 'what the command wrote then'
run_expect 0 '== 8 MiB are what they were' \
	"$RDMABLK_TOP/tools/demo/rdmablk-demo" --address "$TARGET_ADDR" --size 8

start
connect_disks
for n in "${!NAMES[@]}"; do
	dd if=/dev/urandom of=/run/data bs=1M count=4 status=none
	dd if=/run/data of="/dev/rdmablk$n" bs=1M conv=fsync oflag=direct status=none
	dd if="/dev/rdmablk$n" of=/run/back bs=1M count=4 iflag=direct status=none
	cmp /run/data /run/back
done
expect "${#NAMES[@]}" "$("$RDMABLK" target list | tail -n +2 | wc -l)" 'exports'
"$RDMABLK" target add later,memory,size=1M
"$RDMABLK" target remove later
disconnect_all
stop_target KILL
start
connect_disks
dd if=/dev/rdmablk4 of=/run/back bs=1M count=4 iflag=direct status=none
cmp /run/data /run/back
[[ -s /var/log/rdmablkd/audit.jsonl ]] || fail 'no audit log'
disconnect_all
expect '' "$(denials)" 'what the profile denies'

run_expect failed '/opt/disks/other: Permission denied' \
	"$RDMABLK" target add other,file=/opt/disks/other
denials | grep -q 'name="/opt/disks/other"' || fail 'the profile has denied nothing'
stop_target
echo '/opt/disks/** rwk,' >$LOCAL
apparmor_parser -rTK "$PROFILE"
start_target --insecure --listen "$TARGET_ADDR" --export other,file=/opt/disks/other
confined
disk 0 "$TARGET_ADDR/other"
disconnect_all
stop_target
