#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Moderation of completions is asked of the RDMA device for each completion queue that has
# interrupts, at each login, with what was given, and not at all when nothing was. A device
# that cannot do it, as rxe cannot, is no reason to have no disk; the kernel's log names it.
# A period alone is refused.
#
# What the device was asked is seen by a kprobe. A kernel without them (CONFIG_KPROBE_EVENTS),
# such as the one that looks for mistakes, leaves that out, and the rest is proved.
#
# long-kernels: newest

# shellcheck source=tests/cases/recovery/lib.sh
source "$RDMABLK_TOP/tests/cases/recovery/lib.sh"

# asked N: since the trace began the device was asked N times, always for the same
asked() {
	[[ -n $PROBE ]] || return 0
	expect "$1" "$(grep -c 'cq_moderation: .* count=16 period=8$' $TRACING/trace)" \
		"how often the device was asked"
	expect "$1" "$(grep -c 'cq_moderation: ' $TRACING/trace)" \
		"how often it was asked for anything"
	echo >$TRACING/trace
}

complaints() {
	dmesg | grep -c 'does not moderate completions as asked to: -95' || :
}

load_module
serve 16M
PROBE=$TRACING/events/kprobes/cq_moderation/enable
if [[ -e $TRACING/kprobe_events ]]; then
	# Both are u16, and the rest of a register is whatever it is.
	echo 'p:cq_moderation rdma_set_cq_moderation count=%si:u16 period=%dx:u16' \
		>$TRACING/kprobe_events
	echo >$TRACING/trace
	echo 1 >"$PROBE"
else
	[[ -d $TRACING/events/rdmablk ]] || fail "tracefs is not mounted"
	PROBE=
fi

connect --queues 2
asked 0
expect 0 "$(status cq_count)" "cq_count"
disconnect

run_expect 2 'cq-period 8 needs --cq-count' \
	"$RDMABLK" connect --cq-period 8 "$TARGET_ADDR/disk0"
asked 0

connect --queues 2 --poll-queues 1 --cq-count 16 --cq-period 8
asked 2
expect 1 "$(complaints)" "complaints of the kernel"
expect 16 "$(status cq_count)" "cq_count"
expect 8 "$(status cq_period)" "cq_period"
dd if=/dev/urandom of=$DEV bs=64k count=16 oflag=direct status=none
"$RDMABLK" reconnect rdmablk0
expect_back 1
asked 2
expect 2 "$(complaints)" "complaints of the kernel"
device_same_as_target
disconnect

if [[ -n $PROBE ]]; then
	echo 0 >"$PROBE"
	echo >$TRACING/kprobe_events
fi
stop_target
unload_module
