# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of life: what an administrator does to a machine while a disk is in
# an outage, and has to wait for.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# Tasks may wait for a target without a limit; the deadlines of the cases say when a wait
# is too long.
echo 0 >/proc/sys/kernel/hung_task_timeout_secs

declare -A JOB=()

# job NAME CMD [ARGS]: in the background
job() {
	local name=$1

	shift
	job_main "$@" >"/tmp/job.$name" 2>&1 &
	JOB[$name]=$!
}

# In a process of its own, without the case's traps
job_main() {
	trap - ERR EXIT
	[[ $(type -t "$1") != file ]] || exec "$@"
	"$@"
}

# write_to FILE TEXT: by the shell itself, so that the job is who waits
write_to() {
	echo "$2" >"$1"
}

job_is_over() {
	! kill -0 "${JOB[$1]}" 2>/dev/null
}

stack_has() {
	grep -qE "$2" "/proc/$1/stack"
}

# job_waits NAME REGEX: it gets to a function of the kernel, and waits there
job_waits() {
	wait_until "$PATIENCE" stack_has "${JOB[$1]}" "$2" ||
		fail "$1 does not wait in $2: $(cat "/tmp/job.$1" "/proc/${JOB[$1]}/stack")"
}

is_blocked() {
	! job_is_over "$1" || fail "$1 is over: $(<"/tmp/job.$1")"
	[[ $(<"/proc/${JOB[$1]}/stat") == *') D '* ]]
}

# job_blocks NAME: it waits, in D state
job_blocks() {
	wait_until "$PATIENCE" is_blocked "$1" ||
		fail "$1 does not wait: $(cat "/tmp/job.$1" "/proc/${JOB[$1]}/stack")"
}

# job_still NAME...: they wait
job_still() {
	local name

	for name; do
		! job_is_over "$name" || fail "$name is over: $(<"/tmp/job.$name")"
	done
}

# job_ends NAME [STATUS]: or with any
job_ends() {
	local status=0

	wait_until "$PATIENCE" job_is_over "$1" ||
		fail "$1 hangs: $(cat "/proc/${JOB[$1]}/stack")"
	wait "${JOB[$1]}" || status=$?
	[[ ${2:-0} == any || $status == "${2:-0}" ]] ||
		fail "$1: status $status: $(<"/tmp/job.$1")"
}

# is_waited_for: requests have tags, in flight or not
is_waited_for() {
	grep -qs 'busy=[1-9]' /sys/kernel/debug/block/rdmablk0/hctx*/{tags,sched_tags}
}

# requests_wait: an outage begins with such requests
requests_wait() {
	wait_state recovering
	wait_until "$PATIENCE" is_waited_for || fail "no request waits"
}

# lose_target: it is killed, and there are requests that wait
lose_target() {
	stop_target KILL
	requests_wait
}

# --- who waits for held requests ----------------------------------------------------

# shellcheck disable=SC2034 # for the cases
CPU=/sys/devices/system/cpu/cpu1/online FREEZE=blk_mq_freeze_queue_wait

scheduler_is() {
	[[ $(<$QUEUE/scheduler) == *"[$1]"* ]] ||
		fail "the scheduler is $(<$QUEUE/scheduler), not $1"
}

# --- the daemon on another machine --------------------------------------------------

PEER=400	# seconds, more than the other machine works

# target_serve N: the other machine's script; its daemon is killed and comes back N
# times, whenever remote_stop and remote_again say so
target_serve() {
	local n

	serve 16M
	peer_set served.0
	for ((n = 1; n <= $1; n++)); do
		peer_wait "stop.$n" $PEER
		stop_target KILL
		peer_set "stopped.$n"
		peer_wait "again.$n" $PEER
		again 16M
		peer_set "served.$n"
	done
	peer_wait over $PEER
	stop_target
}

remote_stop() {
	peer_set "stop.$((++REMOTE))"
	peer_wait "stopped.$REMOTE" $PEER
}
REMOTE=0

remote_again() {
	peer_set "again.$REMOTE"
	peer_wait "served.$REMOTE" $PEER
}
