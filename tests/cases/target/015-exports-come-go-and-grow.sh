#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smp: 2
# in-turn: yes
#
# The administrator changes exports while initiators are connected. Exports are added, used and
# removed. Disks grow with their files, by a command and by SIGHUP, and only then; a mounted
# file system grows with its disk; a file that got shorter leaves its export as it is. Exports
# in use stay, unless the removal is forced, and then the written data is in the file. A reload
# of the configuration changes only exports that differ. A daemon that is confined to
# directories adds no file from elsewhere. A host whose address is not allowed gets no
# connection; connected disks stay. Added exports can be saved. A disk comes back when the
# administrator has ended its session. The daemon answers only root about its exports.

# shellcheck source=tests/cases/store/lib.sh
source "$RDMABLK_TOP/tests/cases/store/lib.sh"
require mkfs.ext4 resize2fs jq setpriv

CONFIG=/tmp/rdmablkd.conf CONTROL=/run/rdmablkd/control

target() {
	"$RDMABLK" target "$@"
}

# refused REGEX ARGUMENT...
refused() {
	run_expect failed "^rdmablk: target .*: $1" target "${@:2}"
}

# attach N NAME: connects the export as /dev/rdmablkN
attach() {
	expect "/dev/rdmablk$1" "$("$RDMABLK" connect "$TARGET_ADDR/$2")" "the disk"
}

size_is() {
	(($(blockdev --getsize64 "/dev/rdmablk$1") == $2 << 20))
}

# grown N MIB
grown() {
	wait_until "$PATIENCE" size_is "$1" "$2" || fail "rdmablk$1 does not grow to $2 MiB"
}

# hup REGEX: read it all again; returns when the log has REGEX behind that
hup() {
	: >"$TARGET_LOG"
	kill -HUP "$TARGET_PID"
	expect_log 'SIGHUP: looking'
	expect_log "$1"
}

# export_section NAME LINE...
export_section() {
	printf '[export %s]\n' "$1"
	printf '%s\n' "${@:2}"
}

# configure LINE...: a configuration with these
configure() {
	printf '[target]\nlisten = %s\ninsecure = yes\n' "$TARGET_ADDR" >$CONFIG
	printf '%s\n' "$@" >>$CONFIG
}

NONE=$(export_section none "file = $DISK/none")
FULL=$(export_section full "file = $DISK/full" 'cache = full')
FIXED=$(export_section fixed "file = $DISK/fixed" 'size = 8M')
MEM=$(export_section mem 'type = memory' 'size = 4M')

load_module
ram_disk 128
file_system
truncate -s 8M $DISK/none $DISK/full $DISK/fixed
configure 'drain-ms = 100' "directories = $DISK" "$NONE" "$FULL" "$FIXED" "$MEM"
start_target --config $CONFIG

# Who may ask
expect 600 "$(stat -c %a $CONTROL)" "the mode of the socket"
chmod 666 $CONTROL
run_expect 5 'has not answered|Connection reset|Broken pipe' setpriv --reuid 65534 \
	--regid 65534 --clear-groups "$RDMABLK" target list
chmod 600 $CONTROL

# Disks grow with their files
attach 0 none
attach 1 full
attach 2 fixed
mkfs.ext4 -q /dev/rdmablk1
mkdir -p /mnt/disk
mount /dev/rdmablk1 /mnt/disk
random_file 1M /tmp/before
random_file 12M /tmp/after
cp /tmp/before /mnt/disk/before
sync -f /mnt/disk
truncate -s 24M $DISK/full $DISK/none $DISK/fixed
expect 25165824 "$(target resize full)" "the new size"
grown 1 24
resize2fs /dev/rdmablk1 >/tmp/resize 2>&1 || fail "resize2fs: $(cat /tmp/resize)"
cp /tmp/after /mnt/disk/after
sync -f /mnt/disk
echo 3 >/proc/sys/vm/drop_caches
cmp /tmp/before /mnt/disk/before
cmp /tmp/after /mnt/disk/after
hup 'configuration: export fixed: kept'
expect_log "export none: has grown from $((8 << 20)) to $((24 << 20)) bytes"
grown 0 24
size_is 2 8 || fail "its size was given"
dd if=/tmp/before of=/dev/rdmablk0 bs=1M seek=23 oflag=direct status=none
cmp /tmp/before <(tail -c 1M $DISK/none) || fail "the file lacks what is behind its old end"
truncate -s 16M $DISK/none
hup 'configuration: export none: .* has become shorter'
refused 'export none: .* has become shorter' resize none
truncate -s 25M $DISK/none
hup 'configuration: export none: resized'
grown 0 25
refused 'memory keeps the size it has' resize mem
json=$(target sessions full --json)
expect "live $(uname -n) 0" "$(jq -r '.sessions[] | "\(.state) \(.host) " +
	"\(.commands.flush.errors)"' <<<"$json")" "the session's state, host and failed flushes"
