#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Which keys a host keeps in memory: its own key, and those that its logins have derived. The
# whole memory of the initiator's machine is searched from outside, for words that the target's
# machine knows. A loaded key is found, and so are the keys of a login that waits for GRANT. A
# live disk that has proved its key again keeps only the frame keys of the last proof. After the
# disk is disconnected, the key unloaded and the module unloaded, nothing is found.
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

# the_words FILE [OLD]: writes K and all words derived from it so far, once each, for host_do
# find. The first OLD frame keys are marked as old
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

# proved N: whether a key was proved N times, by logins and by a live disk
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

# found FILE: prints how many of the file's words the initiator's memory has, by their uses
found() {
	host_do find initiator "$1"
	sed 's/[- ].*//' "/run/vm/$1.found" | sort | uniq -c | awk '{ print $2 "=" $1 }' | xargs
}

# live_has WORDS: whether a live disk's memory has exactly these
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

	# The target does not send GRANT.
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
	# The target has written the words before the last message of the proof reaches this
	# machine.
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
