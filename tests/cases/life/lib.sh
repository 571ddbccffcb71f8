# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the cases of life: an administrator changes something while a disk is in an outage, and
# may have to wait for it.

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# Tasks may wait for a target without limit. The cases have deadlines of their own.
echo 0 >/proc/sys/kernel/hung_task_timeout_secs

declare -A JOB=()

# job NAME CMD [ARGS]: runs the command in the background
job() {
	local name=$1

	shift
	job_main "$@" >"/tmp/job.$name" 2>&1 &
	JOB[$name]=$!
}

# The job is a process of its own, without the case's traps.
job_main() {
	trap - ERR EXIT
	[[ $(type -t "$1") != file ]] || exec "$@"
	"$@"
}

# write_to FILE TEXT: writes by the shell itself, so that the job's own process waits
write_to() {
	echo "$2" >"$1"
}

job_is_over() {
	! kill -0 "${JOB[$1]}" 2>/dev/null
}

stack_has() {
	grep -qE "$2" "/proc/$1/stack"
}

# job_waits NAME REGEX: the job waits in a kernel function that matches
job_waits() {
	wait_until "$PATIENCE" stack_has "${JOB[$1]}" "$2" ||
		fail "$1 does not wait in $2: $(cat "/tmp/job.$1" "/proc/${JOB[$1]}/stack")"
}

is_blocked() {
	! job_is_over "$1" || fail "$1 is over: $(<"/tmp/job.$1")"
	[[ $(<"/proc/${JOB[$1]}/stat") == *') D '* ]]
}

# job_blocks NAME: the job waits in D state
job_blocks() {
	wait_until "$PATIENCE" is_blocked "$1" ||
		fail "$1 does not wait: $(cat "/tmp/job.$1" "/proc/${JOB[$1]}/stack")"
}

# job_still NAME...: the jobs have not ended
job_still() {
	local name

	for name; do
		! job_is_over "$name" || fail "$name is over: $(<"/tmp/job.$name")"
	done
}

# job_ends NAME [STATUS]: the job ends with the status 0, STATUS, or "any"
job_ends() {
	local status=0

	wait_until "$PATIENCE" job_is_over "$1" ||
		fail "$1 hangs: $(cat "/proc/${JOB[$1]}/stack")"
	wait "${JOB[$1]}" || status=$?
	[[ ${2:-0} == any || $status == "${2:-0}" ]] ||
		fail "$1: status $status: $(<"/tmp/job.$1")"
}

# is_waited_for: whether requests of the disk have tags, in flight or not
is_waited_for() {
	grep -qs 'busy=[1-9]' /sys/kernel/debug/block/rdmablk0/hctx*/{tags,sched_tags}
}

# requests_wait: waits until the disk is in an outage with such requests
requests_wait() {
	wait_state recovering
	wait_until "$PATIENCE" is_waited_for || fail "no request waits"
}

# lose_target: kills the daemon, with requests waiting for it
lose_target() {
	stop_target KILL
	requests_wait
}

# --- changes that wait for held requests --------------------------------------------

# shellcheck disable=SC2034 # for the cases
CPU=/sys/devices/system/cpu/cpu1/online FREEZE=blk_mq_freeze_queue_wait

scheduler_is() {
	[[ $(<$QUEUE/scheduler) == *"[$1]"* ]] ||
		fail "the scheduler is $(<$QUEUE/scheduler), not $1"
}

# --- the daemon on another machine --------------------------------------------------

PEER=400	# seconds, more than the other machine works

# target_serve N: the script of the target's machine. Its daemon is killed and started again N
# times, when remote_stop and remote_again ask for it
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