(($(jq '.sessions[0].commands.flush.done' <<<"$json") > 0)) || fail "no flush is counted"
(($(target sessions none --json | jq '.sessions[0].commands.write.done') > 0)) ||
	fail "no write is counted"

# Added, had, removed
truncate -s 4M $DISK/late
refused 'export mem exists already' add mem,memory,size=1M
refused '.*cannot open .*nowhere' add "late,file=$DISK/nowhere"
refused '.*is what export none is made of already' add "again,file=$DISK/none"
truncate -s 4M /var/tmp/outside
refused ".*outside: Permission denied \(is it below one of 'directories'\?\)" \
	add "outside,file=/var/tmp/outside"
target add "late,file=$DISK/late,cache=full"
attach 3 late
dd if=/tmp/before of=/dev/rdmablk3 bs=1M oflag=direct status=none
refused 'export late is in use by 1 session' remove late
target remove --force late
wait_until "$PATIENCE" dmesg_has 'rdmablk3 .*: export is about to be removed, in [0-9]+ ms' ||
	fail "the disk was not told why"
wait_until "$PATIENCE" dmesg_has 'rdmablk3 .*: connection lost: export was removed' ||
	fail "the disk does not say why"
! dmesg_has 'rdmablk3 .*: target is (about to shut|shutting) down' ||
	fail "the disk takes it for the end of the daemon"
cmp -n 1048576 /tmp/before $DISK/late || fail "the file lacks what was written"
refused 'there is no export late' show late
dd if=/dev/rdmablk3 of=/tmp/late bs=1M count=1 iflag=direct status=none &
READER=$!
target add "late,file=$DISK/late,cache=full"
wait $READER || fail "the read that waited has failed"
cmp /tmp/before /tmp/late

# Sent away, and back at once: a kick costs an outage, and no write.
before=$(target sessions none --json | jq -r '.sessions[0].id')
expect "session $before: ended: host" "$(target kick "$before" | cut -d ' ' -f 1-4)" "the kick"
wait_until "$PATIENCE" dmesg_has "rdmablk0 .*: connection lost: ended by the target's administrator" ||
	fail "the disk does not say why"
dd if=/tmp/before of=/dev/rdmablk0 bs=1M oflag=direct status=none
cmp -n 1048576 /tmp/before $DISK/none || fail "the file lacks what was written after the kick"
[[ $(target sessions none --json | jq -r '[.sessions[] | select(.state == "live")][0].id') != "$before" ]] ||
	fail "the session goes on"
refused 'no session has this id' kick "$before"

# The configuration
sessions=$(target sessions --json | jq -c '[.sessions[].id]')
configure "$NONE" "$FULL" 'sze = 1'
refused '.*unknown key "sze"' reload
expect 'none full fixed mem late' "$(target list --json |
	jq -r '[.exports[].name] | join(" ")')" "what is exported after a mistake"
truncate -s 4M $DISK/new
configure 'drain-ms = 150' 'name = other' 'io-threads = 9' "$NONE" 'ro = yes' "$FULL" "$FIXED" \
	"$(export_section new "file = $DISK/new")"
run_expect 1 'not all of it could be done' target reload
for line in 'export mem: removed' 'export new: added' 'export full: kept' \
	'export none: not done: export none is in use by 1 session' \
	'export late: kept: added by hand' 'setting drain-ms: changed' \
	'setting name: not done: needs a restart of the daemon' \
	'setting io-threads: not done: needs a restart of the daemon'; do
	grep -qx "$line" <<<"$OUTPUT" || fail "no '$line': $OUTPUT"
done
configure 'drain-ms = 150' "$NONE" "$FULL" "$FIXED"
hup 'configuration: export new: removed'
expect "$sessions" "$(target sessions --json | jq -c '[.sessions[].id]')" "the sessions"

