#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rdmablk discover and ping, end to end, without the module. discover lists exactly the exports
# that the host may use, with size, store and rights, on more than one page, and who uses each
# of them. ping measures messages, READs and WRITEs, and its data come back unchanged. A wrong
# key, a missing key, and a key where none is taken are refused with the status of the cause and
# a text that says what to set where. Nothing of a visit is left, a visit is in the audit log,
# and neither side prints a byte of a key.
#
# kernels: 6.12
# in-turn: yes

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"
# shellcheck source=tests/cases/login/lib.sh
source "$RDMABLK_TOP/tests/cases/login/lib.sh"
require jq

AUDIT=/tmp/audit

# configure: "web1" may write disk0 and m1 to m7, "backup" may read the file and write "hidden"
configure() {
	{
		printf '[target]\nlisten = %s\naudit = %s\n' "$TARGET_ADDR" $AUDIT
		printf '[host web1]\nkey = web1\n[host backup]\nkey = backup\n'
		printf '[export disk0]\ntype = memory\nsize = 16M\nallow = web1\n'
		printf '[export file0]\ntype = file\nfile = /tmp/file\nallow = web1, backup:ro\n'
		printf '[export hidden]\ntype = memory\nsize = 1M\nallow = backup\n'
		printf '[export m%d]\ntype = memory\nsize = 1M\nshared = yes\nallow = web1\n' \
			1 2 3 4 5 6 7
	} >$HOSTS_CONFIG
}

discover() {
	"$RDMABLK" discover "$@" "$TARGET_ADDR"
}

# value NAME KEY: prints a value of an export in the list
value() {
	jq -r ".exports[] | select(.name == \"$1\").$2" /tmp/list
}

truncate -s 32M /tmp/file
make_keys web1 backup stranger
configure
start_target --config $HOSTS_CONFIG

expect "disk0 file0 m1 m2 m3 m4 m5 m6 m7" "$(discover --key web1 --names | paste -sd ' ')" \
	"what web1 may use"
expect "file0 hidden" "$(discover --key $KEYS/backup.key --names | paste -sd ' ')" \
	"what backup may use"
discover --key web1 --json >/tmp/list
expect 16777216 "$(value disk0 size)" "the size"
expect memory "$(value disk0 type)" "the type"
expect none "$(value file0 cache)" "the cache of the file"
expect true "$(value m3 shared)" "whether m3 is shared"
expect false "$(value file0 read_only)" "whether web1 only reads"
expect psk "$(jq -r .auth /tmp/list)" "the authentication"
expect true "$(discover --key backup --json | jq '.exports[0].read_only')" \
	"whether backup only reads"
run_expect 0 '^disk0 +16M +512 +memory +- +rw +-$' discover --key web1

answer_keep discover /tmp/list

# The daemon answers each message, on a path with the MTU of the port. Its adapter answers READs
# and WRITEs of the lent memory.
"$RDMABLK" ping --key web1 -c 5 --json "$TARGET_ADDR" >/tmp/ping
answer_keep ping /tmp/ping
expect 5 "$(jq .answers /tmp/ping)" "the answers"
expect "send 5 write 5 read 5" \
	"$(jq -r '.operations[] | .operation, .count' /tmp/ping | paste -sd ' ')" "the operations"
jq -e '.mtu_passes == .mtu and .scratch >= 4096' /tmp/ping >/dev/null ||
	fail "the packets: $(</tmp/ping)"
expect "$("$RDMABLK" devices --json rxe0 | jq '.devices[0].ports[0].active_mtu')" \
	"$(jq .mtu /tmp/ping)" "the MTU"
jq -e '0 < .min_ns and .min_ns <= .p50_ns and .p50_ns <= .p99_ns and .p99_ns == .max_ns' \
	/tmp/ping >/dev/null || fail "times: $(</tmp/ping)"
run_expect 0 'MTU [0-9]+, packets of [0-9]+ bytes pass; times in microseconds' \
	"$RDMABLK" ping --key web1 -c 2 "$TARGET_ADDR"
run_expect 0 '^send +- +3 ' "$RDMABLK" ping --key web1 -c 3 -i 0 --send "$TARGET_ADDR"
# Many READs and WRITEs at once, of an odd size, return the data unchanged.
"$RDMABLK" ping --key web1 --blast 1 -s 10001 --depth 8 --json "$TARGET_ADDR" >/tmp/ping
answer_keep ping /tmp/ping
jq -e '.rounds > 0 and (.operations | length) == 2 and .operations[1].operation == "read" and
	.operations[1].count == .rounds * ((.scratch / 10001) | floor)' /tmp/ping >/dev/null ||
	fail "the blast: $(</tmp/ping)"
