#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Where the module finds the key of a disk: in the keyring of the user, also from a session
# without that keyring; in .rdmablk; after the key was revoked and loaded again; for connect=
# under the address or "default". A missing, expired or unusable key fails a connect and a
# change, with a text. No byte of a key is in the kernel's log, /proc/keys, sysfs or an answer
# of the module. The module can be unloaded while keys are loaded, and loaded again while a
# process still has its old keyring.
#
# kernels: 6.12
# long-kernels: 6.1 newest
# in-turn: yes

# shellcheck source=tests/cases/data/lib.sh
source "$RDMABLK_TOP/tests/cases/data/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require keyctl
here=$RDMABLK_TOP/tests/cases/login
NONE='no key rdmablk:web1 is loaded: rdmablk key load FILE'
WHERE=$TARGET_ADDR/disk0

# make_key NAME FILE: a new key
make_key() {
	"$RDMABLK" key new --name "$1" --out "/run/$2.key" >/dev/null
}

# host NAME FILE...: prints a [host] section of the daemon's configuration
host() {
	echo "[host $1]"
	printf 'key = /run/%s.key\n' "${@:2}"
}

# serve_hosts: starts the daemon with disk0 for hosts that have one of the keys
serve_hosts() {
	make_key web1 web1
	make_key web2 web2
	make_key web1 again
	make_key "$TARGET_ADDR" address
	make_key "${TARGET_ADDR6//:/_}" address6
	make_key default default
	{
		echo "[target]"
		echo "listen = $TARGET_ADDR"
		echo "listen = [$TARGET_ADDR6]"
		host web web1 web2
		host again again
		host boot address default
		host boot6 address6
		echo "[export disk0]"
		echo "type = memory"
		echo "size = 16M"
		echo "allow = web, again, boot, boot6"
	} >/run/rdmablkd.conf
	start_target --config /run/rdmablkd.conf
}

# serve_anybody: starts the daemon with disk0, without keys
serve_anybody() {
	start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=16M
}

load_key() {
	"$RDMABLK" key load "/run/$1.key" >/dev/null
}

# module_ring: prints the number of the module's keyring
module_ring() {
	awk '$8 == "keyring" && $9 == ".rdmablk:" { print "0x" $1 }' /proc/keys
}

# in_ring NAME: whether the module's keyring has the key
in_ring() {
	keyctl list "$(module_ring)" | grep -qw "logon: rdmablk:$1"
}

expired() {
	"$RDMABLK" key list | grep -q "^$1 .*expired"
}

# alone CMD [ARGS]: runs the command in a session without the keyring of the user
alone() {
	keyctl session - "$@" 2>/dev/null
}

# connects CMD [ARGS]: CMD connects with the key web1, and the disk has that key
connects() {
	run_expect 0 "^$DEV\$" "$@" connect --key web1 "$WHERE"
	has_key web1
}

# has_key NAME: the disk has this key
has_key() {
	expect "$1" "$(status key)" "the key in the status"
	expect "$1" "$(<$SESSION/key)" "the key in sysfs"
	expect psk "$(status auth)" "the authentication in the status"
	expect psk "$(<$SESSION/auth)" "the authentication in sysfs"
}

# has_none: the disk has no key
has_none() {
	expect null "$(status key)" "the key in the status"
	expect '' "$(<$SESSION/key)" "the key in sysfs"
	expect none "$(status auth)" "the authentication in the status"
}

raw_connect() {
	python3 "$here/netlink_key.py" connect "$TARGET_ADDR" disk0 "$1"
}

serve_hosts
load_key web1
echo 'module rdmablk +p; file security/keys/* +p' >/sys/kernel/debug/dynamic_debug/control
load_module dyndbg=+p
[[ $(module_ring) ]] || fail "the module has no keyring: $(</proc/keys)"
run_expect 0 '^$' keyctl rlist "$(module_ring)"

# The key is in the keyring of the user. The tool links that keyring to the session if needed.
connects "$RDMABLK"
in_ring web1 || fail "a key that was used is not in .rdmablk"
disconnect
keyctl clear "$(module_ring)"
connects alone "$RDMABLK"
disconnect

# In the keyring of the module alone
expect 0 "$(alone python3 "$here/netlink_key.py" connect "$TARGET_ADDR" disk0 web1)" \
	"the errno of a connect that relies on .rdmablk"