# A host whose address is not allowed is told that there is no such export.
closed() {
	export_section closed 'type = memory' 'size = 4M' "allow-address = $1"
}
configure "$NONE" "$FULL" "$FIXED" "$(closed '192.0.2.0/24, 2001:db8::/32')"
hup 'configuration: export closed: added'
run_expect 3 'no such export' "$RDMABLK" connect "$TARGET_ADDR/closed"
expect_log 'its address is not in allow-address of export closed'
configure "$NONE" "$FULL" "$FIXED" "$(closed "192.0.2.0/24, ${TARGET_ADDR%.*}.0/24")"
hup 'configuration: export closed: changed'
attach 4 closed
configure 'allow-address = 192.0.2.1' "$NONE" "$FULL" "$FIXED" "$(closed 192.0.2.1)"
hup 'configuration: setting allow-address: changed'
expect '192.0.2.1' "$(target sessions --json | jq -r .allow_address)" "the networks of the daemon"
dd if=/dev/rdmablk4 of=/dev/null bs=1M count=1 iflag=direct status=none
run_expect 3 'no such export' "$RDMABLK" connect "$TARGET_ADDR/other"
expect_log 'connection from .*: refused: no such export'
configure "$NONE" "$FULL" "$FIXED" "$(closed 192.0.2.1)"
hup 'configuration: setting allow-address: changed'

# listener NETWORKS: the same configuration, with a section of the address
listener() {
	printf '[target]\ninsecure = yes\n[listen %s]\nallow-address = %s\n' "$TARGET_ADDR" "$1" \
		>$CONFIG
	printf '%s\n' "$NONE" "$FULL" "$FIXED" "$(closed 192.0.2.1)" "$MORE" >>$CONFIG
}
MORE=$(export_section more 'type = memory' 'size = 4M')
listener 192.0.2.1
hup "configuration: setting listen $TARGET_ADDR:20420: changed"
dd if=/dev/rdmablk4 of=/dev/null bs=1M count=1 iflag=direct status=none
run_expect 3 'no such export' "$RDMABLK" connect "$TARGET_ADDR/more"
expect_log "connection from .*: refused: no such export .allow-address of $TARGET_ADDR:20420"
# Two connects, and after each one the tool's question which exports there are
expect "[\"$TARGET_ADDR:20420\",true,\"192.0.2.1\",4]" \
	"$(target sessions --json | jq -c '.listeners[] | [.address, .listening, .allow_address, .refused]')" \
	"the listeners"
expect '192.0.2.1' "$(target list --json | jq -r '.exports[] | select(.name == "closed").allow_address')" \
	"the networks of an export"
listener "${TARGET_ADDR%.*}.0/24"
hup "configuration: setting listen $TARGET_ADDR:20420: changed"
attach 5 more

umount /mnt/disk
e2fsck -fn /dev/rdmablk1 >/dev/null || fail "the file system on the disk"
"$RDMABLK" disconnect --all

# Added exports are saved, and a reload finds nothing to do; one that was removed and is in the
# configuration is named.
expect $CONFIG.d/saved.conf "$(target save)" "the file that is written"
target reload >/tmp/reloaded 2>&1 || grep -q '^setting directories: not done' /tmp/reloaded ||
	fail "the reload: $(</tmp/reloaded)"
expect "" "$(sed -n '/: kept/d; /^export/p' /tmp/reloaded)" \
	"the exports that a reload after it changes"
expect "" "$(target save)" "what a second save writes"
target remove none
run_expect 1 "export none: not done: it was removed, and is in $CONFIG:" target save
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
[[ ! -e $CONTROL ]] || fail "$CONTROL outlives the daemon"
e2fsck -fn $DISK/full >/dev/null || fail "the file system in the file"

# A file that does not answer while it is opened: to look is possible, and the daemon
# that ends waits 5 s for it, not for ever
opening() {
	target list --json | jq -e '.exports[] | select(.name == "hung") |
		.state == "opening"' >/dev/null
}
configure "$NONE"
export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
start_target --config $CONFIG
expect 'none late' "$(target list --json | jq -r '[.exports[].name] | join(" ")')" \
	"what is exported with the file that was saved"
truncate -s 4M $DISK/hung
dd if=/dev/urandom of=$DISK/hung bs=1M count=1 conv=notrunc status=none
echo 'read hang' >/tmp/rules
target add "hung,file=$DISK/hung,cache=full,fault=/tmp/rules" &>/dev/null &
wait_until "$PATIENCE" opening || fail "the export is not being opened"
stop_target
expect 1 "$TARGET_STATUS" "the status of a daemon that does not wait for a file"
grep -q 'a file does not answer after [0-9]* ms: exiting' "$TARGET_LOG" ||
	fail "the daemon does not say what it has waited for"
unload_module
