#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Keys, end to end. A disk with a key is written and read back. A connect without a key, with a
# wrong key, or with a key to a daemon that takes none is refused with a text that says what to
# set where. An export that a host may not use looks like one that does not exist, and "ro"
# keeps the host from writing. The disk comes back after the daemon was killed. A new key
# replaces the old one without an outage, and a third key the second one, by a reload and by
# requests of the tool. Without a key that the target takes, or without the right to the export,
# the disk holds its I/O; it goes on when it has both again. The audit log has each key that
# ends or changes. Neither side prints a byte of a key.
#
# kernels: 6.12
# long-kernels: 6.1 newest
# timeout: 900
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq mkfs.ext4

WHERE=$TARGET_ADDR/disk0 OTHER=disk1

# configure LINE...: writes the daemon's file; "web1" may write disk0, "backup" may read it and
# write $OTHER
configure() {
	{
		printf '[target]\nlisten = %s\naudit = /tmp/audit\n' "$TARGET_ADDR"
		printf '%s\n' "$@" '[host backup]' 'key = backup'
		printf '[export disk0]\ntype = memory\nsize = 64M\narena = %s\n' "$ARENA"
		printf 'allow = web1, backup:ro\n'
		printf '[export %s]\ntype = memory\nsize = 4M\nallow = backup\n' $OTHER
	} >$HOSTS_CONFIG
}

reload() {
	"$RDMABLK" target reload
}

# connect_as KEY [OPTION...]: connects disk0 with this key
connect_as() {
	expect $DEV "$("$RDMABLK" connect --key "$1" "${@:2}" "$WHERE")" "the disk"
	expect psk "$(status auth)" "the authentication"
	expect "$1" "$(status key)" "the key of the disk"
}

# refused STATUS TEXT OPERAND [OPTION...]
refused() {
	run_expect "$1" "^rdmablk: connect $3: $2" "$RDMABLK" connect "${@:4}" "$3"
	[[ ! -e $DEV ]] || fail "a refused connect has made a disk"
}

# proved_with KEY: whether the session on disk0 has proved this key
proved_with() {
	local id

	id=$(key_id "$1")
	"$RDMABLK" target sessions --json >/tmp/sessions
	grep -q "\"$id\"" /tmp/sessions
}

# proves KEY: gives the disk another key, which the target takes already; the session proves it
proves() {
	"$RDMABLK" set rdmablk0 --key "$1"
	wait_until "$PATIENCE" proved_with "$1" ||
		fail "the session still has another key than $1: $(</tmp/sessions)"
	expect "$1" "$(status key)" "the key of the disk"
}

# last_error_is TEXT
last_error_is() {
	[[ $(attribute last_error) == "$1" ]]
}

# nothing_shows KEY...: no output of either side has bytes of these keys
nothing_shows() {
	local files=("${@/%/.key}")

	dmesg >/tmp/shown.dmesg
	"$RDMABLK" list --json >/tmp/shown.list
	"$RDMABLK" status --json >/tmp/shown.status
	"$RDMABLK" key list --json >/tmp/shown.keys
	"$RDMABLK" target sessions --json >/tmp/shown.sessions
	"$RDMABLK" target list --json >/tmp/shown.exports
	cp "$TARGET_LOG" /tmp/shown.log
	cp /tmp/audit /tmp/shown.audit
	python3 "$CASES/login/secret.py" "${files[@]/#/$KEYS/}" -- /tmp/shown.* ||
		fail "bytes of a key can be read"
}

make_keys web1 web1-new web1-third backup stranger
configure '[host web1]' 'key = web1'
echo 'module rdmablk +p; file security/keys/* +p' >/sys/kernel/debug/dynamic_debug/control
load_module dyndbg=+p
leak_snapshot
start_target --log-level debug --config $HOSTS_CONFIG
grep -q '^Max core file size  *1  *1 ' "/proc/$TARGET_PID/limits" ||
	fail "a core dump would have keys: $(grep core "/proc/$TARGET_PID/limits")"

# Refused, with a text that says what to do where
refused 6 'the target demands a key: connect with --key NAME' "$WHERE"
refused 3 'no key rdmablk:web1 is loaded' "$WHERE" --key web1
load_keys web1 backup stranger
refused 6 'authentication failed' "$WHERE" --key stranger
refused 6 'export is read-only' "$WHERE" --key backup
for name in $OTHER nowhere; do
	refused 3 'no such export' "$TARGET_ADDR/$name" --key web1
