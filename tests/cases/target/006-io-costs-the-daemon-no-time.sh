#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 1000 reads and writes on two disks, and no thread of the daemon runs: no run time in
# nanoseconds, no tick, no context switch. A slow machine needs longer for the requests than the
# daemon sleeps between two beats of its watchdog; there, the requests must not have woken it five
# hundred times. The daemon answers keep-alives, so these disks send none meanwhile. A disk that
# does send keep-alives shows that the measurement works.
#
# in-turn: yes

# shellcheck source=tests/cases/target/lib.sh
source "$RDMABLK_TOP/tests/cases/target/lib.sh"

# costs: prints for each thread its run time in ns, user ticks, kernel ticks, and context
# switches
costs() {
	local task stat time

	for task in /proc/"$TARGET_PID"/task/*; do
		read -r time _ <"$task/schedstat"
		# The thread's name may contain any character.
		stat=$(<"$task/stat")
		read -ra stat <<<"${stat##*) }"
		echo "${task##*/} $time ${stat[11]} ${stat[12]}" \
			"$(awk '/ctxt_switches/ { n += $2 } END { print n }' "$task/status")"
	done
}

# settled: whether the daemon is idle after the logins
settled() {
	local before

	before=$(costs)
	pause 0.2
	[[ $(costs) == "$before" ]]
}

keepalives() {
	disk_values status "$1" keepalives
}

keepalives_more() {
	(($(keepalives "$1") >= $2))
}

run_time() {
	local time sum=0

	while read -r _ time _; do
		((sum += time))
	done < <(costs)
	echo "$sum"
}

start_target --insecure --listen "$TARGET_ADDR" --keep-alive-max 600000 \
	--export a,memory,size=16M --export b,memory,size=16M --export c,memory,size=16M
load_module
disk 0 "$TARGET_ADDR/a" --keep-alive-tmo 600
disk 1 "$TARGET_ADDR/b" --keep-alive-tmo 600
expect 600 "$(attribute keep_alive_tmo)" "the keep-alive timeout"
# free_of_cost: whether a thousand requests have cost the daemon nothing. Sets $before and $after
# to what it had used
free_of_cost() {
	local done_before done_after alive

	wait_until "$PATIENCE" settled || fail "the daemon is never idle: $(costs)"
	before=$(costs)
	alive="$(keepalives 0) $(keepalives 1)"
	done_before=$(($(completed 0) + $(completed 1)))
	run_fio --direct=1 --thread --ioengine=libaio --iodepth=16 --rw=randrw --norandommap \
		--bssplit=512/25:4k/50:64k/25 --number_ios=500 --size=16M --io_size=1G \
		--name=a --filename=/dev/rdmablk0 --name=b --filename=/dev/rdmablk1
	done_after=$(($(completed 0) + $(completed 1)))
	after=$(costs)
	((done_after - done_before >= 1000)) ||
		fail "only $((done_after - done_before)) requests"
	[[ $after != "$before" || "$(keepalives 0) $(keepalives 1)" != "$alive" ]] || return 0
	diff <(echo "$before") <(echo "$after") >&2 || :
	return 1
}

# switches COSTS: prints the context switches of all threads
switches() {
	awk '{ n += $5 } END { print n }' <<<"$1"
}

# hardly_woken: whether the requests of the last free_of_cost cannot have woken the daemon
hardly_woken() {
	(($(switches "$after") - $(switches "$before") < 500))
}

# has_beaten: whether the daemon has woken its threads, which it does every few seconds to check
# that they still run
has_beaten() {
	[[ $(costs) != "$idle" ]]
}

# free_after_beat: as free_of_cost, with all the time until the threads are woken again
free_after_beat() {
	wait_until "$PATIENCE" settled || fail "the daemon is never idle: $(costs)"
	idle=$(costs)
	wait_until "$PATIENCE" has_beaten || fail "no thread is ever woken: $(costs)"
	free_of_cost
}

free_of_cost || free_after_beat || free_after_beat || hardly_woken ||
	fail "requests cost the daemon time"

# The measurement sees work of the daemon.
disk 2 "$TARGET_ADDR/c" --keep-alive-tmo 1
idle=$(run_time)
n=$(keepalives 2)
wait_until "$PATIENCE" keepalives_more 2 $((n + 2)) || fail "no keep-alive"
(($(run_time) > idle)) || fail "a keep-alive has cost nothing: $(costs)"
disconnect_all
unload_module
stop_target
expect 0 "$TARGET_STATUS" "the daemon's exit status"
