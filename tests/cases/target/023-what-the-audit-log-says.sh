#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The audit log has exactly one line for each login, theft, refusal, kick and end, for each
# change by the administrator and by a reload, with the user who asked, and for start and stop.
# Only its owner may access the file. The sandbox lets the daemon make a new file after the log
# was moved away. A daemon that cannot open its audit log does not start.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"
require jq setpriv

DIR=/tmp/audit AUDIT=/tmp/audit/log CONFIG=/tmp/rdmablkd.conf CONTROL=/run/rdmablkd/control
# RDMABLK_HELLO_STEAL, RDMABLK_R_*
STEAL=2 NO_EXPORT=16 BUSY=18 FENCING=20 LOGOUT=64 STOLEN=67 KICKED=78

configure() {
	printf '[target]\nlisten = %s\ninsecure = yes\naudit = %s\ndirectories = /tmp/disks\n' \
		"$TARGET_ADDR" $AUDIT >$CONFIG
	printf '[export %s]\ntype = memory\nsize = 8M\n' "$@" >>$CONFIG
}

# said EVENT N: whether the log has exactly N lines of an event
said() {
	(($(jq -c "select(.event == \"$1\")" $AUDIT | wc -l) == $2))
}

# expect_said EVENT N
expect_said() {
	wait_until "$PATIENCE" said "$1" "$2" ||
		fail "not $2 lines of $1 in the audit log: $(cat $AUDIT)"
}

mkdir $DIR /tmp/disks
configure a
start_target --config $CONFIG
expect_said start 1
expect 600 "$(stat -c %a $AUDIT)" "the mode of the audit log"

# Logins: granted, refused, stolen
hold first --host 1 --queues 2 "$TARGET_ADDR" a
expect_said login 1
probe $BUSY --host 2 a io
probe $NO_EXPORT --host 2 none io
probe $FENCING --host 2 --flags $STEAL a io
expect_said end 1
probe 0 --host 2 --flags $STEAL a io
expect_said end 2

# The administrator ends a session.
hold third --host 3 --queues 2 "$TARGET_ADDR" a
expect_said login 3
run_expect 3 'no session has this id' "$RDMABLK" target kick probe2
"$RDMABLK" target kick probe3 --reason 'too loud'
expect_said end 3
wait_until "$PATIENCE" holder_is_gone third || fail "the session goes on"
grep -q 'probe3 .* is to end by order of the administrator: too loud' "$TARGET_LOG" ||
	fail "the log lacks the reason"

# Changes by the control socket and by SIGHUP; the log is moved away in between
"$RDMABLK" target add b,memory,size=4M,hugepages=no
"$RDMABLK" target remove b
run_expect 3 'there is no export b' "$RDMABLK" target remove b
chmod 666 $CONTROL
run_expect 5 '' setpriv --reuid 65534 --regid 65534 --clear-groups "$RDMABLK" target list
mv $AUDIT $AUDIT.1
configure a c
kill -HUP "$TARGET_PID"
wait_until "$PATIENCE" test -s $AUDIT || fail "there is no new audit log"
expect_said change 1
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

cat $AUDIT.1 $AUDIT >/tmp/all
jq -r 'select(.event != "end") |
	[.event, .what, .address, .host, .export, .reason, .request, .kicked, .why,
	 (.name | if . then sub("^[0-9a-f]{16}$"; "ID") else . end), .uid, .error,
	 .loser.host] | map(select(. != null)) | join(" ")' /tmp/all | uniq >/tmp/got
cat >/tmp/want <<END
start
login $TARGET_ADDR probe1 a
refused login $TARGET_ADDR probe2 a $BUSY
refused login $TARGET_ADDR probe2 none $NO_EXPORT
takeover $TARGET_ADDR probe2 a $STOLEN probe1
refused login $TARGET_ADDR probe2 a $FENCING
login $TARGET_ADDR probe2 a
login $TARGET_ADDR probe3 a
admin kick probe2 0 ENOENT
admin kick probe3 too loud 0
change session ID 0
admin b add 0
admin b remove 0
admin b remove 0 ENOENT
refused control 65534
admin reload 0
change export c 0
stop
END
diff /tmp/want /tmp/got || fail "the audit log is another one"
expect "probe1 $STOLEN, probe2 $LOGOUT, probe3 $KICKED" "$(jq -rs '[.[] | select(.event == "end")] | sort_by(.host) |
	map("\(.host) \(.reason)") | join(", ")' /tmp/all)" "the ends"
expect 'true' "$(jq -s '[.[].seq] == [range(1; length + 1)] and all(.[]; .lost == 0)' /tmp/all)" \
	"whether no number is missing"
expect "$(jq -c 'select(.event == "login") | [.session_id, .queues, .steal]' /tmp/all | head -1)" \
	"[$(jq -c 'select(.event == "takeover") | .loser.session_id' /tmp/all),2,false]" \
	"the session that was lost"

# No audit log, no daemon
mkfifo $DIR/pipe
run_expect 1 "cannot open the audit log $DIR/pipe: not a regular file" \
	timeout "$PATIENCE" "$RDMABLKD" --config $CONFIG --audit $DIR/pipe