done
dmesg >/tmp/dmesg
expect 2 "$(grep -c 'connect failed: no such export (-2)' /tmp/dmesg)" \
	"the number of connects to an export that is not there or not for this host"

# Written and read back
connect_as web1
proved_with web1 || fail "the session is not web1's: $(</tmp/sessions)"
mkfs.ext4 -q $DEV
mount $DEV /mnt
random_file 16M /mnt/file
sha256sum /mnt/file >/tmp/sum
umount /mnt
disconnect
connect_as backup --read-only
expect 1 "$(blockdev --getro $DEV)" "whether the disk is read-only"
mount -o ro $DEV /mnt
sha256sum --quiet -c /tmp/sum
umount /mnt
disconnect

# Killed and started again
connect_as web1 --keep-alive-tmo $((2 * SLOWNESS)) --reconnect-delay 1
start_verify --rate_iops=100
stop_target KILL
start_target --log-level debug --config $HOSTS_CONFIG
expect_back 1
expect_progress
proved_with web1 || fail "it is back without its key: $(</tmp/sessions)"

# The disk in use gets another key. No connection is lost.
configure '[host web1]' 'key = web1' 'key = web1-new'
reload
load_keys web1-new
proves web1-new
configure '[host web1]' 'key = web1-new'
reload
expect_progress
expect 1 "$(attribute reconnects)" "the number of outages"

# A third key, by requests. The host is removed for less than the 30 s that its session has
# then.
load_keys web1-third
"$RDMABLK" target host remove web1
"$RDMABLK" target host add "web1,key=$KEYS/web1-new.key,key=$KEYS/web1-third.key"
proves web1-third
"$RDMABLK" target host remove web1
"$RDMABLK" target host add "web1,key=$KEYS/web1-third.key"
expect_progress
proved_with web1-third || fail "the session has another key: $(</tmp/sessions)"
expect 1 "$(attribute reconnects)" "the number of outages"

# The key is revoked: I/O is held until the host has its key and its right again.
configure '[host web1]' 'key = web1'
reload
wait_until "$PATIENCE" dmesg_has 'rdmablk0 .*: key is revoked or has expired' ||
	fail "the session goes on: $(attribute state)"
wait_until "$PATIENCE" last_error_is 'authentication failed' ||
	fail "the last error is '$(attribute last_error)'"
expect recovering "$(attribute state)" "the state without a key"
expect 0 "$(attribute io_failing)" "io_failing"
run_expect 0 '' "$RDMABLK" target sessions
! proved_with web1-third || fail "a session has a revoked key"
"$RDMABLK" target allow disk0 backup:ro
"$RDMABLK" target host remove web1
"$RDMABLK" target host add "web1,key=$KEYS/web1-third.key"
wait_until "$PATIENCE" last_error_is 'no such export' ||
	fail "without a right the last error is '$(attribute last_error)'"
expect 0 "$(attribute io_failing)" "io_failing"
"$RDMABLK" target allow disk0 'web1, backup:ro'
expect_back 2
expect_progress
stop_verify
device_same_as_target
nothing_shows web1 web1-new web1-third backup stranger
disconnect
stop_target
jq -r 'select(.event == "revoke" or .event == "reauth") | "\(.event) \(.auth_host) \(.key_id)"' \
	/tmp/audit >/tmp/got
printf '%s web1 %s\n' reauth "$(key_id web1-new)" revoke "$(key_id web1-new)" \
	reauth "$(key_id web1-third)" revoke "$(key_id web1-third)" \
	revoke "$(key_id web1-third)" >/tmp/want
diff /tmp/want /tmp/got || fail "the audit log lacks keys that end or change"

# A daemon that takes no keys
rm $ARENA
serve 16M
refused 8 'the target takes no keys: set auth = psk there, or connect without --key' \
	"$WHERE" --key web1
connect
expect none "$(status auth)" "the authentication"
expect null "$(status key)" "the key of the disk"
disconnect
nothing_shows web1 web1-new web1-third backup stranger
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
leak_check
unload_module
