#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the memory of a host has of its key and of all keys that its logins have derived from
# it: the whole memory of the machine is searched from outside. A loaded key is there, and so
# is what a login that waits for GRANT needs. A live disk that has proved its key again has no
# secret of its logins but the keys of frames, and those of the last proof only. When the disk
# and the key are gone and the module is unloaded, nothing is found. What to look for the target
# knows, which is another machine.
#
# kernels: 6.12
# long-kernels: 6.1 newest
# net: two
# mem: 512
# timeout: 900

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"

KEYLOG=/tmp/keylog
SHARED=/run/vm/default.key	# in base64

# the_words FILE [OLD]: K and what was derived from it until now, once each, for host_do find;
# so many keys of frames are old
the_words() {
	{
		echo "K $(cut -d : -f 3 <$KEYS/default.key | base64 -d | head -c 32 |
			od -A n -v -t x1 | tr -d ' \n')"
		awk -v old="${2:-0}" '$1 == "cipher" && ++ciphers <= old { $1 = "old" }
			!seen[$2]++ { print $1 "-" ++n, $2 }' $KEYLOG
	} >"$1"
}

serve_logged() {
	program keylog.so
	RDMABLK_KEYLOG=$KEYLOG LD_PRELOAD=$PROGRAM start_target --config $HOSTS_CONFIG "$@"
}

# proved N: a key was proved so often, by logins and by a live disk
proved() {
	[[ -e $KEYLOG ]] && (($(grep -c '^cipher' $KEYLOG) >= 2 * $1))
}

target() {
	make_keys default
	cp $KEYS/default.key $SHARED
	{
		printf '[target]\nlisten = %s\n[host web1]\nkey = default\n' "$TARGET_ADDR"
		printf '[export disk0]\ntype = memory\nallow = web1\nsize = 16M\n'
	} >$HOSTS_CONFIG
	RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
	serve_logged --fault slow-login=600000
	: >>$KEYLOG
	the_words /run/vm/loaded
	peer_set slow
	wait_until "$PATIENCE" proved 1 || fail "nobody has proved a key"
	the_words /run/vm/login
	peer_set proved
	peer_wait looked "$PATIENCE"
	stop_target KILL
	RDMABLKD=$RDMABLK_TOP/target/rdmablkd
	serve_logged
	peer_set ready
	peer_wait live "$PATIENCE"
	wait_until "$PATIENCE" proved 3 || fail "the disk has not proved its key again"
	the_words /run/vm/live 4
	peer_set told
	peer_wait over "$PATIENCE"
	stop_target
}

# found FILE: how many of its words this machine's memory has, by their uses
found() {
	host_do find initiator "$1"
	sed 's/[- ].*//' "/run/vm/$1.found" | sort | uniq -c | awk '{ print $2 "=" $1 }' | xargs
}

# live_has WORDS: they are what there is of a live disk
live_has() {
	[[ $(found live) == "$1" ]]
}

nothing_found() {
	[[ ! $(found live) ]]
}

connect_key() {
	"$RDMABLK" connect --key default --connect-tmo 600 "$TARGET_ADDR/disk0"
}

initiator() {
	local connect

	load_module
	peer_wait slow "$PATIENCE"
	"$RDMABLK" key load $SHARED >/dev/null
	expect K=1 "$(found loaded)" "what is there of a loaded key"

	# GRANT does not come.
	connect_key >/tmp/connect 2>&1 &
	connect=$!
	peer_wait proved "$PATIENCE"
	[[ $(found login) =~ ^K=1\ cipher=2\ ecdh=1\ hmac=[2-9]$ ]] ||
		fail "a login that waits has '$(found login)'"
	peer_set looked
	! wait "$connect" || fail "a login without GRANT has succeeded"
	expect K=1 "$(found login)" "what is there of a login that has failed"

	peer_wait ready "$PATIENCE"
	expect $DEV "$(connect_key)" "the disk"
	dd if=/dev/zero of=$DEV bs=64k count=4 oflag=direct status=none
	"$RDMABLK" set rdmablk0 --key default
	peer_set live
	peer_wait told "$PATIENCE"
	# The target knows the words before its last message of the proof has come.
	wait_until 60 live_has 'K=1 cipher=2' ||
		fail "a live disk has '$(found live)'"

	disconnect
	"$RDMABLK" key unload default
	unload_module
	# The kernel frees keys late.
	wait_until 60 nothing_found || fail "the memory has $(</run/vm/live.found)"
	peer_set over
}

"$ROLE"
