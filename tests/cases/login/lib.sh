# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/lib/guest.sh
source "$RDMABLK_TOP/tests/lib/guest.sh"

# computes_what_others_do: loads the module crypt_test, whose checks must succeed
computes_what_others_do() {
	local test=$RDMABLK_TOP/build/$KERNEL_SERIES/crypt/crypt_test.ko
	local parameters=/sys/module/crypt_test/parameters depends module

	depends=$(modinfo -F depends "$test")
	[[ ! $depends ]] || fail "insmod needs these modules first: $depends"
	for module in ecdh_generic gcm; do
		if [[ -d /sys/module/$module ]]; then
			fail "$module is loaded already, so this proves nothing"
		fi
	done
	insmod "$test"
	dmesg | grep 'crypt_test: line' || :
	(($(<$parameters/failed) == 0)) || fail "$(<$parameters/failed) checks have failed"
	# Flipping each bit of a sealed message is 448 checks alone.
	(($(<$parameters/checks) > 448)) || fail "only $(<$parameters/checks) checks"
	rmmod crypt_test
}

# For the cases of a daemon whose hosts have keys
KEYS=/etc/rdmablk/keys
# shellcheck disable=SC2034 # for the cases
HOSTS_CONFIG=/tmp/rdmablkd.conf

# make_keys NAME...: makes keys on the target; a host has the keys that it loads
make_keys() {
	local name

	install -d -m 700 $KEYS
	for name in "$@"; do
		"$RDMABLK" key new --name "$name" --out "$KEYS/$name.key"
	done
}

load_keys() {
	local name

	for name in "$@"; do
		"$RDMABLK" key load "$KEYS/$name.key" >/dev/null
	done
}

# key_id NAME: prints the key's fingerprint
key_id() {
	"$RDMABLK" key check "$KEYS/$1.key" | grep -oE '[0-9a-f]{16}'
}

# serve_with_key SIZE [LINE...]: starts the daemon with disk0 for a host that has the key
# "default", which connect= takes, and loads that key. The LINEs go into the [target] section.
serve_with_key() {
	make_keys default
	{
		printf '[target]\nlisten = %s\n' "$TARGET_ADDR"
		printf '%s\n' "${@:2}" '[host web1]' 'key = default'
		printf '[export disk0]\ntype = memory\nallow = web1\n'
		printf 'arena = %s\nsize = %s\n' "$ARENA" "$1"
	} >$HOSTS_CONFIG
	load_keys default
	start_with_key
}

# start_with_key: starts the daemon of serve_with_key again
start_with_key() {
	start_target --config $HOSTS_CONFIG
}

# proofs_more N: whether hosts have proven their keys again more than N times since the daemon
# was started; needs the line "log-level = debug"
proofs_more() {
	(($(grep -c 'has proven a key again' "$TARGET_LOG" || :) > $1))
}

# leaves: whether the disk is not live any more
leaves() {
	! state_is live 2>/dev/null
}

# disconnect_while_proving: sets the key "default" again while the daemon is stopped, so the
# proof gets no answer. The disconnect ends the proof.
disconnect_while_proving() {
	local pid

	kill -STOP "$TARGET_PID"
	"$RDMABLK" set rdmablk0 --key default
	"$RDMABLK" disconnect rdmablk0 &
	pid=$!
	wait_until "$PATIENCE" leaves || fail "the state is $(attribute state)"
	kill -CONT "$TARGET_PID"
	wait "$pid" || fail "the disconnect has failed"
	[[ ! -e $DEV ]] || fail "$DEV outlives the disconnect"
}

# --- netlink messages of any shape --------------------------------------------------------

# fuzz_with_keys SEED MESSAGES: runs nl_fuzz while the keys of its disks change; the same seed
# sends the same messages. Then a disk works, nothing is left, and the module is unloaded.
fuzz_with_keys() {
	local n key begin

	make_keys key0 key1
	for key in key0 key1; do
		cut -d : -f 3 "$KEYS/$key.key" | base64 -d | head -c 32
	done >/tmp/secrets
	{
		printf '[target]\nlisten = %s\n' "$TARGET_ADDR"
		printf '[host fuzz]\nkey = key0\nkey = key1\n'
		for n in 0 1 2; do
			printf '[export disk%s]\ntype = memory\nsize = 1M\n' "$n"
			printf 'arena = %s\nallow = fuzz:rw+steal\n' "${ARENA%0}$n"
		done
	} >$HOSTS_CONFIG
	start_target --config $HOSTS_CONFIG
	load_module
	load_keys key0
	connect --key key0
	disconnect
	leak_snapshot
	program nl_fuzz
	begin=$SECONDS
	timeout 180 "$PROGRAM" "$TARGET_ADDR" "$1" "$2" /tmp/secrets || fail "seed $1"
	echo "seed $1, $2 messages of each thread, $((SECONDS - begin)) s"
	[[ -z $(compgen -G '/dev/rdmablk*') ]] || fail "a disk is left"
	target_lives || fail "the daemon has not survived"
	leak_check
	connect --key key1
	fio_verify 1
	device_same_as_target
	still_live
	disconnect
	leak_check
	stop_target
	expect 0 "$TARGET_STATUS" "the daemon's exit status"
	expect 0 "$(</sys/module/rdmablk/refcnt)" "the module's use count"
	unload_module
}
