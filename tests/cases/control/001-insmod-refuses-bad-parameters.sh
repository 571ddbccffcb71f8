#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# insmod with a parameter that is not exactly what it should be fails with the
# right errno and one line in the log that says what is wrong, and leaves
# nothing behind. A correct list of 1023 characters is understood.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

# bad_syntax TEXT CONNECT
bad_syntax() {
	local quoted

	# shellcheck disable=SC2001 # a set of characters, each to be quoted
	quoted=$(sed 's/[][\\.*^$+?(){}|]/\\&/g' <<<"$2")
	load_fails EINVAL "^rdmablk: connect=$quoted: $1\$" "connect=\"$2\""
}

bad_address() {
	load_fails EINVAL "^rdmablk: connect=: $2 is not a numeric address\$" \
		"connect=$1/disk0"
}

a=10.99.0.2
name63=$(printf '%063d' 0)
port='the port is not a number from 1 to 65535'

bad_syntax 'an element is empty' ''
bad_syntax 'an element is empty' ,
bad_syntax 'an element is empty' ",$a/disk0"
bad_syntax "'/' and an export name are missing" $a
bad_syntax "'/' and an export name are missing" disk0
bad_syntax 'the export name is empty' $a/
bad_syntax 'the export name is empty' $a:20420/
bad_syntax 'the export name is longer than 63 characters' "$a/${name63}x"
bad_syntax 'bad character in the export name' $a/a/b
bad_syntax 'bad character in the export name' "$a/a b"
load_fails EINVAL 'bad character in the export name' connect=$a/a$'\x7f'
load_fails EINVAL 'bad character in the export name' connect=$a/ä
bad_syntax 'the address is empty' /disk0
bad_syntax 'the address is empty' :20420/disk0
bad_syntax 'the address is empty' '[]/disk0'
bad_syntax 'the address is too long' "${name63}0/disk0"
bad_syntax "$port" $a:/disk0
bad_syntax "$port" $a:0/disk0
bad_syntax "$port" $a:65536/disk0
bad_syntax "$port" $a:100000/disk0
bad_syntax "$port" $a:x/disk0
bad_syntax "$port" $a:20420x/disk0
bad_syntax "$port" $a:-1/disk0
bad_syntax "$port" '[fd99::2]:/disk0'
bad_syntax 'an IPv6 address needs brackets' fd99::2/disk0
bad_syntax "']' is missing" '[fd99::2/disk0'
bad_syntax "only ':' and a port may follow ']'" '[fd99::2]x/disk0'

bad_address localhost localhost
bad_address 10.99.0.300 10.99.0.300
bad_address 10.99.0 10.99.0
bad_address 10.99.0.2x 10.99.0.2x
bad_address '[fd99::g]' fd99::g
bad_address '[10.99.0.2.3]' 10.99.0.2.3

# The first element is right, but no element of the list is connected.
bad_syntax 'an element is empty' "$a/disk0,"
bad_syntax 'an element is empty' "$a/disk0,,$a/disk1"
bad_syntax 'the export name is empty' "$a/disk0,$a/,$a/disk1"
load_fails EINVAL 'connect=: 10.99.0.999 is not a numeric address' \
	"connect=$a/disk0,10.99.0.999/disk1"
for again in $a/disk0 $a:20420/disk0 "[::ffff:$a]/disk1,$a:20420/disk0"; do
	load_fails EEXIST "connect=: $a:20420/disk0: this export is connected already" \
		"connect=$a/disk0,$again"
done

load_fails EINVAL "' invalid for parameter .connect'" connect

# 12 names of 63 characters and a shorter one come to 1023 characters. The
# kernel's own limit for a parameter is 1024.
list=''
for i in {10..21}; do
	list+=$a:20999/$i${name63:2},
done
list+=$a:20999/${name63:0:$((1023 - ${#list} - 16))}
expect 1023 ${#list} "the length of the list"
load_fails ECONNREFUSED 'nobody listens on this port' "connect=$list"
load_fails EINVAL 'connect=: longer than 1023 characters' "connect=${list}0"

for id in x '""' 00000000-0000-0000-0000-000000000000 \
	1b4e28ba-2fa1-11d2-883f-0016d3cca42 1b4e28ba-2fa1-11d2-883f-0016d3cca4277 \
	1b4e28ba2fa1-11d2-883f-0016d3cca427- 1b4e28ba-2fa1-11d2-883f-0016d3cca42g; do
	load_fails EINVAL "rdmablk: host_id=.*: not a UUID" "host_id=$id"
done
load_fails 0 '' host_id=1b4e28ba-2fa1-11d2-883f-0016d3cca427

# No keyring of this process has a key, and this module lets no disk connect without one.
none='connect failed: neither a key for this address nor the key default is loaded: .*\(-126\)$'
load_fails ENOKEY "$none" "connect=$a/disk0 require_key=1"
load_fails ENOKEY "$none" "connect=[fd99::2]/disk0 require_key"
load_fails EINVAL "\`x' invalid for parameter .require_key'" require_key=x

# This check comes last, because the kernel ends its own long message with the next one.
load_fails ENOSPC 'connect: string parameter too long' "connect=${list}00"

serve 16M --export disk1,memory,size=16M
leak_snapshot
insmod_all
leak_check
