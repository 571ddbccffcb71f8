#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What "rdmablk doctor" finds on the running host, not in files that imitate one: a daemon that
# may lock little memory; expired and revoked keys; a clock that nothing sets; a connect that is
# under way; an RDMA device whose queue pair 1 is dead. Each finding is gone when its cause is.
#
# kernels: 6.12
# net: veth

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq setpriv keyctl python3 rdma

# doctor ROLE: writes the doctor's findings to /tmp/doctor
doctor() {
	"$RDMABLK" doctor --json "$1" >/tmp/doctor || (($? == 1 || $? == 9)) || fail "$(</tmp/doctor)"
}

# is CHECK LEVEL TEXT MEND: there is exactly one such finding
is() {
	expect 1 "$(jq --arg c "$1" --arg l "$2" --arg t "$3" --arg m "$4" \
		'[.findings[] | select(.check == $c and .level == $l and .text == $t and
		(.mend // "") == $m)] | length' /tmp/doctor)" \
		"findings of $1: $2: $3 > $4, in $(</tmp/doctor)"
}

finds() {
	doctor "$1"
	is "${@:2}"
}

# status_of_clock FLAGS: sets the status of the kernel's clock; STA_UNSYNC is 64
status_of_clock() {
	python3 - "$1" <<-'END'
	import ctypes, sys
	# struct timex: modes, offset, freq, maxerror, esterror, status. An error that may be large
	# sets STA_UNSYNC again.
	words = (ctypes.c_long * 26)()
	words[0] = 0x14	# ADJ_STATUS, ADJ_MAXERROR
	words[5] = int(sys.argv[1])
	if ctypes.CDLL(None, use_errno=True).adjtimex(words) < 0:
	    sys.exit(f"adjtimex: errno {ctypes.get_errno()}")
	END
}

# locked LIMIT: starts a daemon that may lock LIMIT KiB of memory
locked() {
	cat >/run/limited <<-WORDS
	#!/bin/bash
	ulimit -l $1
	exec setpriv --bounding-set=-ipc_lock $RDMABLKD "\$@"
	WORDS
	chmod +x /run/limited
	RDMABLKD=/run/limited start_target --insecure --listen "$TARGET_ADDR" \
		--export disk0,memory,size=1M
}

load_module

# Locked memory
any='the daemon may lock any amount of memory'
locked 4096
finds target daemon warning \
	'the daemon may lock 4194304 bytes only: exports of memory may be larger' \
	'systemctl edit rdmablkd    # [Service] LimitMEMLOCK=infinity'
stop_target
locked unlimited
finds target daemon ok "$any" ''
stop_target
start_target --insecure --listen "$TARGET_ADDR" --export disk0,memory,size=1M
finds target daemon ok "$any" ''

# The clock
status_of_clock 64
finds target clock note 'nothing sets the clock: keys with "expires" end by it' \
	'timedatectl set-ntp true'
status_of_clock 0
finds target clock ok 'the clock is synchronised' ''

# Keys
ends='a disk that has it cannot connect again'
expired() {
	"$RDMABLK" key list --json | jq -e '.keys[] | select(.name == "short") | .state == "expired"' >/dev/null
}
finds initiator keys ok 'no key is loaded' ''
make_keys lasting short gone hour
load_keys lasting gone
"$RDMABLK" key load --expires 1s "$KEYS/short.key" >/dev/null
keyctl revoke "$(awk '/rdmablk:gone/ { print "0x" $1 }' /proc/keys)"
wait_until "$PATIENCE" expired || fail "the key does not expire: $("$RDMABLK" key list)"
finds initiator keys warning "short: expired: $ends" "rdmablk key load $KEYS/short.key"
is keys warning "gone: revoked: $ends" "rdmablk key load $KEYS/gone.key"
is keys ok 'lasting: valid' ''
"$RDMABLK" key load --expires 1h "$KEYS/hour.key" >/dev/null
status_of_clock 64
finds initiator clock warning 'nothing sets the clock, by which keys of this host expire' \
	'timedatectl set-ntp true'
status_of_clock 0
finds initiator clock ok 'the clock is synchronised' ''

# A connect that waits for the target
under_way() {
	doctor initiator
	jq -e 'any(.findings[]; .check == "resources" and .level == "note")' /tmp/doctor >/dev/null
}
at_rest() {
	! under_way
}
kill -STOP "$TARGET_PID"
"$RDMABLK" connect --connect-tmo 600 "$TARGET_ADDR/disk0" >/tmp/connected &
pid=$!
wait_until "$PATIENCE" under_way || fail "no connect is under way: $(</tmp/doctor)"
is resources note \
	'the module has more protection domains (1) than disks: a connect is under way, or they are left' \
	'rdma resource show pd'
kill -CONT "$TARGET_PID"
wait "$pid" || fail "the connect has failed"
wait_until "$PATIENCE" at_rest || fail "the connect is still under way: $(</tmp/doctor)"

# An RDMA device whose queue pair 1 could not send a packet
is_dead() {
	rdma resource show qp link rv0/1 | grep 'type GSI state ERR' >/dev/null
}
ip link set v0 down
"$RDMABLK" disconnect rdmablk0
wait_until "$PATIENCE" is_dead || fail "$(rdma resource show qp link rv0/1)"
finds initiator resources error 'rv0: its queue pair 1 is in the error state: nothing can connect' \
	'rdma link delete rv0; rdma link add rv0 type rxe netdev DEV'
ip link set v0 up
rdma link delete rv0
rdma link add rv0 type rxe netdev v0
doctor initiator
expect 0 "$(jq '[.findings[] | select(.check == "resources" and .level == "error")] | length' \
	/tmp/doctor)" "the errors of queue pairs"
unload_module
stop_target
