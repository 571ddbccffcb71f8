#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One daemon with several addresses of IPv4 and IPv6, several ports and several exports: each
# export is reached by each address and has contents of its own. At the start an address without
# an RDMA device, or one that is taken, is an error. SIGTERM warns every initiator, then tells
# it why its session ends, and ends the daemon; meanwhile logins are refused, and a second
# SIGTERM does not wait. SIGHUP does not end the daemon. With --run the daemon serves as long as
# a command runs, and exits with its status.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

NAMES=(a b) WHERE=("$TARGET_ADDR" 10.99.0.1:4420 "[$TARGET_ADDR6]" '[fd99::1]:4420')

start() {
	local name exports=()

	for name in "${NAMES[@]}"; do
		exports+=(--export "$name,memory,size=4M,arena=/dev/shm/$name")
	done
	start_target --insecure "${exports[@]}" "$@"
}

# in_arena NAME: prints the text at the beginning of the arena
in_arena() {
	head -c 512 "/dev/shm/$1" | sed 's/ *$//'
}

load_module
start --listen "${WHERE[0]},${WHERE[1]}" --listen "${WHERE[2]}" --listen "${WHERE[3]}"
for address in "${WHERE[@]}"; do
	for n in 0 1; do
		disk $n "$address/${NAMES[n]}"
		put $n "${NAMES[n]} by $address"
	done
	for n in 0 1; do
		get $n "${NAMES[n]} by $address"
		expect "${NAMES[n]} by $address" "$(in_arena "${NAMES[n]}")" \
			"what the target has"
	done
	disconnect_all
done
refused 'nobody listens on this port' "$TARGET_ADDR:4421/a"
# Other addresses of the same device listen on these ports.
refused '(nobody listens on this port|the peer refuses)' 10.99.0.1/a
refused '(nobody listens on this port|the peer refuses)' '[fd99::1]/a'

# An address is taken, or has no RDMA device.
ip link add nordma type dummy
ip address add 10.77.0.1/24 dev nordma
ip link set nordma up
for address in "${WHERE[0]}" "${WHERE[2]}"; do
	run_expect 1 "cannot listen on .*: another process listens there" \
		timeout "$PATIENCE" "$RDMABLKD" --insecure --listen "$address" \
		--export x,memory,size=1M
done
run_expect 1 'cannot listen on 10.77.0.1:20420: no RDMA device has this address' \
	timeout "$PATIENCE" "$RDMABLKD" --insecure --listen 10.77.0.1 \
	--export x,memory,size=1M
# The control socket is taken: the tool would speak to the other daemon.
run_expect 1 'cannot listen on /run/rdmablkd/control: another daemon does' \
	timeout "$PATIENCE" "$RDMABLKD" --insecure --listen "$TARGET_ADDR:4422" \
	--export x,memory,size=1M

# check STATUS WORDS OPTION...: --check reports what would keep a daemon from starting, while
# another one runs
check() {
	run_expect "$1" "$2" timeout "$PATIENCE" "$RDMABLKD" --check --insecure "${@:3}"
}

HERE=(--listen "${WHERE[0]}" --listen "${WHERE[3]}")
truncate -s 1M /tmp/file
check 0 '' "${HERE[@]}" --export x,file=/tmp/file --export a,memory,size=4M,arena=/dev/shm/a
check 1 'cannot listen on 10.77.0.1:20420: no RDMA device has this address' \
	"${HERE[@]}" --listen 10.77.0.1 --export x,file=/tmp/file
check 1 'export x: cannot open /tmp/missing: No such file' \
	"${HERE[@]}" --export y,file=/tmp/file --export x,file=/tmp/missing
check 1 'export x: /tmp/file has 1048576 bytes, not 2097152' \
	"${HERE[@]}" --export x,file=/tmp/file,size=2M
check 1 'arena /tmp/new: not a file on tmpfs or hugetlbfs' \
	"${HERE[@]}" --export x,memory,size=1M,arena=/tmp/new
[[ ! -e /tmp/new ]] || fail "an arena was made"
check 2 'export "x" has no size' "${HERE[@]}" --export x,memory

# Each address has a session. With this keep-alive timeout a disk would notice nothing by itself
# for minutes, and a held write would take two.
kill -HUP "$TARGET_PID"
expect_log 'SIGHUP: looking at the configuration and the files again'
readonly=()
for n in 0 1 2 3; do
	((n < 2)) || readonly=(--read-only)
	disk $n "${WHERE[n]}/${NAMES[n & 1]}" --keep-alive-tmo 60 "${readonly[@]}"
done
start_load 0 --offset=1M
stop_target TERM
expect 0 "$TARGET_STATUS" "the daemon's exit status"
expect_log 'rdmablkd: done'
expect_load_failed 0
for n in 0 1 2 3; do
	expect_failed 'target is shutting down' $n
done
expect_no_io 1
disconnect_all

# Wildcard addresses, and a long time to drain, in which I/O goes on and logins are refused. It
# is long enough for the warning of each disk on a slow machine.
start --listen 0.0.0.0 --listen '[::]' --drain-ms 60000
disk 0 "$TARGET_ADDR/a" --keep-alive-tmo 60
disk 1 "[$TARGET_ADDR6]/b" --keep-alive-tmo 60
disk 2 "[$TARGET_ADDR6]/a" --keep-alive-tmo 60 --read-only
disk 3 10.99.0.1/b --keep-alive-tmo 60 --read-only
get 0 "a by ${WHERE[3]}"
kill -TERM "$TARGET_PID"
expect_log 'SIGTERM: shutting down'
for n in 0 1 2 3; do
	wait_until "$PATIENCE" dmesg_has \
		"rdmablk$n .*: target is about to shut down, in [1-6][0-9]{4} ms" ||
		fail "rdmablk$n has not been warned"
done
refused '(nobody listens on this port|target is shutting down)' "$TARGET_ADDR/b"
put 1 'farewell'
get 1 'farewell'
stop_target TERM
expect 1 "$TARGET_STATUS" "the exit status after the second signal"
expect_log 'SIGTERM again: exiting at once'
for n in 0 1 2 3; do
	expect_failed "$LOST" $n
done
expect farewell "$(in_arena b)" "what the target had"
disconnect_all

# run STATUS COMMAND OPTION...: the daemon serves while the command runs, and exits with STATUS
run() {
	run_expect "$1" '' timeout "$PATIENCE" "$RDMABLKD" --insecure --drain-ms 0 \
		--export x,memory,size=4M --run "$2" "${@:3}"
}

export RDMABLK
# shellcheck disable=SC2016 # the command expands it
run 7 '"$RDMABLK" connect "$RDMABLK_URI" >/tmp/run && "$RDMABLK" disconnect rdmablk0 && exit 7' \
	--listen "$TARGET_ADDR" --audit /tmp/audit
expect /dev/rdmablk0 "$(</tmp/run)" "the disk of the command"
tail -n 1 /tmp/audit | tr -d ' ' | grep -q '"status":0,"command_status":7,' ||
	fail "the end of the audit log: $(tail -n 1 /tmp/audit)"
# shellcheck disable=SC2016
run 0 '"$RDMABLK" target list --control "$RDMABLK_CONTROL" >/tmp/run' \
	--listen "[$TARGET_ADDR6]:4420" --control /tmp/control
expect x "$(sed -n '2s/ .*//p' /tmp/run)" "the export that the command sees"
run 1 'touch /tmp/begun' --listen 10.77.0.1
[[ ! -e /tmp/begun ]] || fail "the command runs without a daemon"
unload_module