has_key web1
disconnect
keyctl clear "$(module_ring)"
expect ENOKEY "$(alone python3 "$here/netlink_key.py" connect "$TARGET_ADDR" disk0 web1)" \
	"the errno of a connect without a key"
load_key web1
in_ring web1 || fail "'key load' does not link into .rdmablk"
keyctl unlink "$(keyctl search @u logon rdmablk:web1)" @u
connects "$RDMABLK"

# A live disk goes on when its key ends. The next login takes the key that was loaded under the
# same name, or the new key of the disk. The reconnecting task has neither among its own
# keyrings.
"$RDMABLK" key unload web1
still_live
run_expect 3 "^rdmablk: set rdmablk0: $NONE\$" "$RDMABLK" set rdmablk0 --key web1
run_expect 3 '' "$RDMABLK" set rdmablk0 --key web1 --reconnect-delay 7
expect 2 "$(status reconnect_delay)" "an option beside a key that is not there"
# If a change is refused, its key is not taken either.
load_key web2
keyctl clear "$(module_ring)"
expect EINVAL "$(python3 "$here/netlink_key.py" set 0 web2)" \
	"the errno of a change whose timeouts do not go together"
! in_ring web2 || fail "the key of a refused change is in .rdmablk"
has_key web1
load_key web1
"$RDMABLK" reconnect rdmablk0 --wait 60
has_key web1
run_expect 0 '^$' "$RDMABLK" set rdmablk0 --key web2
in_ring web2 || fail "the key of a change is not in .rdmablk"
has_key web2
"$RDMABLK" key unload web1
"$RDMABLK" reconnect rdmablk0 --wait 60
has_key web2
still_live
disconnect

