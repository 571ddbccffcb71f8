#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A peer that is no target, speaks another version, refuses, falls silent, or
# sends what is broken, out of order or out of range: insmod fails with the right
# errno and one line that says so, in bounded time, and leaves nothing behind.
#
# in-turn: yes

# shellcheck source=tests/cases/control/lib.sh
source "$RDMABLK_TOP/tests/cases/control/lib.sh"

MODES=()

# peer_fails ERRNO TEXT MODE
peer_fails() {
	load_fails "$1" \
		"^rdmablk: rdmablk0 [^ ]+: connect failed: $2 \(-[0-9]+\)\$" \
		"connect=$TARGET_ADDR:$((BAD_PORT + ${#MODES[@]}))/disk0"
	MODES+=("$3")
}

other='the peer accepts, but is not an rdmablk target'
peer_fails EPROTO "$other" empty-accept
peer_fails EPROTO "$other" bad-accept
peer_fails EPROTO "$other" accept-queue
peer_fails EPROTO "$other" accept-reserved
peer_fails EPROTONOSUPPORT 'no common protocol version' accept-version=99
peer_fails EPROTONOSUPPORT 'no common protocol version' accept-version=0
peer_fails ECONNREFUSED '.+' reject-empty
peer_fails ECONNREFUSED '.+' reject-random

# Each reason to refuse, as a reject and as a CLOSE.
for how in reject close; do
	peer_fails EPROTO 'not an rdmablk peer' $how=1
	peer_fails EPROTONOSUPPORT 'no common protocol version' $how=2
	peer_fails EPROTO 'a required feature is missing' $how=5
	peer_fails ENOENT 'no such export' $how=16
	peer_fails EROFS 'export is read-only' $how=17
	peer_fails EBUSY 'export is in use by another host' $how=18
	peer_fails EBUSY 'export is in use by this host already' $how=19
	peer_fails ENOSPC 'too many sessions' $how=33
	peer_fails ENOMEM 'target is out of memory' $how=36
	peer_fails ENOSPC "target's RDMA device has no room for more queues" $how=37
	peer_fails EACCES 'the target demands a key: connect with --key NAME' $how=48
	peer_fails ECONNREFUSED 'target is shutting down' $how=65
	peer_fails EIO 'internal error of the target' $how=96
	peer_fails EIO 'unknown reason' $how=4711
done

peer_fails ECONNRESET 'connection lost.*' hang-up
peer_fails EPROTO 'malformed message' random=512
peer_fails EPROTO 'malformed message' random=15
peer_fails EPROTO 'malformed message' random=0
# Longer than the receive: the adapter ends the connection.
peer_fails EPROTO 'malformed message' random=513
for type in 4 6 8; do
	peer_fails EPROTO 'message not allowed in this state' type=$type
done
peer_fails EPROTO '(malformed message|message not allowed in this state)' type=1
peer_fails EPROTONOSUPPORT 'the target sent a bad CHALLENGE' challenge-version
for field in auth features session reserved; do
	peer_fails EPROTO 'the target sent a bad CHALLENGE' challenge-$field
done
for field in size huge regions block=1024 block=0 queues=0 queues=3 depth=0 \
	depth=129 name keep-alive=0 timeout=1 io=513 flags=128; do
	peer_fails EPROTO 'the target sent a bad GRANT' grant-$field
done
peer_fails EACCES 'the target sent a bad GRANT' grant-mac=31
for times in keep-alive=60001 timeout=300001; do
	peer_fails ERANGE 'the target grants timeouts far longer than asked for' grant-$times
done
for field in count=0 count=2 count=17 first rest wrap; do
	peer_fails EPROTO 'the target sent bad REGIONS' regions-$field
done
peer_fails EACCES 'the target sent bad REGIONS' regions-mac
# The mask of operations must have FENCE, READ and WRITE (193), and must not have DIRTY (195).
for field in depth=1 depth=1025 trailer=0 trailer=255 trailer=16385 slot=0 slot=4352 \
	slot=33554432 wrap ops=65 ops=192 ops=195 reserved; do
	peer_fails EPROTO 'the target sent bad LIMITS' limits-$field
done
peer_fails ENOTSUP 'the target takes too few commands at once' limits-depth=3
peer_fails EACCES 'the target sent bad LIMITS' limits-mac
peer_fails EPROTO "$other" data-queue
peer_fails EPROTO 'the target accepted a queue with a wrong version or no READs' no-read-depth
peer_fails ECONNREFUSED '.+' reject-data
peer_fails ENOSPC "target's RDMA device has no room for more queues" full-data=37
peer_fails EPROTO 'malformed message' live-head

# insmod waits 10 s for these peers, the default of connect_tmo: a host that is not there, one
# that ignores the request, and one that falls silent.
MODES+=(deaf silent)
late=10.99.0.77/a
for ((i = ${#MODES[@]} - 2; i < ${#MODES[@]}; i++)); do
	late+=,$TARGET_ADDR:$((BAD_PORT + i))/a
done
load_fails ETIMEDOUT "connect failed: (no answer in time|the target does not answer the login) \(-110\)\$" \
	"connect=$late"

leak_snapshot
start_bad_target "${MODES[@]}"
insmod_all
dmesg_has "the target's RDMA device has no room for 2 queues; trying with 1" ||
	fail "no login asks a full device for fewer queues"
stop_bad_target
leak_check
