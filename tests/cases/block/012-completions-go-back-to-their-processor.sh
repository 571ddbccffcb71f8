#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With queue/rq_affinity=2 a request ends on the processor that submitted it, whichever
# processor got its completion. This holds with a hardware queue for each processor and with one
# for both. With rq_affinity=0 the request ends on the processor that got its completion.
#
# smp: 2
# in-turn: yes

# shellcheck source=tests/cases/fault/lib.sh
source "$RDMABLK_TOP/tests/cases/fault/lib.sh"
require taskset

COUNT=64
cpus=/sys/devices/virtual/workqueue/cpumask

# seen EVENT CPU: how often, on this processor
seen() {
	grep -cE "\[0*$2\] .* rdmablk_$1: " /tmp/trace || :
}

# end_on CPU AFFINITY: reads submitted on processor 1, with completions on 0, end on CPU
end_on() {
	echo "$2" >$QUEUE/rq_affinity
	trace_start
	taskset -c 1 dd if=$DEV of=/dev/null bs=4k count=$COUNT iflag=direct status=none
	trace_stop
	expect $COUNT "$(seen queue 1)" "the number of requests that processor 1 has queued"
	expect $COUNT "$(seen complete 0)" "the number of completions on processor 0"
	expect $COUNT "$(seen end "$1")" \
		"the number of requests that end on processor $1 with rq_affinity=$2"
	expect $COUNT "$(grep -c 'rdmablk_end: ' /tmp/trace)" "the number of requests that end"
}

serve 16M
# shellcheck disable=SC2119 # no parameter: defaults
load_module
# The emulated adapter runs as a work item; these works are bound to processor 0.
echo 1 >$cpus
expect 1 "$((16#$(<$cpus)))" "the processors of unbound works"
for queues in 2 1; do
	connect --queues $queues
	end_on 1 2
	end_on 0 0
	disconnect
done