# No such key
run_expect 3 'no key rdmablk:web3 is loaded' "$RDMABLK" connect --key web3 "$WHERE"
run_expect 3 "^rdmablk: connect $WHERE: $NONE\$" "$RDMABLK" connect --key web1 "$WHERE"
"$RDMABLK" key load --expires 1s /run/web1.key >/dev/null
wait_until 60 expired web1 || fail "the key does not expire: $(</proc/keys)"
run_expect 3 ': the key has expired: load another one$' "$RDMABLK" connect --key web1 "$WHERE"
expect EINVAL "$(raw_connect .web)" "the errno for a name that no key has"
keyctl add logon rdmablk:short 1234567890123456789012345678901 @u >/dev/null
expect EINVAL "$(raw_connect short)" "the errno for a key of 31 bytes"
keyctl add user rdmablk:plain 12345678901234567890123456789012 @u >/dev/null
expect ENOKEY "$(raw_connect plain)" "the errno for a key that programs can read"
guarded=$(keyctl add logon rdmablk:guarded 12345678901234567890123456789012 @u)
keyctl setperm "$guarded" 0x01010000
NOT_OURS=": no right to the key, or it is not root's: load it with rdmablk key load\$"
run_expect 7 "$NOT_OURS" "$RDMABLK" connect --key guarded "$WHERE"
keyctl unlink "$guarded" @u
# A key of another user, to which every process of root has all rights
theirs=$(keyctl add logon rdmablk:theirs 12345678901234567890123456789012 @u)
keyctl setperm "$theirs" 0x3f3f0000
keyctl chown "$theirs" 65534
run_expect 7 "$NOT_OURS" "$RDMABLK" connect --key theirs "$WHERE"
! in_ring theirs || fail "the key of another user is in .rdmablk"
keyctl unlink "$theirs" @u
[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk without a key"

# 'rdmablk up', which runs at boot, loads another secret under the same name.
mkdir -p /etc/rdmablk/keys
cp /run/again.key /etc/rdmablk/keys/web1.key
chmod 600 /etc/rdmablk/keys/web1.key
printf '[disk a]\nexport = %s\nkey = web1\n' "$WHERE" >/run/rdmablk.conf
run_expect 3 ': the key has expired' "$RDMABLK" up --wait 0 --config /run/rdmablk.conf a
"$RDMABLK" key unload web1
run_expect 0 "^$DEV\$" alone "$RDMABLK" up --config /run/rdmablk.conf a
has_key web1
in_ring web1 || fail "'up' does not link into .rdmablk"

# No output has bytes of a key.
dmesg >/tmp/dmesg
cat /proc/keys >/tmp/proc_keys
grep -r '' "$SESSION" /sys/module/rdmablk >/tmp/sysfs 2>/dev/null || :
python3 "$here/netlink_key.py" dump /tmp/netlink
"$RDMABLK" status --json >/tmp/status
"$RDMABLK" key list --json >/tmp/keys
grep -q web1 /tmp/netlink || fail "the answers of the module do not name the key"
grep -q rdmablk:web1 /tmp/proc_keys || fail "the key is not in /proc/keys"
python3 "$here/secret.py" /run/{web1,web2,again}.key -- \
	/tmp/{dmesg,proc_keys,sysfs,netlink,status,keys} || fail "bytes of a key can be read"
# The search finds keys where they are.
base64 -d <<<"$(cut -d : -f 3 /run/web1.key)" >/tmp/raw
od -A n -t x1 /tmp/raw >/tmp/hex
status=0
shown=$(python3 "$here/secret.py" /run/web1.key -- /tmp/raw /tmp/hex /run/web1.key) || status=$?
expect 1 $status "the status of the search where a key is"
expect "/tmp/raw /tmp/hex /run/web1.key" "${shown//$'\n'/ }" "the files that have a key"

# The module is unloaded with keys loaded, while a process has its keyring.
disconnect
keyctl link "$(module_ring)" @u
unload_module
"$RDMABLK" key list | grep -q '^web1 .*valid' || fail "the keys went with the module"

# connect= takes the key named for the address, else the key "default", else no key. Without a
# key the log warns about that. A module with require_key refuses it, with connect= and without.
OPEN='rdmablk0 .*: logged in without a key: any host that answers'
NEEDS='the module is loaded with require_key: connect with --key NAME'
! dmesg_has "$OPEN" || fail "a disk has logged in without a key: $(dmesg | grep "$OPEN")"
stop_target
serve_anybody
run_expect 1 'not available' insmod "$MODULE" connect="$WHERE" require_key=1
dmesg_has 'connect failed: neither a key for this address nor the key default is loaded' ||
	fail "no text: $(dmesg | tail)"
load_module require_key=1
run_expect 3 "^rdmablk: connect $WHERE: $NEEDS\$" "$RDMABLK" connect "$WHERE"
expect ENOKEY "$(python3 "$here/netlink_key.py" connect "$TARGET_ADDR" disk0)" \
	"the errno of a connect without a key where one is required"
printf '[disk a]\nexport = %s\n' "$WHERE" >/run/rdmablk.conf
run_expect 3 ": $NEEDS\$" "$RDMABLK" up --wait 0 --config /run/rdmablk.conf a
expect Y "$(</sys/module/rdmablk/parameters/require_key)" "what sysfs says of require_key"
unload_module
! dmesg_has "$OPEN" || fail "a disk has logged in without the key that is required"
load_module connect="$WHERE"
has_none
dmesg_has "$OPEN" || fail "no text: $(dmesg | tail)"
run_expect 1 'the disk has no key: disconnect it, and connect it with one' \
	"$RDMABLK" set rdmablk0 --key web1
has_none
unload_module
stop_target
start_target --config /run/rdmablkd.conf
load_key default
load_module connect="$WHERE" require_key=1
has_key default
in_ring default || fail "the key of insmod is not in .rdmablk"
unload_module
load_key address
load_module connect="$WHERE"
has_key "$TARGET_ADDR"
disconnect
# The tool finds the keyring of the present load of the module, not the first one's.
load_key web1
in_ring web1 || fail "'key load' does not find the keyring of the module"
unload_module
load_key address6
load_module connect="[$TARGET_ADDR6]/disk0"
has_key "${TARGET_ADDR6//:/_}"
unload_module
# A key that has expired counts as missing.
"$RDMABLK" key unload default
"$RDMABLK" key load --expires 1s /run/address6.key >/dev/null
wait_until 60 expired "${TARGET_ADDR6//:/_}" || fail "the key does not expire: $(</proc/keys)"
run_expect 1 'not available' insmod "$MODULE" connect="[$TARGET_ADDR6]/disk0" require_key=1
dmesg_has "$TARGET_ADDR6.*connect failed: neither a key for this address nor the key default" ||
	fail "no text: $(dmesg | tail)"
keyctl add logon "rdmablk:$TARGET_ADDR" short @u >/dev/null
run_expect 1 'Invalid' insmod "$MODULE" connect="$WHERE"
dmesg_has 'connect failed: the key does not have 32 bytes' || fail "no text: $(dmesg | tail)"
stop_target