run_expect 0 'rounds of 1048576 bytes: all that was read is what was written' \
	"$RDMABLK" ping --key web1 --blast 1 -s 65536 "$TARGET_ADDR"
run_expect 6 'the target demands a key: --key NAME' "$RDMABLK" ping "$TARGET_ADDR"

# Each refusal has the status of its cause.
run_expect 6 'the target demands a key: --key NAME' discover
run_expect 6 'authentication failed' discover --key stranger
run_expect 3 'nothere.key: ' discover --key nothere
run_expect 5 'nobody listens on this port' "$RDMABLK" discover --key web1 "$TARGET_ADDR:9"
run_expect 2 'HOST\[:PORT\] without the name of an export' \
	"$RDMABLK" discover "$TARGET_ADDR/disk0"

# A disk in use, and a module that demands keys
load_module require_key=1
load_keys web1
expect $DEV "$("$RDMABLK" connect --key web1 "$TARGET_ADDR/disk0")" "the disk"
discover --key web1 --json >/tmp/list
expect true "$(value disk0 used_here)" "whether this host uses disk0"
expect false "$(value disk0 used_elsewhere)" "whether another host does"
expect false "$(value m1 used_here)" "whether this host uses m1"
run_expect 3 'this host demands keys \(require_key of the module\)' discover
# For a missing export the error names exports that the host may use.
run_expect 3 'no such export; did you mean disk0\?$' \
	"$RDMABLK" connect --key web1 "$TARGET_ADDR/dsik0"
run_expect 3 'no such export; there are disk0, file0, m1, m2, m3, m4, m5, m6, m7$' \
	"$RDMABLK" connect --key web1 "$TARGET_ADDR/hidden"

# Completion of the export's name uses the key of the command line.
# shellcheck source=tools/completion/rdmablk
source "$RDMABLK_TOP/tools/completion/rdmablk"
# shellcheck disable=SC2034 # the function reads them
COMP_WORDS=("$RDMABLK" connect --key web1 "$TARGET_ADDR/m") COMP_CWORD=4
# complete_word: prints what is completed. A shell waits two seconds for that. A slow guest needs
# longer.
complete_word() {
	timeout() {
		expect 2 "$1" "the seconds that completion may take"
		command timeout 120 "${@:2}" --timeout 60
	}
	_rdmablk
	printf '%s\n' "${COMPREPLY[@]}"
}
mapfile -t completed < <(complete_word)
expect 7 ${#completed[@]} "how many names are completed: ${completed[*]}"
[[ ${completed[0]} == "$TARGET_ADDR/m1" ]] || fail "completed: ${completed[*]}"
disconnect

# Nothing is left of the visits, and the audit log has them.
gone() {
	"$RDMABLK" target sessions --json >/tmp/sessions
	jq -e '.sessions == []' /tmp/sessions >/dev/null
}
wait_until "$PATIENCE" gone || fail "left: $(</tmp/sessions)"
answer_keep target /tmp/sessions
jq -r 'select(.event == "visit") | .auth_host + " " + .reason_text' $AUDIT >/tmp/visits
grep -qx 'backup logged out' /tmp/visits || fail "visits: $(</tmp/visits)"
! grep -v 'logged out$' /tmp/visits || fail "a visit did not log out"
jq -se 'any(.event == "visit" and .scratch == 1048576)' $AUDIT >/dev/null ||
	fail "the audit log does not say what was lent"
"$RDMABLK" target metrics --json >/tmp/metrics
answer_keep target /tmp/metrics
expect 0 "$(jq .daemon.pinned /tmp/metrics)" "memory registered after the visits"
expect "$(wc -l </tmp/visits)" "$(jq .daemon.visits /tmp/metrics)" "the visits"
jq -r 'select(.event == "refused") | .reason_text' $AUDIT | sort | uniq -c >/tmp/refused
grep -q ' 1 authentication failed' /tmp/refused || fail "refused: $(</tmp/refused)"
mkdir /tmp/shown
cp "$TARGET_LOG" $AUDIT /tmp/list /tmp/sessions /tmp/shown
python3 "$CASES/login/secret.py" $KEYS/{web1,backup,stranger}.key -- /tmp/shown/* ||
	fail "bytes of a key can be read"
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"

# A daemon that takes no keys
serve 16M
run_expect 8 'the target takes no keys: set auth = psk there' discover --key web1
unload_module
expect disk0 "$(discover --names)" "what anybody may use"
run_expect 0 '^read +4096 +2 ' "$RDMABLK" ping -c 2 "$TARGET_ADDR"
stop_target
