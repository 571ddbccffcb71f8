#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The limits of one host (sessions, hardware queues, registered bytes), of one address (logins
# in progress), and of an export (all of its sessions). Beyond a limit a login is refused with a
# reason of its own, and the log names the limit. Another host, or another address, still gets
# in, and so does the writer of an export that is full of readers. What a session had is free
# again when it has logged out, when its host was killed, and when its login took too long. A
# steal beyond a limit leaves the session of the other host alone. A silent login makes room for
# another login.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

# The identities that target_probe uses for --host 1 and --host 2.
ONE=(--host-id 01000000-0000-0000-0000-000000000000)
TWO=(--host-id 02000000-0000-0000-0000-000000000000)
t=$TARGET_ADDR t6=fd99::1
STEAL=2 LIMIT_MEMORY=35	# RDMABLK_HELLO_STEAL, RDMABLK_R_LIMIT_MEMORY

start() {
	start_target --insecure --log-level debug --listen "$t" --listen "[$t6]" \
		--export a,memory,size=8M --export b,memory,size=8M \
		--export c,memory,size=8M --export d,memory,size=8M \
		--export big,memory,size=32M \
		--export few,memory,size=8M,max-sessions=2,max-queues=3 "$@"
}

# login ADDRESS: starts a login that asks for nothing more after GRANT
login() {
	local n=${#LOGINS[@]}

	"$PROGRAM" --host $((10 + n)) --flags 1 "$1" a granted >"/tmp/login.$n" &
	LOGINS+=($!)
	wait_until "$PATIENCE" grep -q '^granted' "/tmp/login.$n" ||
		fail "no login: $(cat "/tmp/login.$n")"
}
LOGINS=()

start --max-sessions-per-host 3 --max-queues-per-host 4 --max-pinned 40M
load_module

# The first host has 1 of 3 sessions, 2 of 4 queues, 8 of 40 MiB; then 2, 3, 16.
hold first --host 1 --queues 2 "$t" a
disk 0 "$t/b" "${ONE[@]}" --queues 1
refused 'too much registered memory' "$t/big" "${ONE[@]}"
# The disk asks for two queues, and gets the one that is left.
disk 1 "$t/c" "${ONE[@]}" --queues 2
expect 1 "$(attribute queues 1)" "the number of queues granted"
refused 'too many sessions' "$t/d" "${ONE[@]}"
# The second host still gets as much as one host may have.
disk 2 "$t/big" "${TWO[@]}" --queues 2
disk 3 "$t/d" "${TWO[@]}" --queues 2
expect 2 "$(attribute queues 3)" "the number of queues of another host"
put 2 'all of it'
get 2 'all of it'

# A logout gives all of it back.
"$RDMABLK" disconnect rdmablk0
"$RDMABLK" disconnect rdmablk1
disk 0 "$t/b" "${ONE[@]}" --queues 2
expect 2 "$(attribute queues 0)" "the number of queues after a logout"
refused 'too many queues' "$t/c" "${ONE[@]}" --queues 1
"$RDMABLK" disconnect rdmablk3
refused 'too many queues' "$t/d" "${ONE[@]}"

# So does the death of an initiator.
holder_kill first
expect_log 'host probe1 .* export a: fenced'
disk 1 "$t/c" "${ONE[@]}" --queues 2
expect 2 "$(attribute queues 1)" "the number of queues after a crash"
"$RDMABLK" disconnect rdmablk1
"$RDMABLK" disconnect rdmablk2
disk 1 "$t/big" "${ONE[@]}" --queues 1
refused 'too much registered memory' "$t/a" "${ONE[@]}"
disk 2 "$t/a" "${TWO[@]}"
put 2 'of the second host'
: >"$TARGET_LOG"
# A steal that is refused for its size ends no session.
run_expect 0 '' "$PROGRAM" --host 1 --flags $STEAL --expect $LIMIT_MEMORY "$t" a io
! log_has 'export a: closing: export was taken over' || fail "a refused theft has ended a session"
get 2 'of the second host'
for n in 0 1 2; do
	expect live "$(attribute state $n)" "the state of rdmablk$n"
done
disconnect_all

# An export keeps room for its writer: readers get 1 of 2 sessions and 2 of 3 queues.
disk 0 "$t/few" "${ONE[@]}" --read-only --queues 4
expect 2 "$(attribute queues 0)" "the number of queues of a reader"
refused 'too many sessions' "[$t6]/few" "${TWO[@]}" --read-only
expect_log "export few: refused by max-sessions=2 of the export, 1 for those that may not write: 1 taken"
disk 1 "[$t6]/few" "${TWO[@]}" --queues 4
expect 1 "$(attribute queues 1)" "the number of queues of the writer"
put 1 'of the writer'
get 0 'of the writer'
"$RDMABLK" target show few >/tmp/few
expect_text() {
	grep -qE "^ +$1 +$2\$" /tmp/few || fail "no $1 $2: $(cat /tmp/few)"
}
expect_text sessions 2
expect_text queues 3
expect_text max_sessions 2
expect_text max_queues 3
disconnect_all
stop_target

# Logins in progress. A live session does not count.
start --max-logins 3 --max-logins-per-address 2 --login-timeout 600000 --hello-timeout 600000
disk 0 "$t/a"
disk 1 "$t/b"
: >"$TARGET_LOG"
login "$t"
login "$t"
refused 'too many logins in progress' "$t/c"
expect_log "connection from $t: refused: too many logins in progress"
disk 2 "[$t6]/c"
"$RDMABLK" disconnect rdmablk2
expect_log 'session .* export c: ended: logged out'
: >"$TARGET_LOG"
login "$t6"
# All addresses together have 3 logins, although this one has only 1.
refused 'too many logins in progress' "[$t6]/c"
kill -KILL "${LOGINS[@]}"
expect_logs 3 'session .*: ended: connection lost'
disk 2 "$t/c"
disk 3 "[$t6]/d"
disconnect_all
stop_target

start --max-logins 1 --hello-timeout 1000
run_expect 0 '^closed 71 ' "$PROGRAM" --expect 71 "$t" a silent
expect_log 'session .*: ended: login took too long'
disk 0 "$t/a"
put 0 'after the others'
get 0 'after the others'
disconnect_all
stop_target

# A silent login has long timeouts. It ends only when another login needs its place.
connects() {
	"$RDMABLK" connect --dev-loss-tmo 0 "$t/a"
}
start --max-logins 1 --login-timeout 600000 --hello-timeout 600000
"$PROGRAM" --expect 71 "$t" a silent &
silent=$!
expect_log ': connected$'
wait_until "$PATIENCE" connects || fail "a silent login keeps its place"
wait "$silent" || fail "the silent login was not told why it ends"
expect_log 'makes room for another login after [0-9]+ ms, silent for '
disconnect_all
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
