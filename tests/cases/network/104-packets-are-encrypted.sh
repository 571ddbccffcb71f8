#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# IPsec below Soft-RoCE, by the commands of Documentation/recipes/encrypt.rst. Two machines
# encrypt what they send to each other: a capture of the wire has ESP in both directions, no
# packet to port 4791, and none of the data. Before that, the same search finds the data in
# clear, so the search works. An initiator without the key gets no connection.
#
# net: two
# kernels: 6.12
# long-kernels: 6.1 newest

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"
# shellcheck source=tests/lib/commands.sh
source "$RDMABLK_TOP/tests/lib/commands.sh"
require tcpdump

TEXT=rdmablk-plain-text-
# shellcheck disable=SC2034 # the page's commands use it
KEY=0x$(printf '%02x' {1..20})

# capture NAME: records what eth0 sends and receives from now on
capture() {
	tcpdump -i eth0 -s 0 -U -w "/tmp/$1" 2>/tmp/tcpdump &
	CAPTURE=$!
	wait_until "$PATIENCE" grep -q 'listening on' /tmp/tcpdump ||
		fail "tcpdump: $(cat /tmp/tcpdump)"
}

capture_end() {
	kill -INT "$CAPTURE"
	wait "$CAPTURE" || :
}

# packets NAME FILTER: prints the number of matching packets
packets() {
	tcpdump -r "/tmp/$1" "$2" 2>/dev/null | wc -l
}

# clear_text NAME: prints how often the data is in the capture
clear_text() {
	grep -ac "$TEXT" "/tmp/$1" || :
}

# encrypt A B [SED]: runs the page's commands with the own address A and the peer's address B
encrypt() {
	local script

	script=$(commands_of "$RDMABLK_TOP/Documentation/recipes/encrypt.rst" \
		'with 20 random bytes') || fail "no commands"
	script=$(sed -E "${3:-}" <<<"$script")
	echo "$script"
	# shellcheck disable=SC2034 # the page's commands use them
	local A=$1 B=$2
	eval "$script"
}

# write_text: writes data that is easy to find to the disk
write_text() {
	printf "$TEXT%.0s" {1..4096} >/tmp/text
	truncate -s 65536 /tmp/text
	dd if=/tmp/text of=$DEV bs=16k oflag=direct status=none
	dd if=$DEV of=/tmp/back bs=16k count=4 iflag=direct status=none
	cmp /tmp/text /tmp/back
}

target() {
	serve 16M
	peer_set ready
	peer_wait clear "$PATIENCE"
	# On one of the hosts the two spi change places.
	encrypt "$TARGET_ADDR" "$INITIATOR_ADDR" 's/0x101/0x1/; s/0x102/0x101/; s/0x1 /0x102 /'
	peer_set encrypting
	peer_wait over "$PATIENCE"
}

initiator() {
	peer_wait ready "$PATIENCE"
	capture clear
	load_module
	connect
	write_text
	disconnect
	capture_end
	(($(packets clear 'udp port 4791') > 20)) || fail "nothing was captured"
	(($(clear_text clear) > 0)) || fail "the data in clear was not found"
	peer_set clear

	peer_wait encrypting "$PATIENCE"
	run_expect 5 '' "$RDMABLK" connect --connect-tmo 5 "$TARGET_ADDR/disk0"
	encrypt "$INITIATOR_ADDR" "$TARGET_ADDR"
	capture secret
	connect
	write_text
	still_live
	disconnect
	capture_end
	echo "ESP: $(packets secret esp), to 4791: $(packets secret 'udp port 4791')"
	(($(packets secret "esp and src $INITIATOR_ADDR") > 10)) || fail "no ESP was sent"
	(($(packets secret "esp and src $TARGET_ADDR") > 10)) || fail "no ESP has come"
	expect 0 "$(packets secret 'udp port 4791')" "packets in clear"
	expect 0 "$(clear_text secret)" "places with the data in clear"
	unload_module
	peer_set over
}

if [[ $ROLE == target ]]; then
	target
else
	initiator
fi
