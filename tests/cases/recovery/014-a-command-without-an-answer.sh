#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A file hangs while the daemon goes on answering keep-alives: io_tmo ends the connection. The
# reconnect waits for the file. I/O is held, fails after fast_io_fail_tmo, and flows again when
# the file does. A new io_tmo also applies to a request under way. A live disk with a hanging
# request can be removed by force, whatever the request's own timer.
#
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

export RDMABLKD=$RDMABLK_TOP/build/peers/faults/rdmablkd
FILE=/dev/shm/disk0 RULES=/run/rules LATE='command was not answered in time'

rules() {
	printf '%s\n' "$@" >$RULES.new
	mv $RULES.new $RULES
}

failing() {
	[[ $(attribute io_failing) == 1 ]]
}

one_in_flight() {
	(($(inflight) >= 1))
}

answered() {
	(($(status keepalives) >= $1))
}

io_is_over() {
	! kill -0 "$IO" 2>/dev/null
}

# hang DIRECTION DD-OPERAND...: starts a request of the disk that hangs at the file
hang() {
	rules "$1 hang"
	dd bs=4k count=1 status=none "${@:2}" 2>/tmp/io &
	IO=$!
	wait_until "$PATIENCE" one_in_flight || fail "nothing is under way"
}

io_ends() {
	wait_until "$PATIENCE" io_is_over || fail "the request hangs"
	IO_STATUS=0
	wait "$IO" || IO_STATUS=$?
}

expect_late() {
	wait_state recovering
	expect "$LATE" "$(attribute reason)" "the reason"
	dmesg_has "connection lost: $LATE" || fail "the log does not say why"
}

random_file 1M $FILE
random_file 4k /tmp/pattern
rules
load_module
start_target --insecure --listen "$TARGET_ADDR" --state-dir /run/state \
	--export "disk0,file=$FILE,fault=$RULES"
connect --io-tmo 2 --fast-io-fail-tmo 3 --dev-loss-tmo off --keep-alive-tmo 2 \
	--reconnect-delay 1
expect 2 "$(attribute io_tmo)" "io_tmo"
# A new keep_alive_tmo takes effect at the next login.
"$RDMABLK" set rdmablk0 --keep-alive-tmo 3
expect '2 3' "$(attribute keep_alive_tmo) $(attribute keep_alive_asked)" \
	"what is agreed on and what will be asked for"
expect 3 "$(status keep_alive_asked)" "what status says of it"
hang read if=$DEV of=/tmp/back iflag=direct
expect_late
io_ends
expect 1 "$IO_STATUS" "the reader's status"
wait_until "$PATIENCE" failing || fail "I/O does not fail"
expect recovering "$(attribute state)" "the state"
rules
expect_back 1
expect 3 "$(attribute keep_alive_tmo)" "keep_alive_tmo"
cmp $FILE <(dd if=$DEV bs=64k iflag=direct status=none)

# The write would wait without limit. Then it gets an io_tmo, times out, and is sent again.
"$RDMABLK" set rdmablk0 --io-tmo off --fast-io-fail-tmo off
expect -1 "$(attribute io_tmo)" "io_tmo"
hang write if=/tmp/pattern of=$DEV oflag=direct
keepalives=$(status keepalives)
wait_until "$PATIENCE" answered $((keepalives + 3)) || fail "no keep-alives"
expect live "$(attribute state)" "the state"
"$RDMABLK" set rdmablk0 --io-tmo 1
expect_late
! io_is_over || fail "the write has ended: $(</tmp/io)"
rules
expect_back 2
io_ends
expect 0 "$IO_STATUS" "the writer's status"
cmp /tmp/pattern <(head -c 4k $FILE)

"$RDMABLK" set rdmablk0 --io-tmo off
echo 100000000 >$QUEUE/io_timeout
hang read if=$DEV of=/tmp/back iflag=direct
expect live "$(attribute state)" "the state"
timeout "$PATIENCE" "$RDMABLK" disconnect --force rdmablk0 || fail "the disk is not removed"
io_ends
expect 1 "$IO_STATUS" "the reader's status"
rules
stop_target
unload_module
